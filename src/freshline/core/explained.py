"""Why a table was started: its score, and the best of those that were passed over."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

from freshline.core.commands import Candidate
from freshline.core.model import Table
from freshline.core.policy import Policy

_SHOWN_CANDIDATES = 3


class Chooser(Protocol):
    """What chose: its tables, and their order."""

    @property
    def tables(self) -> Sequence[Table]:
        """All tables, in table order."""

    @property
    def policy(self) -> Policy:
        """Whose scores they are."""


def explained(
    chooser: Chooser, table: Table, ready: list[tuple[Any, int, int]]
) -> tuple[str, tuple[Candidate, ...]]:
    """The chosen table's score in words, and the next best with theirs.

    Args:
        chooser: The scheduler.
        table: What it starts.
        ready: Its heap of waiting tables by (key, table order, stamp), left as it is but for
            outdated entries.
    """
    tables, policy = chooser.tables, chooser.policy
    seen: list[tuple[Any, int, int]] = []
    over: list[Candidate] = []
    while ready and len(over) < _SHOWN_CANDIDATES:
        entry = heappop(ready)
        other = tables[entry[1]]
        if other.stamp == entry[2]:
            seen.append(entry)
            if other is not table:
                over.append(Candidate(other.name, policy.score(other)))
    for entry in seen:
        heappush(ready, entry)
    score = "asked for" if table.asked else policy.score(table)
    return score, tuple(over)
