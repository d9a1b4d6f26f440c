"""What the simulator says that a run would have come to under other settings, and what it did.

Both are measured in the same way, by the core's accounts: so what they differ by is the
prediction's error and not that of two measures. Staleness counts from the run's start until a
table's first data, as in :mod:`benchmarks.overload.staleness`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from freshline.core.assembly import PolicySettings
from freshline.core.events import UpdateFinished
from freshline.core.objective.targets import stated_lags
from freshline.core.recorded import RecordedRun
from freshline.sim.accounts import Figures
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.theory.lower_bound import lower_bound_s2
from freshline.sim.whatif.history import Durations, history_of
from freshline.sim.whatif.recorded import Overrides, played


def happened_s(run: RecordedRun) -> float:
    """Staleness of a recorded run, mean over time and over the tables by priority, seconds."""
    return _mean_s(run, history_of(run, stated_lags(run.specs)).accounts.figures)


def predicted_s(known: RecordedRun, other: RecordedRun) -> float:
    """The same for the settings of ``other``, from what ``known`` alone has recorded.

    Raises:
        UserError: The settings do not fit.
    """
    lags_s = stated_lags(known.specs)
    history = history_of(known, lags_s)
    otherwise = Overrides(other.settings, other.tracks, known.specs)
    return _mean_s(known, played(history, otherwise, Durations(history), lags_s).figures)


def least_s(run: RecordedRun) -> float:
    """What no order goes below if no update takes less than its table's quickest in ``run``.

    In seconds. Outages and what updates take beyond are left out: they only make tables staler.
    """
    taken_s: dict[str, list[float]] = {}
    for ended in history_of(run, stated_lags(run.specs)).ended:
        if isinstance(ended.event, UpdateFinished) and not ended.command.upkeep:
            taken_s.setdefault(ended.command.table, []).append(ended.seconds)
    specs = tuple(
        replace(spec, alpha_s=min(taken_s.get(spec.name, [0.0])), beta=0.0) for spec in run.specs
    )
    feeds = {
        spec.name: FeedSpec(0.0, spec.period_s)
        for spec in specs
        if spec.period_s and not spec.sources
    }
    horizon_s = run.end_s - run.start_s
    scenario = Scenario(
        horizon_s, 1, run.tracks, PolicySettings("fifo"), 1.0, 1.0, None, specs, feeds
    )
    return lower_bound_s2(scenario) / sum(spec.priority for spec in specs) / horizon_s


def _mean_s(run: RecordedRun, tables: Mapping[str, Figures]) -> float:
    weighted_s2 = sum(
        spec.priority * _area_s2(tables[spec.name], run.end_s - run.start_s) for spec in run.specs
    )
    return weighted_s2 / sum(spec.priority for spec in run.specs) / (run.end_s - run.start_s)


def _area_s2(figures: Figures, seconds: float) -> float:
    """The accounts' integral, which begins with the first data, and what was before."""
    known_s = figures.integral_s2 / figures.mean_s if figures.mean_s else 0.0
    return figures.integral_s2 + (seconds - known_s) ** 2 / 2.0
