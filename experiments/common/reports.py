"""The reports of Chandrasekaran and Sudarshan 2024, section 7: queries, deadlines, input profiles.

A tuple is a file of 9,300 of the paper's; a window brings 4,500 of them, one a second. Costs are
those of ``thirteen.toml``. Section 7.4 draws the order of deadlines by chance (a seed here).
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from freshline.reports.auto_slack import choose_slack_factor
from freshline.reports.costs import TOLERANCE_S, FinalCost, PiecewiseCost
from freshline.reports.events import InputKind, Report
from freshline.reports.planning.model import Window
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.reports.virtual_run import ReportInput, VirtualRun

TUPLES = 4500
WINDOW_S = 4500.0
C_MAX_S = 30.0
"""C_max of 7.4."""
FACTORS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
"""The deadlines of 7.3 and 7.4: how many times the cost of a single batch after the window."""


@dataclass(frozen=True, slots=True)
class Query:
    """One of the thirteen.

    Attributes:
        groups: Rows of its result, in tuples (files).
        cost, final: Seconds of a batch, and of the final aggregation.
    """

    name: str
    groups: int
    cost: PiecewiseCost
    final: FinalCost

    @property
    def single_s(self) -> float:
        """D: seconds of everything in one batch."""
        return self.cost(TUPLES)

    def window(self, factor: float) -> Window:
        """Alone, with the deadline ``factor`` D after the window's end (7.3)."""
        deadline_s = WINDOW_S + factor * self.single_s
        return Window(0.0, WINDOW_S, PREDICTED_S, deadline_s, self.cost, self.final)


def thirteen() -> list[Query]:
    """The queries, in the paper's order."""
    listed = tomllib.loads((Path(__file__).parent / "thirteen.toml").read_text())["query"]
    return [
        Query(
            name=query["name"],
            groups=query["groups"],
            cost=PiecewiseCost(tuple((float(x), float(y)) for x, y in query["points"])),
            final=FinalCost(**{f"{key}_s": value for key, value in query["final"].items()}),
        )
        for query in listed
    ]


PREDICTED_S = tuple(float(number) for number in range(1, TUPLES + 1))
"""FR of figure 9: the fixed rate, which is what is predicted."""


def even(last_s: float) -> tuple[float, ...]:
    """Evenly, the last tuple at ``last_s``."""
    return tuple(last_s * number / TUPLES for number in range(1, TUPLES + 1))


def bursts(last_s: float, size: int) -> tuple[float, ...]:
    """The same in bursts of ``size``: each comes when its last tuple is due."""
    return tuple(last_s * min(TUPLES, -(-n // size) * size) / TUPLES for n in range(1, TUPLES + 1))


def sagging(lag_s: float, last_s: float) -> tuple[float, ...]:
    """Slower and slower until ``lag_s`` behind at half the window, made up until ``last_s``."""
    half, late_s = TUPLES // 2, last_s - WINDOW_S
    return tuple(
        n + (lag_s * n / half if n <= half else lag_s + (late_s - lag_s) * (n - half) / half)
        for n in range(1, TUPLES + 1)
    )


PROFILES: Mapping[str, tuple[float, ...]] = {
    "FR": PREDICTED_S,
    "VR1": even(3600.0),
    "VR2": bursts(3600.0, 150),
    "VR3": even(4520.0),
    "VR4": even(4507.0),
}
"""Figure 9 is a picture only. What the text says: VR1 and VR2 are faster, VR2 in bursts; of VR3
the last tuple comes 20 s, of VR4 7 s late."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The thirteen together.

    Attributes:
        factor: Of the deadlines.
        arrived_s: What really comes, counted from the window's start.
        order: Seed of the order of deadlines; 0: the order of the list.
        spread: Windows start at random over one window's length; else all at once.
    """

    factor: float
    arrived_s: tuple[float, ...] = PREDICTED_S
    order: int = 0
    spread: bool = False

    def inputs(self) -> list[ReportInput]:
        """The reports with staggered deadlines (7.4), in the order of the deadlines."""
        queries, chance = thirteen(), random.Random(self.order)
        if self.order:
            chance.shuffle(queries)
        starts_s = sorted(float(chance.randrange(TUPLES)) if self.spread else 0.0 for _ in queries)
        inputs: list[ReportInput] = []
        deadline_s = 0.0
        for query, start_s in zip(queries, starts_s, strict=True):
            end_s = start_s + WINDOW_S
            after_s = max(deadline_s, end_s) + (0.0 if deadline_s >= end_s else C_MAX_S)
            deadline_s = after_s + self.factor * query.single_s
            varies = self.arrived_s != PREDICTED_S
            report = Report(
                name=query.name,
                start_s=start_s,
                end_s=end_s,
                deadline_s=deadline_s,
                predicted_s=tuple(start_s + at_s for at_s in PREDICTED_S),
                cost=query.cost,
                final=query.final,
                groups=query.groups,
                input_kind=InputKind.RATE_VARIES if varies else InputKind.KNOWN,
            )
            arrived_s = tuple(start_s + at_s for at_s in self.arrived_s)
            inputs.append(ReportInput(report, start_s, None, arrived_s))
        return inputs


@dataclass(frozen=True, slots=True)
class Came:
    """What a run came to.

    Attributes:
        missed: Reports that were late.
        latest_s: Most seconds after a deadline; negative: the least slack.
        batches: Of all reports.
        normalised: Cost over that of single batches.
    """

    missed: int
    latest_s: float
    batches: int
    normalised: float


def run(scene: Scene, policy: ReportPolicy, *, tracks: int = 1) -> Came:
    """Simulate a scene; batches last what their model says."""
    inputs = scene.inputs()
    scheduler = ReportScheduler(policy, tracks=tracks, choose_slack_factor=choose_slack_factor)
    outcomes = VirtualRun(scheduler, inputs).run()
    late_s = []
    for item in inputs:
        finish_s = outcomes[item.report.name].finish_s
        assert finish_s is not None, "nobody withdrew it"
        late_s.append(finish_s - item.report.deadline_s)
    single_s = sum(item.report.cost(len(item.arrivals_s)) for item in inputs)
    return Came(
        missed=sum(1 for late in late_s if late > TOLERANCE_S),
        latest_s=max(late_s),
        batches=sum(outcome.batches for outcome in outcomes.values()),
        normalised=sum(outcome.cost_s for outcome in outcomes.values()) / single_s,
    )
