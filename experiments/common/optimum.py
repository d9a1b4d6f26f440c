"""The least weighted staleness a second that any schedule of a few tables on one track has.

Dynamic programming, exact: times are whole steps, so a machine with one track is, whenever the
track is free, in one of finitely many states: where in the feeds' common cycle it is, and how many
files each table lacks. A choice is an update of a table that has news, or to wait for the next
file. Every choice costs weighted staleness and takes time; the least quotient of the two over
all cycles of choices is what the best schedule pays in the long run (Howard's policy iteration for
semi-Markov decisions; transitions are certain here, so a policy is a graph in which every
state has one successor, and it is evaluated by doubling steps).

It shares no code with the policies or the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

_MOST_ROUNDS = 200
_SAME = 1e-9
"""Relative: a choice has to be better by this before the policy changes."""


@dataclass(frozen=True, slots=True)
class Small:
    """A table of a small machine; every time is a whole number of steps.

    Attributes:
        priority: Weight of its staleness.
        start: Steps that an update takes beside those for its data.
        each: Steps for each file's worth of data.
        period, phase: Of its feed; of a derived table those of its sources, which have the same.
        sources: Places of the tables it is derived from; they come before it.
    """

    priority: float
    start: int
    each: int
    period: int
    phase: int
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best schedule.

    Attributes:
        rate: Its weighted staleness a second.
        most_files: The most files that a table lacks in it.
    """

    rate: float
    most_files: int


@dataclass(frozen=True, slots=True)
class _Choice:
    """One choice in every state: where it leads, what it costs, how long it takes."""

    after: _Ints
    cost: _Floats
    steps: _Ints
    possible: NDArray[np.bool_]


def optimum(tables: Sequence[Small], *, most_files: int, idles: bool = True) -> Optimum:
    """The best schedule of ``tables`` on one track.

    Args:
        tables: Sources before what is derived from them.
        most_files: A table that lacks more counts as lacking so many; a result whose
            ``most_files`` reaches it is too low.
        idles: Whether the track may wait for a file although a table has news.
    """
    choices = _choices(tables, most_files, idles=idles)
    chosen = np.argmax(np.stack([choice.possible for choice in choices]), axis=0)
    for _ in range(_MOST_ROUNDS):
        rate, value, root = _evaluated(choices, chosen)
        if not _improve(choices, chosen, rate, value):
            break
    else:
        raise ArithmeticError("policy iteration did not end")
    lacking = _lacking(len(tables), most_files, choices[0].after.size)
    after = _picked([choice.after for choice in choices], chosen)
    at = start = int(root[0])
    most = 0
    while True:
        most = max(most, *(int(files[at]) for files in lacking))
        at = int(after[at])
        if at == start:
            return Optimum(float(rate[0]), most)


def _lacking(count: int, most_files: int, states: int) -> list[_Ints]:
    """By table: how many files it lacks in each state. States are numbered clock last."""
    at = np.arange(states, dtype=np.int64)
    found = []
    for _ in range(count):
        at, lacks = np.divmod(at, most_files + 1)
        found.append(lacks)
    return found


def _choices(tables: Sequence[Small], most_files: int, *, idles: bool) -> list[_Choice]:
    cycle = lcm(*(table.period for table in tables))
    sizes = [(most_files + 1) ** place for place in range(len(tables) + 1)]
    states = sizes[-1] * cycle
    lacking = _lacking(len(tables), most_files, states)
    clock = np.arange(states, dtype=np.int64) // sizes[-1]
    since = [(clock - table.phase) % table.period for table in tables]
    stale = [
        passed + files * table.period
        for passed, files, table in zip(since, lacking, tables, strict=True)
    ]

    def choice(steps: _Ints, possible: NDArray[np.bool_], loads: int, files: _Ints) -> _Choice:
        after = (clock + steps) % cycle * sizes[-1]
        cost = np.zeros(states)
        for place, table in enumerate(tables):
            cost += table.priority * (stale[place] * steps + 0.5 * steps * steps)
            left = lacking[place] - files if place == loads else lacking[place]
            arrived = (since[place] + steps) // table.period
            after += np.minimum(left + arrived, most_files) * sizes[place]
        return _Choice(after, cost, steps, possible)

    made = []
    anything = np.zeros(states, dtype=bool)
    for place, table in enumerate(tables):
        files = lacking[place]
        if table.sources:
            files = files - np.max([lacking[source] for source in table.sources], axis=0)
        possible = files > 0
        anything |= possible
        files = np.maximum(files, 0)
        made.append(choice(table.start + table.each * files, possible, place, files))
    to_next = np.min(
        [table.period - passed for table, passed in zip(tables, since, strict=True)], axis=0
    )
    waits = np.ones(states, dtype=bool) if idles else ~anything
    return [*made, choice(to_next, waits, -1, np.zeros(states, dtype=np.int64))]


def _picked(each: Sequence[NDArray[np.generic]], chosen: _Ints) -> NDArray[np.generic]:
    return np.choose(chosen, each)


def _evaluated(choices: Sequence[_Choice], chosen: _Ints) -> tuple[_Floats, _Floats, _Ints]:
    """A policy's rate and relative value in every state, and a state of the cycle it ends in."""
    after = _picked([choice.after for choice in choices], chosen)
    cost = _picked([choice.cost for choice in choices], chosen)
    steps = _picked([choice.steps for choice in choices], chosen)
    states = after.size
    doublings = int(states).bit_length()
    jump, least = after.copy(), np.minimum(after, np.arange(states))
    for _ in range(doublings):  # as many steps as there are states: on the cycle, and round it
        least = np.minimum(least, least[jump])
        jump = jump[jump]
    root = least[jump]
    rate = np.zeros(states)
    for start in np.unique(root):
        at, spent, passed = int(start), 0.0, 0
        while True:
            spent, passed, at = spent + cost[at], passed + int(steps[at]), int(after[at])
            if at == start:
                break
        rate[start] = spent / passed
    rate = rate[root]
    value, jump = cost - rate * steps, after.copy()
    is_root = root == np.arange(states)
    value[is_root], jump[is_root] = 0.0, np.flatnonzero(is_root)
    for _ in range(doublings):
        value = value + value[jump]
        jump = jump[jump]
    return rate, value, root


def _improve(choices: Sequence[_Choice], chosen: _Ints, rate: _Floats, value: _Floats) -> bool:
    """Take better choices, in place; whether there were any."""
    rates = np.stack([np.where(c.possible, rate[c.after], np.inf) for c in choices])
    best = rates.min(axis=0)
    limit = best * (1.0 + _SAME)
    better = best < rate * (1.0 - _SAME)
    values = np.stack([c.cost - rate * c.steps + value[c.after] for c in choices])
    values = np.where(rates <= limit, values, np.inf)
    pick = values.argmin(axis=0)
    now = np.take_along_axis(values, chosen[None], axis=0)[0]
    margin = _SAME * (np.abs(value).max() + 1.0)
    change = better | (values.min(axis=0) < now - margin)
    chosen[change] = pick[change]
    return bool(change.any())
