"""How the tables and feeds of a run stand now, read from the journal at each scrape."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from freshline import __version__
from freshline.core.background.upkeep import VERIFY
from freshline.core.oversight.bounds import Reason
from freshline.executor.verified import RIGHT, SKIPPED, WRONG
from freshline.project.model import Project
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.reports.store import GIVEN_UP, OPEN, ReportStatus, standing
from freshline.runtime.status.status import TableStatus, WarehouseStatus, read_status
from freshline.runtime.status.target_history import lately

LEADER = ("freshline_leader", "1 where this process runs the warehouse")
STATES = ("wrong", "new", "fresh", "waiting", "running", "retrying", "paused")
_ACCOUNT_COST = 100.0
"""The day's account of all tables is read again after so many times what reading it took."""

Value = Callable[[TableStatus], float | None]
_TABLE_GAUGES: tuple[tuple[str, str, Value], ...] = (
    (
        "fresh_to_timestamp_seconds",
        "The table holds all data up to this time",
        lambda item: item.freshness_s,
    ),
    (
        "staleness_seconds",
        "Now less freshline_table_fresh_to_timestamp_seconds",
        lambda item: item.staleness_s,
    ),
    ("target_lag_seconds", "The staleness that is asked for", lambda item: item.target_lag_s),
    ("priority", "The table's priority", lambda item: item.priority),
    (
        "pending_files",
        "Files or ranges of offsets that arrived and are in no commit",
        lambda item: item.pending_files,
    ),
)


class Standing(Collector):
    """Gauges of one project.

    Args:
        project: Whose journal is read.
        clock: Wall-clock seconds since the epoch.
        leads: Whether this process has the storage's lease; by the lock where it is not given.
    """

    def __init__(
        self,
        project: Project,
        clock: Callable[[], float] = time.time,
        leads: Callable[[], bool] | None = None,
    ) -> None:
        self._project = project
        self._leads = leads
        self._clock = clock
        self._lock = threading.Lock()
        self._weighted = WeightedStaleness()
        self._ratios: dict[str, float] = {}
        self._ratios_due_s = 0.0

    def collect(self) -> Iterator[Metric]:
        """All families.

        Raises:
            PlatformError: The journal cannot be read.
        """
        with self._lock:  # two scrapes at once would both add to the integral
            now_s = self._clock()
            status = read_status(self._project, now_s, account=False)
            rows = self._rows(status, now_s)
            integral_s = self._weighted.advanced(status, rows, now_s)
            ratios = dict(self._ratios)
        yield from table_families(status, ratios)
        leads = status.run.running and status.run.pid == os.getpid()
        yield from warehouse_families(status, leads=leads if self._leads is None else self._leads())
        yield CounterMetricFamily(
            "freshline_weighted_staleness_seconds",
            "Integral of freshline_weighted_staleness over the time of this run",
            value=integral_s,
        )
        yield from feed_families(self._project, status, rows)
        yield from report_families(status)

    def _rows(self, status: WarehouseStatus, now_s: float) -> dict[str, Row]:
        """The journal's rows of the tables; also brings the ratios up to date."""
        with journal_read(self._project) as journal:
            if status.note is not None or journal is None:
                return {}  # no run has written it yet
            if time.monotonic() >= self._ratios_due_s:
                self._read_ratios(status, journal, now_s)
            return {row["name"]: row for row in journal.rows("SELECT * FROM tables")}

    def _read_ratios(self, status: WarehouseStatus, journal: Journal, now_s: float) -> None:
        started_s = time.monotonic()
        self._ratios = {}
        for item in status.tables:
            if item.target_lag_s is not None:
                share = lately(journal, item.name, item.target_lag_s, now_s).within
                if share is not None:
                    self._ratios[item.name] = share
        ended_s = time.monotonic()
        self._ratios_due_s = ended_s + _ACCOUNT_COST * (ended_s - started_s)


class WeightedStaleness:
    """The integral of priority * staleness, summed over the tables; it never falls.

    The journal holds each table's integral of staleness at its last change; between changes
    staleness grows with the clock. A change of priority counts from the next reading on.
    """

    def __init__(self) -> None:
        self._areas_s2: dict[str, float] = {}
        self.total = 0.0

    def advanced(self, status: WarehouseStatus, rows: Mapping[str, Row], now_s: float) -> float:
        """The integral up to now."""
        for item in status.tables:
            row = rows.get(item.name)
            area_s2 = None if row is None else _area_s2(row, status.run.since_s, now_s)
            if area_s2 is None or item.priority is None:
                continue
            grown_s2 = area_s2 - self._areas_s2.get(item.name, 0.0)
            if grown_s2 > 0.0:
                self._areas_s2[item.name] = area_s2
                self.total += item.priority * grown_s2
        return self.total


def _area_s2(row: Row, since_s: float | None, now_s: float) -> float | None:
    """A table's integral of staleness in this run; None before its first change in it."""
    area_s2, at_s, freshness_s = row["staleness_area_s2"], row["measured_s"], row["freshness_s"]
    if None in (area_s2, at_s, freshness_s, since_s) or at_s < since_s:
        return None
    past_s = max(0.0, now_s - at_s)
    return float(area_s2 + (max(0.0, now_s - freshness_s) - 0.5 * past_s) * past_s)


def table_families(status: WarehouseStatus, ratios: Mapping[str, float]) -> Iterator[Metric]:
    """What there is for each table of the project.

    A counter is there before it counts: where its first sample is 1, ``increase`` sees no step.
    """
    tables = [item for item in status.tables if item.state != "dropped"]
    for name, text, value in _TABLE_GAUGES:
        yield _gauge(
            f"table_{name}", text, {item.name: value(item) for item in tables}, label="table"
        )
    yield _gauge(
        "table_within_target_ratio",
        "Share of the last day in which the table was within its target",
        ratios,
        label="table",
    )
    yield _gauge(
        "table_unbuilt_late_timestamp_seconds",
        "When a table with a target became late that has work and was never built",
        {item.name: status.unbuilt_late_s(item) for item in tables},
        label="table",
    )
    yield _gauge(
        "table_staleness_bound_seconds",
        "The largest staleness that policy aus guarantees",
        {item.name: status.watched_table(item.name).bounds_s.get("staleness") for item in tables},
        label="table",
    )
    states = GaugeMetricFamily(
        "freshline_table_state", "1 for the state that the table is in", labels=("table", "state")
    )
    for item in tables:
        for state in dict.fromkeys((*STATES, item.state)):
            states.add_metric((item.name, state), float(state == item.state))
    yield states
    yield _gauge(
        "quarantined_files",
        "Files that could not be read and are tried again only by `freshline retry`",
        {
            item.name: sum(trouble.state == "quarantined" for trouble in item.troubles)
            for item in tables
            if item.kind == "base"
        },
        label="table",
    )
    yield _gauge(
        "changed_files",
        "Files that changed after they were loaded",
        {
            item.name: sum(trouble.state == "changed" for trouble in item.troubles)
            for item in tables
            if item.kind == "base"
        },
        label="table",
    )
    rejected = CounterMetricFamily(
        "freshline_rejected_rows",
        "Rows that did not fit the table's schema, ever",
        labels=("table",),
    )
    broken = CounterMetricFamily(
        "freshline_bounds_broken",
        "How often a table exceeded what policy aus guarantees, in this run",
        labels=("table", "cause"),
    )
    audits = CounterMetricFamily(
        "freshline_audits",
        "Versions of views that idle tracks verified, ever; outcome is right, wrong or skipped",
        labels=("table", "outcome"),
    )
    for item in tables:
        if item.kind == "base":
            rejected.add_metric((item.name,), item.rejected_rows)
        if item.kind == "derived":
            found = {
                use.code: use.updates for use in status.uses(item.name) if use.strategy == VERIFY
            }
            for outcome in (RIGHT, WRONG, SKIPPED):
                audits.add_metric((item.name, outcome), found.get(outcome, 0))
        violations = status.watched_table(item.name).violations
        if violations is not None:
            for reason in Reason:
                broken.add_metric((item.name, reason.value), violations.get(reason.value, 0))
    yield rejected
    yield broken
    yield audits


def warehouse_families(status: WarehouseStatus, *, leads: bool) -> Iterator[Metric]:
    """What there is once."""
    yield GaugeMetricFamily(
        "freshline_weighted_staleness",
        "Sum of priority * staleness in seconds over all tables, now",
        value=sum(
            item.priority * item.staleness_s
            for item in status.tables
            if item.priority is not None and item.staleness_s is not None
        ),
    )
    busy = len({item.track for item in status.tables if item.track is not None})
    tracks = GaugeMetricFamily(
        "freshline_tracks", "Tracks that are busy and idle", labels=("state",)
    )
    tracks.add_metric(("busy",), busy)
    tracks.add_metric(("idle",), max(0, status.run.tracks - busy))
    yield tracks
    yield GaugeMetricFamily(*LEADER, value=leads)
    build = GaugeMetricFamily(
        "freshline_build_info", "Versions; always 1", labels=("version", "spark", "delta")
    )
    build.add_metric((__version__, version("pyspark"), version("delta-spark")), 1.0)
    yield build


def report_families(status: WarehouseStatus) -> Iterator[Metric]:
    """What there is for each report: of the window whose deadline is next, or of the last one."""
    shown: dict[str, ReportStatus] = {}
    for each in status.reports:  # the open ones by deadline, then the others, newest first
        shown.setdefault(each.wanted.view, each)
    # A run always has the window of now open, beside which those before may be behind or given up.
    late = {
        each.wanted.view
        for each in standing(status.reports)
        if each.state == GIVEN_UP
        or (each.state in OPEN and each.behind_s(status.now_s) is not None)
    }
    values: tuple[tuple[str, str, Callable[[ReportStatus], float | None]], ...] = (
        (
            "deadline_timestamp_seconds",
            "When the report's next result is due, or its last one was",
            lambda each: each.wanted.deadline_s,
        ),
        (
            "slack_seconds",
            "What the plan leaves before that deadline, never more than the time left",
            lambda each: each.slack_left_s(status.now_s),
        ),
        ("batches", "Batches of that result that are done", lambda each: each.batches),
        (
            "late",
            "1 where that deadline was or will be missed, or another window is behind or given up",
            lambda each: float(
                each.late is not None
                or each.wanted.view in late
                or (each.foreseen and each.state in OPEN)
            ),
        ),
    )
    for name, text, value in values:
        yield _gauge(
            f"report_{name}", text, {report: value(each) for report, each in shown.items()},
            label="report",
        )  # fmt: skip


def feed_families(
    project: Project, status: WarehouseStatus, rows: Mapping[str, Row]
) -> Iterator[Metric]:
    """What there is for each feed that a table reads."""
    newest: dict[str, float] = {}
    for table in project.tables:
        row = rows.get(table.name)
        if table.feed is not None and row is not None and row["trailing_edge_s"] is not None:
            newest[table.feed] = max(newest.get(table.feed, 0.0), row["trailing_edge_s"])
    yield _gauge(
        "feed_newest_timestamp_seconds", "Newest data that the feed brought", newest, label="feed"
    )
    yield _gauge(
        "feed_silent",
        "1 where the feed brought nothing when it was due",
        {
            feed.name: float(status.run.running and feed.silent_since_s is not None)
            for feed in status.feeds
        },
        label="feed",
    )
    lags: dict[str, float] = {}
    for topic in status.topics:  # of several readers the one furthest behind
        lags[topic.feed] = max(lags.get(topic.feed, 0.0), float(topic.lag_offsets))
    yield _gauge(
        "feed_lag_records",
        "Offsets of the Kafka topic that were seen and are in no commit",
        lags,
        label="feed",
    )
    versions: dict[str, float] = {}
    for source in status.sources:
        versions[source.feed] = max(versions.get(source.feed, 0.0), float(source.lag_versions))
    yield _gauge(
        "feed_lag_versions",
        "Versions of the Delta table that changed rows, were seen and are in no commit",
        versions,
        label="feed",
    )


def _gauge(name: str, text: str, values: Mapping[str, float | None], *, label: str) -> Metric:
    family = GaugeMetricFamily(f"freshline_{name}", text, labels=(label,))
    for key, value in values.items():
        if value is not None:
            family.add_metric((key,), value)
    return family
