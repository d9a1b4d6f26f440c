"""Replay of a recorded run: the same events must give the same commands.

The journal holds what a run's scheduler was made of (``runs.setting``) and every instant
that changed something. A fresh scheduler that is told the same must command the same; where
it does not, the core has read something that is no event.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshline.core.assembly import make_warehouse_scheduler
from freshline.core.commands import StartUpdate
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_run


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An instant at which the replay commanded something else.

    Attributes:
        instant: Its number in the run, from 1.
        now_s: When it was.
        recorded, replayed: The commands of each.
    """

    instant: int
    now_s: float
    recorded: tuple[StartUpdate, ...]
    replayed: tuple[StartUpdate, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found.

    Attributes:
        run: The run's number.
        instants, commands: How many were replayed.
        mismatches: Where it differed; empty when it is the same.
    """

    run: int
    instants: int
    commands: int
    mismatches: tuple[Mismatch, ...]


def replay(journal: Journal, run: int | None = None) -> Replay:
    """Replay one run, by default the last.

    The replay goes on after a mismatch only as long as the state still fits the events: an
    update that the fresh scheduler did not start cannot finish in it.

    Raises:
        UserError: There is no such run, or its first instants are no longer kept.
    """
    recorded = recorded_run(journal, run)
    scheduler = make_warehouse_scheduler(
        recorded.specs,
        tracks=recorded.tracks,
        settings=recorded.settings,
        start_s=recorded.start_s,
    )
    instants = commands = 0
    mismatches: list[Mismatch] = []
    for instant in recorded.instants:
        replayed = tuple(scheduler.handle(instant.now_s, instant.events))
        instants += 1
        commands += len(instant.commands)
        if replayed != instant.commands:
            mismatches.append(Mismatch(instants, instant.now_s, instant.commands, replayed))
            if _started(replayed) != _started(instant.commands):
                break
    return Replay(recorded.number, instants, commands, tuple(mismatches))


def _started(commands: tuple[StartUpdate, ...]) -> list[tuple[str, int, int]]:
    return [(command.table, command.number, command.track) for command in commands]
