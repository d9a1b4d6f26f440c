"""How old each table's data may be when its next update starts, so that targets are kept.

A target T bounds a table's staleness, as ``target_lag`` of dynamic tables does. An update that
starts at lag a (now - F) and may have to load everything up to now takes alpha + beta*a, so it
ends at lag a + alpha + beta*a; the largest a that keeps the target is (T - alpha) / (1 + beta).
What a table needs its sources need before it: when it starts, they may be so old at most that
an update started just before newer data came, and the one after it, still end in time. The
derivation, and what is not promised: docs/design/0030-objective-cost.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from freshline.core.graph import topological
from freshline.core.model import Table, TableSpec

AT_ONCE = -inf
"""Nobody said how old the table may get: it is updated as soon as it has news."""
NEVER = inf
"""Nobody needs it: it is updated when somebody asks for it."""

_ERRORS_ALLOWED = 2.0
"""An update may take longer than learned by this many mean errors of the learned costs: for
errors that scatter evenly about it, nineteen in twenty take less."""

_MOST_QUEUEING = 0.25
"""Share of a target that is kept back for waiting at most: on tracks that are overloaded,
starting earlier and earlier only makes more updates."""


@dataclass(frozen=True, slots=True)
class Need:
    """What is asked of one table.

    Attributes:
        lag_s: Staleness that it must never exceed: its own target or what its dependents
            need; ``NEVER`` without either.
        start_lag_s: now - F at which its update has to start; ``AT_ONCE``, ``NEVER``.
    """

    lag_s: float
    start_lag_s: float


def stated_lags(specs: Iterable[TableSpec]) -> dict[str, float]:
    """The lag by which each table is measured, where there is one, seconds.

    Its own target; for a DOWNSTREAM table the least of its children's.
    """
    specs = list(specs)
    children: dict[str, list[str]] = {spec.name: [] for spec in specs}
    for spec in specs:
        for source in spec.sources:
            children[source].append(spec.name)
    found: dict[str, float | None] = {}
    downstream = {spec.name for spec in specs if spec.target_downstream}
    pending = [spec.name for spec in specs]
    own = {spec.name: spec.target_lag_s for spec in specs}
    while pending:
        name = pending[-1]
        missing = [child for child in children[name] if child not in found]
        if name in downstream and missing:
            pending += missing
            continue
        lags = [found[child] for child in children[name]] if name in downstream else []
        found[name] = min([lag for lag in lags if lag is not None], default=own[name])
        pending.pop()
    return {spec.name: lag for spec in specs if (lag := found[spec.name]) is not None}


def needs(
    tables: Sequence[Table], *, worst_factor: float = 1.0, queueing_s: float = 0.0
) -> list[Need]:
    """The need of each table, in table order.

    A table with a target has to keep it. One without, or with DOWNSTREAM, has to be as fresh
    as the targets of what is derived from it make necessary. Where no target is stated
    downstream either, a table that is not DOWNSTREAM is updated at once, and so is what it is
    derived from and nobody else needs; DOWNSTREAM tables alone are never updated.

    Args:
        tables: All tables, with the costs known now.
        worst_factor: How many times its mean an update takes at worst.
        queueing_s: How long an update that is due may have to wait for a track.
    """
    found: dict[int, Need] = {}
    for table in reversed(topological(tables)):
        target_s = table.spec.target_lag_s
        lag_s = inf if target_s is None else target_s
        for child in table.children:
            lag_s = min(lag_s, _of_sources(child, found[child.order], worst_factor))
        if lag_s == inf:
            children = [found[child.order].start_lag_s for child in table.children]
            wanted = not table.spec.target_downstream or AT_ONCE in children
            found[table.order] = Need(NEVER, AT_ONCE if wanted else NEVER)
            continue
        found[table.order] = need_of(table, lag_s, worst_factor=worst_factor, queueing_s=queueing_s)
    return [found[table.order] for table in tables]


def need_of(table: Table, lag_s: float, *, worst_factor: float, queueing_s: float) -> Need:
    """What keeping ``lag_s`` asks of ``table`` with the costs known now; arguments as ``needs``."""
    alpha_s, beta = _at_worst(table, worst_factor)
    left_s = lag_s - min(queueing_s, _MOST_QUEUEING * lag_s) - alpha_s
    return Need(lag_s, max(0.0, left_s / (1.0 + beta)))


def blocking_s(tables: Sequence[Table], tracks: int, worst_factor: float = 1.0) -> float:
    """The longest that an update waits when all tracks have just started other ones.

    Nothing is interrupted, so it waits for the first of ``tracks`` updates to end: at most the
    least of the longest so many. 0 where every table has a track of its own.
    """
    if tracks >= len(tables):
        return 0.0
    longest = []
    for table in tables:
        alpha_s, beta = _at_worst(table, worst_factor)
        longest.append(alpha_s + beta * table.period_s)
    return sorted(longest, reverse=True)[tracks - 1]


def _of_sources(table: Table, need: Need, worst_factor: float) -> float:
    """How stale the sources of ``table`` may ever be so that it keeps its own need."""
    if need.lag_s == inf:
        return inf
    alpha_s, beta = _at_worst(table, worst_factor)
    start_s = need.start_lag_s
    return max(0.0, start_s - alpha_s - beta * start_s)


def _at_worst(table: Table, worst_factor: float) -> tuple[float, float]:
    cost = table.cost
    factor = worst_factor * (1.0 + _ERRORS_ALLOWED * cost.error_ratio)
    return factor * cost.alpha_s, factor * cost.beta
