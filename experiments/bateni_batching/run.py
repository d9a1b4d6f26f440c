"""Why batching makes staleness tame: the N unit jobs of Bateni et al. 2009, section 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.size import Size
from experiments.common.worked import Fed, Run, scenario
from freshline.core.assembly import PolicySettings

COUNTS = (10, 20, 40, 80, 160, 320, 640)


def _run(count: int) -> Run:
    """Unit updates at 1 to N while the processor is busy; all are loaded at once at N."""
    table = Fed("t", tuple(float(at) for at in range(1, count + 1)))
    busy = Fed("busy", (0.5,), alpha_s=count - 0.5)
    given = scenario([table, busy], horizon_s=float(count + 1), policy=PolicySettings("fifo"))
    return Run(given)


def play(_size: Size) -> list[Row]:
    """Total staleness, and the squares of the flow times of single jobs, for each N."""
    rows = []
    for count in COUNTS:
        run = _run(count)
        (update,) = run.of("t")
        flows_s2 = sum((update.finish_s - at) ** 2 for at in range(count))
        staleness_s2 = run.area_s2("t", 0.0, float(count))
        rows.append(
            {
                "N": str(count),
                "updates": str(len(run.of("t"))),
                "staleness": f"{staleness_s2:g}",
                "squares of flows": f"{flows_s2:.10g}",
            }
        )
    return rows


def _grows(rows: Sequence[Row], column: str) -> float:
    """The exponent of N between the last two rows."""
    return log2(float(rows[-1][column]) / float(rows[-2][column]))


def findings(rows: Sequence[Row]) -> list[Finding]:
    """How both grow with N."""
    staleness, flows = _grows(rows, "staleness"), _grows(rows, "squares of flows")
    return [
        Finding(
            "all N updates are loaded as one batch",
            f"{rows[-1]['updates']} update for N = {rows[-1]['N']}",
            all(row["updates"] == "1" for row in rows),
        ),
        Finding(
            "the sum of squared flow times of the single jobs grows as N^3",
            f"N^{flows:.2f}",
            abs(flows - 3.0) < 0.02,
        ),
        Finding("the total staleness grows as N^2", f"N^{staleness:.2f}", staleness == 2.0),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Both over N, on logarithmic scales."""
    with axes_of(path) as (axis,):
        for column in ("squares of flows", "staleness"):
            values = [float(row[column]) for row in rows]
            axis.loglog([int(row["N"]) for row in rows], values, "o-", label=column)
        axis.set(xlabel="N", ylabel="s^2")
        axis.legend()


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw)
