"""A table whose kind, or whose feed's kind, is another one at the next run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable

from freshline.core.errors import PlatformError, UserError
from freshline.delta.loaded import fold, folded
from freshline.delta.log import last_commit
from freshline.project.model import KafkaSource
from freshline.runtime.accepting import lost_standing
from freshline.runtime.failures import FailureHandling
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.listening import Listening
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.journal.folding import RangeFolding
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.recovery import recover
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.backfills import (
    backfills_to_do,
    check_backfill,
    note_backfill,
    read_backfills,
)
from freshline.runtime.requests.handler import accept_offline
from freshline.runtime.status.status import read_status
from tests.support.shop import Recorder, Shop, made_project, made_shop

RANGE = "kN3vYtPMQzaA_8hFbqf0rw/0:0-10"


def removed(path: str, where: str, fields: dict[str, Any]) -> None:
    """A commit by which an update that says this of itself removed rows."""
    told = CommitProperties(custom_metadata={"userMetadata": json.dumps(fields)})
    DeltaTable(path).delete(where, commit_properties=told)


def loaded(tmp_path: Path) -> Shop:
    """A warehouse that has loaded a file into its base table."""
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    return shop


@pytest.fixture
def was_a_view(tmp_path):
    """A project whose table ``orders`` was a view when it ran last."""
    before = made_shop(tmp_path, {"raw": (), "orders": ("raw",)})
    before.file("raw", 1, [1])
    assert before.run_until_idle() == 0
    shop = Shop(made_project(tmp_path, {"raw": (), "orders": (), "total": ("orders",)}))
    shop.file("orders", 1, [7])
    return shop


def test_nothing_is_loaded_beside_the_rows_of_a_view(was_a_view):
    shop = was_a_view
    assert shop.run_until_idle() > 0
    assert shop.executor.numbers("orders") == [1]
    (line,) = [line for line in shop.recorder.lines if line.startswith("notice [table-replaced]")]
    assert "what is in table orders was computed as a view" in line
    (row,) = shop.journal_rows("SELECT error FROM tables WHERE name='orders'")
    assert "table-replaced" in row["error"]


def test_a_reload_takes_the_place_of_the_rows_of_a_view(was_a_view):
    shop = was_a_view
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    shop.file("orders", 2, [8])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [7, 8] == shop.executor.numbers("total")


def test_rows_of_a_view_that_are_accepted_stay(was_a_view):
    shop = was_a_view
    assert shop.run_until_idle() > 0
    with_journal(shop, lambda journal: accept_offline(shop.project, journal, "orders"))
    for minute in (2, 3):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 7]


def test_a_base_table_that_was_a_view_for_long_is_told_to_be_one(tmp_path):
    """The commits that the journal knows it by are gone: of a view nobody needs them."""
    tables = {"raw": (), "orders": ()}
    before = made_shop(tmp_path, tables)
    before.file("raw", 1, [1])
    before.file("orders", 1, [7])
    assert before.run_until_idle() == 0
    view = Shop(made_project(tmp_path, {"raw": (), "orders": ("raw",)}))
    assert view.run_until_idle() == 0
    assert view.executor.numbers("orders") == [1]
    view.executor._forget_log(view.project.table_path("orders"))
    shop = Shop(made_project(tmp_path, tables))
    shop.file("orders", 2, [8])
    assert shop.run_until_idle() > 0
    assert shop.executor.numbers("orders") == [1]
    assert any("was computed as a view" in line for line in shop.recorder.lines)
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    assert shop.executor.numbers("orders") == [7, 8]


def test_a_view_that_was_a_report_is_computed_though_nothing_arrives(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    assert shop.run_until_idle() == 0
    path = shop.project.table_path("total")
    last = last_commit(path)
    assert last is not None
    window = {"start": "2026-01-02T00:01:00Z", "end": "2026-01-02T00:02:00Z"}
    fields = {**last.metadata, "update": last.update + 1, "strategy": "report", "window": window}
    removed(path, "n = 2", fields)
    assert shop.executor.numbers("total") == [1]
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("total") == [1, 2]
    assert "notice view total is rebuilt: it was a report" in shop.recorder.lines


@pytest.mark.parametrize("name", [RANGE, "00000000000000000003-0a1b2c3d4e5f"])
def test_a_reload_asks_for_no_file_of_a_topic_or_delta_table_that_was_read_before(tmp_path, name):
    shop = loaded(tmp_path)
    file = {"table_name": "orders", "name": name}
    with_journal(shop, lambda journal: journal.put("files", file, state="loaded", number=1))
    waits = {"table_name": "orders", "name": name.replace("3", "4")}
    with_journal(
        shop,
        lambda journal: journal.put(
            "files", waits, state="pending", timestamp_s=2.0, arrived_s=2.0, number=None
        ),
    )
    shop.file("orders", 2, [2])
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    assert shop.executor.numbers("orders") == [1, 2]


def test_a_backfill_does_not_drop_the_rows_of_a_topic_that_was_read_before(tmp_path):
    made = made_shop(tmp_path, {"orders": ()})
    timed = (dataclasses.replace(each, time_column="n") for each in made.project.tables)
    shop = Shop(dataclasses.replace(made.project, tables=tuple(timed)))
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    file = {"table_name": "orders", "name": RANGE}

    def check(journal):
        journal.put("files", file, state="loaded", number=2)
        check_backfill(shop.project, journal, "orders", 0.0, 9.0)

    with_journal(shop, check)  # the journal alone knows of it: it is not in the table
    commit_range(shop.project.table_path("orders"))
    with pytest.raises(UserError, match="has rows of the feed that it read before"):
        with_journal(shop, check)
    with_journal(shop, lambda journal: accept_offline(shop.project, journal, "orders"))
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    with_journal(shop, check)


def commit_range(path):
    """A commit by which an update loaded a range of a topic."""
    last = last_commit(path)
    assert last is not None
    fields = {key: value for key, value in last.metadata.items() if key != "files"}
    fields |= {"update": last.update + 1, "topic": RANGE[:22], "ranges": ["0:0-10"]}
    fields["offsets"] = {"0": [0, 10]}
    removed(path, "n = 1", fields)


def test_rows_that_are_accepted_stay_so_through_upkeep(was_a_view):
    def accepted(journal):
        pending, hears = PendingFiles(journal), Recorder()
        handling = FailureHandling(Ledger(journal), pending, Backoff(), hears)
        handling.accept("orders", 4)
        handling.succeeded("orders", is_upkeep=True)
        kept = handling.accepted("orders")
        handling.succeeded("orders", is_upkeep=False)
        return kept, handling.accepted("orders")

    assert with_journal(was_a_view, accepted) == (4, None)


def with_journal(shop, what):
    journal = Journal(journal_path(shop.project), create=True)
    try:
        return what(journal)
    finally:
        journal.close()


def of_a_topic(shop):
    """The same project, whose feed is a topic now."""
    feed = dataclasses.replace(
        shop.project.feeds["orders_feed"],
        kind="kafka",
        path="",
        format="json",
        settings=KafkaSource("brokers:9092", "orders", "earliest", None),
    )
    return Shop(dataclasses.replace(shop.project, feeds={"orders_feed": feed}))


@pytest.fixture
def read_files(tmp_path):
    """A project that reads a topic now, and read files before, of which some are not loaded."""
    shop = made_shop(tmp_path, {"orders": ()})
    for minute in range(1, 4):
        shop.file("orders", minute, [minute])
    shop.file("orders", 9, "no number")
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == [1, 2, 3]
    return of_a_topic(shop)


def test_a_topic_is_read_from_its_beginning_where_files_were_read_before(read_files):
    shop = read_files

    def known(journal):
        recovered = recover(shop.project, journal, Ledger(journal))
        assert any("table-replaced" in note for note in recovered.notes)
        journal.flush()
        listening: Any = Listening(shop.project, Ledger(journal), lambda _: None, once=False)
        looks = listening._looks(Topics(), "orders_feed", "orders")
        assert looks._told == {}
        return [tuple(row) for row in journal.rows("SELECT state, reason FROM files ORDER BY name")]

    states = with_journal(shop, known)
    assert states[:3] == [("loaded", None)] * 3
    assert states[3] == ("vanished", "its feed is of kind kafka now")


def test_what_was_asked_of_a_table_of_files_is_not_done_to_that_of_a_topic(read_files):
    shop = read_files

    def started(journal):
        Ledger(journal).full_asked("orders")
        note_backfill(journal, "orders", 1.0, 2.0, 3.0)
        journal.flush()
        notes = recover(shop.project, journal, Ledger(journal)).notes
        journal.flush()
        asked = journal.rows("SELECT 1 FROM tables WHERE full_asked=1")
        return notes, asked, backfills_to_do(shop.project, journal)

    notes, asked, backfills = with_journal(shop, started)
    assert (asked, backfills) == ([], [])
    assert "table orders is not loaded again, as was asked: it reads a topic now" in notes
    assert "backfills of table orders are given up: it reads a topic now" in notes
    # Nobody could make up for it, so no probe and no alert goes on telling it.
    (backfill,) = with_journal(shop, read_backfills)
    assert (backfill.state, backfill.given_up) == ("given up", None)


class Topics:
    """An executor that is asked for a topic, which is not looked at."""

    def topic(self, feed):
        return None


def test_status_passes_over_files_of_the_feed_before(read_files):
    with_journal(
        read_files,
        lambda journal: journal.put(
            "topics", {"table_name": "orders"}, feed="orders_feed", topic_id="t", state="read",
            ends='{"version": 5}',
        ),
    )  # fmt: skip
    (topic,) = read_status(read_files.project, 1.0).topics
    assert (topic.lag_offsets, topic.lost_offsets, topic.ends) == (0, 0, {})


def test_ranges_are_joined_beside_files_of_the_feed_before(read_files):
    def joined(journal):
        for number, at in enumerate(range(0, 50, 10), 4):
            name = f"kN3vYtPMQzaA_8hFbqf0rw/0:{at}-{at + 10}"
            journal.put("files", {"table_name": "orders", "name": name}, state="loaded",
                        number=number)  # fmt: skip
        journal.flush()
        folding = RangeFolding(read_files.project, journal, kept=1, clock=lambda: 0.0)
        folding.step()
        return {row["name"] for row in journal.rows("SELECT name FROM files")}

    names = with_journal(read_files, joined)
    assert sum(name.endswith(".csv") for name in names) == 4
    assert len(names) < 9


def test_what_was_loaded_is_folded_with_files_of_the_feed_before(read_files):
    path = read_files.project.table_path("orders")
    commit_range(path)
    version = fold(read_files.project, "orders")
    assert version == DeltaTable(path).version()
    (made,) = Path(read_files.project.own_path, "loaded", "orders").iterdir()
    found = folded(read_files.project, "orders")
    assert made.exists()
    assert found is not None
    assert RANGE in found.names
    assert sum(name.endswith(".csv") for name in found.names) == 3


@pytest.mark.parametrize(
    ("said", "kind", "refused"),
    [
        ({"files": ["a.csv"]}, "files", False),
        ({"files": ["a.csv"]}, "push", False),
        ({"files": ["a.csv"]}, "kafka", True),
        ({"offsets": {}}, "kafka", False),
        ({"offsets": {}}, "files", True),
        ({"files": [], "source": {"id": "t", "version": 1, "mark": "m"}}, "files", True),
        ({"files": [], "source": {"id": "t", "version": 1, "mark": "m"}}, "kafka", True),
        ({"files": ["a.csv"]}, "delta", False),  # its plan refuses it
        ({}, "files", True),
        ({}, "kafka", True),
    ],
)
def test_what_filled_a_table_is_what_its_feed_is(tmp_path, said, kind, refused):
    shop = loaded(tmp_path)
    path = shop.project.table_path("orders")
    last = last_commit(path)
    assert last is not None
    fields = {key: value for key, value in last.metadata.items() if key != "files"} | said
    removed(path, "n = 1", fields | {"update": 2})
    feed = dataclasses.replace(shop.project.feeds["orders_feed"], kind=kind)
    project = dataclasses.replace(shop.project, feeds={"orders_feed": feed})
    error = lost_standing(project, project.table("orders"), None, last_commit(path))
    assert isinstance(error, PlatformError) == refused
