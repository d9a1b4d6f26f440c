"""The ideal run: every table has a track of its own and starts as soon as it has news.

Golab et al. 2011, 4, measure a policy by its weighted staleness relative to this one (rule
G14: as many tracks as tables, fifo, nothing inherited, cut or partitioned). Without
competition there is nothing to decide, and tables that are not derived from one another have
nothing to do with each other. So the schedule that the scheduler would make is laid out
group by group, several times faster and a group at a time in memory; a law checks that
it is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from freshline.core.model import TableSpec
from freshline.sim.scenario.durations import End, ends, noise_stream
from freshline.sim.scenario.feeds import files
from freshline.sim.scenario.model import Scenario

_NEVER = float("inf")
_FINISHED, _ARRIVED = 0, 1


def ideal_weighted_staleness_s2(scenario: Scenario) -> float:
    """Weighted staleness of the ideal run of ``scenario``."""
    end = ends(scenario)
    total_s2 = 0.0
    for group in related(scenario.tables):
        if len(group) == 1:
            total_s2 += group[0].priority * _alone_s2(scenario, group[0], end)
        else:
            total_s2 += _together_s2(scenario, group, end)
    return total_s2


def related(tables: Sequence[TableSpec]) -> list[list[TableSpec]]:
    """Groups of tables that are linked by derivation, each in table order."""
    leader = {table.name: table.name for table in tables}

    def led_by(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for table in tables:
        for source in table.sources:
            leader[led_by(source)] = led_by(table.name)
    groups: dict[str, list[TableSpec]] = {}
    for table in tables:
        groups.setdefault(led_by(table.name), []).append(table)
    return list(groups.values())


def _alone_s2(scenario: Scenario, table: TableSpec, end: End) -> float:
    """Integral of staleness of a base table from which nothing is derived."""
    horizon_s = scenario.horizon_s
    alpha_s, beta = table.alpha_s, table.beta
    chance = noise_stream(scenario, table.name)
    feed = files(scenario.feeds[table.name])
    freshness_s = edge_s = to_s = since_s = area_s2 = 0.0
    number = 0
    finish_s = _NEVER
    arrival_s, timestamp_s = next(feed, (_NEVER, 0.0))
    while True:
        now_s = finish_s if finish_s < arrival_s else arrival_s  # noqa: FURB136 - twice as fast
        if now_s > horizon_s or now_s == _NEVER:
            break
        if finish_s == now_s:
            past_s = now_s - since_s
            area_s2 += (now_s - freshness_s - 0.5 * past_s) * past_s
            since_s = now_s
            freshness_s = to_s
            finish_s = _NEVER
        while arrival_s == now_s:
            if timestamp_s > edge_s:  # noqa: PLR1730 - likewise
                edge_s = timestamp_s
            arrival_s, timestamp_s = next(feed, (_NEVER, 0.0))
        if finish_s == _NEVER and edge_s > freshness_s and now_s < horizon_s:
            number += 1
            to_s = edge_s
            finish_s = end(now_s, alpha_s + beta * (to_s - freshness_s), chance, number)
    past_s = horizon_s - since_s
    return area_s2 + (horizon_s - freshness_s - 0.5 * past_s) * past_s


class _State:
    """A table of a group."""

    __slots__ = (
        "area_s2",
        "chance",
        "children",
        "edge_s",
        "feed",
        "freshness_s",
        "number",
        "order",
        "running",
        "since_s",
        "sources",
        "spec",
        "to_s",
    )

    def __init__(self, scenario: Scenario, spec: TableSpec, order: int) -> None:
        self.spec = spec
        self.order = order
        self.chance = noise_stream(scenario, spec.name)
        self.sources: list[_State] = []
        self.children: list[_State] = []
        self.feed: Iterator[tuple[float, float]] = (
            files(scenario.feeds[spec.name]) if spec.name in scenario.feeds else iter(())
        )
        self.freshness_s = self.edge_s = self.to_s = self.since_s = self.area_s2 = 0.0
        self.number = 0
        self.running = False

    def settle(self, now_s: float) -> None:
        """Add the staleness since the last change."""
        past_s = now_s - self.since_s
        self.area_s2 += (now_s - self.freshness_s - 0.5 * past_s) * past_s
        self.since_s = now_s


def _together_s2(scenario: Scenario, group: Sequence[TableSpec], end: End) -> float:
    """Weighted staleness of tables that are linked by derivation.

    Rounds of an instant matter as they do to the scheduler: a table starts with the edge
    that it has when all completions and arrivals of the round are known.
    """
    horizon_s = scenario.horizon_s
    states = [_State(scenario, spec, order) for order, spec in enumerate(group)]
    _link(states)
    heap: list[tuple[float, int, int, float]] = []
    for order, state in enumerate(states):
        for arrival_s, timestamp_s in state.feed:
            heappush(heap, (arrival_s, _ARRIVED, order, timestamp_s))
            break
    while heap and heap[0][0] <= horizon_s:
        now_s = heap[0][0]
        touched: list[_State] = []
        while heap and heap[0][0] == now_s:
            _, kind, order, timestamp_s = heappop(heap)
            state = states[order]
            touched.append(state)
            if kind == _FINISHED:
                state.settle(now_s)
                state.freshness_s = state.to_s
                state.running = False
                touched += state.children
            else:
                if timestamp_s > state.edge_s:  # noqa: PLR1730 - likewise
                    state.edge_s = timestamp_s
                for arrival_s, timestamp_s in state.feed:
                    heappush(heap, (arrival_s, _ARRIVED, order, timestamp_s))
                    break
        for state in touched:
            if state.sources:
                state.edge_s = min([source.freshness_s for source in state.sources])
            if not state.running and state.edge_s > state.freshness_s and now_s < horizon_s:
                spec = state.spec
                state.running = True
                state.number += 1
                state.to_s = state.edge_s
                seconds = spec.alpha_s + spec.beta * (state.to_s - state.freshness_s)
                finish_s = end(now_s, seconds, state.chance, state.number)
                heappush(heap, (finish_s, _FINISHED, state.order, 0.0))
    for state in states:
        state.settle(horizon_s)
    return sum(state.spec.priority * state.area_s2 for state in states)


def _link(states: Sequence[_State]) -> None:
    """Set each state's sources and children."""
    by_name = {state.spec.name: state for state in states}
    for state in states:
        for name in state.spec.sources:
            state.sources.append(by_name[name])
            by_name[name].children.append(state)
