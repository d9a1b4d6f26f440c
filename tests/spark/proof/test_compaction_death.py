"""SIGKILL in the middle of a compaction: no row is lost or doubled, and the next run goes on.

Two files of a size are many here, in the child too: sixteen would take sixteen updates.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from freshline.delta import small_files
from freshline.delta.small_files import files_of
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import Shop, one_of_each
from tests.spark.proof.support import Child, run_here

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(600)]

FEW = "from freshline.delta import small_files; small_files.MOST_FILES = 2"

DEATHS = ("compact.after_data", "compact.before_data", "compact.after_commit")
"""One after the other in the same warehouse."""


def test_a_kill_during_a_compaction_leaves_it_whole_or_undone_and_it_is_done_again(
    tmp_path, spark, monkeypatch
):
    shop = Shop(tmp_path, ("hourly",))
    for hour in range(2):
        one_of_each(shop, hour)
        run_here(shop, spark)
    assert all(len(data_files(shop, table)) == 2 for table in ("orders", "visits"))
    for failpoint in DEATHS:
        with Child(shop, "--until-idle", failpoint=failpoint, prelude=FEW) as child:
            assert child.wait() == -signal.SIGKILL, child.output()
    assert [len(data_files(shop, table)) for table in ("orders", "visits")].count(1) == 1
    monkeypatch.setattr(small_files, "MOST_FILES", 2)
    run_here(shop, spark)
    assert all(len(data_files(shop, table)) == 1 for table in ("orders", "visits"))
    checker = Checker(shop, spark)
    told = [commit.metadata["strategy"] for commit in checker.commits("orders")]
    assert told == ["append", "append", "compact"]
    one_of_each(shop, 2)
    run_here(shop, spark)
    # A view may have read the version before a compaction, which has the same rows.
    for table in ("orders", "visits"):
        checker.check_base(table)
    checker.check_view("hourly", by=(DUCKDB,))
    checker.check_rejected()
    checker.check_journal()


def data_files(shop: Shop, table: str) -> list[str]:
    return [file.name for file in files_of(str(Path(shop.project.storage) / table))]
