"""The result of a simulation: what is printed, beside the ideal run it is measured against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from freshline.sim.driver import Played, play
from freshline.sim.scenario.model import Scenario
from freshline.sim.theory.ideal import ideal_weighted_staleness_s2
from freshline.sim.theory.lower_bound import lower_bound_s2
from freshline.sim.trace import Finished


@dataclass(frozen=True, slots=True)
class Result:
    """A run, and the ideal one.

    Attributes:
        scenario: What was played.
        played: What came of it.
        ideal_weighted_staleness_s2: Weighted staleness of the ideal run (rule G14).
        lower_bound_s2: A weighted staleness that no policy can go below; None: not known.
    """

    scenario: Scenario
    played: Played
    ideal_weighted_staleness_s2: float
    lower_bound_s2: float | None

    @property
    def relative_lateness(self) -> float | None:
        """Weighted staleness / the ideal's (Golab et al. 4); None when the ideal's is 0."""
        ideal_s2 = self.ideal_weighted_staleness_s2
        return self.played.weighted_staleness_s2 / ideal_s2 if ideal_s2 else None

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints (contract of updates)."""
        played = self.played
        return {
            "staleness": {
                name: {
                    "mean": staleness.integral_s2 / self.scenario.horizon_s,
                    "max": staleness.max_s,
                    "final_freshness": played.freshness_s[name],
                }
                for name, staleness in played.staleness.items()
            },
            "weighted_staleness": played.weighted_staleness_s2,
            "relative_lateness": self.relative_lateness,
            "stretch": played.stretch,
            "low": played.low_s2,
            "penalty": played.penalty_s2,
            "lower_bound": self.lower_bound_s2,
            "jobs": played.updates,
            "events": played.events,
            **self._kept(),
            **played.findings,
        }

    def _kept(self) -> dict[str, Any]:
        kept, horizon_s = self.played.kept, self.scenario.horizon_s
        if kept is None:
            return {}
        return {
            "executor_seconds": sum(each.executor_s for each in kept.values()),
            "targets": {
                name: {
                    "target_lag": each.target_s,
                    "within": each.share(horizon_s),
                    "executor_seconds": each.executor_s,
                }
                for name, each in kept.items()
            },
        }


def simulate_updates(
    scenario: Scenario,
    *,
    on_finished: Callable[[Finished], None] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Result:
    """Play ``scenario`` and its ideal.

    Args:
        scenario: What to play.
        on_finished: Called with every finished update of the scenario's own run, in order.
        on_progress: Called now and then with the virtual time of that run.

    Raises:
        UserError: The policy does not fit the tables.
    """
    played = play(scenario, on_finished=on_finished, on_progress=on_progress)
    return Result(scenario, played, ideal_weighted_staleness_s2(scenario), lower_bound_s2(scenario))
