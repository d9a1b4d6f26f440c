"""The joint policy: one order of batches for all reports, computed again when something changes.

Between changes it only waits: a batch starts at its planned time, as late as the deadlines
allow, and takes what is there, at most what the longest batch may hold. An eager planner starts
the next batch when it has all its tuples: as large as planned, and never later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from freshline.reports.costs import TOLERANCE_S
from freshline.reports.events import InputKind
from freshline.reports.joint.order import Timed, Work
from freshline.reports.joint.search import plan_order
from freshline.reports.lag_watch import LagWatch
from freshline.reports.planning.min_batch import longest_batch_tuples
from freshline.reports.policies import ReportPolicy
from freshline.reports.progress import Progress

DRIFT_SHARE, DRIFT_LEFT = 0.001, 0.02
"""A drift (a changed lag or estimate) by this share of the window or, if that is less, of the
time left to the deadline is worth a new plan."""
PAUSE_SHARE, PAUSE_LEFT = 0.005, 0.1
"""But not more often than this share of the window, or of the time left."""
GUARD_SHARE, GUARD_MOST = 0.01, 0.5
"""Where the input may drift, the plan ends early: by as much as the lag may still rise (see
`lag_watch`), but within these shares of the time after the last arrival."""
_LONG_SEARCH_PAUSES = 10
"""A plan that leaves a report late is searched for fully, but only after so many pauses."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch to come.

    Attributes:
        start_s, end_s: By the plan, margin and final included.
        tuples: That it takes by the plan.
        last: The plan has none of this report after it.
    """

    name: str
    start_s: float
    end_s: float
    tuples: int
    last: bool


@dataclass(slots=True)
class JointPlanner:
    """Keeps the plan and says which batch is due.

    Attributes:
        changed: A report came or went since the plan was made.
        plan: Batches to come, in order.
    """

    policy: ReportPolicy
    tracks: int
    changed: bool = False
    plan: list[Entry] = field(default_factory=list)
    _certain: set[str] = field(default_factory=set)
    _planned_drifts_s: dict[str, tuple[float, float]] = field(default_factory=dict)
    _margin: float = 1.0
    _planned_at_s: float = -math.inf
    _searched_at_s: float = -math.inf
    _look_again_s: float = math.inf
    _silent_from_s: float = math.inf
    _watches: dict[str, LagWatch] = field(default_factory=dict)

    def refresh(
        self, live: Mapping[str, Progress], on_track: Mapping[int, Progress], now_s: float
    ) -> None:
        """Make the plan anew if reports came or went, a lag changed, or a report fell out."""
        self._look_again_s = math.inf
        self._watch(live, now_s)
        if self.changed or self._fell_out(live) or self._drifted(live, now_s):
            self._make(live, on_track, now_s)
        # A stream that falls silent brings no event: look again when that is too much.
        self._silent_from_s = min(
            (
                progress.lags_from_s(self._planned_s(name)[0] + 1.01 * self._bearable_s(progress))
                for name, progress in live.items()
            ),
            default=math.inf,
        )

    def _make(
        self, live: Mapping[str, Progress], on_track: Mapping[int, Progress], now_s: float
    ) -> None:
        unfinished = [
            progress
            for progress in live.values()
            if progress.remaining(now_s) > 0 and not progress.in_final
        ]
        names = [progress.report.name for progress in unfinished]
        free_s = [now_s] * self.tracks
        for track, progress in on_track.items():
            free_s[track] = max(now_s, progress.ends_s)
        index = {name: place for place, name in enumerate(names)}
        seed = [index[entry.name] for entry in self.plan if entry.name in index]
        timed = self._search(unfinished, free_s, seed, now_s)
        last = {place: number for number, place in enumerate(timed.order)}
        self.plan = [
            Entry(names[place], start_s, end_s, tuples, last[place] == number)
            for number, (place, start_s, end_s, tuples) in enumerate(
                zip(timed.order, timed.starts_s, timed.ends_s, timed.sizes, strict=True)
            )
        ]
        self.changed = False
        self._planned_drifts_s = {name: progress.drift_s(now_s) for name, progress in live.items()}
        self._planned_at_s = now_s
        self._certain = {name for name, progress in live.items() if progress.all_there(now_s)}
        self._watches = {name: watch for name, watch in self._watches.items() if name in live}

    def _search(
        self, reports: Sequence[Progress], free_s: list[float], seed: list[int], now_s: float
    ) -> Timed:
        """A full search if reports came or went, else one near the plan before.

        If that leaves a report late a full one follows, but not too often: under an input that
        is hopelessly behind every plan is late.
        """
        if self.changed:
            self._margin = self.policy.margin
        else:
            timed = self._timed(reports, free_s, seed, now_s, afresh=False)
            lengths_s = (progress.report.deadline_s - now_s for progress in reports)
            pause_s = _LONG_SEARCH_PAUSES * PAUSE_SHARE * max(0.0, max(lengths_s, default=0.0))
            if timed.late_s <= TOLERANCE_S or now_s < self._searched_at_s + pause_s:
                return timed
            seed = list(timed.order)
        self._searched_at_s = now_s
        timed = self._timed(reports, free_s, seed, now_s, afresh=True)
        in_time = timed.missed_s <= TOLERANCE_S
        if in_time or not self.changed or not self._fit_alone(reports, free_s, now_s):
            return timed
        # A crowd planned with the margin has one of them given up although, by what is known of
        # the costs, all can be in time. Half a margin is no way out: it is bought with many small
        # batches, of whose costs least is known. One that is late by itself, as when its stream
        # is, had better keep what it has.
        self._margin = 1.0
        return self._timed(reports, free_s, seed, now_s, afresh=True)

    def _fit_alone(self, reports: Sequence[Progress], free_s: list[float], now_s: float) -> bool:
        """Whether there is a margin, and every report by itself would be in time with it."""
        return self._margin > 1.0 and all(
            self._timed([each], free_s, [], now_s, afresh=False).missed_s <= TOLERANCE_S
            for each in reports
        )

    def _timed(
        self,
        reports: Sequence[Progress],
        free_s: list[float],
        seed: list[int],
        now_s: float,
        *,
        afresh: bool,
    ) -> Timed:
        works = [self._work(progress, now_s, self._margin) for progress in reports]
        return plan_order(works, free_s, seed or None, afresh=afresh)

    def choose(self, live: Mapping[str, Progress], now_s: float) -> tuple[Progress, int] | None:
        """The first batch in the order that is due and can start; None: there is none."""
        for progress in live.values():
            if progress.only_final_left():
                return progress, 0
        passed: set[str] = set()
        for place, entry in enumerate(self.plan):
            if entry.name in passed or entry.name not in live:
                passed.add(entry.name)
                continue
            progress = live[entry.name]
            if entry.start_s > now_s and not (
                # Only who is next in the order: whoever overtook could make it wait.
                self.policy.eager and place == 0 and progress.available >= entry.tuples
            ):
                passed.add(entry.name)
                continue
            tuples = min(progress.available, self._longest(progress, now_s))
            if tuples > 0 and progress.track is None and not self._waits(entry, progress, now_s):
                if not entry.last or tuples == progress.remaining(now_s):
                    del self.plan[place]
                return progress, tuples
            passed.add(entry.name)
        return None

    def next_wakeup_s(self, now_s: float, *, idle: bool) -> float:
        """The next planned start, or the time at which a changed lag may be acted upon."""
        starts_s = (entry.start_s for entry in self.plan if entry.start_s > now_s and idle)
        silent_s = self._silent_from_s if self._silent_from_s > now_s else math.inf
        return min(min(starts_s, default=math.inf), silent_s, self._look_again_s)

    def awaited_tuples(self, progress: Progress, now_s: float) -> int:
        """How many tuples must be there before an arrival matters."""
        for entry in self.plan:
            if entry.name == progress.report.name:
                if entry.start_s > now_s:
                    if self.policy.eager:
                        return progress.taken + entry.tuples
                    break
                return progress.total(now_s) if entry.last else progress.taken + 1
        return progress.total(now_s) + 1

    @staticmethod
    def _waits(entry: Entry, progress: Progress, now_s: float) -> bool:
        """Whether a report's last batch must wait for tuples still to come."""
        if not entry.last:
            return False
        return not progress.total_known or progress.available < progress.remaining(now_s)

    def _fell_out(self, live: Mapping[str, Progress]) -> bool:
        """Whether a report has tuples waiting and no batch in the plan."""
        planned = {entry.name for entry in self.plan}
        return any(
            progress.available > 0 and not progress.in_final and name not in planned
            for name, progress in live.items()
        )

    def _watch(self, live: Mapping[str, Progress], now_s: float) -> None:
        for name, progress in live.items():
            report = progress.report
            if progress.lag_known and progress.arrived > 0 and not progress.closed:
                step_s = PAUSE_SHARE * (report.end_s - report.start_s)
                watch = self._watches.setdefault(name, LagWatch(step_s))
                watch.observe(now_s, progress.lag_by_now_s(now_s))

    def _planned_s(self, name: str) -> tuple[float, float]:
        """The drift that the plan was made with."""
        return self._planned_drifts_s.get(name, (0.0, 0.0))

    def _bearable_s(self, progress: Progress) -> float:
        """The further drift that is not worth a new plan."""
        report = progress.report
        left_s = max(0.0, report.deadline_s - self._planned_at_s)
        return min(DRIFT_SHARE * (report.end_s - report.start_s), DRIFT_LEFT * left_s)

    def _drifted(self, live: Mapping[str, Progress], now_s: float) -> bool:
        for name, progress in live.items():
            report = progress.report
            if report.input_kind is InputKind.KNOWN:
                continue
            if progress.all_there(now_s) and name not in self._certain:
                return True  # the plan still feared for what has come by now
            drifts_s = zip(progress.drift_s(now_s), self._planned_s(name), strict=True)
            moved_s = max(abs(is_s - was_s) for is_s, was_s in drifts_s)
            if moved_s <= self._bearable_s(progress):
                continue
            window_s = report.end_s - report.start_s
            left_s = max(0.0, report.deadline_s - self._planned_at_s)
            again_s = self._planned_at_s + min(PAUSE_SHARE * window_s, PAUSE_LEFT * left_s)
            if now_s >= again_s:
                return True
            self._look_again_s = min(self._look_again_s, again_s)
        return False

    def _longest(self, progress: Progress, now_s: float) -> int:
        remaining = max(1, progress.remaining(now_s))
        limit_s = self.policy.max_batch_time_s
        return longest_batch_tuples(progress.report.cost, remaining, limit_s) or remaining

    def _guard_s(self, progress: Progress, now_s: float) -> float:
        """How long before its deadline a report should be complete by the plan."""
        report = progress.report
        if report.input_kind is InputKind.KNOWN:
            return 0.0
        last_s = report.end_s
        rise_s = 0.0
        watch = self._watches.get(report.name)
        if watch is not None and progress.next_due_s < math.inf:
            lag_s = progress.lag_by_now_s(now_s)
            last_s = max(last_s, report.predicted_s[-1] + lag_s)
            rise_s = watch.may_rise_s(now_s, lag_s, max(0.0, last_s - now_s))
        after_s = max(0.0, report.deadline_s - last_s)
        return min(max(rise_s, GUARD_SHARE * after_s), GUARD_MOST * after_s)

    def _work(self, progress: Progress, now_s: float, margin: float) -> Work:
        report = progress.report
        remaining = progress.remaining(now_s)
        guard_s = self._guard_s(progress, now_s)
        expected_s = progress.expected_s(now_s, progress.lag_by_now_s(now_s))
        return Work(
            name=report.name,
            expected_s=expected_s[progress.taken :],
            deadline_s=report.deadline_s - guard_s,
            cost_s=[margin * report.cost(tuples) for tuples in range(remaining + 1)],
            final=report.final,
            batches_before=progress.batches,
            longest=self._longest(progress, now_s),
            free_s=progress.ends_s if progress.track is not None else now_s,
            margin=margin,
            grace_s=guard_s,
        )
