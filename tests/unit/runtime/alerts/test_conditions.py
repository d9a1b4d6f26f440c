"""What each status holds that is wrong, kind by kind."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.runtime.alerts.conditions import Conditions, unbuilt
from freshline.runtime.reports.store import ReportStatus, WantedReport
from freshline.runtime.status.status import FileTrouble, read_status
from freshline.runtime.status.topic_status import TopicStatus
from freshline.runtime.status.watched import FeedStatus, WatchedTable
from tests.support.shop import made_shop

NOW_S = 1_000_000.0


class Standing:
    """A status of a project at rest, changed piece by piece."""

    def __init__(self, root):
        shop = made_shop(root, {"orders": (), "total": ("orders",)}, lags={"total": 60.0})
        self.conditions = Conditions(shop.project)
        found = read_status(shop.project, NOW_S)
        self.status = dataclasses.replace(
            found, run=dataclasses.replace(found.run, running=True), note=None
        )

    def table(self, name, **fields):
        tables = tuple(
            dataclasses.replace(item, **fields) if item.name == name else item
            for item in self.status.tables
        )
        self.status = dataclasses.replace(self.status, tables=tables)

    def put(self, **fields):
        self.status = dataclasses.replace(self.status, **fields)

    def found(self):
        """Kind, subject, since and reason of all."""
        return [
            (each.kind, each.subject, each.since_s, each.reason)
            for each in self.conditions.now(self.status).values()
        ]


@pytest.fixture
def standing(tmp_path):
    return Standing(tmp_path)


def test_where_all_is_well_nothing_is_found(standing):
    standing.table("total", freshness_s=NOW_S - 60.0, staleness_s=60.0, within_target=True)
    standing.table("orders", freshness_s=NOW_S, staleness_s=0.0, pending_files=3, state="waiting")
    assert standing.found() == []


def test_a_table_that_was_never_built_is_late_once_its_target_has_passed(standing):
    def started(ago_s):
        run = dataclasses.replace(standing.status.run, since_s=NOW_S - ago_s)
        standing.put(run=run)
        return standing.found()

    standing.table("orders", freshness_s=NOW_S, staleness_s=0.0, state="fresh")
    running = {"state": "running", "next": "running on track 0 for 2 min"}
    standing.table("total", waits_since_s=NOW_S - 600.0, **running)
    assert started(59.0) == []
    reason = "never built: running on track 0 for 2 min"
    assert started(61.0) == [("late", "total", NOW_S - 1.0, reason)]
    # Its work came long after the start.
    standing.table("total", waits_since_s=NOW_S - 59.0)
    assert started(7200.0) == []
    standing.table("total", waits_since_s=NOW_S - 61.0)
    assert started(7200.0) == [("late", "total", NOW_S - 1.0, reason)]
    # Nothing has come for it, or it was paused before anything did.
    for state in ("new", "paused"):
        standing.table("total", state=state, waits_since_s=None)
        assert started(7200.0) == []


def test_lateness_of_a_table_with_a_target_lasts_until_it_has_data(standing):
    assert unbuilt(standing.status) == {("late", "total")}
    standing.table("total", state="dropped")
    assert unbuilt(standing.status) == set()
    standing.table("total", state="fresh", freshness_s=NOW_S)
    assert unbuilt(standing.status) == set()


def test_it_ends_where_all_that_waited_for_a_first_load_vanished(standing):
    def lasts(**fields):
        item = {"target_lag_s": 60.0, "pending_files": 0, "waits_since_s": None, "troubles": ()}
        standing.table("orders", **item | fields)
        return ("late", "orders") in unbuilt(standing.status)

    assert lasts(pending_files=1)  # known over a restart
    assert lasts(waits_since_s=NOW_S - 90.0)
    assert lasts(troubles=(FileTrouble("a.csv", "quarantined", "not UTF-8", 3, None),))
    assert not lasts(troubles=(FileTrouble("a.csv", "vanished", "it is gone", 3, None),))
    assert not lasts()


def test_a_late_table_since_it_was_past_its_target(standing):
    standing.table("total", freshness_s=NOW_S - 90.0, staleness_s=90.0, within_target=False)
    assert standing.found() == [
        ("late", "total", NOW_S - 30.0, "waits for orders: feed orders_feed brought no newer data")
    ]


def test_a_paused_table_is_late_by_somebody_s_wish(standing):
    standing.table(
        "total", freshness_s=NOW_S - 90.0, staleness_s=90.0, within_target=False, state="paused",
        next="paused; `freshline resume total`",
    )  # fmt: skip
    assert standing.found()[0][3] == "paused; `freshline resume total`"


def test_failing_updates_a_topic_and_a_folder_that_cannot_be_read(standing):
    standing.table("total", failures=2, error="no memory")
    standing.put(
        topics=(
            TopicStatus("orders_feed", "orders", "t", "missing", 5.0, "no topic", {}, 0, None, 0),
        )
    )
    assert standing.found() == [
        ("failing", "orders", NOW_S, "feed orders_feed: no topic"),
        ("failing", "total", NOW_S, "no memory"),
    ]
    standing.put(topics=(), feeds=(FeedStatus("orders_feed", 1.0, 1.0, 1.0, None, None, "denied"),))
    assert standing.found()[0] == ("failing", "orders", NOW_S, "feed orders_feed: denied")


def test_a_silent_feed_while_somebody_listens(standing):
    standing.put(feeds=(FeedStatus("orders_feed", NOW_S - 30.0, 10.0, 1.0, NOW_S - 19.0, None),))
    assert standing.found() == [
        ("silent", "orders_feed", NOW_S - 19.0, "nothing for 30 s, expected every 10 s")
    ]
    standing.put(run=dataclasses.replace(standing.status.run, running=False))
    assert standing.found() == []


def test_quarantine_counts_its_files(standing):
    troubles = tuple(
        FileTrouble(name, state, "no CSV", 5, None)
        for name, state in (("a", "quarantined"), ("b", "retrying"), ("c", "quarantined"))
    )
    standing.table("orders", troubles=troubles)
    (condition,) = standing.conditions.now(standing.status).values()
    assert (condition.kind, condition.reason) == ("quarantine", "no CSV")
    assert (condition.data["files"], condition.data["count"]) == (["a", "c"], 2)


def test_a_broken_bound_holds_until_the_table_is_within_it(standing):
    def watched(count):
        violations = {"a feed was out": count} if count else {}
        return WatchedTable(
            bounds_s={"staleness": 30.0}, violations=violations, last_violation="staleness 40 s"
        )

    standing.put(watched={"total": watched(0)})
    standing.table("total", staleness_s=40.0)
    assert standing.found() == []  # beyond it, and the guarantee says not broken: it was excused
    standing.put(watched={"total": watched(1)})
    assert standing.found() == [("bound-broken", "total", NOW_S, "staleness 40 s")]
    assert standing.found() == [("bound-broken", "total", NOW_S, "staleness 40 s")]
    standing.table("total", staleness_s=10.0)
    assert standing.found() == []
    standing.put(watched={"total": watched(2)})  # broken and kept again between two looks
    assert len(standing.found()) == 1
    assert standing.found() == []


@pytest.mark.parametrize(
    ("report", "late"),
    [
        ({"state": "live"}, True),
        ({"state": "asked"}, True),
        ({"state": "failed", "error": "no"}, True),
        ({"state": "withdrawn"}, False),
        ({"state": "done", "finish_s": NOW_S - 5.0, "late": "tracks were busy"}, True),
        ({"state": "done", "finish_s": NOW_S - 15.0, "late": "tracks were busy"}, False),
        ({"state": "done", "finish_s": NOW_S - 25.0}, False),
    ],
)
def test_a_report_past_its_deadline(standing, report, late):
    wanted = WantedReport("daily@1", "daily", None, None, 0.0, NOW_S - 60.0, NOW_S - 20.0)
    standing.put(reports=(ReportStatus(wanted, **report),))
    reason = report.get("late") or report.get("error") or "it is not made yet"
    expected = [("report-late", "daily@1", NOW_S - 20.0, reason)] if late else []
    assert standing.found() == expected


def test_a_window_that_was_given_up_is_late_until_a_later_one_is_made(standing):
    wanted = [
        WantedReport(f"daily@{day}", "daily", None, None, 0.0, NOW_S - 60.0 + day, NOW_S - 20.0)
        for day in (1, 2)
    ]
    given_up = ReportStatus(wanted[0], "failed", error="no")
    for state in ("live", "failed", "withdrawn"):
        standing.put(reports=(ReportStatus(wanted[1], state), given_up))
        named = {"daily@1"} if state == "withdrawn" else {"daily@1", "daily@2"}
        assert {found[1] for found in standing.found()} == named
    made = ReportStatus(wanted[1], "done", finish_s=NOW_S - 25.0)
    standing.put(reports=(made, given_up))
    assert standing.found() == []


def test_a_late_report_is_told_however_far_apart_two_looks_are(standing):
    assert standing.found() == []
    wanted = WantedReport("daily@1", "daily", None, None, 0.0, NOW_S, NOW_S + 5.0)
    made = ReportStatus(wanted, "done", finish_s=NOW_S + 8.0, late="tracks were busy")
    standing.put(reports=(made,), now_s=NOW_S + 60.0)
    assert standing.found() == [("report-late", "daily@1", NOW_S + 5.0, "tracks were busy")]
    standing.put(now_s=NOW_S + 61.0)
    assert standing.found() == []


def test_a_report_before_its_deadline_is_not_late(standing):
    wanted = WantedReport("daily@1", "daily", None, None, 0.0, NOW_S - 60.0, NOW_S + 20.0)
    standing.put(reports=(ReportStatus(wanted, "live"),))
    assert standing.found() == []
