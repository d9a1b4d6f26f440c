"""Lookahead's search: which waiting updates best fill the time until a better one comes.

Golab et al. 2011, 3.1: over all sets S of waiting updates whose seconds together lie in
[wait, limit), the largest (value of S and of the expected update) / (seconds of both).
A fractional knapsack with a lower and an upper bound on the weight: hard in general, small
in practice. Branch and bound over the items by falling ratio; the bound of a branch fills
the time still missing with the best ratio left.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

NODES = 200_000
"""Branches looked at before the best set so far is taken. Within it the search is exact; only
dozens of updates of equal ratio and all different lengths get there."""


class Item(NamedTuple):
    """A waiting update: its value p * delta, its expected seconds, and whose it is."""

    value: float
    seconds: float
    order: int


class Cover(NamedTuple):
    """The best set found: its ratio with the expected update, and its members."""

    ratio: float
    members: tuple[Item, ...]


class _Branch(NamedTuple):
    """All sets that hold some members and any of the items from ``item`` on."""

    item: int
    value: float
    seconds: float
    filled_s: float
    members: Any
    """The last one taken and those before it: (item, (item, ...)), shared among branches."""


def best_cover(
    items: Sequence[Item],
    *,
    expected: Item,
    wait_s: float,
    limit_s: float,
    above: float,
) -> Cover | None:
    """The set with wait_s <= seconds < limit_s and the largest ratio, if above ``above``.

    Args:
        items: Waiting updates with seconds > 0, by falling value / seconds.
        expected: The update that is expected, counted with every set.
        wait_s: Until it is released, > 0.
        limit_s: What the set must stay below.
        above: The ratio that it has to beat, at least that of the first item.
    """
    items = [item for item in items if item.seconds < limit_s]
    left_s = list(accumulate([item.seconds for item in reversed(items)], initial=0.0))
    left_s.reverse()  # left_s[i]: seconds of the items from i on
    best: Cover | None = None
    stack = [_Branch(0, expected.value, expected.seconds, 0.0, None)]
    nodes = NODES
    while stack and nodes:
        nodes -= 1
        index, value, seconds, filled_s, members = stack.pop()
        missing_s = wait_s - filled_s
        if missing_s <= 0.0:
            # More members could only dilute it: none has a ratio above ``above``.
            if seconds > 0.0 and value / seconds > above:
                above = value / seconds
                best = Cover(above, _unrolled(members))
            continue
        if missing_s > left_s[index]:
            continue
        item = items[index]
        if value + missing_s * item.value / item.seconds <= above * (seconds + missing_s):
            continue
        # A twin of an item that is left out cannot do better than that item.
        after = index + 1
        while after < len(items) and items[after][:2] == item[:2]:
            after += 1
        if after < len(items):
            stack.append(_Branch(after, value, seconds, filled_s, members))
        if filled_s + item.seconds < limit_s:
            stack.append(
                _Branch(
                    index + 1,
                    value + item.value,
                    seconds + item.seconds,
                    filled_s + item.seconds,
                    (item, members),
                )
            )
    return best


def _unrolled(members: Any) -> tuple[Item, ...]:
    found = []
    while members is not None:
        item, members = members
        found.append(item)
    return tuple(reversed(found))
