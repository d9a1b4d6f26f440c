"""All versions of a base table, each judged by what it changed: as found as when judged whole."""

from __future__ import annotations

import deltalake
import pytest

from freshline.delta import small_files
from freshline.executor.verified import RIGHT, SKIPPED, WRONG
from freshline.render.verified import verified_record
from freshline.spark.commits import rewrite
from freshline.spark.engine.sizing import sized
from freshline.spark.feeds import reader
from freshline.spark.verification.bases import BaseCheck
from freshline.spark.verification.run import verified

pytestmark = pytest.mark.spark


@pytest.fixture
def bring(shop):
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, price DOUBLE")
    query = "SELECT id, at, price * 2 AS price FROM STREAM f"
    shop.table("orders", query, time_column="at")

    def bring(number):
        (folder / f"{number}.csv").write_text(
            f"{number},2026-01-01T00:{number:02d}:00Z,{number}.1\nno,number,here\n"
        )
        return shop.load("orders", f"{number}.csv").version

    return bring


@pytest.fixture
def outcomes(shop, spark, monkeypatch):
    """Verify all versions; their outcomes, and which were compared as a whole."""

    def outcomes():
        whole = []
        real = BaseCheck._as_a_whole

        def spied(self, log):
            whole.append(self.version)
            return real(self, log)

        with monkeypatch.context() as patched:
            patched.setattr(BaseCheck, "_as_a_whole", spied)
            table = shop.project.table("orders")
            found = {each.version: each for each in verified(spark, shop.project, [table], "all")}
        return {version: each.outcome for version, each in found.items()}, whole

    return outcomes


@pytest.fixture(autouse=True)
def _compacted_soon(monkeypatch):
    monkeypatch.setattr(small_files, "MOST_FILES", 3)


@pytest.mark.proof
def test_only_the_first_and_the_newest_version_are_compared_as_a_whole(shop, bring, outcomes):
    for number in range(4):
        bring(number)
    found = shop.executor.run(shop.request("orders", upkeep="compact", definition=""))
    assert found.reason.startswith("4 small files")
    bring(5)
    (shop.root / "feed" / "f" / "6.csv").write_text("no,row,fits\n")
    shop.load("orders", "6.csv")
    bring(7)
    assert outcomes() == (dict.fromkeys(range(8), RIGHT), [0, 7])


def test_a_commit_that_lost_its_rows_is_found_and_all_behind_it_are_wrong(
    shop, bring, outcomes, monkeypatch
):
    bring(0)
    bring(1)
    real = reader.FeedReader.read
    with monkeypatch.context() as patched:
        patched.setattr(reader.FeedReader, "read", lambda *given: real(*given).filter("false"))
        shop.restart()
        bring(2)
    shop.restart()
    bring(3)
    shop.load("orders", *(f"{number}.csv" for number in range(4)), full=True)
    bring(5)
    bring(6)
    assert outcomes() == (
        {0: RIGHT, 1: RIGHT, 2: WRONG, 3: WRONG, 4: RIGHT, 5: RIGHT, 6: RIGHT},
        [0, 2, 3, 4, 6],
    )


def test_a_file_that_was_loaded_twice_makes_its_version_wrong_and_all_behind_it(
    shop, spark, bring, outcomes
):
    bring(0)
    bring(1)
    shop.load("orders", "1.csv")  # as after a fault by which a name is forgotten
    bring(2)
    assert outcomes() == ({0: RIGHT, 1: RIGHT, 2: WRONG, 3: WRONG}, [0, 2, 3])
    (check,) = verified(spark, shop.project, [shop.project.table("orders")], "newest")
    assert check.told() == (
        "orders version 3 is wrong: 0 rows missing, 1 row extra (strategy append):"
        " the file 1.csv was loaded twice"
    )
    (told,) = verified_record({"orders": [check]})["tables"]["orders"]["wrong"]
    assert told["reason"] == check.reason
    shop.load("orders", "0.csv", "1.csv", "2.csv", full=True)
    assert outcomes()[0][4] == RIGHT


def test_a_file_without_rows_may_stand_there_twice(shop, bring, outcomes):
    bring(0)
    (shop.root / "feed" / "f" / "1.csv").write_text("no,number,here\n")
    for _ in range(2):
        shop.load("orders", "1.csv")
    bring(2)
    assert outcomes() == (dict.fromkeys(range(4), RIGHT), [0, 2, 3])


@pytest.mark.proof
def test_a_compaction_that_lost_a_row_is_found(shop, bring, outcomes, monkeypatch):
    for number in range(4):
        bring(number)
    with monkeypatch.context() as patched:  # as a fault of ours would
        patched.setattr(rewrite, "sized", lambda *given: sized(*given).filter("id <> 1"))
        shop.executor.run(shop.request("orders", upkeep="compact", definition=""))
    bring(5)
    bring(6)
    found, whole = outcomes()
    assert found == dict.fromkeys(range(4), RIGHT) | dict.fromkeys(range(4, 7), WRONG)
    assert whole == [0, 4, 5, 6]


def test_versions_behind_what_others_wrote_are_skipped(shop, bring, outcomes):
    bring(0)
    bring(1)
    deltalake.DeltaTable(shop.path("orders")).delete("id = 1")
    assert outcomes() == ({0: RIGHT, 1: RIGHT, 2: SKIPPED}, [0, 2])
