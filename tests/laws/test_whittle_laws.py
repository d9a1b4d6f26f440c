"""Whittle on graphs of several sources, against p * d^2 / E with inherited priorities."""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

import pytest

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.core.policy import Policy
from freshline.core.scheduler import Scheduler
from freshline.sim.driver import Driver
from freshline.sim.scenario.model import FeedSpec, Scenario

BASES, TABLES, SEEDS = 6, 18, 8


@dataclass(slots=True)
class Squared(Policy):
    name: ClassVar[str] = "squared"

    def key(self, table):
        return -(table.weight * table.amount_s**2 / table.expected_s)


def scenario(seed):
    """Start-up 0.9 of the cost, load 1.5, one to three sources, two tracks, equal priorities."""
    chance = random.Random(seed)
    seconds = [chance.uniform(0.5, 1.5) for _ in range(TABLES)]
    scale = 1.5 * 2 * 10.0 / sum(seconds)
    tables, feeds = [], {}
    for order in range(TABLES):
        among = range(min(order, BASES))
        sources = chance.sample(among, chance.randint(1, 3)) if order >= BASES else []
        names = tuple(f"t{source}" for source in sources)
        whole_s = seconds[order] * scale
        name = f"t{order}"
        tables.append(TableSpec(name, names, 10.0, 1.0, 0.9 * whole_s, 0.01 * whole_s))
        if not names:
            feeds[name] = FeedSpec(chance.uniform(1.0, 10.0), 10.0)
    return Scenario(600.0, seed, 2, PolicySettings("whittle"), 1.0, 1.0, None, tuple(tables), feeds)


@pytest.mark.parametrize(("rule", "limit"), [("none", 1.0), ("max", 1.0), ("sum", 1.04)])
def test_whittle_where_tables_have_several_sources(rule, limit):
    """In the mean over the seeds; with whole bundles for every source sum was 7 % better."""
    ratios = []
    for seed in range(1, SEEDS + 1):
        played = scenario(seed)
        whittle_s2 = Driver(played).run().weighted_staleness_s2
        driver = Driver(played)
        driver.scheduler = Scheduler(
            played.tables, tracks=played.tracks, policy=Squared(), inherit_rule=rule
        )
        ratios.append(whittle_s2 / driver.run().weighted_staleness_s2)
    assert fmean(ratios) <= limit
