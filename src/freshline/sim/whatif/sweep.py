"""The curve of freshness against cost: one scenario or run under nearer and farther targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from freshline.core.model import TableSpec
from freshline.core.objective.compliance import Compliance
from freshline.core.objective.targets import stated_lags
from freshline.core.recorded import RecordedRun
from freshline.sim.driver import play
from freshline.sim.scenario.model import Scenario
from freshline.sim.whatif.history import Durations, history_of
from freshline.sim.whatif.recorded import Overrides, played
from freshline.sim.whatif.what_if import Variations, varied_specs

FACTORS = tuple(2.0 ** (step / 2.0) for step in range(-4, 11))
"""From a quarter of the targets to 32 times them, two steps a doubling."""

_LEAST_CYCLES = 4.0
"""Targets longer than a quarter of what is played are left out: most of their cost would lie
behind its end. At least three points are drawn."""

_LEAST_POINTS = 3

_FIRST_TARGET_PERIODS = 4.0
"""Where no table states a target, the curve's middle is so many of the largest period."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one setting of the targets comes to.

    Attributes:
        factor: What the targets were multiplied by; None: objective staleness.
        target_s: The least of them then.
        staleness_s: Mean staleness, weighted by priority.
        max_staleness_s: The largest of any table with a target.
        within: Share of time within targets, mean of the tables that have one.
        executor_s: Seconds of all updates.
        updates: How many ended.
    """

    factor: float | None
    target_s: float
    staleness_s: float
    max_staleness_s: float
    within: float | None
    executor_s: float
    updates: int

    def record(self) -> dict[str, Any]:
        """As a JSON object, and a line of a csv file."""
        return {
            "factor": self.factor,
            "target_lag": self.target_s,
            "mean_staleness": self.staleness_s,
            "max_staleness": self.max_staleness_s,
            "within": self.within,
            "executor_seconds": self.executor_s,
            "updates": self.updates,
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """The curve.

    Attributes:
        eager: The objective staleness, targets or not.
        points: The objective cost, nearest targets first.
        invented: Nobody stated a target, so all tables that nothing is derived from got one.
    """

    eager: Point
    points: tuple[Point, ...]
    invented: bool

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "staleness": self.eager.record(),
            "cost": [point.record() for point in self.points],
            "targets": "invented" if self.invented else "stated",
        }


def sweep_scenario(scenario: Scenario, factors: Sequence[float] = FACTORS) -> Sweep:
    """Play ``scenario`` under both objectives, with its targets times each factor."""

    def point(factor: float | None, specs: tuple[TableSpec, ...], objective: str) -> Point:
        settings = replace(scenario.settings, objective=objective)
        result = play(replace(scenario, tables=specs, settings=settings), measures=True)
        assert result.kept is not None, "it was asked to measure"
        horizon_s = scenario.horizon_s
        figures = [
            _Measured(
                spec.priority,
                result.staleness[spec.name].integral_s2 / horizon_s,
                result.staleness[spec.name].max_s,
                *_of(result.kept[spec.name], horizon_s),
            )
            for spec in specs
        ]
        return _point(factor, specs, figures)

    return _swept(scenario.tables, factors, scenario.horizon_s, point)


def sweep_run(
    run: RecordedRun, variations: Variations, factors: Sequence[float] = FACTORS
) -> Sweep:
    """The same for a recorded run, under the first policy and number of tracks asked for."""
    specs = varied_specs(run, variations)
    history = history_of(run, stated_lags(specs))
    policy = variations.policies[0] if variations.policies else run.settings.policy
    tracks = variations.tracks[0] if variations.tracks else run.tracks

    def point(factor: float | None, specs: tuple[TableSpec, ...], objective: str) -> Point:
        settings = replace(run.settings, policy=policy, objective=objective)
        accounts = played(
            history, Overrides(settings, tracks, specs), Durations(history), stated_lags(specs)
        )
        figures = [
            _Measured(
                spec.priority,
                each.mean_s or 0.0,
                each.max_s or 0.0,
                each.target_s,
                each.within,
                each.executor_s,
                each.updates,
            )
            for spec, each in zip(specs, accounts.figures.values(), strict=True)
        ]
        return _point(factor, specs, figures)

    return _swept(specs, factors, run.end_s - run.start_s, point)


@dataclass(frozen=True, slots=True)
class _Measured:
    priority: float
    mean_s: float
    max_s: float
    target_s: float | None
    within: float | None
    executor_s: float
    updates: int


def _of(kept: Compliance, now_s: float) -> tuple[float | None, float | None, float, int]:
    return kept.target_s, kept.share(now_s), kept.executor_s, kept.updates


def _swept(
    specs: Sequence[TableSpec],
    factors: Sequence[float],
    seconds: float,
    point: Callable[[float | None, tuple[TableSpec, ...], str], Point],
) -> Sweep:
    stated, invented = _with_targets(specs)
    least_s = min(spec.target_lag_s for spec in stated if spec.target_lag_s is not None)
    drawn = [
        factor
        for number, factor in enumerate(factors)
        if number < _LEAST_POINTS or factor * least_s * _LEAST_CYCLES <= seconds
    ]
    return Sweep(
        point(None, stated, "staleness"),
        tuple(point(factor, _times(stated, factor), "cost") for factor in drawn),
        invented,
    )


def _with_targets(specs: Sequence[TableSpec]) -> tuple[tuple[TableSpec, ...], bool]:
    """The tables with targets, and whether those had to be invented."""
    if any(spec.target_lag_s is not None for spec in specs):
        return tuple(specs), False
    target_s = _FIRST_TARGET_PERIODS * max(spec.period_s or 0.0 for spec in specs)
    read = {source for spec in specs for source in spec.sources}
    return tuple(
        replace(spec, target_downstream=True)
        if spec.name in read
        else replace(spec, target_lag_s=target_s, target_downstream=False)
        for spec in specs
    ), True


def _times(specs: Iterable[TableSpec], factor: float) -> tuple[TableSpec, ...]:
    return tuple(
        spec if spec.target_lag_s is None
        else replace(spec, target_lag_s=factor * spec.target_lag_s)
        for spec in specs
    )  # fmt: skip


def _point(factor: float | None, specs: Sequence[TableSpec], figures: Sequence[_Measured]) -> Point:
    weight = sum(each.priority for each in figures)
    weighted_s = sum(each.priority * each.mean_s for each in figures)
    shares = [each.within for each in figures if each.within is not None]
    lags = [spec.target_lag_s for spec in specs if spec.target_lag_s is not None]
    return Point(
        factor=factor,
        target_s=min(lags),
        staleness_s=weighted_s / weight if weight else 0.0,
        max_staleness_s=max(each.max_s for each in figures if each.target_s is not None),
        within=sum(shares) / len(shares) if shares else None,
        executor_s=sum(each.executor_s for each in figures),
        updates=sum(each.updates for each in figures),
    )
