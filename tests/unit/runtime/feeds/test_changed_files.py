"""Files that change after they were loaded: noticed, told, and left to somebody's choice."""

from __future__ import annotations

import dataclasses
import os
import re
import time

import pytest

from freshline.executor.records import FeedFile
from freshline.render.status import faults, remarks, status_record
from freshline.runtime.feeds.changed import ChangedFile, LoadedFile, LoadedFiles, note_changes
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.handler import accept_offline
from freshline.runtime.status.status import read_status
from tests.support.shop import LiveRun, Shop, eventually, made_project

TABLES = {"orders": (), "parts": ()}
CHANGED = "SELECT table_name, name, reason FROM changed_files"


class Loaded(Shop):
    """A shop whose files are loaded; ``names`` are those of orders."""

    names: list[str]


@pytest.fixture
def shop(tmp_path):
    shop = Loaded(made_project(tmp_path, TABLES))
    shop.names = [shop.file("orders", minute, [minute]) for minute in (1, 2, 3)]
    shop.file("parts", 1, [7])
    shop.run_until_idle()
    return shop


def path_of(shop, name):
    return shop.root / "feed" / "orders" / name


def append(shop, name, text="\n9"):
    """As a producer that writes on under the final name."""
    with path_of(shop, name).open("a") as file:
        file.write(text)


def status(shop):
    return read_status(shop.project, time.time())


def told(shop):
    return [line for line in shop.recorder.lines if "changed after being loaded" in line]


def test_a_file_that_grew_is_told_once_and_stays_told(shop):
    append(shop, shop.names[1])
    shop.run_until_idle()
    shop.run_until_idle()
    (line,) = told(shop)
    assert line == (
        f"notice orders: the file {shop.names[1]} changed after being loaded; the table keeps the"
        " rows it has: `freshline refresh orders --full` loads every file again,"
        " `freshline accept orders` leaves it so"
    )
    (row,) = shop.journal_rows(CHANGED)
    assert (row["table_name"], row["name"]) == ("orders", shop.names[1])
    assert re.fullmatch(
        r"\[file-changed\] it was loaded with 1 bytes of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d and has"
        r" 3 bytes of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
        row["reason"],
    )
    found = status(shop)
    assert f"orders: {shop.names[1]}: {row['reason']}" in remarks(found)
    assert f"orders: 1 file changed, {shop.names[1]}: {row['reason']}" in faults(found)
    (orders,) = (each for each in status_record(found)["tables"] if each["name"] == "orders")
    assert [each["file"] for each in orders["changed"]] == [shop.names[1]]
    assert shop.executor.numbers("orders") == [1, 2, 3]


def test_a_file_that_is_replaced_by_one_of_the_same_size_is_told(shop):
    before = path_of(shop, shop.names[0]).stat()
    path_of(shop, shop.names[0]).write_text("8")
    os.utime(path_of(shop, shop.names[0]), ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    shop.run_until_idle()
    assert len(told(shop)) == 1


def test_files_that_are_as_they_were_or_deleted_are_not_told(shop):
    path_of(shop, shop.names[0]).unlink()
    shop.run_until_idle()
    assert told(shop) == []
    assert shop.journal_rows(CHANGED) == []


def test_it_is_noticed_while_a_run_goes_on(shop):
    with LiveRun(shop):
        shop.recorder.wait_for("ready", 2)
        append(shop, shop.names[2])
        eventually(lambda: told(shop))
        append(shop, shop.names[2])
        eventually(lambda: len(told(shop)) == 2)  # it is another one again
        assert shop.ask("accept", "orders")["ok"]
        eventually(lambda: not shop.journal_rows(CHANGED))


def test_loading_every_file_again_is_one_choice(shop):
    append(shop, shop.names[1])
    shop.run_until_idle()
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))).run()
    assert shop.executor.numbers("orders") == [1, 2, 3, 9]
    assert shop.journal_rows(CHANGED) == []
    shop.run_until_idle()
    assert len(told(shop)) == 1


def test_leaving_it_so_is_another(shop):
    append(shop, shop.names[1])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    assert accept_offline(shop.project, journal, "orders")["ok"]
    journal.close()
    assert shop.journal_rows(CHANGED) == []
    shop.run_until_idle()
    assert len(told(shop)) == 1
    assert faults(status(shop)) == [line for line in faults(status(shop)) if "changed" not in line]


def test_a_file_that_is_put_back_as_it_was_is_no_trouble_any_more(shop):
    path = path_of(shop, shop.names[1])
    before = path.stat()
    append(shop, shop.names[1])
    shop.run_until_idle()
    path.write_text("2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    shop.run_until_idle()
    assert shop.journal_rows(CHANGED) == []


def test_what_was_loaded_is_what_was_read_and_not_what_was_listed(shop):
    """A file that grew between its listing and its update is in the table as a whole."""
    read = path_of(shop, shop.names[0]).stat()
    journal = Journal(journal_path(shop.project), create=False)
    ledger = Ledger(journal)
    journal.write("UPDATE files SET size_bytes=0 WHERE name=?", (shop.names[0],))
    ledger.files_loaded("orders", shop.names[:1], 1, {shop.names[0]: (1, read.st_mtime)})
    journal.close()
    shop.run_until_idle()
    assert told(shop) == []


def test_after_the_journal_was_lost_what_is_there_counts_as_loaded(shop):
    for file in journal_path(shop.project).parent.glob("journal*"):
        file.unlink()
    shop.run_until_idle()
    rows = shop.journal_rows("SELECT size_bytes FROM files WHERE table_name='orders'")
    assert [row["size_bytes"] for row in rows] == [1, 1, 1]
    assert told(shop) == []
    append(shop, shop.names[1])
    shop.run_until_idle()
    assert len(told(shop)) == 1


def test_a_file_that_was_mended_in_quarantine_is_not_told(shop):
    bad = shop.file("orders", 4, "no number")
    shop.run_until_idle()
    path_of(shop, bad).write_text("4")
    with LiveRun(shop):
        shop.recorder.wait_for("ready", 3)
        shop.ask("retry", "orders")
        eventually(lambda: shop.executor.numbers("orders") == [1, 2, 3, 4])
    shop.run_until_idle()
    assert told(shop) == []
    append(shop, bad)
    shop.run_until_idle()
    assert len(told(shop)) == 1


def test_a_look_that_is_older_than_the_reload_is_not_believed(shop):
    journal = Journal(journal_path(shop.project), create=False)
    row = Ledger(journal).file_as_loaded("orders", shop.names[0])
    assert row is not None
    as_it_is = FeedFile(shop.names[0], row["size_bytes"], row["modified_s"], 0.0)
    stale = ChangedFile(LoadedFile("orders", shop.names[0], 0, 0.0), as_it_is)
    assert note_changes(Ledger(journal), [stale], 1.0) == []
    journal.close()
    assert shop.journal_rows(CHANGED) == []


def test_a_large_feed_is_looked_at_piece_by_piece(shop, monkeypatch):
    monkeypatch.setattr("freshline.runtime.feeds.changed.PIECE", 2)
    times = iter(range(100))
    loaded = LoadedFiles(
        journal_path(shop.project), ["orders", "parts"], everything=False,
        clock=lambda: float(next(times)),
    )  # fmt: skip
    pieces = [[each.name for each in loaded.piece()] for _ in range(4)]
    loaded.close()
    first, second, third = shop.names
    (part,) = (row["name"] for row in shop.journal_rows("SELECT name FROM files") if
               row["name"].startswith("parts"))  # fmt: skip
    assert pieces == [[third, second], [first], [part], [third, second]]


def test_many_feeds_share_what_is_looked_at_in_a_second(shop, monkeypatch):
    monkeypatch.setattr("freshline.runtime.feeds.changed.PIECE", 40)
    times = iter(range(100))
    loaded = LoadedFiles(
        journal_path(shop.project), ["orders"], everything=False, feeds=60,
        clock=lambda: float(next(times) // 2),  # asked twice: whether it is due, and when it was
    )  # fmt: skip
    pieces = [len(loaded.piece()) for _ in range(8)]
    loaded.close()
    # 60 feeds, 20 pieces a second: two files every three seconds are forty files a second.
    assert [each for each in pieces if each] == [2, 1]
    assert pieces[0] == 2


def test_a_moment_later_nothing_is_looked_at(shop):
    loaded = LoadedFiles(
        journal_path(shop.project), ["orders"], everything=False, clock=lambda: 5.0
    )
    assert len(loaded.piece()) == 3
    assert loaded.piece() == []
    loaded.close()


def test_a_store_tells_of_changes_with_its_listing(shop):
    feed = shop.project.feeds["orders_feed"]
    listing = FeedListing(dataclasses.replace(feed, path=f"file://{feed.path}"))
    append(shop, shop.names[1])
    loaded = LoadedFiles(journal_path(shop.project), ["orders"], everything=True)
    listing.compare_with(loaded)
    found = listing.look()
    loaded.close()
    assert [(each.loaded.name, each.now.size_bytes) for each in found.changed] == [
        (shop.names[1], 3)
    ]
