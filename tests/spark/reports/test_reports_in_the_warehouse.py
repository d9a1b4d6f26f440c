"""A report through the whole product: submitted, killed at steps of its own, made once.

At one step in every run of the tests, at all four by ``make proof``.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from freshline.delta.log import commits
from tests.spark.proof.support import Child, run_here
from tests.spark.reports.live import ORDERS, ORDERS_FEED, Folder
from tests.support.share import WHOLE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PROJECT = """\
name: shop
storage: warehouse
maintenance: {trials: false}
libraries:
  - glob: {include: tables/*.sql}
spark: {master: "local[2]"}
scheduler: {tracks: 1, policy: max-benefit}
"""
FEED = ORDERS_FEED + "    period: 60 seconds\n"
SALES = """\
CREATE MATERIALIZED VIEW sales_of_day
  TBLPROPERTIES ('freshline.window' = '1 day', 'freshline.deadline' = '06:00 UTC')
  AS SELECT shop, sum(price) AS revenue FROM orders GROUP BY shop;
"""
QUERY = "SELECT shop, count(*) AS n, sum(price) AS revenue FROM orders GROUP BY shop;\n"


def _killed(shop: Folder, failpoint: str) -> None:
    with Child(shop, "--until-idle", failpoint=failpoint) as child:
        assert child.wait() == -signal.SIGKILL, child.output()


def test_submitted_killed_and_made_once(spark: SparkSession, tmp_path: Path) -> None:
    shop = Folder(tmp_path, PROJECT + FEED, ORDERS + SALES)
    (tmp_path / "by_shop.sql").write_text(QUERY)
    feed = tmp_path / "feed"
    feed.mkdir()
    files = {
        "000100": "1,2026-01-01T00:00:30Z,a,1.10\n2,2026-01-01T00:00:40Z,b,2.20\n",
        "000200": "",
        # Out of order: a row of the window comes behind its end, and one of the next before.
        "000300": "3,2026-01-01T01:00:00Z,a,9.00\n4,2026-01-01T00:02:30Z,a,3.30\n",
        "010100": "5,2026-01-01T00:59:59.999Z,b,4.40\n6,2025-12-31T23:59:59.999Z,b,9.00\n",
    }
    for stamp, lines in files.items():
        (feed / f"orders-20260101T{stamp}.csv").write_text(lines)

    window = ("--window", "2026-01-01T00:00:00Z..2026-01-01T01:00:00Z")
    asked = ("report", "submit", str(tmp_path / "by_shop.sql"), *window, "--deadline", "2 hours")
    refused = shop.command(*asked)
    assert refused.exit_code == 2
    assert "deadline-too-early" in refused.stderr or "no plan meets the deadline" in refused.stderr
    assert shop.command(*asked, "--yes").exit_code == 0
    assert shop.listed()["by_shop"]["state"] == "asked"

    if WHOLE:
        _killed(shop, "report.before_start")
        _killed(shop, "report.before_final")
        (state,) = (tmp_path / "warehouse" / "_freshline" / "reports").glob("by_shop/*/*")
        assert [commit.version for commit in commits(str(state))] == [0]
    _killed(shop, "report.after_commit")
    if WHOLE:
        _killed(shop, "report.after_journal")
    run_here(shop, spark)

    table = deltalake.DeltaTable(str(tmp_path / "warehouse" / "by_shop"))
    assert table.version() == 0
    found = table.to_pyarrow_table().to_pylist()
    rows: list[dict[str, Any]] = sorted(found, key=lambda row: str(row["shop"]))
    assert [(row["shop"], row["n"], str(row["revenue"])) for row in rows] == [
        ("a", 2, "4.40"), ("b", 2, "6.60"),
    ]  # fmt: skip
    (commit,) = commits(str(tmp_path / "warehouse" / "by_shop"))
    assert commit.metadata["window"]["end"] == "2026-01-01T01:00:00.000000Z"
    assert commit.metadata["deadline"] == "2026-01-01T03:00:00.000000Z"
    assert len(commit.metadata["batches"]) == 1
    listed = shop.listed()["by_shop"]
    assert (listed["state"], listed["late"], listed["foreseen"]) == ("done", "foreseen", True)
    # Yesterday's window of the view was made too, and holds nothing.
    assert {row["state"] for row in shop.listed().values()} == {"done"}
    view = deltalake.DeltaTable(str(tmp_path / "warehouse" / "sales_of_day"))
    assert view.to_pyarrow_table().num_rows == 0
