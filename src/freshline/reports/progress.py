"""How far one report is: what has come, what is worked off, when its next batch is ready.

Source: Chandrasekaran and Sudarshan, sections 4.2 and 4.4; rules C11 to C14.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

from freshline.reports.costs import in_batches_s
from freshline.reports.events import InputClosed, InputKind, Reached, Report

_EVIDENCE = 0.1
"""Of the window's prediction: how much must be reached until what came counts as much as it."""


def pace(came: float, expected: float, whole: float) -> float:
    """How many times as much comes as expected, judged by what came so far.

    Args:
        came, expected: Up to the same point of the window.
        whole: Expected of the whole window; above 0.
    """
    prior = _EVIDENCE * whole
    return (came + prior) / (expected + prior)


@dataclass(slots=True)
class Progress:
    """The state of one submitted report.

    Args:
        min_batch: Tuples that make a batch ready; None: one is enough, and all are taken.
        reanchor: Whether the lag last observed shifts the predicted times (C13).
        reached: Tuples that the prediction has up to where the streams are; None: nobody says,
            and it is judged by the time.
        grain_s: How far apart updates come.
        taken: Tuples worked off or being worked off.
        batches: Batches begun that hold tuples.
        track: Where a batch runs; None: none does.
        ends_s: When that batch should end by its cost model.
        in_final: Whether that batch is the last, with the final aggregation.
    """

    report: Report
    order: int
    reanchor: bool
    min_batch: int | None = None
    arrived: int = 0
    lag_s: float = 0.0
    reached: int | None = None
    grain_s: float = 0.0
    closed: bool = False
    taken: int = 0
    batches: int = 0
    track: int | None = None
    ends_s: float = -math.inf
    in_final: bool = False

    def observe(self, arrived: int, last_arrival_s: float) -> None:
        """Note that ``arrived`` tuples are there, the last since ``last_arrival_s``."""
        self.arrived = max(self.arrived, arrived)
        predicted_s = self.report.predicted_s
        if self.arrived and predicted_s and self.reached is None:
            self.lag_s = last_arrival_s - predicted_s[min(self.arrived, len(predicted_s)) - 1]

    def hear(self, event: Reached | InputClosed) -> None:
        """Note how far the streams are by their own clock, or that they bring no more."""
        if isinstance(event, InputClosed):
            self.closed = True
            return
        self.reached = min(event.predicted, len(self.report.predicted_s))
        self.lag_s, self.grain_s = event.lag_s, event.grain_s

    @property
    def lag_known(self) -> bool:
        """Whether a lag can be told from what came."""
        return self.reached is not None or self.report.input_kind is InputKind.RATE_VARIES

    @property
    def next_due_s(self) -> float:
        """When the next tuple that is not there is late; infinity: none is to come."""
        predicted_s = self.report.predicted_s
        at = self.arrived if self.reached is None else self.reached
        return predicted_s[at] + self.grain_s if at < len(predicted_s) else math.inf

    @property
    def total_known(self) -> bool:
        """Whether the number of tuples is certain."""
        return self.closed or self.report.input_kind is not InputKind.TOTAL_VARIES

    def total(self, now_s: float) -> int:
        """Tuples of the whole window: known, or estimated from the share that came (C14).

        Where it is known how far the streams have come, what is to come is the prediction's
        rest times what came against what was predicted up to there, which early in a window
        says little.
        """
        predicted = len(self.report.predicted_s)
        if self.closed:
            return self.arrived
        if self.report.input_kind is not InputKind.TOTAL_VARIES:
            return predicted
        if self.reached is not None:
            rest = predicted - self.reached
            if rest == 0:
                return self.arrived
            return self.arrived + round(rest * pace(self.arrived, self.reached, predicted))
        so_far = bisect_right(self.report.predicted_s, now_s)
        if so_far == 0:
            return max(predicted, self.arrived)
        return max(self.arrived, round(predicted * self.arrived / so_far))

    def all_there(self, now_s: float) -> bool:
        """Whether certainly no tuple is to come."""
        return self.total_known and self.arrived >= self.total(now_s)

    def remaining(self, now_s: float) -> int:
        """Tuples not yet taken, arrived or not."""
        return self.total(now_s) - self.taken

    @property
    def available(self) -> int:
        """Tuples that are there and not yet taken."""
        return self.arrived - self.taken

    def wanted(self, now_s: float) -> int:
        """How many tuples the next batch waits for."""
        return min(self.min_batch or 1, max(1, self.remaining(now_s)))

    def overdue_from_s(self, now_s: float) -> float:
        """When the next batch's tuples should be there by prediction; infinity: not used."""
        if self.report.input_kind is not InputKind.RATE_VARIES or self.min_batch is None:
            return math.inf
        number = self.taken + self.wanted(now_s)
        if number > len(self.report.predicted_s):
            return math.inf
        return self.report.predicted_s[number - 1] + (self.lag_s if self.reanchor else 0.0)

    def only_batches_matter(self, now_s: float) -> bool:
        """Whether arrivals are news only when they fill the next batch.

        So it is where nothing is told from them, until its predicted time has passed.
        """
        kind = self.report.input_kind
        if kind is InputKind.RATE_VARIES and self.min_batch is not None and not self.reanchor:
            return now_s < self.overdue_from_s(now_s)
        return kind is InputKind.KNOWN

    def ready_tuples(self, now_s: float) -> int:
        """Tuples the next batch would take now; 0: it is not ready."""
        available = self.available
        if available <= 0 or self.track is not None:
            return 0
        if self.min_batch is None:
            return available
        wanted = self.wanted(now_s)
        if available >= wanted:
            return wanted
        return available if now_s >= self.overdue_from_s(now_s) else 0

    def only_final_left(self) -> bool:
        """Whether every tuple is worked off, but the input closed too late for the final."""
        return self.closed and self.track is None and self.available == 0

    def is_last(self, tuples: int, now_s: float) -> bool:
        """Whether a batch of ``tuples`` is certainly the report's last."""
        return self.total_known and self.taken + tuples == self.total(now_s)

    def batch_s(self, tuples: int, *, final: bool) -> float:
        """Duration of the next batch by the cost model."""
        cost_s = self.report.cost(tuples)
        if not final:
            return cost_s
        return cost_s + self.report.final(self.batches + (1 if tuples else 0))

    def remaining_s(self, now_s: float) -> float:
        """Cost of all pending tuples in min batches, and of the final aggregation (C12)."""
        remaining = max(0, self.remaining(now_s))
        size = self.min_batch or max(1, remaining)
        report = self.report
        return in_batches_s(report.cost, report.final, remaining, size, batches_before=self.batches)

    def lag_by_now_s(self, now_s: float) -> float:
        """The lag last observed, or the longer one of the next tuple if that is overdue."""
        if not self.reanchor:
            return 0.0
        if self.closed or not (self.lag_known or self.total_known):
            return self.lag_s
        return max(self.lag_s, now_s - self.next_due_s)

    def expected_s(self, now_s: float, lag_s: float | None = None) -> list[float]:
        """When each tuple of the whole window is or was there, as far as can be known now.

        What has come counts as there from now on. The rest follows the prediction: shifted by
        the lag where one is known (C13). Where their number is not, as many as are estimated,
        spread evenly over the predicted times still to come, the last not before the window's
        end.

        Args:
            lag_s: Instead of the lag last observed.
        """
        predicted_s, result = self.report.predicted_s, [now_s] * self.arrived
        if lag_s is None:
            lag_s = self.lag_s if self.reanchor else 0.0
        if self.total_known:
            result.extend(max(now_s, at_s + lag_s) for at_s in predicted_s[self.arrived :])
            return result[: self.total(now_s)]
        to_come = self.total(now_s) - self.arrived
        if self.reached is None:
            begun, lag_s = bisect_right(predicted_s, now_s), 0.0
        else:
            begun = self.reached
        rest_s = predicted_s[begun:] or (self.report.end_s,)
        result.extend(
            max(now_s, rest_s[number * len(rest_s) // to_come] + lag_s) for number in range(to_come)
        )
        if result:
            result[-1] = max(result[-1], self.report.end_s)
        return result

    def drift_s(self, now_s: float) -> tuple[float, float]:
        """How far the input is off its prediction: its lag, and the window's share of tuples."""
        report = self.report
        lag_s = self.lag_by_now_s(now_s) if self.lag_known else 0.0
        if report.input_kind is not InputKind.TOTAL_VARIES:
            return lag_s, 0.0
        share = self.total(now_s) / max(1, len(report.predicted_s)) - 1.0
        return lag_s, (report.end_s - report.start_s) * share

    def lags_from_s(self, lag_s: float) -> float:
        """When the lag exceeds ``lag_s`` if nothing arrives; infinity: never by that."""
        if not (self.lag_known and self.reanchor) or self.closed:
            return math.inf
        return self.next_due_s + lag_s

    def begin(self, tuples: int, track: int, ends_s: float, *, final: bool) -> None:
        """Note that a batch of ``tuples`` starts on ``track`` and should end at ``ends_s``."""
        self.ends_s = ends_s
        self.taken += tuples
        self.batches += 1 if tuples else 0
        self.track = track
        self.in_final = final
