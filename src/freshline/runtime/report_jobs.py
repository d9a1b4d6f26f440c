"""Batches of reports on their way to their track and back, as observers of a run see them."""

from __future__ import annotations

from dataclasses import dataclass

from freshline.executor.report_records import BatchRequest, BatchResult, Window


@dataclass(frozen=True, slots=True)
class Job:
    """One batch to run.

    Attributes:
        name: The report's.
        request: What is asked of Spark.
        rows: Of the streams' updates that it works off.
        expected_s: What it should take, by learned costs.
        planned: The planner ordered it, and waits for its end.
        attempt: 1 for the first try.
    """

    name: str
    request: BatchRequest
    rows: int
    expected_s: float
    planned: bool
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class JobEnded:
    """How a batch ended: ``result``, or ``error`` where it failed."""

    job: Job
    seconds: float
    result: BatchResult | None
    error: Exception | None


@dataclass(frozen=True, slots=True)
class JobWithdrawn:
    """Nobody wants a report any longer; no batch of it runs."""

    name: str
    window: Window


ReportStep = Job | JobEnded | JobWithdrawn
"""What a run's observer hears of reports: a batch starts, it ends, nobody wants its report."""
