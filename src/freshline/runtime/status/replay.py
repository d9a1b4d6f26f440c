"""Replay of a recorded run: the same events must give the same commands.

The journal holds what a run's scheduler was made of (``runs.setting``) and every instant
that changed something. A fresh scheduler that is told the same must command the same; where
it does not, the core has read something that is no event.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from freshline.core.commands import StartUpdate
from freshline.core.scheduler import Scheduler
from freshline.project.model import SchedulerSettings
from freshline.runtime.assembly import scheduler_with
from freshline.runtime.journal.codec import decoded_command, decoded_event
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_row, specs_in


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An instant at which the replay commanded something else.

    Attributes:
        instant: Its number in the journal.
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
    row = recorded_row(journal, run)
    scheduler = _scheduler(json.loads(row["setting"]))
    instants = commands = 0
    mismatches: list[Mismatch] = []
    for instant in journal.each("SELECT * FROM instants WHERE run=? ORDER BY id", (row["id"],)):
        events = [decoded_event(values) for values in json.loads(instant["events"])]
        recorded = tuple(decoded_command(values) for values in json.loads(instant["commands"]))
        replayed = tuple(scheduler.handle(instant["now_s"], events))
        instants += 1
        commands += len(recorded)
        if replayed != recorded:
            mismatches.append(Mismatch(instant["id"], instant["now_s"], recorded, replayed))
            if _started(replayed) != _started(recorded):
                break
    return Replay(row["id"], instants, commands, tuple(mismatches))


def _scheduler(setting: dict[str, Any]) -> Scheduler:
    chosen = SchedulerSettings(**setting["scheduler"])
    return scheduler_with(chosen, list(specs_in(setting)), setting["start_s"])


def _started(commands: tuple[StartUpdate, ...]) -> list[tuple[str, int, int]]:
    return [(command.table, command.number, command.track) for command in commands]
