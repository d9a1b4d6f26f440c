"""What people, probes and Prometheus are told: reports that are late, rows and feeds that fail."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from freshline.render.status import faults, remarks, status_record
from freshline.runtime.alerts.conditions import Conditions
from freshline.runtime.metrics.standing import report_families
from freshline.runtime.options import RunOptions
from freshline.runtime.reports.store import ReportStatus, WantedReport
from freshline.runtime.status.blame import Blame
from freshline.runtime.status.source_status import SourceStatus
from freshline.runtime.status.status import read_status
from freshline.runtime.status.waiting import Goal
from tests.support.shop import made_shop


def _window(name: str, end_s: float, deadline_s: float, **stands) -> ReportStatus:
    wanted = WantedReport(name, "daily", None, None, end_s - 60.0, end_s, deadline_s)
    return ReportStatus(wanted, **stands)


def _status(root: Path, now_s: float, *reports: ReportStatus):
    shop = made_shop(root, {"orders": ()})
    return shop, dataclasses.replace(read_status(shop.project, now_s), reports=reports)


def test_a_report_behind_its_deadline_is_late_for_prometheus_and_has_no_slack(tmp_path):
    """FreshlineReportLate (docs/monitoring/rules.yml) fires by freshline_report_late == 1."""
    open_one = _window("daily@1", 300.0, 330.0, state="live", slack_s=40.0)
    _, status = _status(tmp_path, 500.0, open_one)
    assert any("behind its deadline" in line for line in faults(status))
    values = {
        sample.name: sample.value for family in report_families(status) for sample in family.samples
    }
    assert values["freshline_report_late"] == 1.0
    assert values["freshline_report_slack_seconds"] <= 330.0 - 500.0
    (record,) = status_record(status)["reports"]
    assert record["slack_s"] <= 330.0 - 500.0


def test_a_window_given_up_is_told_until_a_later_one_is_made(tmp_path):
    second = _window("daily@2", 480.0, 600.0, state="failed", error="no such column")
    first = _window("daily@1", 200.0, 230.0, state="failed", error="no such column")
    shop, status = _status(tmp_path, 500.0, second, first)
    alerts = Conditions(shop.project).now(status)
    assert ("report-late", "daily@1") in alerts
    assert any(line.startswith("daily@1") for line in faults(status))


def test_rows_that_fit_since_a_reload_are_not_told_as_rejected(tmp_path, monkeypatch):
    """A reload replaces TABLE__rejected; the journal adds its count to the one before."""
    shop = made_shop(tmp_path, {"orders": ()})
    result, rejects = shop.executor._result, [3]
    monkeypatch.setattr(
        shop.executor, "_result",
        lambda request, *given, **named: dataclasses.replace(
            result(request, *given, **named), rejected_rows=rejects[0]
        ),
    )  # fmt: skip
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    assert any("3 rows do not fit" in line for line in remarks(read_status(shop.project, 0.0)))
    rejects[0] = 0  # the schema was corrected
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    shop.warehouse(options).run()
    assert any(request.full for request in shop.executor.requests)
    told = remarks(read_status(shop.project, 0.0))
    assert not [line for line in told if "not fit the schema" in line]


@pytest.mark.parametrize("table", ["orders", "total"])
def test_what_keeps_a_delta_feed_from_being_read_is_the_reason(tmp_path, table):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    source = SourceStatus(
        "orders_feed", "orders", "/lake/orders", "missing", 5.0,
        "there is no Delta table at /lake/orders", 3, 0, 0.0,
    )  # fmt: skip
    found = read_status(shop.project, 1000.0)
    status = dataclasses.replace(
        found, run=dataclasses.replace(found.run, running=True), note=None, sources=(source,)
    )
    blame = Blame(shop.project, status, {"orders": 900.0, "total": 900.0})
    why = blame.of(table, Goal(within_s=10.0).is_met)
    assert "there is no Delta table" in why
