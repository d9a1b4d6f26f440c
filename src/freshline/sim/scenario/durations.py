"""When an update that starts now ends: cost, noise and slow stretches.

docs/reference/scenario-updates.md, semantics 5 and 12; rules G12, G15 (noise is uniform and a
function of seed, table and the update's number, so that two policies meet the same durations), G16.
"""

from __future__ import annotations

from collections.abc import Callable

from freshline.core.chance import stream, uniform
from freshline.sim.scenario.model import Scenario

End = Callable[[float, float, int, int], float]
"""What ``ends`` returns."""


def noise_stream(scenario: Scenario, table: str) -> int:
    """Where the noise of ``table`` begins."""
    return stream(scenario.seed, "noise", table)


def ends(scenario: Scenario) -> End:
    """A function (start_s, seconds, chance, number) -> finish.

    It computes start + (alpha + beta * (to - F)) * multiplier * slowdown, the one expression
    that decides when updates end (rule G17): ``seconds`` is the part in brackets, ``chance``
    the table's ``noise_stream``, ``number`` that of the update. Scenarios without noise and
    slow stretches get a shorter function: both factors are then the same for all.
    """
    low, high, slowdown = scenario.low, scenario.high, scenario.slowdown
    spread = high - low
    if slowdown is None and spread == 0.0:
        return lambda start_s, seconds, _chance, _number: start_s + seconds * low
    if slowdown is None:
        return lambda start_s, seconds, chance, number: (
            start_s + seconds * (low + spread * uniform(chance, number))
        )
    at = slowdown.at
    if spread == 0.0:
        return lambda start_s, seconds, _chance, _number: start_s + seconds * low * at(start_s)
    return lambda start_s, seconds, chance, number: (
        start_s + seconds * (low + spread * uniform(chance, number)) * at(start_s)
    )
