"""A scenario: tables, their feeds, the machine and the policy, as a simulation plays them.

The file's format is in docs/reference/scenario-updates.md; ``file.py`` reads and checks it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec

IDEAL = PolicySettings()
"""The policy of the ideal run: fifo alone, nothing inherited, cut or partitioned (G14)."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Alternating stretches, beginning with a normal one (Golab et al. 4, rule G16).

    Attributes:
        factor: An update that starts in a slow stretch takes this many times as long.
        normal_s, slow_s: Lengths of the stretches.
    """

    factor: float
    normal_s: float
    slow_s: float

    def at(self, start_s: float) -> float:
        """The factor for an update that starts at ``start_s``."""
        cycle_s = self.normal_s + self.slow_s
        cycle = start_s // cycle_s
        # The quotient may be off by one; the borders, as the contract writes them, decide.
        if start_s >= (cycle + 1.0) * cycle_s:
            cycle += 1.0
        elif start_s < cycle * cycle_s:
            cycle -= 1.0
        return self.factor if start_s >= cycle * cycle_s + self.normal_s else 1.0


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """When files of a base table's feed come.

    Attributes:
        phase_s, period_s: File j is due at phase + (j - 1) * period.
        arrivals: Explicit (arrival, timestamp) pairs instead; None: the periodic feed.
        outages: [from, to) stretches in which nothing arrives.
    """

    phase_s: float
    period_s: float
    arrivals: tuple[tuple[float, float], ...] | None = None
    outages: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated.

    Attributes:
        horizon_s: The end; completions and arrivals at it count, nothing starts there.
        seed: Of noise and of random policies, which have streams of their own.
        tracks: How many updates can run at once.
        settings: How to choose.
        low, high: Each update's time is multiplied by uniform(low, high).
        slowdown: Alternating slow stretches; None without.
        tables: All tables; their order breaks ties.
        feeds: The feed of each base table, by name.
    """

    horizon_s: float
    seed: int
    tracks: int
    settings: PolicySettings
    low: float
    high: float
    slowdown: Slowdown | None
    tables: tuple[TableSpec, ...]
    feeds: dict[str, FeedSpec] = field(default_factory=dict)

    def ideal(self) -> Scenario:
        """The same with as many tracks as tables, under fifo alone (rule G14)."""
        return replace(self, tracks=len(self.tables), settings=IDEAL)
