"""A base table that others dropped or changed, and a feed that moved: somebody has to choose."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from freshline.core.errors import UserError
from freshline.delta.log import last_commit
from freshline.runtime.accepting import feed_path
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.lease.succession import fence_tables
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.handler import accept_offline
from tests.support.shop import LiveRun, eventually, made_shop


@pytest.fixture
def shop(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "parts": (), "joined": ("orders", "parts")})
    shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    shop.file("parts", 1, [10])
    shop.run_until_idle()
    shop.file("orders", 3, [3])
    return shop


def drop(shop):
    shutil.rmtree(shop.project.table_path("orders"))


def rows_deleted(shop):
    DeltaTable(shop.project.table_path("orders")).delete("n < 3")


def restored(shop):
    DeltaTable(shop.project.table_path("orders")).restore(0)


def error_of(shop, table="orders"):
    (row,) = shop.journal_rows(f"SELECT error FROM tables WHERE name='{table}'")
    return row["error"]


def accepted(shop, table="orders"):
    journal = Journal(journal_path(shop.project), create=False)
    try:
        return accept_offline(shop.project, journal, table)
    finally:
        journal.close()


def reloaded(shop):
    return shop.warehouse(
        RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    ).run()


FAULTS = [(drop, "table-vanished"), (rows_deleted, "table-changed"), (restored, "table-changed")]


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_under_a_running_warehouse_nothing_more_is_loaded_until_somebody_chooses(shop, fault, code):
    with LiveRun(shop):
        eventually(lambda: shop.executor.numbers("joined") == [1, 2, 3, 10])
        fault(shop)
        left = shop.executor.numbers("orders")
        shop.file("orders", 4, [4])
        shop.recorder.wait_for("failed orders", 2)
        assert shop.executor.numbers("orders") == left
        assert code in error_of(shop)
        shop.file("parts", 2, [20])  # the others go on
        eventually(lambda: shop.executor.numbers("parts") == [10, 20])
        answer = shop.ask("accept", "orders")
        assert answer["ok"]
        eventually(lambda: shop.executor.numbers("orders") == sorted([*left, 4]))
        shop.file("orders", 5, [5])
        eventually(lambda: shop.executor.numbers("orders") == sorted([*left, 4, 5]))
        eventually(lambda: error_of(shop) is None)


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_between_runs_it_is_told_at_the_start_and_again_until_somebody_chooses(shop, fault, code):
    shop.run_until_idle()
    fault(shop)
    left = shop.executor.numbers("orders")
    for _ in range(2):
        before = len(shop.recorder.lines)
        shop.run_until_idle()
        assert any(code in line for line in shop.recorder.lines[before:])
        assert code in error_of(shop)
    shop.file("orders", 4, [4])
    assert shop.run_until_idle() > 0
    assert shop.executor.numbers("orders") == left
    reloaded(shop)
    assert shop.executor.numbers("orders") == [1, 2, 3, 4]
    before = len(shop.recorder.lines)
    assert shop.run_until_idle() == 0
    assert not any("table-" in line for line in shop.recorder.lines[before:])


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_what_was_accepted_between_runs_holds_and_what_comes_later_does_not(shop, fault, code):
    shop.run_until_idle()
    fault(shop)
    left = shop.executor.numbers("orders")
    assert accepted(shop)["ok"]
    before = len(shop.recorder.lines)
    assert shop.run_until_idle() == 0  # nothing new: it still holds at the next start
    assert not any(code in line for line in shop.recorder.lines[before:])
    shop.file("orders", 4, [4])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == sorted([*left, 4])
    DeltaTable(shop.project.table_path("orders")).delete("n = 4")
    shop.run_until_idle()
    assert "table-changed" in error_of(shop)


def test_a_table_that_is_put_back_is_no_longer_told_of(shop, tmp_path):
    shop.run_until_idle()
    path = Path(shop.project.table_path("orders"))
    shutil.copytree(path, tmp_path / "copy")
    drop(shop)
    shop.run_until_idle()
    assert "table-vanished" in error_of(shop)
    shutil.copytree(tmp_path / "copy", path)
    assert shop.run_until_idle() == 0
    assert error_of(shop) is None
    assert shop.journal_rows("SELECT failures FROM tables WHERE name='orders'") == [{"failures": 0}]


def test_what_was_accepted_says_nothing_of_a_table_that_is_gone_since(shop):
    shop.run_until_idle()
    rows_deleted(shop)
    assert accepted(shop)["ok"]
    drop(shop)
    shop.file("orders", 4, [4])
    assert shop.run_until_idle() > 0
    assert shop.executor.numbers("orders") == []
    assert "table-vanished" in error_of(shop)
    assert accepted(shop)["ok"]
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [4]


def test_what_was_accepted_says_nothing_of_a_table_that_was_put_back_before_it(shop, tmp_path):
    shop.run_until_idle()
    path = Path(shop.project.table_path("orders"))
    shutil.copytree(path, tmp_path / "copy")
    for condition in ("n = 1", "n = 2"):
        DeltaTable(path).delete(condition)
    assert accepted(shop)["ok"]
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "copy", path)
    DeltaTable(path).delete("n = 3")
    shop.file("orders", 4, [4])
    assert shop.run_until_idle() > 0
    assert "table-changed" in error_of(shop)


@pytest.mark.parametrize("lost", [False, True])
def test_nothing_is_loaded_into_a_table_of_others_before_somebody_chooses(tmp_path, lost):
    """At the first start, and where the journal is lost with the table whose place it has taken."""
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    path = shop.project.table_path("orders")
    if lost:
        assert shop.run_until_idle() == 0
        drop(shop)
        shutil.rmtree(shop.root / "warehouse" / "_freshline")
    write_deltalake(path, pa.table({"n": pa.array([1, 7], pa.int64())}))
    assert shop.run_until_idle() > 0
    assert shop.executor.numbers("orders") == [1, 7]
    assert "table-replaced" in error_of(shop)
    assert "would stay beside" in error_of(shop)
    assert accepted(shop)["ok"]
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 1, 7]


def test_an_empty_table_of_others_is_filled(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    DeltaTable.create(shop.project.table_path("orders"), pa.schema([("n", pa.int64())]))
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1]


def others(path, *numbers):
    """A table of others, in place of what is there."""
    shutil.rmtree(path, ignore_errors=True)
    write_deltalake(path, pa.table({"n": pa.array(numbers, pa.int64())}))


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("built", [False, True])
def test_no_view_is_built_over_a_table_of_others_before_somebody_chooses(tmp_path, built, lost):
    """At its first build, or where ours is gone, also with the journal."""
    shop = made_shop(tmp_path, {"orders": (), "copied": ("orders",)})
    shop.file("orders", 1, [1])
    path = shop.project.table_path("copied")
    if built:
        assert shop.run_until_idle() == 0
    others(path, 7, 8)
    if lost:
        shutil.rmtree(shop.root / "warehouse" / "_freshline", ignore_errors=True)
    assert shop.run_until_idle() > 0
    assert shop.executor.numbers("copied") == [7, 8]
    assert "table-replaced" in error_of(shop, "copied")
    answer = accepted(shop, "copied")
    assert (answer["ok"], answer["message"]) == (
        True,
        "copied is computed over version 0, whose rows it replaces",
    )
    write_deltalake(path, pa.table({"n": pa.array([9], pa.int64())}), mode="append")
    assert shop.run_until_idle() > 0  # these rows came later
    assert shop.executor.numbers("copied") == [7, 8, 9]
    assert accepted(shop, "copied")["ok"]
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("copied") == [1]
    assert error_of(shop, "copied") is None
    assert accepted(shop, "copied")["code"] == "not-a-base-table"


def test_under_a_running_warehouse_a_view_over_rows_of_others_waits_until_it_is_accepted(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "copied": ("orders",)})
    shop.file("orders", 1, [1])
    path = shop.project.table_path("copied")
    others(path, 7)
    with LiveRun(shop):
        shop.recorder.wait_for("failed copied", 2)
        assert shop.executor.numbers("copied") == [7]
        assert shop.ask("accept", "copied")["ok"]
        eventually(lambda: shop.executor.numbers("copied") == [1])


def test_a_view_is_built_over_an_empty_table(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "copied": ("orders",)})
    shop.file("orders", 1, [1])
    DeltaTable.create(shop.project.table_path("copied"), pa.schema([("n", pa.int64())]))
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("copied") == [1]


def test_a_view_of_ours_is_known_without_the_journal_whatever_others_did_to_it(shop):
    """Also where its commits were cleaned up: Delta knows the transactions for ever."""
    shop.run_until_idle()
    path = Path(shop.project.table_path("joined"))
    write_deltalake(path, pa.table({"n": pa.array([9], pa.int64())}), mode="append")
    table = DeltaTable(path)
    table.create_checkpoint()
    for version in range(table.version()):
        (path / f"_delta_log/{version:020d}.json").unlink()
    shutil.rmtree(shop.root / "warehouse" / "_freshline")
    assert last_commit(str(path)) is None
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("joined") == [1, 2, 3, 10]


def test_what_others_do_that_changes_no_row_is_no_matter(shop):
    shop.run_until_idle()
    table = DeltaTable(shop.project.table_path("orders"))
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    table.alter.set_table_properties({"delta.checkpointInterval": "7"})
    shop.file("orders", 4, [4])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 4]


def test_a_lost_journal_and_a_dropped_table_are_a_new_table(shop):
    shop.run_until_idle()
    drop(shop)
    shutil.rmtree(shop.root / "warehouse" / "_freshline")
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3]


def test_a_view_cannot_be_accepted(shop):
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    answer = accept_offline(shop.project, journal, "joined")
    journal.close()
    assert (answer["ok"], answer["code"], answer["exit_status"]) == (False, "not-a-base-table", 2)


def moved(shop, *, with_files):
    """The feed of orders in another folder, with the same files or others of the same names."""
    old = Path(shop.project.feeds["orders_feed"].path)
    new = shop.root / "elsewhere"
    if with_files:
        shutil.copytree(old, new)
    else:
        new.mkdir()
        for number, path in enumerate(sorted(old.iterdir())):
            (new / path.name).write_text(str(100 + number))
    feed = dataclasses.replace(shop.project.feeds["orders_feed"], path=str(new))
    feeds = {**shop.project.feeds, "orders_feed": feed}
    shop.project = shop.executor.project = dataclasses.replace(shop.project, feeds=feeds)
    return new


def test_a_feed_that_moved_is_refused_until_it_is_said_to_be_the_same(shop):
    shop.run_until_idle()
    new = moved(shop, with_files=True)
    said = " orders is at elsewhere, and what was loaded came from feed/orders"
    for _ in range(2):
        with pytest.raises(UserError) as refused:
            shop.run_until_idle()
        assert refused.value.code == "feed-moved"
        assert refused.value.what.endswith(said)
    assert accepted(shop)["ok"]
    (new / "orders-20260102T000900.csv").write_text("9")
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 9]


def test_a_feed_that_moved_is_refused_without_the_journal_too(shop):
    shop.run_until_idle()
    moved(shop, with_files=False)
    shutil.rmtree(shop.root / "warehouse" / "_freshline")
    with pytest.raises(UserError, match="feed-moved"):
        shop.run_until_idle()


def test_other_files_at_the_new_place_can_take_the_place_of_the_old_ones(shop):
    shop.run_until_idle()
    moved(shop, with_files=False)
    reloaded(shop)
    assert shop.executor.numbers("orders") == [100, 101, 102]
    assert shop.run_until_idle() == 0


@pytest.mark.parametrize("files_are_gone", [False, True])
def test_a_feed_that_moved_is_refused_after_a_reload_that_came_to_nothing(shop, files_are_gone):
    shop.run_until_idle()
    new = moved(shop, with_files=False)
    if files_are_gone:
        next(new.iterdir()).unlink()
    shop.executor.failing["orders"] = "Spark cannot"
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    if files_are_gone:
        with pytest.raises(UserError, match="files-gone"):
            shop.warehouse(options).run()
    else:
        assert shop.warehouse(options).run() == 1
    shop.executor.failing.clear()
    with pytest.raises(UserError, match="feed-moved"):
        shop.run_until_idle()
    assert shop.executor.numbers("orders") == [1, 2, 3]


@pytest.mark.parametrize("told", [True, False])
def test_a_reload_from_another_folder_is_known_whether_or_not_it_was_told(shop, told):
    shop.run_until_idle()
    before = shop.journal_rows("SELECT feed_path, number FROM tables WHERE name='orders'")[0]
    moved(shop, with_files=False)
    reloaded(shop)
    if not told:
        journal = Journal(journal_path(shop.project), create=False)
        journal.put("tables", {"name": "orders"}, **dict(before))
        journal.close()
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [100, 101, 102]


def test_a_project_that_moves_as_a_whole_has_the_same_feeds(shop):
    table = shop.project.table("orders")
    assert feed_path(shop.project, table) == "feed/orders"
    for path, expected in (("s3a://bucket/orders/", "s3a://bucket/orders"), ("/data/o", "/data/o")):
        feed = dataclasses.replace(shop.project.feeds["orders_feed"], path=path)
        project = dataclasses.replace(shop.project, feeds={"orders_feed": feed})
        assert feed_path(project, table) == expected


@pytest.mark.parametrize(("fault", "code"), FAULTS[1:])
def test_what_others_did_before_a_take_over_is_noticed_behind_its_fence(shop, fault, code):
    shop.run_until_idle()
    fault(shop)
    fence_tables(shop.project, 99)
    shop.run_until_idle()
    assert code in error_of(shop)


def test_a_view_of_a_version_that_came_again_is_made_again(shop):
    """Put back from a copy the table has that version again, with other rows."""
    assert shop.run_until_idle() == 0
    orders = Path(shop.project.table_path("orders"))
    newest = last_commit(str(orders))
    assert newest is not None
    (orders / f"_delta_log/{newest.version:020d}.json").unlink()
    assert DeltaTable(orders).version() == newest.version - 1
    rows = pa.table({"n": pa.array([7], pa.int64())})
    text = json.dumps(dict(newest.metadata))
    told = CommitProperties(custom_metadata={"userMetadata": text})
    write_deltalake(orders, rows, mode="append", commit_properties=told)
    assert DeltaTable(orders).version() == newest.version
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("joined") == sorted([*shop.executor.numbers("orders"), 10])


def replaced(shop):
    drop(shop)
    write_deltalake(shop.project.table_path("orders"), pa.table({"n": [3]}))


def replaced_alike(shop):
    """By a table that has as many versions."""
    versions = DeltaTable(shop.project.table_path("orders")).version()
    replaced(shop)
    for _ in range(versions):
        rows = pa.table({"n": [3]})
        write_deltalake(shop.project.table_path("orders"), rows, mode="overwrite")


@pytest.mark.parametrize("fault", [rows_deleted, replaced, replaced_alike])
def test_views_show_what_was_accepted_between_runs_though_nothing_is_loaded_after_it(shop, fault):
    shop.run_until_idle()
    fault(shop)
    assert accepted(shop)["ok"]
    made = DeltaTable(shop.project.table_path("joined")).version()
    for _ in range(2):
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("joined") == [3, 10]
    assert DeltaTable(shop.project.table_path("joined")).version() == made + 1  # once is enough
    shop.file("parts", 2, [20])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("joined") == [3, 10, 20]


def test_views_keep_what_was_accepted_where_more_was_done_that_was_not(shop):
    shop.run_until_idle()
    rows_deleted(shop)
    assert accepted(shop)["ok"]
    shop.run_until_idle()
    DeltaTable(shop.project.table_path("orders")).delete("n = 3")
    shop.file("parts", 2, [20])
    shop.run_until_idle()
    assert "table-changed" in error_of(shop)
    assert shop.executor.numbers("joined") == [3, 10, 20]


@pytest.mark.parametrize("fault", [rows_deleted, replaced, replaced_alike])
def test_views_show_what_was_accepted_under_a_running_warehouse(shop, fault):
    with LiveRun(shop):
        eventually(lambda: shop.executor.numbers("joined") == [1, 2, 3, 10])
        fault(shop)
        assert shop.ask("accept", "orders")["ok"]
        eventually(lambda: shop.executor.numbers("joined") == [3, 10])
        shop.file("parts", 2, [20])
        eventually(lambda: shop.executor.numbers("joined") == [3, 10, 20])


def test_a_view_that_others_changed_between_runs_is_computed_again_at_the_start(shop):
    shop.run_until_idle()
    path = shop.project.table_path("joined")
    DeltaTable(path).delete("n < 3")
    for _ in range(2):
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("joined") == [1, 2, 3, 10]
    made = DeltaTable(path).version()
    DeltaTable(path).alter.set_table_properties({"delta.appendOnly": "false"})
    shop.run_until_idle()
    assert DeltaTable(path).version() == made + 1  # no row of it was changed


def test_such_a_view_is_computed_again_also_behind_a_fence(shop):
    shop.run_until_idle()
    path = shop.project.table_path("joined")
    DeltaTable(path).delete("n < 3")
    fence_tables(shop.project, 99)
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("joined") == [1, 2, 3, 10]
