"""What a run counts: updates, rows, durations. An observer of the run."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.runtime.health.deadlines import TIMEOUT
from freshline.runtime.notices import Level
from freshline.runtime.report_jobs import ReportStep
from freshline.runtime.tracks import Outcome

# A scrape would have one more line for each counter, which says when the run began.
disable_created_metrics()  # type: ignore[no-untyped-call]  # of the library

UNKNOWN = "unknown"
"""The strategy of an update that failed: the executor chooses it, and had no answer."""

_UPDATE_BUCKETS_S = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
_ERROR_BUCKETS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_DECISION_BUCKETS_S = (
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
)  # fmt: skip


class RunCounts:
    """Counts since the start of the process.

    Args:
        registry: Where the metrics are registered.
        tables: Whose failures are counted from 0: ``increase`` of Prometheus sees no step where a
            counter's first sample is 1.
    """

    def __init__(self, registry: CollectorRegistry, tables: Iterable[str] = ()) -> None:
        self._updates = Counter(
            "freshline_updates",
            "Updates that ended; outcome is committed or failed",
            ("table", "strategy", "outcome"),
            registry=registry,
        )
        for table in tables:
            self._updates.labels(table, UNKNOWN, "failed")
        self._rows = Counter(
            "freshline_update_rows", "Rows that updates wrote", ("table",), registry=registry
        )
        self._duration_s = Histogram(
            "freshline_update_duration_seconds",
            "Seconds of an update on its track, committed ones only",
            ("strategy",),
            buckets=_UPDATE_BUCKETS_S,
            registry=registry,
        )
        self._error_s = Histogram(
            "freshline_prediction_error_seconds",
            "Difference between the estimated and the measured seconds of a committed update",
            buckets=_ERROR_BUCKETS_S,
            registry=registry,
        )
        self._timeouts = Counter(
            "freshline_update_timeouts",
            "Updates that ran for longer than their limit and were cancelled",
            ("table",),
            registry=registry,
        )
        self._starts = Counter(
            "freshline_spark_starts", "Starts of Spark's process in this run", registry=registry
        )
        self._losses = Counter(
            "freshline_spark_losses",
            "How often Spark was lost and started again; reason is the code of the error",
            ("reason",),
            registry=registry,
        )
        self._decision_s = Histogram(
            "freshline_decision_duration_seconds",
            "Seconds that the scheduler took to decide at one instant",
            buckets=_DECISION_BUCKETS_S,
            registry=registry,
        )

    def ready(self, seconds: float) -> None:
        """Spark is ready, for the first time or again."""
        self._starts.inc()

    def spark_lost(self, why: PlatformError) -> None:
        """Spark is lost and is started again."""
        self._losses.labels(why.code).inc()

    def started(self, command: StartUpdate) -> None:
        """An update starts; it is counted when it ends."""

    def decided(self, seconds: float) -> None:
        """The scheduler decided at one instant."""
        self._decision_s.observe(seconds)

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended."""
        table, result = outcome.command.table, outcome.result
        if result is None:
            strategy = outcome.command.upkeep or UNKNOWN
            self._updates.labels(table, strategy, "failed").inc()
            if isinstance(outcome.error, PlatformError) and outcome.error.code == TIMEOUT:
                self._timeouts.labels(table).inc()
            return
        self._updates.labels(table, result.strategy, "committed").inc()
        self._rows.labels(table).inc(result.rows)
        self._duration_s.labels(result.strategy).observe(outcome.seconds)
        # A repeated one was computed by an earlier attempt; upkeep is only guessed at.
        if not (result.repeated or outcome.command.upkeep):
            self._error_s.observe(abs(outcome.seconds - outcome.command.expected_s))

    def report(self, step: ReportStep) -> None:
        """Something happened to a report; nothing is counted."""

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear; nothing is counted."""
