"""A base table that was put back from a copy between two runs, after all of it was loaded again."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from deltalake import DeltaTable

from freshline.core.errors import PlatformError
from freshline.delta import log
from freshline.delta.loaded import fold
from freshline.delta.log_files import StoreLog
from freshline.runtime.journal import recovery, store
from freshline.runtime.journal.mending import mend
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from tests.support.shop import made_shop


@pytest.fixture
def shop(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "doubled": ("orders",)})
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    return shop


def reload(shop):
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_files_that_the_copy_has_are_not_loaded_into_it_again(shop, tmp_path, later, cleaned):
    path = Path(shop.project.table_path("orders"))
    if cleaned:  # what the first commits loaded stands in a fold alone
        assert fold(shop.project, "orders") is not None
        shop.executor._forget_log(str(path))
    shutil.copytree(path, tmp_path / "copy")
    shop.file("orders", 3, [3])
    reload(shop)
    if later:
        shop.file("orders", 4, [4])
        assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 4][: 3 + later]
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "copy", path)
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 4][: 3 + later]
    assert shop.executor.numbers("doubled") == shop.executor.numbers("orders")
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 4][: 3 + later]


def test_a_reload_that_the_journal_did_not_hear_of_is_no_reason_to_complain(shop, tmp_path):
    (shop.root / "feed" / "orders" / "orders-20260102T000100.csv").write_text("7")
    assert shop.run_until_idle() == 0
    assert len(shop.journal_rows("SELECT reason FROM changed_files")) == 1
    own = journal_path(shop.project).parent
    shutil.copytree(own, tmp_path / "own")
    reload(shop)
    shutil.rmtree(own)
    shutil.copytree(tmp_path / "own", own)
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [2, 7]
    assert shop.journal_rows("SELECT reason FROM changed_files") == []


def put_back(copy, path):
    shutil.rmtree(path)
    shutil.copytree(copy, path)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("cleaned", [False, True])
def test_a_journal_of_another_history_of_the_table_says_nothing_of_its_files(
    shop, tmp_path, later, cleaned
):
    """The table went back and on, and then back to where it had been; numbers are the same."""
    path = Path(shop.project.table_path("orders"))
    shutil.copytree(path, tmp_path / "two")
    third = Path(shop.project.feeds["orders_feed"].path) / shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    if cleaned:
        assert fold(shop.project, "orders") is not None
        shop.executor._forget_log(str(path))
    shutil.copytree(path, tmp_path / "three")
    put_back(tmp_path / "two", path)
    for part in journal_path(shop.project).parent.glob("journal.db*"):
        part.unlink()
    third.rename(tmp_path / "third")
    for minute in (4, 5)[: 1 + later]:
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 4, 5][: 3 + later]
    put_back(tmp_path / "three", path)
    (tmp_path / "third").rename(third)
    for _ in range(2):
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5][: 4 + later]
        assert shop.executor.numbers("doubled") == shop.executor.numbers("orders")


def test_a_table_that_went_back_keeps_what_is_known_of_its_files(shop, tmp_path):
    path = Path(shop.project.table_path("orders"))
    shutil.copytree(path, tmp_path / "copy")
    before = shop.journal_rows("SELECT * FROM files ORDER BY name")
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    put_back(tmp_path / "copy", path)
    assert shop.run_until_idle() == 0
    assert shop.journal_rows("SELECT * FROM files ORDER BY name")[:2] == before
    assert shop.executor.numbers("orders") == [1, 2, 3]


def test_a_start_that_has_nothing_to_repair_does_not_read_the_whole_log_of_a_store(
    shop, monkeypatch
):
    """Every commit is a request there; on a disk the commit that is known is one file."""
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    asked: list[tuple[str, int]] = []

    class Counted(StoreLog):
        def lines(self, number):
            asked.append((self.path, number))
            return super().lines(number)

        def names(self):
            raise AssertionError(f"{self.path} is listed")

    for module in (log, recovery):
        monkeypatch.setattr(module, "local_log", lambda _: None)
    monkeypatch.setattr(log, "StoreLog", Counted)
    assert shop.run_until_idle() == 0
    paths = {shop.project.table_path(table.name) for table in shop.project.tables}
    assert {path for path, _ in asked} >= paths
    assert all(number == log.version(path) for path, number in asked)


@pytest.mark.parametrize("updates", [1, 2, 3])
def test_a_history_with_fewer_versions_and_as_many_updates_is_another_one(shop, tmp_path, updates):
    """The journal is of a history in which others committed, too: its versions are not there."""
    path, feed = Path(shop.project.table_path("orders")), shop.root / "feed" / "orders"
    shutil.copytree(path, tmp_path / "two")
    for interval in ("7", "8", "9"):
        DeltaTable(path).alter.set_table_properties({"delta.checkpointInterval": interval})
    elsewhere = [shop.file("orders", minute, [minute]) for minute in (3, 4)]
    assert shop.run_until_idle() == 0
    own = journal_path(shop.project).parent
    shutil.copytree(own, tmp_path / "own")
    put_back(tmp_path / "two", path)
    for part in own.glob("journal.db*"):
        part.unlink()
    for name in elsewhere:
        (feed / name).rename(tmp_path / name)
    for minute in (5, 6, 7)[:updates]:
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    put_back(tmp_path / "own", own)
    for name in elsewhere:
        (tmp_path / name).rename(feed / name)
    for _ in range(2):
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5, 6, 7][: 4 + updates]
        assert shop.executor.numbers("doubled") == shop.executor.numbers("orders")


def test_a_start_that_cannot_write_down_what_commits_have_loaded_is_refused(
    shop, tmp_path, monkeypatch
):
    """The disk is full: a file that the journal does not know would be loaded again."""
    own = journal_path(shop.project).parent
    shutil.copytree(own, tmp_path / "own")
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    put_back(tmp_path / "own", own)

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as disk:
        disk.setattr(Journal, "_execute", full)
        with pytest.raises(PlatformError, match=r"journal\.db cannot be written"):
            shop.run_until_idle()
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3]


@pytest.mark.parametrize("patience_s", [60.0, 0.0])
def test_a_start_waits_for_a_while_for_another_process_that_holds_the_journal(
    shop, monkeypatch, patience_s
):
    shop.file("orders", 3, [3])
    other = sqlite3.connect(journal_path(shop.project), check_same_thread=False)
    release = threading.Timer(1.0, other.rollback)

    def held(*given):
        other.execute("BEGIN IMMEDIATE")
        release.start()
        return mend(*given)

    monkeypatch.setattr(store, "_HELD_S", 0.05)
    monkeypatch.setattr(store, "_PATIENCE_S", patience_s)
    monkeypatch.setattr(recovery, "mend", held)
    if patience_s:
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("orders") == [1, 2, 3]
    else:
        with pytest.raises(PlatformError, match="who else locks the journal"):
            shop.run_until_idle()
    release.join()
    other.close()
