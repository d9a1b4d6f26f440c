"""The machines of ``optimum.py`` on the product's own simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm

from experiments.common.optimum import Small
from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import play
from freshline.sim.scenario.model import FeedSpec, Scenario


def scenario_of(tables: Sequence[Small], settings: PolicySettings, horizon_s: float) -> Scenario:
    """The same machine for the product's simulator.

    Each file holds a whole period, the first one too: timestamps are behind the arrivals by the
    feed's phase. Else the first update would not take whole steps, and on a track that is always
    busy all later ones would start between them.
    """
    specs, feeds = [], {}
    for place, table in enumerate(tables):
        name = f"t{place}"
        names = tuple(f"t{source}" for source in table.sources)
        period_s = float(table.period)
        beta = table.each / table.period
        specs.append(TableSpec(name, names, period_s, table.priority, float(table.start), beta))
        if not names:
            lag_s = float(table.phase % table.period)
            dates = [(number + 1) * period_s for number in range(int(horizon_s / period_s) + 2)]
            arrivals = tuple((date_s + lag_s, date_s) for date_s in dates)
            feeds[name] = FeedSpec(period_s + lag_s, period_s, arrivals)
    return Scenario(horizon_s, 1, 1, settings, 1.0, 1.0, None, tuple(specs), feeds)


def rate_of(tables: Sequence[Small], settings: PolicySettings, cycles: int) -> float:
    """Weighted staleness a second of a policy, once it has run for ``cycles`` of the feeds."""
    horizon_s = float(cycles * lcm(*(table.period for table in tables)))
    played = scenario_of(tables, settings, 2.0 * horizon_s)
    first_s2 = play(replace(played, horizon_s=horizon_s)).weighted_staleness_s2
    both_s2 = play(played).weighted_staleness_s2
    lag = sum(table.priority * (table.phase % table.period) for table in tables)
    return (both_s2 - first_s2) / horizon_s - lag
