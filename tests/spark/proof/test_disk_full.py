"""A full disk: a clear error, nothing lost, and on it goes when there is room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from freshline.core.errors import PlatformError
from freshline.runtime.journal.store import Journal
from tests.spark.proof.equality import Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import eventually, run_here, running_here
from tests.support.small_disk import fill, mounted

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "16m") as folder:
        yield folder


def test_a_full_disk_stops_updates_with_a_clear_error_until_there_is_room(
    tmp_path, spark, small_disk
):
    shop = Shop(tmp_path / "shop", ("hourly", "daily"), storage=str(small_disk / "warehouse"))
    checker = Checker(shop, spark)
    one_of_each(shop, 0)
    run_here(shop, spark)
    before = {table: len(checker.commits(table)) for table in ("orders", "visits", "hourly")}
    with running_here(shop, spark) as seen:
        eventually(lambda: seen.is_ready)  # a run cannot begin on a full disk (below)
        ballast = fill(small_disk / "ballast")
        one_of_each(shop, 1)
        eventually(lambda: {"orders", "visits"} <= {table for table, _ in seen.failed})
        for table, error in seen.failed:
            assert error.startswith(
                f"[disk-full] table {table} was not updated: no space left on device"
            ), error
            assert "\n" not in error
        assert before == {table: len(checker.commits(table)) for table in before}
        ballast.unlink()
        # The same run goes on: no restart, nobody's help.
        eventually(lambda: {"orders", "visits", "hourly", "daily"} <= set(seen.done))
    run_here(shop, spark)
    checker.check()


@pytest.mark.proof
def test_a_full_disk_at_the_start_is_one_clear_error(tmp_path, spark, small_disk):
    shop = Shop(tmp_path / "shop", ("hourly",), storage=str(small_disk / "warehouse"))
    ballast = fill(small_disk / "ballast")
    with pytest.raises(PlatformError) as raised:
        run_here(shop, spark)
    assert "\n" not in raised.value.render()
    assert "disk" in raised.value.render()
    ballast.unlink()
    one_of_each(shop, 0)
    run_here(shop, spark)
    Checker(shop, spark).check()


def test_the_journal_catches_up_when_there_is_room(small_disk):
    path = small_disk / "journal.db"
    journal = Journal(path, create=True)
    ballast = fill(small_disk / "ballast")
    for name in map(str, range(2_000)):
        journal.put("files", {"table_name": "t", "name": name}, state="pending", reason="x" * 500)
    assert not journal.flush()
    assert journal.behind
    ballast.unlink()
    assert journal.flush()
    assert len(journal.rows("SELECT name FROM files")) == 2_000
    journal.close()
