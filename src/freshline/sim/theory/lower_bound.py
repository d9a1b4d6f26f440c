"""A weighted staleness that no schedule can go below on a scenario.

Not a simulation: a linear price on track seconds (Lagrangian duality) over what any schedule
must pay, table by table. The proof is docs/lower-bound.md; its lemmas are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import fmod, inf, sqrt
from random import Random

from freshline.core.model import TableSpec
from freshline.sim.scenario.feeds import files
from freshline.sim.scenario.model import Scenario
from freshline.sim.theory.forest import blocks

_SAFETY = 1.0 - 1e-9
"""Sums of floats err by less; the bound may be a hair low, never high."""

_GOLDEN = (sqrt(5.0) - 1.0) / 2.0
_ROUNDS = 40
_WIDTH = 1e-2
"""Of the best price, relative: near it the bound is flat, this is 1e-4 of its value at most."""

_MOST_RATED = 300
"""With more tables the second price is left out: its search takes as long as a simulation."""

_SAMPLED = 500
"""Of more parts than that, so many say which price is about the best."""

_AROUND = 0.97

_LEAST_SHARE = 1e-30
"""Of the largest priority: what is worth less counts nothing, and the bound stays one."""

_LEAST = 1e-100
"""Costs below count nothing either: products and quotients of smaller ones are no numbers."""


@dataclass(slots=True)
class _Table:
    """What the bound knows of a table.

    Attributes:
        priority: Weight of its staleness, as a part of the largest one.
        alpha_s, beta: The least an update can cost: noise and slowdown at their shortest.
        lead_s: What lies at least between a timestamp and its arrival in the table, beside
            ``beta`` times the amount that the last update loads (lemma 2).
        grid_s: Amounts loaded are multiples of it, the first excepted; 0: any amount.
        feed_s: Period of the feed at the end of the slowest way up; 0: not periodic.
        parent: Place of the source that its own D cannot exceed; -1: a base table.
        follows: Whether it has at most as many updates as that source (lemma 5).
        excess_s2: What the first file may save against the grid (lemma 4), unweighted.
        weight: What is left of the priority when work by any time has its price (lemma 6).
        priced_s: alpha after shares of it were moved along ``follows`` (lemma 5).
        least_s2: p * staleness that it has even on a machine without limits.
    """

    priority: float
    alpha_s: float
    beta: float
    lead_s: float
    grid_s: float
    feed_s: float = 0.0
    parent: int = -1
    follows: bool = False
    excess_s2: float = 0.0
    weight: float = 0.0
    priced_s: float = 0.0
    least_s2: float = 0.0

    @property
    def per_square(self) -> float:
        """What the squares of the amounts loaded count: p * (1/2 + beta) (lemma 3)."""
        return self.weight * (0.5 + self.beta)

    @property
    def behind_s(self) -> float:
        """How far behind the feed its data is at least, in the mean."""
        return self.lead_s + self.beta * self.grid_s + 0.5 * self.feed_s

    def slope(self, price: float) -> float:
        """Cost of a second of data loaded, with the best number of updates (lemma 4)."""
        square, start = self.per_square, price * self.priced_s
        amortised = 0.0
        if square > 0.0:
            amount_s = sqrt(start / square)
            if self.grid_s > 0.0:
                steps = max(1, int(amount_s / self.grid_s))
                less_s, more_s = self.grid_s * steps, self.grid_s * (steps + 1)
                amortised = min(square * less_s + start / less_s, square * more_s + start / more_s)
            else:
                amount_s = max(amount_s, self.feed_s / (1.0 + 2.0 * self.beta))
                amortised = square * amount_s + (start / amount_s if start else 0.0)
        return self.weight * self.lead_s + price * self.beta + amortised


def lower_bound_s2(scenario: Scenario) -> float:
    """Least weighted staleness that any schedule of ``scenario`` can have.

    Any schedule: eager or not, with whatever knowledge of the future, as long as one update
    loads what the semantics allow: all that is pending, or with ``chop`` (and under aus,
    which cuts too) any part of it.

    Returns:
        Sum over tables of priority * integral of staleness over [0, horizon], in s^2.
    """
    cuts = scenario.settings.chop is not None or scenario.settings.policy == "aus"
    tables, names = _tables(scenario, cuts=cuts)
    _measure_feeds(scenario, tables, names)
    horizon_s = scenario.horizon_s
    square_s2 = 0.5 * horizon_s * horizon_s
    sources = [[names[name] for name in spec.sources] for spec in _sources_first(scenario.tables)]
    parts = _parts(sources)

    def at_rate(rate: float) -> float:
        """The best over prices of a track second, when work by any time costs ``rate``."""
        _weigh(tables, sources, rate)
        _share_starts(tables)
        given_s2 = [sum(tables[at].priority - tables[at].weight for at in part) for part in parts]

        priced = list(zip(parts, given_s2, strict=True))

        def at_price(price: float, some: Sequence[tuple[list[int], float]] = priced) -> float:
            value = 0.0
            for part, given in some:
                least_s2 = sum([tables[order].least_s2 for order in part])
                priced_s2 = given * square_s2 + _priced(tables, part, price, horizon_s)
                value += max(least_s2, priced_s2)
            paid = scenario.tracks * (price * horizon_s + rate * square_s2)
            return value - paid * (len(some) / len(priced))

        costs = sum(table.alpha_s + table.beta * horizon_s for table in tables)
        squares = sum(table.per_square for table in tables)
        first = 1e-6 * squares * square_s2 / costs if costs > 0.0 else 0.0
        if len(priced) <= _SAMPLED:
            return _largest(at_price, first)[0]
        # Every price gives a bound, so a sample may say which is best; around it the whole is
        # looked at, where the bound is flat.
        sample = Random(1).sample(priced, _SAMPLED)
        _, price = _largest(partial(at_price, some=sample), first)
        return max(map(at_price, (0.0, _AROUND * price, price, price / _AROUND)))

    loads = sum(table.beta for table in tables)
    best = at_rate(0.0)
    if loads > scenario.tracks and len(tables) <= _MOST_RATED:
        weights = sum(table.priority for table in tables)
        best = max(best, _largest(at_rate, 1e-3 * weights / loads)[0])
    return max(0.0, best) * _most_worth(scenario) * _SAFETY


def _largest(value_at: Callable[[float], float], first: float) -> tuple[float, float]:
    """The largest value found of a concave function on [0, inf), and where.

    Args:
        value_at: The function.
        first: Where to look first for a place at which it falls; 0: only at 0.
    """
    best = (value_at(0.0), 0.0)
    if not 0.0 < first < inf:
        return best
    low, high, value = 0.0, first, value_at(first)
    while value > best[0] and high < inf:
        best, low, high = (value, high), high / 8.0, high * 8.0
        value = value_at(high)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value_at(left), value_at(right)
    for _ in range(_ROUNDS):
        best = max(best, (at_left, left), (at_right, right))
        if high - low <= _WIDTH * high:
            break
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = value_at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = value_at(right)
    return best


def _priced(tables: list[_Table], part: list[int], price: float, horizon_s: float) -> float:
    """What the tables of ``part`` pay at least, staleness and track seconds (lemma 6)."""
    if len(part) == 1:
        table = tables[part[0]]
        paid = _fluid(table.weight, table.slope(price), horizon_s)
        return paid - table.weight * table.excess_s2
    weights = [tables[order].weight for order in part]
    slopes = [tables[order].slope(price) for order in part]
    place = {order: index for index, order in enumerate(part)}
    parents = [place.get(tables[order].parent, -1) for order in part]
    total = 0.0
    for weight, slope, _ in blocks(parents, weights, slopes):
        total += _fluid(weight, slope, horizon_s)
    return total - sum(tables[order].weight * tables[order].excess_s2 for order in part)


def _fluid(weight: float, slope: float, horizon_s: float) -> float:
    """The least of loading at ``slope`` a second up to some moment, and being stale from it on."""
    if slope < weight * horizon_s:
        return slope * horizon_s - slope * slope / (2.0 * weight)
    return weight * horizon_s * horizon_s / 2.0


def _weigh(tables: list[_Table], sources: list[list[int]], rate: float) -> None:
    """Set ``weight``: p minus the rate's price of its data, moved up to sources that lack it.

    A table is never fresher than its source, so what the source lacks can be paid from it
    (lemma 5); any amount is valid, and what is moved is what the way to the root lacks.
    """
    wanted: list[float] = []
    for table in tables:
        lacking = rate * table.beta - table.priority
        above = max(0.0, wanted[table.parent]) if table.parent >= 0 else 0.0
        wanted.append(lacking + above)
    received = [0.0] * len(tables)
    for order in range(len(tables) - 1, -1, -1):
        table = tables[order]
        left = table.priority - rate * table.beta + received[order]
        for source in sources[order]:
            given = min(left, wanted[source] - received[source])
            if given > 0.0:
                received[source] += given
                left -= given
        table.weight = max(0.0, left)


# ---- lemmas 1 and 2: amounts, latencies ----


def _tables(scenario: Scenario, *, cuts: bool) -> tuple[list[_Table], dict[str, int]]:
    """Every table, sources first, and each name's place."""
    factor = scenario.low
    slowdown = scenario.slowdown
    if slowdown is not None and slowdown.slow_s > 0.0:
        factor *= slowdown.factor if slowdown.normal_s == 0.0 else min(1.0, slowdown.factor)
    most = _most_worth(scenario)
    tables: list[_Table] = []
    names: dict[str, int] = {}
    bases: list[frozenset[str]] = []
    early: list[float] = []
    for spec in _sources_first(scenario.tables):
        alpha_s, beta = (
            cost if cost > _LEAST else 0.0 for cost in (spec.alpha_s * factor, spec.beta * factor)
        )
        sources = [names[name] for name in spec.sources]
        from_bases = frozenset([spec.name]).union(*(bases[order] for order in sources))
        if spec.sources:
            from_bases = frozenset().union(*(bases[order] for order in sources))
        grid_s = phase_s = 0.0
        if len(from_bases) == 1 and not (cuts and sources):
            (feed,) = (scenario.feeds[name] for name in from_bases)
            if feed.arrivals is None:
                grid_s, phase_s = feed.period_s, feed.phase_s
        priority = spec.priority / most if spec.priority > _LEAST_SHARE * most else 0.0
        table = _Table(priority, alpha_s, beta, alpha_s, grid_s)
        saved_s2 = 0.0
        if sources:
            table.parent = max(sources, key=lambda at: tables[at].behind_s)
            slowest = tables[table.parent]
            table.lead_s += slowest.lead_s + slowest.beta * slowest.grid_s
            table.feed_s = slowest.feed_s
            table.follows = len(sources) == 1 and not cuts
            table.excess_s2 = saved_s2 = early[table.parent]
            if grid_s == 0.0:
                table.excess_s2 += 0.25 * table.feed_s * table.feed_s
        if grid_s > 0.0:
            table.feed_s = grid_s
            off_s = fmod(phase_s, grid_s)
            table.excess_s2 += (0.5 + beta) * off_s * (grid_s - off_s)
            saved_s2 += beta * phase_s * max(0.0, grid_s - phase_s)
        early.append(saved_s2)
        names[spec.name] = len(tables)
        bases.append(from_bases)
        tables.append(table)
    return tables, names


def _most_worth(scenario: Scenario) -> float:
    """The largest priority; 1 where nothing is worth anything."""
    return max(spec.priority for spec in scenario.tables) or 1.0


def _sources_first(specs: tuple[TableSpec, ...]) -> list[TableSpec]:
    by_name = {spec.name: spec for spec in specs}
    done: dict[str, TableSpec] = {}
    for root in specs:
        stack = [root]
        while stack:
            spec = stack[-1]
            missing = [by_name[name] for name in spec.sources if name not in done]
            if missing:
                stack.extend(missing)
            else:
                done.setdefault(spec.name, spec)
                stack.pop()
    return list(done.values())


def _measure_feeds(scenario: Scenario, tables: list[_Table], names: dict[str, int]) -> None:
    """``least_s2`` of every table: its staleness where nothing waits for a track (lemma 7)."""
    horizon_s = scenario.horizon_s
    for table in tables:
        table.weight, parent, table.parent = table.priority, table.parent, -1
        table.least_s2 = max(0.0, _priced([table], [0], 0.0, horizon_s))
        table.parent = parent
    for base, feed in scenario.feeds.items():
        if feed.arrivals is None and not feed.outages:
            continue
        delays = _delays(scenario, names, tables, base)
        latest = dict.fromkeys(delays, 0.0)
        # Of about H^2 / 2 little is left: what rounding takes from the sum is kept beside it.
        loaded = dict.fromkeys(delays, 0.0)
        rounded = dict.fromkeys(delays, 0.0)
        before_s = 0.0
        beta = tables[names[base]].beta
        for arrival_s, timestamp_s in files(feed):
            if arrival_s > horizon_s:
                break
            length_s = timestamp_s - before_s
            if length_s <= 0.0:
                continue
            before_s = timestamp_s
            for order, delay_s in delays.items():
                at_s = latest[order] = max(latest[order], arrival_s + beta * length_s + delay_s)
                more_s2 = length_s * max(0.0, horizon_s - at_s)
                before_s2, now_s2 = loaded[order], loaded[order] + more_s2
                rounded[order] += (
                    before_s2 - now_s2 + more_s2
                    if before_s2 >= more_s2
                    else more_s2 - now_s2 + before_s2
                )
                loaded[order] = now_s2
        for order in delays:
            stale_s2 = 0.5 * horizon_s * horizon_s - loaded[order] - rounded[order]
            least_s2 = tables[order].priority * stale_s2
            tables[order].least_s2 = max(tables[order].least_s2, least_s2)


def _delays(
    scenario: Scenario, names: dict[str, int], tables: list[_Table], base: str
) -> dict[int, float]:
    """Start-up seconds on the longest way from ``base`` to each table derived from it."""
    start = names[base]
    delays = {start: tables[start].alpha_s}
    specs = {names[spec.name]: spec for spec in scenario.tables}
    for order in range(start + 1, len(tables)):
        ways = [delays[names[name]] for name in specs[order].sources if names[name] in delays]
        if ways:
            delays[order] = max(ways) + tables[order].alpha_s
    return delays


# ---- lemma 5: a table has at most as many updates as its only source ----


def _share_starts(tables: list[_Table]) -> None:
    """Set ``priced_s``: move start-up seconds between tables that are best updated together."""
    parents = [table.parent if table.follows else -1 for table in tables]
    weights = [table.per_square for table in tables]
    members = blocks(parents, weights, [table.alpha_s for table in tables])
    moved = [0.0] * len(tables)
    for table in tables:
        table.priced_s = table.alpha_s
    block_of = {order: number for number, (_, _, part) in enumerate(members) for order in part}
    ratios = [cost / weight if weight > 0.0 else 0.0 for weight, cost, _ in members]
    for order in range(len(tables) - 1, -1, -1):
        table, parent = tables[order], parents[order]
        table.priced_s -= moved[order]
        if parent >= 0 and block_of[parent] == block_of[order]:
            share_s = max(0.0, weights[order] * ratios[block_of[order]] - table.priced_s)
            table.priced_s += share_s
            moved[parent] += share_s
        table.priced_s = max(0.0, table.priced_s)


def _parts(sources: list[list[int]]) -> list[list[int]]:
    """Tables that are related, each part in order: lemma 5 moves nothing between parts."""
    part_of: list[list[int]] = []
    for order, ways in enumerate(sources):
        part = [order]
        for source in ways:
            if part_of[source] is not part:
                other = part_of[source]
                longer, shorter = (part, other) if len(part) >= len(other) else (other, part)
                longer.extend(shorter)
                for member in shorter:
                    if member < order:
                        part_of[member] = longer
                part = longer
        part_of.append(part)
    return [sorted(part) for part in {id(part): part for part in part_of}.values()]
