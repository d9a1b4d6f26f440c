"""What an update of a table is worth together with the updates it makes possible.

Data that a source loads is of use to a dependent only once the dependent has loaded it too:
its update has to be paid as well. So a source is judged as the best bundle of itself and of
tables derived from it: the bundle with the largest priority per second of its updates. A
dependent whose own ratio is higher than its source's lifts it, one with a lower ratio is
updated at its own, slower, pace and adds nothing. (Pooling for "no table is updated more often
than its source"; with tables as jobs it is the decomposition of Sidney 1975 and Horn 1972
for weighted completion under precedence. Derivation: docs/whittle-policy.md, 4.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from freshline.core.graph import topological
from freshline.core.model import Table

_MOST_MEMBERS = 64
"""In one bundle: the best are taken first, so what is cut off hardly counts, and finding all
bundles stays near linear in the number of tables."""


@dataclass(slots=True)
class Bundle:
    """A table and those of its dependents that lift it.

    Attributes:
        priority: Sum of the members' own.
        alpha_s, beta: Sums of the members' costs.
        members: Their places, the table's own among them.
    """

    priority: float
    alpha_s: float
    beta: float
    members: frozenset[int]

    def seconds(self, amount_s: float) -> float:
        """What it takes to bring ``amount_s`` seconds of data through all members."""
        return self.alpha_s + self.beta * amount_s

    def slowness(self, amount_s: float) -> float:
        """Seconds per unit of priority; the smaller, the better."""
        seconds = self.seconds(amount_s)
        if self.priority > 0.0:
            return seconds / self.priority
        return float("inf") if seconds > 0.0 else 0.0


def bundles(tables: Sequence[Table]) -> list[Bundle]:
    """The bundle of every table, by table order; amounts compared are one period's."""
    found: dict[int, Bundle] = {}
    for table in reversed(topological(tables)):
        found[table.order] = _bundle(table, tables, found)
    return [found[table.order] for table in tables]


def _bundle(table: Table, tables: Sequence[Table], found: dict[int, Bundle]) -> Bundle:
    """``table`` and, best first, the bundles below it as long as they are better than it."""
    bundle = Bundle(table.priority, table.cost.alpha_s, table.cost.beta, frozenset([table.order]))
    if not table.children:
        return bundle
    amount_s = table.period_s
    offered: list[tuple[float, int]] = []
    seen = {table.order}
    _offer(table, offered, seen, found, amount_s)
    while offered and len(bundle.members) < _MOST_MEMBERS:
        slowness, order = heappop(offered)
        if slowness >= bundle.slowness(amount_s):
            break
        added = found[order].members - bundle.members
        for member in sorted(added):
            bundle.priority += tables[member].priority
            bundle.alpha_s += tables[member].cost.alpha_s
            bundle.beta += tables[member].cost.beta
        bundle.members |= added
        for member in sorted(added):
            _offer(tables[member], offered, seen, found, amount_s)
    return bundle


def _offer(
    table: Table,
    offered: list[tuple[float, int]],
    seen: set[int],
    found: dict[int, Bundle],
    amount_s: float,
) -> None:
    for child in table.children:
        if child.order not in seen:
            seen.add(child.order)
            heappush(offered, (found[child.order].slowness(amount_s), child.order))
