"""Worked examples: a scenario of a few tables, its figures beside the paper's, its staleness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from experiments.common.experiment import Finding, Row
from experiments.common.picture import axes_of
from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import Played, play
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.theory.lower_bound import lower_bound_s2
from freshline.sim.trace import Finished


@dataclass(frozen=True, slots=True)
class Fed:
    """A base table and its feed.

    Attributes:
        name: Of the table.
        arrivals: (arrival, timestamp) pairs; a timestamp alone arrives at that time. None: a
            periodic feed.
        period_s, phase_s: Of the feed; phase None: the period.
        priority, alpha_s, beta: Of the table.
    """

    name: str
    arrivals: tuple[float | tuple[float, float], ...] | None = None
    period_s: float = 1.0
    phase_s: float | None = None
    priority: float = 1.0
    alpha_s: float = 0.0
    beta: float = 0.0


def scenario(
    fed: Sequence[Fed], *, horizon_s: float, policy: PolicySettings, tracks: int = 1
) -> Scenario:
    """The scenario of these tables, without noise and slow stretches."""
    specs, feeds = [], {}
    for table in fed:
        phase_s = table.period_s if table.phase_s is None else table.phase_s
        specs.append(
            TableSpec(
                table.name,
                period_s=table.period_s,
                priority=table.priority,
                alpha_s=table.alpha_s,
                beta=table.beta,
                phase_s=phase_s,
            )
        )
        arrivals = None
        if table.arrivals is not None:
            arrivals = tuple(
                item if isinstance(item, tuple) else (float(item), float(item))
                for item in table.arrivals
            )
        feeds[table.name] = FeedSpec(phase_s, table.period_s, arrivals)
    return Scenario(horizon_s, 1, tracks, policy, 1.0, 1.0, None, tuple(specs), feeds)


class Run:
    """A scenario, played.

    Args:
        given: The scenario.
    """

    def __init__(self, given: Scenario) -> None:
        self.scenario = given
        self.trace: list[Finished] = []
        self.played: Played = play(given, on_finished=self.trace.append)

    def of(self, table: str) -> list[Finished]:
        """The finished updates of a table, in order."""
        return [update for update in self.trace if update.table == table]

    def saw_tooth(self, table: str) -> tuple[list[float], list[float]]:
        """Times and staleness at the corners of a table's saw-tooth, from 0 to the horizon."""
        times, values = [0.0], [0.0]
        freshness_s = 0.0
        for update in self.of(table):
            times += [update.finish_s, update.finish_s]
            values += [update.finish_s - freshness_s, update.finish_s - update.to_s]
            freshness_s = update.to_s
        horizon_s = self.scenario.horizon_s
        return [*times, horizon_s], [*values, horizon_s - freshness_s]

    def area_s2(self, table: str, from_s: float, to_s: float) -> float:
        """Integral of a table's staleness over [from, to]."""
        times, values = self.saw_tooth(table)
        area_s2 = 0.0
        corners = list(zip(times, values, strict=True))
        for (start_s, value_s), (end_s, _) in pairwise(corners):
            left_s, right_s = max(start_s, from_s), min(end_s, to_s)
            if left_s < right_s:
                middle_s = 0.5 * (left_s + right_s)
                area_s2 += (right_s - left_s) * (value_s + middle_s - start_s)
        return area_s2

    def weighted_s2(self, from_s: float, to_s: float) -> float:
        """Weighted staleness of all tables over [from, to]."""
        tables = self.scenario.tables
        return sum(table.priority * self.area_s2(table.name, from_s, to_s) for table in tables)

    @property
    def bound_s2(self) -> float:
        """What no schedule of the whole scenario goes below."""
        return lower_bound_s2(self.scenario)


def compared(quantity: str, paper: float | str, ours: float | str) -> Row:
    """A line of results.csv: the paper's figure and ours."""
    return {"quantity": quantity, "paper": _text(paper), "ours": _text(ours)}


def bound_row(run: Run) -> Row:
    """The line that says how far the run is from the best there is."""
    ours = f"{_text(run.played.weighted_staleness_s2)} to {_text(run.bound_s2)}"
    return compared("weighted staleness of the run to the lower bound", "", ours)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Each figure of the paper, and whether ours is the same."""
    return [
        Finding(f"{row['quantity']}: {row['paper']}", row["ours"], row["ours"] == row["paper"])
        for row in rows
        if row["paper"]
    ]


def beside(rows: Sequence[Row]) -> list[str]:
    """What the paper has no figure for, as lines of the page."""
    return [f"- {row['quantity']}: {row['ours']}" for row in rows if not row["paper"]]


def draw_runs(runs: Mapping[str, Run], path: Path, tables: Sequence[str] | None = None) -> None:
    """Staleness of the tables over time, a pair of axes for each run."""
    with axes_of(path, columns=len(runs), sharey=True) as axes:
        for axis, (name, run) in zip(axes, runs.items(), strict=True):
            for table in tables or [spec.name for spec in run.scenario.tables]:
                times, values = run.saw_tooth(table)
                axis.plot(times, values, label=table)
            axis.set(xlabel="time, s", ylabel="staleness, s", title=name)
            axis.legend(fontsize=8)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{round(value, 6):g}"
