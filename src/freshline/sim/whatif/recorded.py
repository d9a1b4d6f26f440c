"""Playing a recorded run's events in virtual time, on a core that decides for itself.

Files, pauses and what people asked come when they came; updates end after their durations. As
the run was (``conforming``), the core has to take exactly the decisions of the run. Under other
settings (``played``) it shows what would have come of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import (
    Event,
    FileArrived,
    FilesWithdrawn,
    TablePrioritised,
    TrackReserved,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.model import TableSpec
from freshline.core.recorded import RecordedRun
from freshline.core.scheduler import Scheduler
from freshline.sim.accounts import Accounts
from freshline.sim.whatif.history import Durations, History, external

_Instant = tuple[float, tuple[Event, ...]]


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is other than it was.

    Attributes:
        settings, tracks: Of the scheduler.
        specs: The tables, with their priorities and targets.
    """

    settings: PolicySettings
    tracks: int
    specs: tuple[TableSpec, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first instant at which a simulation and its recorded run part.

    Attributes:
        now_s: When.
        recorded, simulated: What was commanded.
    """

    now_s: float
    recorded: tuple[StartUpdate, ...]
    simulated: tuple[StartUpdate, ...]


def conforming(history: History) -> Difference | None:
    """Feed a simulation with the run's events and durations; None: it decides as the run did.

    An update ends when the run's update of that table and number, started at that instant,
    ended; one that the run did not make has no end, and the two have parted already.
    """
    run = history.run
    ends = {(each.command.table, each.command.number, each.start_s): each for each in history.ended}
    core = make_warehouse_scheduler(
        run.specs, tracks=run.tracks, settings=run.settings, start_s=run.start_s
    )
    order = {id(event): place for each in run.instants for place, event in enumerate(each.events)}
    running: list[tuple[float, int, Event]] = []
    for instant, (now_s, others) in zip(run.instants, external(run), strict=True):
        events = list(others)
        while running and running[0][0] <= now_s:
            events.append(heappop(running)[2])
        # Where a failure takes its files back, it stands before that; else ends come first.
        events.sort(key=lambda event: order[id(event)])
        simulated = tuple(core.handle(now_s, events))
        if simulated != instant.commands:
            return Difference(now_s, instant.commands, simulated)
        for command in simulated:
            end = ends.get((command.table, command.number, now_s))
            if end is not None:
                heappush(running, (end.finish_s, command.track, end.event))
    return None


def played(
    history: History,
    otherwise: Overrides,
    durations: Durations,
    lags_s: Mapping[str, float],
) -> Accounts:
    """Play the run's events under other settings, up to its end.

    Nothing fails: files that the run could not read are left out, and so are its failed
    attempts.

    Raises:
        UserError: The policy's settings do not fit the tables or the tracks.
    """
    run = history.run
    core = make_warehouse_scheduler(
        otherwise.specs,
        tracks=otherwise.tracks,
        settings=otherwise.settings,
        start_s=run.start_s,
    )
    return _Player(run, core, durations, Accounts(core, lags_s), otherwise.specs).play()


class _Player:
    """Virtual time over a warehouse's core."""

    def __init__(
        self,
        run: RecordedRun,
        core: Scheduler,
        durations: Durations,
        accounts: Accounts,
        specs: Sequence[TableSpec],
    ) -> None:
        self._run = run
        self._core = core
        self._durations = durations
        self._accounts = accounts
        outside = _readable(_without_priorities(external(run), run, specs))
        self._outside = _on_last_track(outside, core.track_count)
        self._next = 0
        self._running: list[tuple[float, int, StartUpdate, float, float]] = []
        self._versions: dict[str, int] = {}

    def play(self) -> Accounts:
        """To the end of the run."""
        core, end_s = self._core, self._run.end_s
        while (now_s := self._next_s()) <= end_s:
            events: list[Event] = []
            finished: list[tuple[str, float]] = []
            while self._running and self._running[0][0] <= now_s:
                finish_s, _, command, start_s, told_s = heappop(self._running)
                events.append(self._end(command, told_s))
                finished.append((command.table, finish_s - start_s))
            while self._next < len(self._outside) and self._outside[self._next][0] <= now_s:
                events += self._outside[self._next][1]
                self._next += 1
            offers = [event for event in events if isinstance(event, UpkeepOffered)]
            commands = core.handle(
                now_s, [event for event in events if not isinstance(event, UpkeepOffered)]
            )
            if offers:  # as in the run: of what the tables are after all else of the instant
                commands += core.handle(now_s, [self._of_now(offer) for offer in offers])
            self._accounts.instant(now_s, finished)
            if now_s < end_s:
                for command in commands:
                    self._start(command, now_s)
        running = {command.table: start_s for _, _, command, start_s, _ in self._running}
        self._accounts.end(end_s, running)
        return self._accounts

    def _next_s(self) -> float:
        arrival_s = self._outside[self._next][0] if self._next < len(self._outside) else inf
        finish_s = self._running[0][0] if self._running else inf
        return min(arrival_s, finish_s, max(self._core.next_wakeup_s(), self._core.now_s))

    def _start(self, command: StartUpdate, now_s: float) -> None:
        running = self._core.table(command.table).running
        assert running is not None, "it was started at this instant"
        finish_s, told_s = self._durations.end(command, running.amount_s, now_s)
        heappush(self._running, (finish_s, command.track, command, now_s, told_s))

    def _of_now(self, offer: UpkeepOffered) -> UpkeepOffered:
        """The same for the table as it is here, which may have had more updates, or fewer."""
        return replace(offer, number=self._core.table(offer.table).number)

    def _end(self, command: StartUpdate, seconds: float) -> UpdateFinished:
        name = command.table
        before = self._versions.get(name, self._core.table(name).version)
        self._versions[name] = version = 0 if before is None else before + 1
        return UpdateFinished(name, version, seconds)


def _without_priorities(
    outside: Sequence[_Instant], run: RecordedRun, specs: Sequence[TableSpec]
) -> list[_Instant]:
    """Leave out changes of the priorities that are other than they were."""
    was = {spec.name: spec.priority for spec in run.specs}
    given = {spec.name for spec in specs if spec.priority != was[spec.name]}
    return [
        (
            now_s,
            tuple(
                event
                for event in events
                if not (isinstance(event, TablePrioritised) and event.table in given)
            ),
        )
        for now_s, events in outside
    ]


def _on_last_track(outside: Sequence[_Instant], tracks: int) -> list[_Instant]:
    """Reports take the last track, however many there are."""
    return [
        (
            now_s,
            tuple(
                replace(event, track=tracks - 1) if isinstance(event, TrackReserved) else event
                for event in events
            ),
        )
        for now_s, events in outside
    ]


def _readable(outside: Sequence[_Instant]) -> list[_Instant]:
    """Leave out arrivals of files that were taken back later, and the taking back."""
    gone: set[tuple[str, str]] = set()
    kept: list[_Instant] = []
    for now_s, events in reversed(outside):
        left: list[Event] = []
        for event in reversed(events):
            if isinstance(event, FilesWithdrawn):
                gone |= {(event.table, name) for name in event.names}
            elif isinstance(event, FileArrived) and (event.table, event.name) in gone:
                gone.discard((event.table, str(event.name)))
            else:
                left.append(event)
        if left:
            kept.append((now_s, tuple(reversed(left))))
    kept.reverse()
    return kept
