"""What a look at a feed costs: folders at rest are not listed, names are not kept in memory."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.executor.records import FeedFile
from freshline.runtime.feeds.known import KnownNames
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from tests.support.shop import made_project, made_shop


class Clock:
    """Monotonic seconds that a test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Counted:
    """Counts the folders that are listed."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self._real = os.scandir

    def __call__(self, path):
        self.listed.append(os.path.basename(path))  # noqa: PTH119 - scandir is given a text
        return self._real(path)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def listing(tmp_path, clock):
    return FeedListing(made_project(tmp_path, {"orders": ()}).feeds["orders_feed"], clock)


@pytest.fixture
def listed(monkeypatch):
    counted = Counted()
    monkeypatch.setattr(os, "scandir", counted)
    return counted.listed


def put(listing: FeedListing, name: str, modified_ns: int | None = None) -> None:
    """Write a file; its folder gets that modification time."""
    path = Path(listing.feed.path) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1")
    if modified_ns is not None:
        os.utime(path.parent, ns=(modified_ns, modified_ns))


def told(listing: FeedListing) -> list[str]:
    look = listing.look()
    assert look.problems == []
    return [file.name for file in look.files]


def at_rest(listing: FeedListing, clock: Clock) -> None:
    """Look until nothing is listed any more."""
    for _ in range(3):
        listing.look()
        clock.now_s += 5.0


def test_folders_of_earlier_days_are_not_listed_again(listing, clock, listed):
    for day in range(1, 20):
        for hour in range(3):
            put(listing, f"day={day:02d}/{hour}.csv")
    assert len(told(listing)) == 57
    at_rest(listing, clock)
    listed.clear()
    put(listing, "day=19/9.csv", 10**18)
    assert told(listing) == ["day=19/9.csv"]
    assert listed == ["day=19"]
    clock.now_s += 1.0
    put(listing, "day=20/1.csv")
    listed.clear()
    assert told(listing) == ["day=20/1.csv"]
    assert sorted(listed) == ["day=19", "day=20", "orders"]


def test_a_file_of_the_same_tick_as_the_last_look_is_told(listing, clock):
    put(listing, "day=1/a.csv", 10**18)
    assert told(listing) == ["day=1/a.csv"]
    put(listing, "day=1/b.csv", 10**18)  # a file system with whole seconds
    assert told(listing) == ["day=1/b.csv"]
    clock.now_s += 2.0
    put(listing, "day=1/c.csv", 10**18)
    assert told(listing) == ["day=1/c.csv"]


def test_a_file_system_that_keeps_no_times_is_listed_all_the_same(listing, clock):
    for day in range(1, 4):
        put(listing, f"day={day}/a.csv", 10**18)
    os.utime(listing.feed.path, ns=(10**18, 10**18))
    at_rest(listing, clock)
    put(listing, "day=2/b.csv", 10**18)
    found = []
    for _ in range(5):
        found += told(listing)
        clock.now_s += 61.0
    assert found == ["day=2/b.csv"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_link_leads_to_is_told_when_it_is_there(listing, clock, tmp_path, folder):
    """A disk that is mounted later changes no folder that it is not in."""
    for day in range(5):
        put(listing, f"day={day}/a.csv")
    there = tmp_path / "later" / "b.csv"
    Path(listing.feed.path, "link").symlink_to(there.parent if folder else there)
    at_rest(listing, clock)
    there.parent.mkdir()
    there.write_text("1")
    assert told(listing) == ["link/b.csv" if folder else "link"]


def test_a_problem_is_told_as_long_as_it_lasts(listing, clock):
    put(listing, "day=1/a.csv")
    Path(listing.feed.path, "day=1", os.fsdecode(b"\xff.csv")).write_text("1")
    for _ in range(5):
        look = listing.look()
        assert len(look.problems) == 1
        clock.now_s += 5.0


def test_a_file_that_vanished_is_told_when_it_is_there_again(listing, clock):
    put(listing, "day=1/a.csv", 10**18)
    assert told(listing) == ["day=1/a.csv"]
    at_rest(listing, clock)
    listing.forget("day=1/a.csv")
    assert told(listing) == ["day=1/a.csv"]
    assert told(listing) == []


@contextmanager
def opened(path: Path) -> Iterator[Journal]:
    journal = Journal(path, create=True)
    try:
        yield journal
    finally:
        journal.close()


def test_names_of_a_folder_at_rest_are_in_the_journal_alone(listing, clock, tmp_path):
    path = tmp_path / "journal.db"
    with opened(path) as journal:
        ledger = Ledger(journal)
        listing.know(KnownNames(path, ["orders"]))
        for number in range(700):
            put(listing, f"day=1/{number}.csv")
        for file in listing.look().files:
            ledger.file_arrived("orders", file, 0.0)
        journal.flush()
        at_rest(listing, clock)
        clock.now_s += 700.0
        assert told(listing) == []
        assert sum(len(folder.names or ()) for folder in listing._folders) == 0
        put(listing, "day=1/new.csv")
        assert told(listing) == ["day=1/new.csv"]
        listing.close()


def test_a_file_that_one_reader_does_not_know_is_news(listing, tmp_path):
    path = tmp_path / "journal.db"
    with opened(path) as journal:
        ledger = Ledger(journal)
        for name in ("a.csv", "b.csv"):
            put(listing, name)
            ledger.files_loaded("orders", [name], 1)
        ledger.files_loaded("other", ["b.csv"], 1)
        journal.flush()
        listing.know(KnownNames(path, ["orders", "other"]))
        assert told(listing) == ["a.csv"]
        listing.close()


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "remove", "look", "look", "forget", "rest", "wait"]),
        st.integers(0, 5),
        st.integers(0, 3),
    ),
    max_size=60,
)


@given(_STEPS)
def test_every_file_is_told_once_whatever_rests(tmp_path_factory, steps):
    """Against brute force: what is there and was not told since it was forgotten last."""
    root = tmp_path_factory.mktemp("feed")
    clock = Clock()
    listing = FeedListing(made_project(root, {"orders": ()}).feeds["orders_feed"], clock)
    base = Path(listing.feed.path)
    base.mkdir(parents=True)
    with opened(root / "journal.db") as journal:
        ledger = Ledger(journal)
        listing.know(KnownNames(root / "journal.db", ["orders"]))
        there: set[str] = set()
        known: set[str] = set()
        tick_ns = 10**18
        for kind, day, number in steps:
            name = f"day={day}/{number}.csv" if day else f"{number}.csv"
            if kind == "put":
                tick_ns += 1
                put(listing, name, tick_ns)
                there.add(name)
            elif kind == "remove" and name in there:
                tick_ns += 1
                (base / name).unlink()
                os.utime((base / name).parent, ns=(tick_ns, tick_ns))
                there.discard(name)
            elif kind == "forget" and name in known:
                listing.forget(name)
                ledger.file_unreadable("orders", name, "vanished", 0, "gone", None)
                journal.flush()
                known.discard(name)
            elif kind == "look":
                found = {file.name for file in listing.look().files}
                # What left the folder and came back is told again; the journal knows it.
                assert found - known == there - known
                for each in found - known:
                    ledger.file_arrived("orders", FeedFile(each, 1, 0.0, 0.0), 0.0)
                journal.flush()
                known |= found
            clock.now_s += {"rest": 5.0, "wait": 700.0}.get(kind, 0.2)
        assert {file.name for file in listing.look().files} - known == there - known
        listing.close()


_MOVES = st.lists(
    st.tuples(
        st.sampled_from(["add", "load", "vanish", "quarantine", "back", "flush", "full disk"]),
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(_MOVES)
def test_what_is_known_is_known_whether_or_not_it_is_written(tmp_path_factory, moves):
    """Against the set of names in memory that this was."""
    with opened(tmp_path_factory.mktemp("j") / "journal.db") as journal:
        ledger, pending = Ledger(journal), PendingFiles(journal)
        known: set[str] = set()
        waiting: set[str] = set()
        full = False
        for kind, number in moves:
            name = f"{number}.csv"
            file = FeedFile(name, 1, 0.0, 0.0)
            if kind == "add":
                assert pending.add("t", file) == (name not in known)
                if name not in known:
                    ledger.file_arrived("t", file, 0.0)
                    known.add(name)
                    waiting.add(name)
            elif kind == "load" and name in waiting:
                ledger.files_loaded("t", [name], 1)
                pending.loaded("t", [name])
                waiting.discard(name)
            elif kind == "vanish" and name in waiting:
                pending.withdrawn("t", name)
                pending.forget("t", name)
                ledger.file_unreadable("t", name, "vanished", 0, "", None)
                known.discard(name)
                waiting.discard(name)
            elif kind == "quarantine" and name in waiting:
                pending.withdrawn("t", name)
                ledger.file_unreadable("t", name, "quarantined", 1, "", None)
                waiting.discard(name)
            elif kind == "back" and name in known - waiting:
                pending.put_back("t", file)
                ledger.file_retried("t", name)
                waiting.add(name)
            elif kind == "full disk":
                full = not full
                journal.behind = full
            elif kind == "flush" and not full:
                journal.flush()
            assert {f"{n}.csv" for n in range(4) if pending.is_waiting("t", f"{n}.csv")} == waiting


def test_a_restart_loads_nothing_twice_and_all_that_came(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    seed = random.Random(7)
    minutes = seed.sample(range(1, 600), 40)
    for at in range(0, 40, 8):
        for minute in minutes[at : at + 8]:
            shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("orders") == sorted(minutes[: at + 8])
