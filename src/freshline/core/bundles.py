"""What an update of a table is worth together with the updates it makes possible.

Data that a source loads is of use to a dependent only once the dependent has loaded it too:
its update has to be paid as well. So a source is judged as the best bundle of itself and of
tables derived from it: the bundle with the largest priority per second of its updates. A
dependent whose own ratio is higher than its source's lifts it, one with a lower ratio is
updated at its own, slower, pace and adds nothing. (Pooling for "no table is updated more often
than its source"; with tables as jobs it is the decomposition of Sidney 1975 and Horn 1972
for weighted completion under precedence. Derivation: docs/whittle-policy.md, 4.)

A dependent of several sources is not one source's alone. Each is credited with its share of the
dependent's priority and of the seconds that its data takes; the start-up is paid for by none of
them, because the dependent will be updated for the others as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from freshline.core.graph import topological
from freshline.core.model import Table

_MOST_MEMBERS = 64
"""In one bundle: the best are taken first, so what is cut off hardly counts, and finding all
bundles stays near linear in the number of tables."""


_ALONE = 1.0 - 1e-9
"""A share from which on a table is derived from one alone: thirds do not add up exactly."""

_MOST_REACHED = 256
"""Of the tables below one: what lies further down is counted as not derived from it."""

Shares = dict[int, float]
"""Of a table: the share that it has in each table derived from it, by their places."""

_NONE: Shares = {}


@dataclass(slots=True)
class Bundle:
    """A table and those of its dependents that lift it.

    Attributes:
        priority: Sum of the members' own, each times the table's share in it.
        alpha_s: Sum of the start-ups of those members that are derived from it alone.
        beta: Sum of the members' slopes, each times the table's share in it.
        late: Sum of the members' priority * slope, each times the share: by how much the bundle is
            staler for each second of data that its updates load, since loading takes that long.
        members: Their places, the table's own among them.
    """

    priority: float
    alpha_s: float
    beta: float
    late: float
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


def shares(tables: Sequence[Table]) -> list[Shares]:
    """Every table's shares in what is derived from it, by table order.

    A table shares itself out evenly over its sources, and they over theirs: with one source, or
    where all sources are derived from the table, the share is 1.
    """
    rank = {table.order: place for place, table in enumerate(topological(tables))}
    return [_shares(table, rank) if table.children else _NONE for table in tables]


def _shares(table: Table, rank: dict[int, int]) -> Shares:
    reached = {table.order: table}
    found = deque([table])
    while found and len(reached) < _MOST_REACHED:
        for child in found.popleft().children:
            if child.order not in reached:
                reached[child.order] = child
                found.append(child)
    result = {table.order: 1.0}
    for order in sorted(reached, key=rank.__getitem__):
        if order != table.order:
            sources = reached[order].sources
            from_it = sum([result.get(source.order, 0.0) for source in sources])
            result[order] = from_it / len(sources)
    return result


def bundles(tables: Sequence[Table], shared: Sequence[Shares]) -> list[Bundle]:
    """The bundle of every table, by table order; amounts compared are one period's.

    Args:
        tables: All tables.
        shared: What ``shares`` says of them; it depends on the graph alone.
    """
    found: dict[int, Bundle] = {}
    for table in reversed(topological(tables)):
        found[table.order] = _bundle(table, tables, found, shared[table.order])
    return [found[table.order] for table in tables]


def _with_sources(
    wanted: frozenset[int], members: frozenset[int], tables: Sequence[Table], share: Shares
) -> frozenset[int]:
    """What of ``wanted`` is missing, and the sources that have to run before it."""
    added = {order for order in wanted - members if order in share}
    ways = list(added)
    while ways and len(added) < _MOST_MEMBERS:
        for source in tables[ways.pop()].sources:
            order = source.order
            if order in share and order not in added and order not in members:
                added.add(order)
                ways.append(order)
    return frozenset(added)


def _first_guess(child: Table, part: float, bundle: Bundle, amount_s: float) -> float:
    """Slowness by which a dependent is offered: as a rule below what it will add, and soon found.

    The exact one costs a walk over its bundle, and is found when its turn comes.
    """
    alpha_s = child.cost.alpha_s if part >= _ALONE else 0.0
    own = Bundle(part * child.priority, alpha_s, part * child.cost.beta, 0.0, frozenset())
    return min(own.slowness(amount_s), bundle.slowness(amount_s))


def _bundle(
    table: Table, tables: Sequence[Table], found: dict[int, Bundle], share: Shares
) -> Bundle:
    """``table`` and, best first, the bundles below it as long as they are better than it."""
    cost, alone = table.cost, frozenset([table.order])
    bundle = Bundle(table.priority, cost.alpha_s, cost.beta, table.priority * cost.beta, alone)
    if not table.children:
        return bundle
    amount_s = table.period_s
    offered: list[tuple[float, int]] = []
    seen = {table.order}

    def extra(order: int) -> Bundle:
        """What the bundle of that dependent would add."""
        added = _with_sources(found[order].members, bundle.members, tables, share)
        priority = alpha_s = beta = late = 0.0
        for member in sorted(added):
            part = share.get(member, 0.0)
            cost = tables[member].cost
            priority += part * tables[member].priority
            beta += part * cost.beta
            late += part * tables[member].priority * cost.beta
            if part >= _ALONE:
                alpha_s += cost.alpha_s
        return Bundle(priority, alpha_s, beta, late, added)

    def offer(of: Table) -> None:
        for child in of.children:
            if child.order in share and child.order not in seen:
                seen.add(child.order)
                guess = _first_guess(child, share[child.order], found[child.order], amount_s)
                heappush(offered, (guess, child.order))

    offer(table)
    while offered and len(bundle.members) < _MOST_MEMBERS:
        _, order = heappop(offered)
        more = extra(order)
        slowness = more.slowness(amount_s)  # of what others have not brought meanwhile
        if offered and slowness > offered[0][0]:
            heappush(offered, (slowness, order))
            continue
        if slowness >= bundle.slowness(amount_s):
            break
        bundle.priority += more.priority
        bundle.alpha_s += more.alpha_s
        bundle.beta += more.beta
        bundle.late += more.late
        bundle.members |= more.members
        for member in sorted(more.members):
            offer(tables[member])
    return bundle
