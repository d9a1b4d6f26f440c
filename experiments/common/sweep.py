"""Relative lateness of several policies over the load: what figures 4 to 11 show.

Every policy of a point meets the same files and the same noise; ideal and bound are worked out
once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from experiments.common.experiment import Row
from experiments.common.picture import GREY, axes_of
from experiments.common.size import Size, each
from experiments.common.workload import Workload
from freshline.core.assembly import PolicySettings
from freshline.core.errors import UserError
from freshline.sim.driver import play
from freshline.sim.theory.ideal import ideal_weighted_staleness_s2
from freshline.sim.theory.lower_bound import lower_bound_s2

BOUND = "lower bound"
NO_FIT = "no fit"
"""Instead of a figure where a partition needs more tracks than there are."""

TOO_FEW_TRACKS = "too-few-tracks"
"""The error's code."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a figure plays.

    Attributes:
        workloads: By name.
        policies: The curves, by name.
        loads: Points: load a track.
        quick_loads: Those that tests play.
        lengthened: How many times as many events, where periods are long.
    """

    workloads: Mapping[str, Workload]
    policies: Mapping[str, PolicySettings]
    loads: tuple[float, ...]
    quick_loads: tuple[float, ...]
    lengthened: int = 1

    def play(self, size: Size) -> list[Row]:
        """A row for every workload, load and curve: mean, least and largest over the seeds."""
        points = [
            (name, load)
            for name in self.workloads
            for load in (self.quick_loads if size.quick else self.loads)
        ]
        events = size.events * self.lengthened
        jobs = [
            _Job(self.workloads[name], self.policies, load, seed, events)
            for name, load in points
            for seed in size.seeds
        ]
        found = each(_measured, jobs, size)
        count = len(size.seeds)
        rows: list[Row] = []
        for at, (name, load) in enumerate(points):
            runs = found[at * count : (at + 1) * count]
            for curve in runs[0]:
                values = [run[curve] for run in runs]
                rows.append({"workload": name, "load": f"{load:g}", "curve": curve})
                rows[-1] |= _summary([value for value in values if value is not None])
        return rows


@dataclass(frozen=True, slots=True)
class _Job:
    """One point with one seed."""

    workload: Workload
    policies: Mapping[str, PolicySettings]
    load: float
    seed: int
    events: int


def _measured(job: _Job) -> dict[str, float | None]:
    """Relative lateness of every curve; None where the partition does not fit."""
    base = job.workload.scenario(job.load, job.seed, job.events)
    ideal_s2 = ideal_weighted_staleness_s2(base)
    found: dict[str, float | None] = {}
    for name, policy in job.policies.items():
        try:
            found[name] = play(replace(base, settings=policy)).weighted_staleness_s2 / ideal_s2
        except UserError as error:
            if error.code != TOO_FEW_TRACKS:
                raise
            found[name] = None
    # One that chops may load less at a time: the bound has to be that of all curves.
    cuts = [policy for policy in job.policies.values() if policy.chop is not None]
    bound_s2 = lower_bound_s2(replace(base, settings=cuts[0]) if cuts else base)
    found[BOUND] = bound_s2 / ideal_s2
    return found


def _summary(values: Sequence[float]) -> Row:
    if not values:
        return {"lateness": NO_FIT, "least": NO_FIT, "largest": NO_FIT}
    return {
        "lateness": f"{fmean(values):.4f}",
        "least": f"{min(values):.4f}",
        "largest": f"{max(values):.4f}",
    }


class Lateness:
    """The rows of a sweep by workload, load and curve.

    Args:
        rows: Of ``Sweep.play``.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._values = {
            (row["workload"], float(row["load"]), row["curve"]): row["lateness"] for row in rows
        }

    def __call__(self, workload: str, load: float, curve: str) -> float:
        """The mean over the seeds; infinite where the partition does not fit."""
        value = self._values[workload, load, curve]
        return float("inf") if value == NO_FIT else float(value)

    def loads(self, workload: str) -> list[float]:
        """The points of a workload."""
        return sorted({load for name, load, _ in self._values if name == workload})

    def curves(self, workload: str) -> list[str]:
        """The curves of a workload, in their order."""
        return list(dict.fromkeys(curve for name, _, curve in self._values if name == workload))

    def quoted(self, workload: str, load: float, curves: Sequence[str]) -> str:
        """The figures of a point, for a finding: ``at 0.8: edf 1.74, max-benefit 1.23``."""
        parts = ", ".join(f"{curve} {self(workload, load, curve):.3f}" for curve in curves)
        return f"at {load:g}: {parts}"


def numbers(rows: Sequence[Row]) -> list[str]:
    """The page's tables: one for each workload, a line for each load."""
    lateness = Lateness(rows)
    lines: list[str] = []
    for workload in dict.fromkeys(row["workload"] for row in rows):
        curves = lateness.curves(workload)
        lines += ["", f"Relative lateness, {workload}:", ""]
        lines.append("| load | " + " | ".join(curves) + " |")
        lines.append("|---" * (len(curves) + 1) + "|")
        for load in lateness.loads(workload):
            values = [lateness(workload, load, curve) for curve in curves]
            texts = [NO_FIT if value == float("inf") else f"{value:.3f}" for value in values]
            lines.append(f"| {load:g} | " + " | ".join(texts) + " |")
    return lines[1:]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Lateness over load, a pair of axes for each workload, the bound dashed."""
    lateness = Lateness(rows)
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    with axes_of(path, columns=len(workloads)) as axes:
        for axis, workload in zip(axes, workloads, strict=True):
            loads = lateness.loads(workload)
            for curve in lateness.curves(workload):
                values = [lateness(workload, load, curve) for load in loads]
                if curve == BOUND:
                    axis.plot(loads, values, "--", color=GREY, label=curve)
                else:
                    axis.plot(loads, values, "o-", markersize=3, label=curve)
            axis.set(xlabel="load a track", ylabel="relative lateness", title=workload)
            axis.legend(fontsize=8)
