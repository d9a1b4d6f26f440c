"""What can be promised of a scenario before it is played, whatever its policy says."""

from __future__ import annotations

from freshline.core.aus.assessment import Assessment, assessed
from freshline.core.aus.guarantee import graph_of
from freshline.sim.scenario.model import Scenario
from freshline.sim.theory.bounds import unlike_theorem_4_3


def scenario_guarantees(scenario: Scenario, *, outage_s: float | None = None) -> Assessment:
    """Judge a scenario's tables by the rules of aus.

    Args:
        scenario: Its tables, tracks, longest times, and how recovery periods are chosen.
        outage_s: Length of the outage that base tables shall recover from; None: none.

    Raises:
        UserError: Recovery periods are to be explicit, and a table has none.
    """
    return assessed(
        graph_of(scenario.tables),
        tracks=scenario.tracks,
        recovery=scenario.settings.recovery,
        worst_factor=scenario.high,
        outage_s=outage_s,
        policy=scenario.settings.policy,
        chop=scenario.settings.chop,
        objective=scenario.settings.objective,
        unlike=unlike_theorem_4_3(scenario),
    )
