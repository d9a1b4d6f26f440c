"""Running the report scheduler in virtual time: batches last what their cost model says."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from freshline.reports.events import (
    BatchFinished,
    Command,
    Event,
    InputClosed,
    InputKind,
    Report,
    ReportDone,
    StartBatch,
    Submitted,
    TuplesArrived,
    Withdrawn,
)
from freshline.reports.scheduler import ReportScheduler


@dataclass(frozen=True, slots=True)
class ReportInput:
    """One report of a scenario: when it comes and goes, and what really arrives."""

    report: Report
    submit_s: float
    remove_s: float | None
    arrivals_s: Sequence[float]

    @property
    def close_s(self) -> float:
        """When the input closes: the window's end, or its last arrival if that is later."""
        last_s = self.arrivals_s[-1] if self.arrivals_s else -math.inf
        return max(self.report.end_s, last_s)


@dataclass(frozen=True, slots=True)
class BatchRun:
    """A batch as it ran; ``final``: with the final aggregation."""

    report: str
    track: int
    start_s: float
    end_s: float
    tuples: int
    final: bool


@dataclass(slots=True)
class Outcome:
    """What one report came to; ``finish_s`` None: withdrawn before it was complete."""

    finish_s: float | None = None
    batches: int = 0
    cost_s: float = 0.0


@dataclass(slots=True)
class VirtualRun:
    """One run of a scheduler over known inputs, from where the scheduler stands.

    Attributes:
        batches: Every batch in the order of starts.
        outcomes: By report name.
    """

    scheduler: ReportScheduler
    inputs: Sequence[ReportInput]
    batches: list[BatchRun] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    _ends_s: dict[int, float] = field(default_factory=dict)
    _told: dict[str, int] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)

    @classmethod
    def ahead(cls, scheduler: ReportScheduler) -> VirtualRun:
        """A run of a scheduler in the midst of its work, on the input that it expects."""
        inputs = [
            ReportInput(progress.report, scheduler.now_s, None, progress.report.predicted_s)
            for progress in scheduler.live.values()
        ]
        run = cls(scheduler, inputs)
        run._told = {name: progress.arrived for name, progress in scheduler.live.items()}
        run._ends_s = {
            track: max(scheduler.now_s, progress.ends_s)
            for track, progress in scheduler.running().items()
        }
        return run

    def run(self) -> dict[str, Outcome]:
        """Run until nothing is left to do."""
        by_name = {item.report.name: item for item in self.inputs}
        order = {item.report.name: place for place, item in enumerate(self.inputs)}
        self.outcomes = {name: Outcome() for name in by_name}
        known = self.scheduler.min_batches
        coming = sorted(
            (item for item in self.inputs if item.report.name not in known),
            key=lambda i: (i.submit_s, order[i.report.name]),
        )
        leaving = sorted(
            (
                (item.remove_s, item.report.name)
                for item in self.inputs
                if item.remove_s is not None
            ),
            key=lambda pair: (pair[0], order[pair[1]]),
        )
        if known:
            self._carry_out(self.scheduler.now_s, self.scheduler.step(self.scheduler.now_s))
        while True:
            now_s = self._next_s(coming, leaving, by_name)
            if now_s == math.inf:
                return self.outcomes
            events: list[Event] = []
            for track, end_s in sorted(self._ends_s.items()):
                if end_s <= now_s:
                    events.append(BatchFinished(track))
                    del self._ends_s[track]
            while coming and coming[0].submit_s <= now_s:
                item = coming.pop(0)
                name = item.report.name
                events.append(Submitted(item.report, order[name]))
                self._arrivals(item, now_s, events)
            while leaving and leaving[0][0] <= now_s:
                events.append(Withdrawn(leaving.pop(0)[1]))
            for name in self.scheduler.live:
                self._arrivals(by_name[name], now_s, events)
            self._carry_out(now_s, self.scheduler.step(now_s, events))

    def _arrivals(self, item: ReportInput, now_s: float, events: list[Event]) -> None:
        name = item.report.name
        arrived = bisect_right(item.arrivals_s, now_s)
        if arrived > self._told.get(name, 0):
            events.append(TuplesArrived(name, arrived, item.arrivals_s[arrived - 1]))
            self._told[name] = arrived
        if name not in self._closed and self._closes(item) and item.close_s <= now_s:
            events.append(InputClosed(name))
            self._closed.add(name)

    @staticmethod
    def _closes(item: ReportInput) -> bool:
        """Whether the closing matters: only where the number of tuples was uncertain, or 0."""
        return item.report.input_kind is InputKind.TOTAL_VARIES or not item.report.predicted_s

    def _next_s(
        self,
        coming: list[ReportInput],
        leaving: list[tuple[float, str]],
        by_name: dict[str, ReportInput],
    ) -> float:
        """The next instant at which anything happens; infinity: the run is over."""
        next_s = min(self._ends_s.values(), default=math.inf)
        if coming:
            next_s = min(next_s, coming[0].submit_s)
        if leaving:
            next_s = min(next_s, leaving[0][0])
        now_s = self.scheduler.now_s
        for name in self.scheduler.live:
            item, told = by_name[name], self._told.get(name, 0)
            awaited = self.scheduler.awaited_tuples(name)
            if told < awaited <= len(item.arrivals_s):
                next_s = min(next_s, max(now_s, item.arrivals_s[awaited - 1]))
            if name not in self._closed and self._closes(item):
                next_s = min(next_s, max(now_s, item.close_s))
        return min(next_s, self.scheduler.next_wakeup_s())

    def _carry_out(self, now_s: float, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case StartBatch(name, track, tuples, final, expected_s):
                    end_s = now_s + expected_s
                    self._ends_s[track] = end_s
                    self.batches.append(BatchRun(name, track, now_s, end_s, tuples, final))
                    outcome = self.outcomes[name]
                    outcome.cost_s += expected_s
                    outcome.batches += 1 if tuples else 0
                case ReportDone(name):
                    self.outcomes[name].finish_s = now_s
