"""`settle:`: a file that is still being written under its final name is not loaded half."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from freshline.executor.records import FeedFile
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.feeds.settling import Settling
from tests.support.shop import made_shop

NOW_S = 1_800_000_000.0


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def file(name: str, size_bytes: int, modified_s: float = NOW_S) -> FeedFile:
    return FeedFile(name, size_bytes, modified_s, modified_s)


def names(found):
    return [[each.name for each in part] for part in found]


def test_a_file_is_loaded_once_size_and_time_stood_still():
    clock = Clock()
    settling = Settling(5.0, clock, lambda: NOW_S)
    seen = []
    for at_s, size_bytes, modified_s in (
        (0.0, 1, NOW_S), (4.9, 1, NOW_S), (4.95, 2, NOW_S),
        (9.9, 2, NOW_S + 1), (14.8, 2, NOW_S + 1), (14.9, 2, NOW_S + 1),
    ):  # fmt: skip
        clock.s = at_s
        found = settling.split([file("a", size_bytes, modified_s), file("old", 1, NOW_S - 3606.0)])
        seen.append(names(found))
    assert seen == [[["old"], ["a"]]] * 5 + [[["a", "old"], []]]


def test_a_file_that_went_and_came_again_begins_again():
    clock = Clock()
    settling = Settling(5.0, clock, lambda: NOW_S)
    assert names(settling.split([file("a", 1)])) == [[], ["a"]]
    clock.s = 4.0
    assert names(settling.split([])) == [[], []]
    clock.s = 6.0
    assert names(settling.split([file("a", 1)])) == [[], ["a"]]


def test_a_clock_that_jumps_makes_no_file_whole():
    """A machine that slept: to the producer, too, no time has passed."""
    clock, wall = Clock(), Clock()
    wall.s = NOW_S
    settling = Settling(5.0, clock, wall)
    assert names(settling.split([file("a", 1)])) == [[], ["a"]]
    wall.s += 8 * 3600.0
    clock.s = 0.1
    assert names(settling.split([file("a", 1)])) == [[], ["a"]]
    clock.s = 0.2
    assert names(settling.split([file("a", 2, wall.s)])) == [[], ["a"]]
    clock.s = 5.3
    assert names(settling.split([file("a", 2, wall.s)])) == [["a"], []]


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(0, 2)), min_size=1, max_size=20))
def test_what_is_loaded_had_its_size_for_the_whole_time(looks):
    clock = Clock()
    settling = Settling(5.0, clock, lambda: NOW_S)
    history: list[tuple[float, int]] = []
    for passed_s, size_bytes in looks:
        clock.s += passed_s
        history.append((clock.s, size_bytes))
        still, others = settling.split([file("a", size_bytes)])
        assert len(still) + len(others) == 1
        unchanged_s = clock.s
        for at_s, before_bytes in reversed(history):
            if before_bytes != size_bytes:
                break
            unchanged_s = at_s
        assert bool(still) == (clock.s - unchanged_s >= 5.0)
        if still:
            return


def test_a_run_until_idle_waits_for_a_file_to_settle_and_loads_all_of_it(tmp_path, monkeypatch):
    shop = made_shop(tmp_path, {"orders": ()})
    feed = shop.project.feeds["orders_feed"]
    settled = dataclasses.replace(feed, settle_s=0.4)
    shop.project = dataclasses.replace(shop.project, feeds={"orders_feed": settled})
    shop.executor.project = shop.project
    name = shop.file("orders", 1, [1])
    real, looks = FeedListing.look, []

    def look(listing):
        found = real(listing)
        looks.append((len(found.files), found.moving))
        if len(looks) == 1:  # the producer goes on writing
            with (shop.root / "feed" / "orders" / name).open("a") as more:
                more.write("\n2")
        return found

    monkeypatch.setattr(FeedListing, "look", look)
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2]
    assert looks[0] == (0, 1)
    assert looks[-1] == (1, 0)


def test_which_loaded_files_are_there_is_told_whether_they_settled_or_not(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    name = shop.file("orders", 1, [1])
    listing = FeedListing(dataclasses.replace(shop.project.feeds["orders_feed"], settle_s=9.0))
    assert [each.name for each in listing.new_files()] == [name]
