"""Events and commands of the report scheduler. Times are virtual or wall seconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from freshline.reports.costs import CostModel, FinalCost


class InputKind(Enum):
    """How far the prediction of a report's input can be relied on (section 4.4)."""

    KNOWN = "known"
    """Tuples come as predicted."""
    RATE_VARIES = "rate varies"
    """As many as predicted, but at other times."""
    TOTAL_VARIES = "total varies"
    """Neither times nor number are certain before the input is closed."""


@dataclass(frozen=True, slots=True)
class Report:
    """A query over a window of a stream, wanted by a deadline.

    Args:
        predicted_s: When each tuple is expected, nondecreasing.
        groups: Rows of the result; a batch should hold at least twice as many tuples.
        cost: Seconds of a batch by its tuples.
        final: Seconds of the final aggregation by the number of batches.
        batches_before: Batches that an earlier run finished; their tuples do not count here.
    """

    name: str
    start_s: float
    end_s: float
    deadline_s: float
    predicted_s: tuple[float, ...]
    cost: CostModel
    final: FinalCost
    groups: int = 1
    input_kind: InputKind = InputKind.KNOWN
    batches_before: int = 0


@dataclass(frozen=True, slots=True)
class BatchFinished:
    """The batch on ``track`` ended; its final aggregation with it, if it had one."""

    track: int


@dataclass(frozen=True, slots=True)
class Submitted:
    """A report is wanted from now on; ``order`` breaks ties (its place in the list)."""

    report: Report
    order: int


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nobody wants the report any longer; a batch of it that runs ends as planned."""

    name: str


@dataclass(frozen=True, slots=True)
class TuplesArrived:
    """So many tuples of the report's window are there by now, worked off or not."""

    name: str
    arrived: int
    last_arrival_s: float


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the report's streams have come in its window, by their own clock.

    Without it a report whose total varies is judged by the time: a stream that only lags then
    looks like one that brings less.

    Args:
        predicted: Tuples that the prediction has up to that point of the window.
        lag_s: How much later than predicted they came there; negative: earlier.
        grain_s: Their updates are so far apart: a silence of that length tells nothing.
    """

    name: str
    predicted: int
    lag_s: float
    grain_s: float = 0.0


@dataclass(frozen=True, slots=True)
class InputClosed:
    """No more tuples of the report's window will come."""

    name: str


Event = BatchFinished | Submitted | Withdrawn | Reached | TuplesArrived | InputClosed


@dataclass(frozen=True, slots=True)
class StartBatch:
    """Work off the next ``tuples`` of the report on ``track``.

    Args:
        final: Whether this is the report's last batch, with the final aggregation.
        expected_s: Duration by the cost model, the final aggregation included.
    """

    name: str
    track: int
    tuples: int
    final: bool
    expected_s: float


@dataclass(frozen=True, slots=True)
class ReportDone:
    """The report's result is complete."""

    name: str


Command = StartBatch | ReportDone
