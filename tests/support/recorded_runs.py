"""Runs of a warehouse's core in virtual time, recorded as a journal records them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from math import inf
from typing import Any

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.background.upkeep import COMPACT
from freshline.core.commands import StartUpdate
from freshline.core.events import Event, UpdateFailed, UpdateFinished
from freshline.core.model import TableSpec
from freshline.core.recorded import RecordedInstant, RecordedRun

START_S = 1000.0


def recorded(
    specs: Sequence[TableSpec],
    happenings: Iterable[tuple[float, Any]],
    *,
    seconds: Callable[[str, int], float],
    tracks: int = 1,
    end_s: float = 1100.0,
    overhead_s: float = 0.0,
    settings: PolicySettings | None = None,
    look_s: float = inf,
) -> RecordedRun:
    """A run in which updates take ``seconds(table, number)``; those below 0 fail.

    As in a warehouse, the core is not handed looks of the loop at which nothing is due.

    Args:
        specs: The tables.
        happenings: (when, event) from outside, in order.
        seconds: What each update takes.
        tracks, settings: Of the scheduler; fifo, where nothing is said.
        end_s: When the run ended; it began at ``START_S``.
        overhead_s: How much later than an update's end the core hears of it.
        look_s: How often the loop looks; at a look the core must not have left anything out.
    """
    chosen = settings or PolicySettings("fifo")
    core = make_warehouse_scheduler(specs, tracks=tracks, settings=chosen, start_s=START_S)
    outside = list(happenings)
    running: list[tuple[float, int, StartUpdate, float]] = []
    instants: list[RecordedInstant] = []
    versions: dict[str, int] = {}
    looks = 0
    while True:
        awaited_s = max(core.now_s, core.next_wakeup_s())
        look_at_s = START_S + look_s * (looks + 1)
        now_s = min(
            [at_s for at_s, _ in outside[:1]] + [end[0] for end in running] + [awaited_s, look_at_s]
        )
        if now_s > end_s:
            break
        looks += now_s == look_at_s
        events: list[Event] = []
        for end in sorted(running, key=lambda each: each[:2]):
            if end[0] <= now_s:
                running.remove(end)
                _, _, command, took_s = end
                name = command.table
                if took_s < 0.0:
                    events.append(UpdateFailed(name, now_s))
                elif command.upkeep not in {"", COMPACT}:
                    events.append(UpdateFinished(name, None, took_s))
                else:
                    versions[name] = versions.get(name, -1) + 1
                    events.append(UpdateFinished(name, versions[name], took_s))
        while outside and outside[0][0] <= now_s:
            events.append(outside.pop(0)[1])
        if not core.wants(now_s, events):
            assert deepcopy(core).handle(now_s, []) == []
            continue
        commands = core.handle(now_s, events)
        instants.append(RecordedInstant(now_s, tuple(events), tuple(commands)))
        for command in commands:
            took_s = seconds(command.table, command.number)
            ends_s = now_s + abs(took_s) + overhead_s
            running.append((ends_s, command.track, command, took_s))
    return RecordedRun(1, START_S, end_s, tuple(specs), tracks, chosen, tuple(instants))
