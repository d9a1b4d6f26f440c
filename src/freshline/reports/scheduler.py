"""The report scheduler: events in, commands out, time inside.

It knows no clock: the simulator drives it with virtual time, the warehouse with the wall's.
All that happens at one instant is handed over in one `step`; it is taken in the order
completions, submissions and withdrawals, arrivals, dispatch (C16).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from freshline.core.errors import InternalError
from freshline.reports.events import (
    BatchFinished,
    Command,
    Event,
    InputClosed,
    InputKind,
    Reached,
    ReportDone,
    StartBatch,
    Submitted,
    TuplesArrived,
    Withdrawn,
)
from freshline.reports.joint.plan import Entry, JointPlanner
from freshline.reports.planning.min_batch import min_batch_tuples
from freshline.reports.policies import KEYS, Moment, ReportPolicy
from freshline.reports.progress import Progress

_RANK = {
    BatchFinished: 0,
    Submitted: 1,
    Withdrawn: 2,
    Reached: 3,
    TuplesArrived: 4,
    InputClosed: 5,
}

ChooseSlackFactor = Callable[["ReportScheduler"], float]
"""Finds the slack factor for all known reports; see `freshline.reports.auto_slack`."""


class ReportScheduler:
    """Runs many reports on ``tracks`` tracks under one policy.

    Args:
        choose_slack_factor: Needed where the policy's factor is None (``auto``).

    Attributes:
        live: Reports submitted and neither complete nor withdrawn, by name, in list order.
        min_batches: The min batch of every report ever submitted; None: it has none.
    """

    def __init__(
        self,
        policy: ReportPolicy,
        *,
        tracks: int = 1,
        choose_slack_factor: ChooseSlackFactor | None = None,
    ) -> None:
        self.policy = policy
        self.tracks = tracks
        self.now_s = -math.inf
        self.live: dict[str, Progress] = {}
        self.min_batches: dict[str, int | None] = {}
        self._choose_slack_factor = choose_slack_factor
        self._on_track: dict[int, Progress] = {}
        self._served_last = -1
        self._joint = JointPlanner(policy, tracks) if policy.name == "joint" else None

    def step(self, now_s: float, events: Iterable[Event] = ()) -> list[Command]:
        """Take in everything that happened at ``now_s`` and dispatch.

        Returns:
            Commands in the order they are given: completions first, then starts.

        Raises:
            InternalError: Time ran backwards, or an event names a report or track that the
                scheduler has not got.
        """
        if now_s < self.now_s:
            raise InternalError(
                "report-time-ran-back", f"an event of {now_s} came after one of {self.now_s}"
            )
        self.now_s = now_s
        commands: list[Command] = []
        submitted = False
        for event in sorted(events, key=lambda event: _RANK[type(event)]):
            match event:
                case BatchFinished(track):
                    self._finish(track, commands)
                case Submitted():
                    self._submit(event)
                    submitted = True
                case Withdrawn(name):
                    self._withdraw(name)
                case TuplesArrived(name, arrived, last_arrival_s):
                    if name in self.live:
                        self.live[name].observe(arrived, last_arrival_s)
                case Reached() | InputClosed() if event.name in self.live:
                    self.live[event.name].hear(event)
        if submitted:
            self._set_min_batches(keep=self.policy.slack_factor is not None)
        self._complete_without_batch(commands)
        self._dispatch(commands)
        return commands

    def next_wakeup_s(self) -> float:
        """When the scheduler wants a step though nothing happens; infinity: never."""
        if self._joint is not None:
            return self._joint.next_wakeup_s(self.now_s, idle=self.idle_tracks > 0)
        if self.idle_tracks == 0:
            return math.inf
        wakeups_s = (
            progress.overdue_from_s(self.now_s)
            for progress in self.live.values()
            if progress.track is None
        )
        return min((at_s for at_s in wakeups_s if at_s > self.now_s), default=math.inf)

    def awaited_tuples(self, name: str) -> int:
        """How many tuples of a report must have arrived before an arrival matters.

        A driver may spare the scheduler the arrivals before; where a lag or an estimate is
        told from them every arrival matters.
        """
        progress = self.live[name]
        if self._joint is not None and progress.report.input_kind is InputKind.KNOWN:
            return self._joint.awaited_tuples(progress, self.now_s)
        if self._joint is not None or not progress.only_batches_matter(self.now_s):
            return progress.arrived + 1
        return progress.taken + progress.wanted(self.now_s)

    @property
    def idle_tracks(self) -> int:
        """Tracks on which nothing runs."""
        return self.tracks - len(self._on_track)

    def planned(self) -> tuple[Entry, ...]:
        """The batches to come under ``joint``, in order; other policies plan none."""
        return () if self._joint is None else tuple(self._joint.plan)

    def running(self) -> dict[int, Progress]:
        """What runs on which track, withdrawn reports' last batches included."""
        return dict(self._on_track)

    def ahead(self, slack_factor: float) -> ReportScheduler:
        """A copy that can be run ahead: input as expected now, batches sized by a factor."""
        copy = ReportScheduler(replace(self.policy, slack_factor=slack_factor), tracks=self.tracks)
        copy.now_s, copy._served_last = self.now_s, self._served_last
        copy.min_batches = dict(self.min_batches)
        for name, progress in self.live.items():
            expected_s = tuple(progress.expected_s(self.now_s))
            report = replace(progress.report, predicted_s=expected_s, input_kind=InputKind.KNOWN)
            copy.live[name] = replace(progress, report=report)
        for track, progress in self._on_track.items():
            copy._on_track[track] = copy.live.get(progress.report.name) or replace(progress)
        copy.size_batches(slack_factor)
        return copy

    def _submit(self, event: Submitted) -> None:
        name = event.report.name
        if name in self.min_batches:
            raise InternalError("report-submitted-twice", f"the report '{name}' is known already")
        before = event.report.batches_before
        reanchor = self.policy.reanchor
        self.live[name] = Progress(event.report, event.order, reanchor, batches=before)
        self.live = dict(sorted(self.live.items(), key=lambda item: item[1].order))
        self.min_batches[name] = None
        if self._joint is not None:
            self._joint.changed = True

    def _withdraw(self, name: str) -> None:
        progress = self.live.pop(name, None)
        if progress is not None and self._joint is not None:
            self._joint.changed = True

    def _finish(self, track: int, commands: list[Command]) -> None:
        if track not in self._on_track:
            raise InternalError("no-report-batch", f"no batch of a report runs on track {track}")
        progress = self._on_track.pop(track)
        progress.track = None
        name = progress.report.name
        if progress.in_final and self.live.get(name) is progress:
            del self.live[name]
            commands.append(ReportDone(name))

    def _set_min_batches(self, *, keep: bool) -> None:
        """Size the batches of new reports; under ``auto`` anew for all that are known."""
        if not self.policy.min_batch or self._joint is not None:
            return
        factor = self.policy.slack_factor
        if factor is None:
            if self._choose_slack_factor is None:
                raise InternalError("no-slack-factor", "nobody chooses the slack factor")
            factor = self._choose_slack_factor(self)
        self.size_batches(factor, only_new=keep)

    def size_batches(self, slack_factor: float, *, only_new: bool = False) -> None:
        """Set the min batch of live reports for ``slack_factor``."""
        for name, progress in self.live.items():
            if only_new and progress.min_batch is not None:
                continue
            report = progress.report
            size = min_batch_tuples(
                report.cost,
                report.final,
                len(report.predicted_s),
                groups=report.groups,
                slack_factor=slack_factor,
                max_batch_time_s=self.policy.max_batch_time_s,
            )
            self.min_batches[name] = size
            progress.min_batch = max(1, size)

    def _complete_without_batch(self, commands: list[Command]) -> None:
        """Complete reports whose closed input leaves nothing to run: none or one batch."""
        for name, progress in list(self.live.items()):
            if progress.only_final_left() and progress.batches <= 1:
                del self.live[name]
                commands.append(ReportDone(name))

    def _dispatch(self, commands: list[Command]) -> None:
        if self._joint is not None:
            self._joint.refresh(self.live, self._on_track, self.now_s)
        for track in range(self.tracks):
            if track in self._on_track:
                continue
            choice = self._choose()
            if choice is None:
                return
            progress, tuples = choice
            final = progress.is_last(tuples, self.now_s)
            expected_s = progress.batch_s(tuples, final=final)
            progress.begin(tuples, track, self.now_s + expected_s, final=final)
            self._on_track[track] = progress
            self._served_last = progress.order
            name = progress.report.name
            commands.append(StartBatch(name, track, tuples, final, expected_s))

    def _choose(self) -> tuple[Progress, int] | None:
        """The report to serve and how many tuples it takes; None: nothing is ready."""
        if self._joint is not None:
            return self._joint.choose(self.live, self.now_s)
        ready: list[tuple[Progress, int]] = []
        for progress in self.live.values():
            tuples = progress.ready_tuples(self.now_s)
            if tuples or progress.only_final_left():
                ready.append((progress, tuples))
        if not ready:
            return None
        key, moment = KEYS[self.policy.name], Moment(self.now_s, self._served_last)
        return min(ready, key=lambda item: (key(item[0], moment), item[0].order))
