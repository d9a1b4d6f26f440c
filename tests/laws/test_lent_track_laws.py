"""Beside reports that take no more than they say, no table gets staler than was promised.

Policy aus on tracks of which the last is reserved for batches again and again: anywhere between
a window's start and its deadline, two windows' back to back where that is worst.
"""

from __future__ import annotations

from heapq import heappop, heappush

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.aus.assessment import assessed
from freshline.core.aus.guarantee import graph_of
from freshline.core.aus.supply import ReportDemand
from freshline.core.events import Event, FileArrived, TrackReserved, UpdateFinished
from freshline.core.model import TableSpec

HORIZON_S = 600.0
CLOSE_S = 1e-6

Batch = tuple[float, float, float]
"""When it is planned, from when on it wants the track, and how long."""


@st.composite
def batches_of(draw: st.DrawFn) -> tuple[list[ReportDemand], list[Batch]]:
    """A report, and its batches.

    The times fit the demand: each window's batches lie between its start and its deadline.
    """
    window_s = float(draw(st.sampled_from((40, 60, 120))))
    delay_s = float(draw(st.sampled_from((5, 20, 60))))
    number = draw(st.integers(1, 3))
    length_s = draw(st.sampled_from((1.0, 3.0, 6.0)))
    demand = ReportDemand(number * length_s, number, window_s, delay_s)
    found: list[Batch] = []
    free_s = 0.0
    early = draw(st.booleans())
    for window in range(int(HORIZON_S / window_s)):
        start_s = max(window * window_s, free_s)
        last_s = (window + 1) * window_s + delay_s - number * length_s
        at_s = start_s
        if not early:
            at_s = max(start_s, last_s)
        elif draw(st.booleans()):
            at_s = max(start_s, min(last_s, start_s + draw(st.floats(0.0, window_s))))
        early = not early  # late batches of one window, and at once the early ones of the next
        for each in range(number):
            from_s = at_s + each * length_s
            known_s = max(0.0, from_s - draw(st.sampled_from((0.0, 2.0, 20.0))))
            found.append((known_s, from_s, length_s))
        free_s = at_s + number * length_s
    return [demand], found


@st.composite
def tables_for(draw: st.DrawFn, tracks: int) -> list[TableSpec]:
    """More tables than tracks, so that they compete."""
    result = []
    for number in range(draw(st.integers(tracks, 6))):
        period_s = float(draw(st.sampled_from((10, 20, 30))))
        seconds = draw(st.sampled_from((0.5, 2.0, 4.0, 8.0)))
        phase_s = draw(st.floats(0.5, period_s))
        result.append(TableSpec(f"t{number}", period_s=period_s, alpha_s=seconds, phase_s=phase_s))
    return result


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 3), batches_of())
def test_no_table_is_staler_than_promised(
    data: st.DataObject, tracks: int, taken: tuple[list[ReportDemand], list[Batch]]
) -> None:
    reports, batches = taken
    specs = data.draw(tables_for(tracks))
    promised = assessed(graph_of(specs), tracks=tracks, recovery="average", reports=reports)
    assume(promised.is_schedulable)
    beside = Beside(specs, tracks, reports, batches)
    beside.run()
    event(f"tracks {tracks}, an update waited for a batch: {beside.waited}")
    for table, guarantee in zip(promised.tables, promised.guarantees, strict=True):
        assert guarantee.staleness_s is not None
        assert beside.worst_s.get(table.name, 0.0) <= guarantee.staleness_s + CLOSE_S


def test_what_is_promised_without_reports_does_not_hold_beside_them() -> None:
    specs = [TableSpec("t", period_s=10.0, alpha_s=2.0, phase_s=1.0)]
    report = ReportDemand(50.0, 10, 600.0, 60.0)
    batches = [(90.0, 100.0 + 5.0 * number, 5.0) for number in range(10)]
    beside = Beside(specs, 1, [report], batches)
    beside.run()
    bounds_s = [
        assessed(graph_of(specs), tracks=1, recovery="average", reports=reports)
        .guarantees[0]
        .staleness_s
        for reports in ((), (report,))
    ]
    assert bounds_s[0] is not None
    assert bounds_s[1] is not None
    assert bounds_s[0] < beside.worst_s["t"] < bounds_s[1]


class Beside:
    """A core and the batches of reports, in virtual time.

    Attributes:
        worst_s: Of each table, the most that it was stale once it had been fresh.
        waited: Some update waited while a batch had the last track.
    """

    def __init__(
        self, specs: list[TableSpec], tracks: int, reports: list[ReportDemand], batches: list[Batch]
    ) -> None:
        self.core = make_scheduler(specs, tracks=tracks, settings=PolicySettings(policy="aus"))
        self.last = tracks - 1
        self.seconds = {spec.name: spec.alpha_s for spec in specs}
        self.batches = batches
        self.worst_s: dict[str, float] = {}
        self.waited = False
        self._queue: list[tuple[float, int, str, str]] = []
        self._known: list[int] = []
        self._busy_until_s = -1.0
        told = tuple((each.cost_s, each.batches, each.window_s, each.delay_s) for each in reports)
        self.core.handle(0.0, [TrackReserved(self.last, None, told)])
        for spec in specs:
            assert spec.phase_s is not None
            at_s = spec.phase_s
            while at_s < HORIZON_S:
                heappush(self._queue, (at_s, 1, "file", spec.name))
                at_s += spec.period_s or HORIZON_S
        for number, (known_s, _, _) in enumerate(batches):
            heappush(self._queue, (known_s, 2, "known", str(number)))

    def run(self) -> None:
        """Up to the horizon."""
        while True:
            due_s = self._queue[0][0] if self._queue else HORIZON_S
            now_s = min(due_s, self.core.next_wakeup_s())
            if now_s >= HORIZON_S:
                return
            events = self._due(now_s)
            finished = [each.table for each in events if isinstance(each, UpdateFinished)]
            self._batch(now_s, finished)
            events.append(TrackReserved(self.last, self._reserved_s(now_s)))
            stale_s = {name: now_s - self.core.table(name).freshness_s for name in finished}
            for command in self.core.handle(now_s, events):
                ends_s = now_s + self.seconds[command.table]
                heappush(self._queue, (ends_s, 0, "end", command.table))
            self.waited |= now_s < self._busy_until_s and bool(self.core.waiting())
            for name in finished:
                if name in self.worst_s:
                    self.worst_s[name] = max(self.worst_s[name], stale_s[name])
                elif not self.core.table(name).has_news:
                    self.worst_s[name] = 0.0

    def _due(self, now_s: float) -> list[Event]:
        events: list[Event] = []
        while self._queue and self._queue[0][0] <= now_s:
            _, _, kind, name = heappop(self._queue)
            if kind == "end":
                events.append(UpdateFinished(name, 0, self.seconds[name]))
            elif kind == "file":
                events.append(FileArrived(name, now_s, f"{name}-{now_s}"))
            elif kind == "known":
                self._known.append(int(name))
                self._known.sort(key=lambda number: self.batches[number][1])
        return events

    def _batch(self, now_s: float, finished: list[str]) -> None:
        """Start the batch that is due, once no update is on its track any longer."""
        if not self._known or now_s < self._busy_until_s:
            return
        _, from_s, length_s = self.batches[self._known[0]]
        if from_s > now_s:
            heappush(self._queue, (from_s, 3, "due", ""))
        elif all(
            table.running is None
            or table.running.command.track != self.last
            or table.name in finished
            for table in self.core.tables
        ):
            self._known.pop(0)
            self._busy_until_s = now_s + length_s
            heappush(self._queue, (self._busy_until_s, 3, "over", ""))

    def _reserved_s(self, now_s: float) -> float | None:
        if now_s < self._busy_until_s:
            return now_s
        return max(now_s, self.batches[self._known[0]][1]) if self._known else None
