"""Old files go, however long a retention is and however long the windows of reports are."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from freshline.core.errors import Place
from freshline.executor.records import UpdateResult
from freshline.project.deadlines import read_deadline
from freshline.project.model import MaintenanceSettings, Project, ReportSettings, TableDef
from freshline.spark.updates import SparkExecutor
from freshline.spark.upkeep.vacuum import vacuum
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark

DAY_S = 86_400.0
HERE = Place("tables.sql", 1)


def vacuumed(shop: Shop, project: Project, table: str) -> UpdateResult:
    """Two months later."""
    later_s = time.time() + 60 * DAY_S
    session = shop.session.newSession()
    return vacuum(session, project, project.table(table), clock=lambda: later_s)


def data_files(path: str) -> int:
    return len(list(Path(path).glob("*.parquet")))


@pytest.mark.parametrize("days", [1, 30])
def test_of_states(shop, monkeypatch, days):
    monkeypatch.setattr("freshline.spark.views.state._MOST_APPENDS", 0)
    folder = shop.feed("f", "csv", "id BIGINT, k BIGINT")
    shop.table("orders", "SELECT id, k FROM STREAM f")
    shop.table("means", "SELECT k, avg(id) AS mean FROM orders GROUP BY k", refresh="incremental")
    for number in range(1, 5):
        (folder / f"{number}.csv").write_text(f"{number},{number % 2}\n")
        shop.load("orders", f"{number}.csv", filled=number > 1)
        shop.derive("means", orders=number - 1)
    settings = MaintenanceSettings(retention_s=days * DAY_S)
    project = dataclasses.replace(shop.project, maintenance=settings)
    (state,) = (Path(project.own_path) / "state" / "means").iterdir()
    needed = len(DeltaTable(str(state)).file_uris())
    assert data_files(str(state)) > needed
    vacuumed(shop, project, "means")
    assert data_files(str(state)) == needed


@pytest.mark.parametrize("window_days", [1, 7])
def test_of_tables_that_a_report_reads(shop, monkeypatch, window_days):
    orders = compacted(shop, monkeypatch, window_days)
    assert data_files(orders) == 4
    done = vacuumed(shop, reported(shop, window_days), "orders")
    assert done.code == "retention"
    assert data_files(orders) == 1


def test_of_tables_that_are_older_than_the_report_is_said_what_keeps_them(shop, monkeypatch):
    orders = compacted(shop, monkeypatch, None)
    project = reported(shop, 7)
    done = vacuumed(shop, project, "orders")
    assert done.code == "unrecorded"
    before, _, statement = done.reason.partition("ALTER TABLE")
    assert before == (
        "kept everything: what is still needed goes back further than Delta's record; its versions"
        " are to be readable for 15 days, so make its record as long: "
    )
    assert data_files(orders) == 4
    shop.session.sql(f"ALTER TABLE{statement}")
    assert vacuumed(shop, project, "orders").code == "retention"
    assert data_files(orders) == 1
    (shop.root / "feed" / "f" / "4.csv").write_text("4,2026-01-01T00:00:00Z\n")
    shop.load("orders", "4.csv", filled=True)
    assert [row["id"] for row in shop.rows("orders")] == [1, 2, 3, 4]


def reported(shop: Shop, window_days: int | None) -> Project:
    """The project with a report over its table, and a retention of a day."""
    settings = MaintenanceSettings(retention_s=DAY_S)
    if window_days is None:
        return dataclasses.replace(shop.project, maintenance=settings)
    report = ReportSettings(window_days * DAY_S, read_deadline("1 hour"))
    counts = TableDef(
        "counts", "derived", "SELECT count(*) AS n FROM orders", HERE, HERE, parents=("orders",),
        report=report,
    )  # fmt: skip
    return dataclasses.replace(shop.project, reports=(counts,), maintenance=settings)


def compacted(shop: Shop, monkeypatch: pytest.MonkeyPatch, window_days: int | None) -> str:
    """A table of three files that were put together; where it is."""
    monkeypatch.setattr("freshline.delta.small_files.MOST_FILES", 3)
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP")
    shop.table("orders", "SELECT id, at FROM STREAM f", time_column="at")
    shop._executor = SparkExecutor(reported(shop, window_days), shop.session)
    for number in range(1, 4):
        (folder / f"{number}.csv").write_text(f"{number},2026-01-01T00:00:00Z\n")
        shop.load("orders", f"{number}.csv", filled=number > 1)
    shop.executor.run(shop.request("orders", upkeep="compact", definition=""))
    return shop.path("orders")
