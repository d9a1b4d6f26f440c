"""Why a table was started: its score, and the best candidates that were passed over."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from freshline.core.commands import Candidate
from freshline.core.model import Table
from freshline.core.policy import Policy

_SHOWN_CANDIDATES = 3


def explained(
    table: Table, tables: Sequence[Table], ready: list[tuple[Any, int, int]], policy: Policy
) -> tuple[str, tuple[Candidate, ...]]:
    """The chosen table's score in words, and the next best with theirs.

    Args:
        table: What is started.
        tables: All of them, in table order.
        ready: Heap of those that wait by (key, table order, stamp), left as it is but for
            outdated entries.
        policy: Whose scores they are.
    """
    seen: list[tuple[Any, int, int]] = []
    over: list[Candidate] = []
    while ready and len(over) < _SHOWN_CANDIDATES:
        entry = heappop(ready)
        other = tables[entry[1]]
        if other.stamp == entry[2]:
            seen.append(entry)
            if other is not table:
                over.append(Candidate(other.name, _score(other, policy)))
    for entry in seen:
        heappush(ready, entry)
    return _score(table, policy), tuple(over)


def _score(table: Table, policy: Policy) -> str:
    if table.asked:
        return "asked for"
    if table.full and policy.ranks_by_gain:
        return "to be computed anew"
    return policy.score(table)
