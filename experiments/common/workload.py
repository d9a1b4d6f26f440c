"""The tables of Golab et al. 2011, section 4: chains of jobs, a load, slow stretches, noise.

Table 2: start-up 1 s, slope 0.1, period 100 s, noise b = 0.5, four tracks, 30 jobs. The text
leaves open where phases begin (drawn evenly here) and how long stretches are (ten periods
each, so that S = 3 doubles the mean, as 4.1 wants).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.scenario.model import FeedSpec, Scenario, Slowdown

PERIOD_S = 100.0
TRACKS = 4
NOISE = 0.5
"""b: an update takes uniform(1 - b, 1 + b) of its time (rule G15)."""


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains of equal tables, the first of each on a feed.

    Attributes:
        count: How many chains.
        priorities: Of a chain's tables, from the base table on; one: no derived tables.
        period_s, alpha_s, beta: Of every table.
    """

    count: int
    priorities: tuple[float, ...] = (1.0,)
    period_s: float = PERIOD_S
    alpha_s: float = 1.0
    beta: float = 0.1

    @property
    def load(self) -> float:
        """Sum of E(P) / P (Golab et al. 3.2.1)."""
        share = self.alpha_s / self.period_s + self.beta
        return self.count * len(self.priorities) * share


@dataclass(frozen=True, slots=True)
class Workload:
    """Chains on a machine; ``load`` of a scenario is what they ask of each track in the mean.

    Attributes:
        chains: What is kept fresh.
        tracks: Of the machine.
        factor: S: how many times as long updates take in slow stretches.
        normal_s, slow_s: The stretches (rule G16).
        noise: b.
        always_slow: The first type of experiment (4.1): always in a slow stretch, costs as in
            Table 2, and S makes the load. Otherwise the second: costs make it.
    """

    chains: tuple[Chains, ...]
    tracks: int = TRACKS
    factor: float = 3.0
    normal_s: float = 10.0 * PERIOD_S
    slow_s: float = 10.0 * PERIOD_S
    noise: float = NOISE
    always_slow: bool = False

    def scenario(self, load: float, seed: int, events: int) -> Scenario:
        """The scenario with that load a track, for about ``events`` files and updates.

        The seed draws the phases, and later the noise. Its policy is fifo.
        """
        used = sum(chains.load for chains in self.chains) / self.tracks
        if self.always_slow:
            slowdown = Slowdown(load / used, 0.0, self.normal_s + self.slow_s)
            scale = 1.0
        else:
            lengths_s = self.normal_s + self.slow_s
            mean = (self.normal_s + self.factor * self.slow_s) / lengths_s
            slowdown = Slowdown(self.factor, self.normal_s, self.slow_s)
            scale = load / (used * mean)
        tables = tuple(self._tables(scale))
        chance = random.Random(seed)
        feeds = {}
        for table in tables:
            if not table.sources:
                assert table.period_s is not None
                # Phase 0 would be an empty first file (rule G19).
                feeds[table.name] = FeedSpec(
                    table.period_s * (1.0 - chance.random()), table.period_s
                )
        files_hz = sum(1.0 / feed.period_s for feed in feeds.values())
        updates_hz = sum(
            chains.count * len(chains.priorities) / chains.period_s for chains in self.chains
        )
        return Scenario(
            horizon_s=events / (files_hz + updates_hz),
            seed=seed,
            tracks=self.tracks,
            settings=PolicySettings(),
            low=1.0 - self.noise,
            high=1.0 + self.noise,
            slowdown=None if slowdown.slow_s == 0.0 else slowdown,
            tables=tables,
            feeds=feeds,
        )

    def _tables(self, scale: float) -> Iterator[TableSpec]:
        number = 0
        for chains in self.chains:
            for _ in range(chains.count):
                number += 1
                sources: tuple[str, ...] = ()
                for level, priority in enumerate(chains.priorities):
                    name = f"t{number}" if level == 0 else f"t{number}.{level}"
                    yield TableSpec(
                        name,
                        sources,
                        chains.period_s,
                        priority,
                        chains.alpha_s * scale,
                        chains.beta * scale,
                    )
                    sources = (name,)


def evenly(workload: Workload) -> Workload:
    """The same without noise and slow stretches, where the lower bound is close to the best."""
    return Workload(workload.chains, workload.tracks, normal_s=PERIOD_S, slow_s=0.0, noise=0.0)
