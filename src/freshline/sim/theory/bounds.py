"""``simulate --bounds``: what Bateni et al. prove of a run, beside what the run measured.

Bateni et al. 2009: LOW and the penalty (2.2; halves are meant, rule B2), Theorem 3.1
(the penalty of every eager algorithm), Theorem 4.3 (the stretch of GROUPANDRUN), and the load
that a machine must carry (2, "in order to keep up"). They are about base tables, unweighted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Any

from freshline.core.partitions.groups import spans_by_period
from freshline.core.registry import found_policies, policy_called
from freshline.core.stretch import STRETCH, unlike_groups
from freshline.sim.driver import Played
from freshline.sim.scenario.model import FeedSpec, Scenario

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven limit and what was measured.

    Attributes:
        measured: None where the run has no such figure.
        limit: What it cannot exceed, or (``at_least``) fall below; None where the theorem's
            conditions do not hold.
        why_not: The condition that does not hold.
    """

    measured: float | None
    limit: float | None
    why_not: str = ""
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether it was kept; None where there is nothing to compare."""
        if self.limit is None or self.measured is None:
            return None
        slack = _TOLERANCE * max(1.0, abs(self.limit))
        if self.at_least:
            return self.measured >= self.limit - slack
        return self.measured <= self.limit + slack

    def record(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "measured": self.measured,
            "limit": self.limit,
            "holds": self.holds,
            "why_not": self.why_not or None,
        }


def bounds_of(scenario: Scenario, played: Played) -> dict[str, Bound]:
    """Every bound of this module, by its name."""
    staleness_s2 = sum(played.staleness[name].integral_s2 for name in scenario.feeds)
    settled_s2 = sum(played.settled_s2[name] for name in scenario.feeds)
    return {
        "low": Bound(staleness_s2, played.low_s2 / 2.0, at_least=True),
        "penalty": Bound(settled_s2, played.penalty_s2 / 2.0),
        "theorem_3_1": theorem_3_1(scenario, played),
        "theorem_4_3": theorem_4_3(scenario, played),
        "utilisation": Bound(necessary_utilisation(scenario), float(scenario.tracks)),
    }


def necessary_utilisation(scenario: Scenario) -> float:
    """Seconds of work a second that cannot be avoided, however much is merged.

    Section 2: sum of alpha_i <= p, with alpha_i the time per unit of data; here the slope of
    the cost alone, because merging makes start-up time as small a share as one likes. More
    than there are tracks: no policy keeps up, staleness grows for ever. Noise and slow
    stretches count at their best, so that it is necessary whatever they do.
    """
    slowdown = min(1.0, scenario.slowdown.factor) if scenario.slowdown else 1.0
    return sum(table.beta for table in scenario.tables) * scenario.low * slowdown


def theorem_3_1(scenario: Scenario, played: Played) -> Bound:
    """Penalty <= factor * LOW for every eager policy, if updates are fast enough.

    For any beta, delta in (0, 1) with alpha / (1 - alpha*t/p) <= sqrt(delta/3)*(1-beta)*p/t
    the factor is (1 + alpha)^2 / (beta^4 * (1 - delta)); the least of them is taken.
    """
    why_not = _unlike_bateni(scenario)
    if not why_not and not found_policies()[policy_called(scenario.settings.policy)].eager:
        why_not = f"policy '{scenario.settings.policy}' is not eager"
    if not why_not and scenario.settings.partition != "none":
        why_not = "under a partition a track may stay idle"
    if not why_not and scenario.settings.objective != "staleness":
        why_not = "under the objective cost updates wait"
    if not why_not and scenario.settings.chop is not None:
        why_not = "with chop an update does not load all that is pending"
    if why_not:
        return Bound(played.penalty_s2, None, why_not)
    alpha = time_per_data(scenario)
    # The paper has p <= t; of more tracks than tables the rest stands idle whatever is done.
    tables_a_track = max(1.0, len(scenario.tables) / scenario.tracks)
    factor = least_factor(alpha, tables_a_track)
    if factor is None:
        return Bound(played.penalty_s2, None, f"alpha = {alpha:.4g} is too large for it")
    return Bound(played.penalty_s2, factor * played.low_s2)


def least_factor(alpha: float, tables_a_track: float) -> float | None:
    """The least factor of Theorem 3.1 over beta and delta; None where none is allowed."""
    rest = 1.0 - alpha * tables_a_track
    if rest <= 0.0:
        return None
    needed = sqrt(3.0) * tables_a_track * alpha / rest  # <= sqrt(delta) * (1 - beta)
    if needed >= 1.0:
        return None
    if needed == 0.0:
        return 1.0

    def factor(delta: float) -> float:
        beta = 1.0 - needed / sqrt(delta)
        return (1.0 + alpha) ** 2 / (beta**4 * (1.0 - delta)) if beta > 0.0 else inf

    # One valley between needed^2, where beta is 0, and 1: golden section.
    low, high = needed**2, 1.0
    share = (sqrt(5.0) - 1.0) / 2.0
    for _ in range(200):
        left, right = high - share * (high - low), low + share * (high - low)
        if factor(left) < factor(right):
            high = right
        else:
            low = left
    best = factor((low + high) / 2.0)
    return best if best < inf else None


def theorem_4_3(scenario: Scenario, played: Played) -> Bound:
    """Stretch < 3 under group-and-run, if p >= 2g, alpha <= (p-g)/(8t) and alpha <= 1/8."""
    why_not = ""
    if scenario.settings.policy != "group-and-run":
        why_not = "it is about group-and-run"
    if not why_not and scenario.settings.objective != "staleness":
        why_not = "under the objective cost updates wait"
    if not why_not and scenario.settings.chop is not None:
        why_not = "with chop an update does not load all that is pending"
    why_not = why_not or unlike_theorem_4_3(scenario)
    return Bound(played.stretch, None if why_not else STRETCH, why_not)


def unlike_theorem_4_3(scenario: Scenario) -> str:
    """Which condition of Theorem 4.3 on feeds and costs does not hold; empty if all do."""
    why_not = _unlike_bateni(scenario)
    if why_not:
        return why_not
    periods = [scenario.feeds[table.name].period_s for table in scenario.tables]
    groups = spans_by_period(periods)
    why_not = unlike_groups(periods, scenario.tracks, time_per_data(scenario))
    if why_not:
        return why_not
    for table in scenario.tables:
        feed = scenario.feeds[table.name]
        if feed.arrivals is not None:
            return f"table '{table.name}' has arrivals of its own"
        # Lengths in [B/2, B], B at most twice the least period of the group; a first file
        # due at 0 holds nothing.
        least_s = min(next(group for group in groups if feed.period_s in group))
        longest_s = max(next(group for group in groups if feed.period_s in group))
        if feed.phase_s and not longest_s / 2 <= feed.phase_s <= 2 * least_s:
            return f"the first file of '{table.name}' is shorter or longer than the others"
    return ""


def time_per_data(scenario: Scenario) -> float:
    """Alpha: the most seconds that an update takes per second of feed time it loads.

    Loading L takes alpha + beta*L, times noise and slowdown: the shortest file is dearest.
    """
    slowdown = max(1.0, scenario.slowdown.factor) if scenario.slowdown else 1.0
    worst = scenario.high * slowdown
    ratios = []
    for table in scenario.tables:
        shortest_s = _shortest_file_s(scenario.feeds[table.name])
        start = table.alpha_s / shortest_s if table.alpha_s else 0.0
        ratios.append((start + table.beta) * worst)
    return max(ratios)


def _shortest_file_s(feed: FeedSpec) -> float:
    if feed.arrivals is None:
        return min(feed.period_s, feed.phase_s or feed.period_s)
    before_s, lengths = 0.0, []
    for _, timestamp_s in feed.arrivals:
        if timestamp_s > before_s:
            lengths.append(timestamp_s - before_s)
            before_s = timestamp_s
    return min(lengths, default=inf)


def _unlike_bateni(scenario: Scenario) -> str:
    """In which way the tables are not those of the paper; empty if they are."""
    for table in scenario.tables:
        feed = scenario.feeds.get(table.name)
        if feed is None:
            return f"table '{table.name}' is derived"
        late = feed.arrivals and any(arrival_s != stamp_s for arrival_s, stamp_s in feed.arrivals)
        if late or feed.outages:
            return f"files of '{table.name}' come later than their timestamps"
    return ""


def tracks_needed(scenario: Scenario) -> int:
    """The fewest tracks whose load could be carried at all."""
    return max(1, ceil(necessary_utilisation(scenario) - _TOLERANCE))
