"""What of a table's past is still needed: the retention, children, reports, unknown commits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from freshline.core.errors import Place
from freshline.delta.loaded import fold
from freshline.delta.log import same_rows
from freshline.delta.retention import (
    DAY_S,
    files_needed_since_s,
    log_kept_since_s,
    log_needed_since_s,
    state_needed_since_s,
)
from freshline.project.deadlines import read_deadline
from freshline.project.model import MaintenanceSettings, Project, ReportSettings, TableDef

NOW_S = 100 * DAY_S
HOUR_S = 3600.0
HERE = Place("tables.sql", 1)


@pytest.fixture
def shop(tmp_path):
    def table(name, *parents):
        return TableDef(name, "derived" if parents else "base", "", HERE, HERE, parents=parents)

    return Project(
        "shop",
        tmp_path,
        str(tmp_path / "warehouse"),
        (table("orders"), table("slow", "orders"), table("quick", "orders")),
        {},
        maintenance=MaintenanceSettings(retention_s=2 * DAY_S),
    )


def commit(project, table, version, day, parents=None, strategy="full"):
    """A commit made at the start of a day."""
    folder = Path(project.table_path(table)) / "_delta_log"
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"freshline": 1, "table": table, "update": version + 1, "strategy": strategy}
    fields |= {"files": []} if table == "orders" else {}
    info = {
        "timestamp": day * DAY_S * 1000,
        "userMetadata": json.dumps({**fields, "parents": parents or {}}),
    }
    (folder / f"{version:020d}.json").write_text(json.dumps({"commitInfo": info}))


def since(project, table="orders"):
    return files_needed_since_s(project, project.table(table), NOW_S)


def test_without_children_that_lag_the_retention_alone_counts(shop):
    for version, day in enumerate((50, 90, 99)):
        commit(shop, "orders", version, day)
    assert since(shop) == NOW_S - 2 * DAY_S
    commit(shop, "quick", 0, 99, {"orders": 2})
    assert since(shop) == NOW_S - 2 * DAY_S


def test_the_slowest_child_holds_what_came_after_its_version_with_an_hour_to_spare(shop):
    for version, day in enumerate((50, 90, 99)):
        commit(shop, "orders", version, day)
    commit(shop, "slow", 0, 51, {"orders": 0})
    commit(shop, "quick", 0, 91, {"orders": 1})
    assert since(shop) == 50 * DAY_S - HOUR_S


def test_a_child_whose_version_is_no_longer_known_stops_everything(shop):
    commit(shop, "orders", 2, 99)
    commit(shop, "slow", 0, 51, {"orders": 1})
    assert since(shop) is None


@pytest.mark.parametrize(("window_days", "kept_days"), [(0.25, 2.0), (0.5, 2.0), (1.0, 3.0)])
def test_a_report_holds_two_of_its_windows_and_a_day_where_the_retention_is_shorter(
    shop, window_days, kept_days
):
    commit(shop, "orders", 0, 50)
    settings = ReportSettings(window_days * DAY_S, read_deadline("1 hour"))
    report = TableDef(
        "sales", "derived", "", HERE, HERE, parents=("orders",), report=settings
    )  # fmt: skip
    watched = dataclasses.replace(shop, reports=(report,))
    assert since(watched) == NOW_S - kept_days * DAY_S


def test_a_state_is_held_at_the_version_that_its_view_names(shop):
    path = f"{shop.own_path}/state/slow/p0"
    for version, day in enumerate((50, 90)):
        folder = Path(path) / "_delta_log"
        folder.mkdir(parents=True, exist_ok=True)
        commit(shop, "_freshline/state/slow/p0", version, day)
    assert state_needed_since_s(shop, path, 0, NOW_S) == 50 * DAY_S - HOUR_S
    assert state_needed_since_s(shop, path, 1, NOW_S) == NOW_S - 2 * DAY_S


def test_commits_are_kept_for_the_retention_for_slow_children_and_until_they_are_folded(shop):
    for version in range(120):
        commit(shop, "slow", version, 40 + version / 2)
        commit(shop, "orders", version, 40 + version / 2)
    assert log_needed_since_s(shop, shop.table("orders"), NOW_S) is None
    assert log_needed_since_s(shop, shop.table("slow"), NOW_S) == NOW_S - 3 * DAY_S
    assert fold(shop, "orders") == 119
    assert log_needed_since_s(shop, shop.table("orders"), NOW_S) == NOW_S - 3 * DAY_S
    month = dataclasses.replace(shop, maintenance=MaintenanceSettings(retention_s=40 * DAY_S))
    assert log_needed_since_s(month, shop.table("orders"), NOW_S) == NOW_S - 41 * DAY_S
    commit(shop, "quick", 0, 70, {"orders": 100})
    assert log_needed_since_s(shop, shop.table("orders"), NOW_S) == 50 * DAY_S - HOUR_S

    above = TableDef("above", "derived", "", HERE, HERE, parents=("slow",))
    deeper = dataclasses.replace(shop, tables=(*shop.tables, above))
    commit(deeper, "above", 0, 70, {"slow": 100})
    # Eighty versions more: what the child's version is read from.
    assert log_needed_since_s(deeper, deeper.table("slow"), NOW_S) == 50 * DAY_S - HOUR_S


def test_our_last_update_stays_in_the_log_however_much_others_commit_behind_it(shop):
    commit(shop, "slow", 0, 39)
    commit(shop, "slow", 1, 40)
    commit(shop, "slow", 2, 41, strategy="compact")
    for version in range(3, 60):
        log = Path(shop.table_path("slow")) / "_delta_log"
        info = {"timestamp": (39 + version) * DAY_S * 1000, "operation": "OPTIMIZE"}
        (log / f"{version:020d}.json").write_text(json.dumps({"commitInfo": info}))
    kept_s = 40 * DAY_S - HOUR_S
    assert log_needed_since_s(shop, shop.table("slow"), NOW_S) == kept_s
    assert log_kept_since_s(shop, shop.table_path("slow"), NOW_S) == kept_s


@pytest.mark.parametrize(
    ("strategies", "older", "newer", "same"),
    [
        (("full", "compact", "compact"), 0, 2, True),
        (("full", "compact", "full"), 0, 2, False),
        (("full", "append", "compact"), 1, 2, True),
        (("full",), 0, 0, True),
        (("full", "compact"), 1, 0, False),
        (("full", "compact"), 0, 2, False),
    ],
)
def test_versions_have_the_same_rows_where_only_compactions_lie_between(
    shop, strategies, older, newer, same
):
    for version, strategy in enumerate(strategies):
        commit(shop, "orders", version, 50 + version, strategy=strategy)
    assert same_rows(shop.table_path("orders"), older, newer) is same


@pytest.mark.parametrize(("retention_days", "kept_days"), [(2, 2), (7, 7), (40, 7)])
def test_a_state_is_kept_no_longer_than_delta_knows_what_became_of_its_files(
    shop, retention_days, kept_days
):
    settings = MaintenanceSettings(retention_s=retention_days * DAY_S)
    project = dataclasses.replace(shop, maintenance=settings)
    commit(project, "_freshline/state/slow/p0", 0, 50)
    path = f"{project.own_path}/state/slow/p0"
    assert state_needed_since_s(project, path, 0, NOW_S) == NOW_S - kept_days * DAY_S
