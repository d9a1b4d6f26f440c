"""What an order of batches of many reports costs, each as late as the deadlines allow.

Each batch takes what is there when it starts, at most what the longest batch may hold; the
last batch of a report takes the rest. So sizes depend on starts and starts on sizes: both are
found by iterating from the back, which contracts as long as the tracks can keep up.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from freshline.reports.costs import TOLERANCE_S, FinalCost

_ROUNDS = 16
_PULLS = 3
_LONGEST_PULL_S = 5.0


@dataclass(frozen=True, slots=True)
class Work:
    """What is left of one report.

    Args:
        expected_s: When each tuple not yet taken is there, nondecreasing.
        cost_s: Planned seconds of a batch by its tuples, from 0 to all that is left.
        grace_s: How long after ``deadline_s`` the report is really wanted; up to there it is
            late only if the input falls further behind.
        longest: The most tuples a batch may hold.
        free_s: When its running batch ends; its next batch waits for that.
        margin: Multiple of the modelled durations that is planned with.
    """

    name: str
    expected_s: Sequence[float]
    deadline_s: float
    cost_s: Sequence[float]
    final: FinalCost
    batches_before: int
    longest: int
    free_s: float
    margin: float = 1.0
    grace_s: float = 0.0

    def final_s(self, batches: int) -> float:
        """Planned seconds of the final aggregation after ``batches`` more batches."""
        return self.margin * self.final(self.batches_before + batches)


@dataclass(frozen=True, slots=True)
class Timed:
    """An order with its times.

    Attributes:
        order: Indices of works, batches that would be empty left out, split ones repeated.
        starts_s, ends_s: Planned start and end of each, a last one's end with its final.
        sizes: Tuples of each.
        late_s: Total lateness over all reports.
        missed_s: The same beyond every report's grace.
        cost_s: Total planned duration.
    """

    order: tuple[int, ...]
    starts_s: tuple[float, ...]
    ends_s: tuple[float, ...]
    sizes: tuple[int, ...]
    late_s: float
    missed_s: float
    cost_s: float

    def better_than(self, other: Timed) -> bool:
        """Less late beyond grace, less late, or as punctual and cheaper."""
        if abs(self.missed_s - other.missed_s) > TOLERANCE_S:
            return self.missed_s < other.missed_s
        if self.late_s > TOLERANCE_S or other.late_s > TOLERANCE_S:
            return self.late_s < other.late_s - TOLERANCE_S
        return self.cost_s < other.cost_s - TOLERANCE_S


def time_order(works: Sequence[Work], order: Sequence[int], free_s: Sequence[float]) -> Timed:
    """Times for ``order``, which must name every work at least once.

    Args:
        free_s: When each track is free.
    """
    starts_s = _late_starts_s(works, order, len(free_s))
    timed = _run(works, order, starts_s, free_s)
    for _ in range(_PULLS):
        if timed.late_s <= TOLERANCE_S:
            break
        # Rounding to whole tuples left it a little late: begin everything that much earlier.
        pull_s = timed.late_s * 1.01 + 1e-6
        if pull_s > _LONGEST_PULL_S:
            break
        starts_s = [start_s - pull_s for start_s in starts_s]
        again = _run(works, order, starts_s, free_s)
        if not again.better_than(timed):
            break
        timed = again
    return timed


def _late_starts_s(works: Sequence[Work], order: Sequence[int], tracks: int) -> list[float]:
    count = len(order)
    place_of_last = {index: place for place, index in enumerate(order)}
    times = [0] * len(works)
    for index in order:
        times[index] += 1
    finals_s = [work.final_s(times[index]) for index, work in enumerate(works)]
    lengths_s = [
        works[index].cost_s[-(-len(works[index].expected_s) // times[index])] for index in order
    ]
    starts_s = [0.0] * count
    end_s = max((work.deadline_s for work in works), default=0.0)
    is_last = [place_of_last[index] == place for place, index in enumerate(order)]
    for _ in range(_ROUNDS):
        heads_s = [end_s] * tracks
        own_s = [math.inf] * len(works)
        changed = 0.0
        for place in range(count - 1, -1, -1):
            index = order[place]
            track = 0 if tracks == 1 else max(range(tracks), key=heads_s.__getitem__)
            limit_s = heads_s[track]
            if is_last[place]:
                latest_s = works[index].deadline_s
                limit_s = min(limit_s, latest_s)
                limit_s -= finals_s[index]
            elif own_s[index] < limit_s:
                limit_s = own_s[index]
            start_s = limit_s - lengths_s[place]
            change = start_s - starts_s[place]
            if change > changed or -change > changed:
                changed = abs(change)
            starts_s[place] = heads_s[track] = own_s[index] = start_s
        if changed < TOLERANCE_S:
            break
        taken = [0] * len(works)
        for place, index in enumerate(order):
            work = works[index]
            before = taken[index]
            if is_last[place]:
                size = len(work.expected_s) - before
            else:
                size = bisect_right(work.expected_s, starts_s[place], before) - before
                size = min(size, work.longest)
            lengths_s[place] = work.cost_s[size]
            taken[index] = before + size
    return starts_s


def _run(
    works: Sequence[Work], order: Sequence[int], starts_s: Sequence[float], free_s: Sequence[float]
) -> Timed:
    """Run the order forwards, no batch before its planned start."""
    tracks = len(free_s)
    heads_s = list(free_s)
    own_s = [work.free_s for work in works]
    taken = [0] * len(works)
    batches = [0] * len(works)
    place_of_last = {index: place for place, index in enumerate(order)}
    ran: list[int] = []
    ran_s: list[float] = []
    ended_s: list[float] = []
    sizes: list[int] = []
    cost_s = late_s = missed_s = 0.0
    for place, index in enumerate(order):
        work = works[index]
        before, count = taken[index], len(work.expected_s)
        if before == count:
            continue
        track = 0 if tracks == 1 else min(range(tracks), key=heads_s.__getitem__)
        start_s = max(heads_s[track], own_s[index], starts_s[place])
        last = place_of_last[index] == place
        if last:
            start_s = max(start_s, work.expected_s[-1])
            size = count - before
        else:
            size = bisect_right(work.expected_s, start_s, before) - before
            if size == 0:
                continue
        while True:
            part = min(size, work.longest)
            before += part
            size -= part
            length_s = work.cost_s[part]
            batches[index] += 1
            ran.append(index)
            ran_s.append(start_s)
            sizes.append(part)
            if before == count:
                length_s += work.final_s(batches[index])
                over_s = start_s + length_s - work.deadline_s
                late_s += max(0.0, over_s)
                missed_s += max(0.0, over_s - work.grace_s)
            cost_s += length_s
            start_s += length_s
            ended_s.append(start_s)
            if not last or size == 0:
                break
        taken[index] = before
        heads_s[track] = own_s[index] = start_s
    return Timed(tuple(ran), tuple(ran_s), tuple(ended_s), tuple(sizes), late_s, missed_s, cost_s)
