"""No bound on the stretch without limits on lengths: Bateni et al. 2009, section 4."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import GREY, axes_of
from experiments.common.size import Size
from experiments.common.worked import Fed, Run, scenario
from freshline.core.assembly import PolicySettings

ENORMOUS_S = 100.0
MINUSCULE_S = (10.0, 5.0, 2.0, 1.0, 0.5, 0.1, 0.01)
ALPHA = 0.1
"""Time per unit of data (theirs)."""


def _run(small_s: float) -> Run:
    """A huge update of table 1, then a tiny one: as many tracks as one likes, any policy."""
    table = Fed("1", (ENORMOUS_S, ENORMOUS_S + small_s), period_s=ENORMOUS_S, beta=ALPHA)
    given = scenario([table], horizon_s=200.0, policy=PolicySettings("myopic"), tracks=4)
    return Run(given)


def play(_size: Size) -> list[Row]:
    """The stretch for smaller and smaller second updates."""
    rows = []
    for small_s in MINUSCULE_S:
        stretch = _run(small_s).played.stretch
        assert stretch is not None
        limit = ALPHA * ENORMOUS_S / small_s
        rows.append(
            {"S2": f"{small_s:g}", "stretch": f"{stretch:g}", "alpha S1 / S2": f"{limit:g}"}
        )
    return rows


def findings(rows: Sequence[Row]) -> list[Finding]:
    """The stretch against what the paper says it is at least."""
    last = rows[-1]
    return [
        Finding(
            "the stretch is at least alpha S1 / S2, so nothing bounds it",
            f"S1 = {ENORMOUS_S:g}, S2 = {last['S2']}: {last['stretch']} >= {last['alpha S1 / S2']}",
            all(float(row["stretch"]) >= float(row["alpha S1 / S2"]) for row in rows),
        )
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Both over S2."""
    with axes_of(path) as (axis,):
        lengths = [float(row["S2"]) for row in rows]
        axis.loglog(lengths, [float(row["stretch"]) for row in rows], "o-", label="stretch")
        limits = [float(row["alpha S1 / S2"]) for row in rows]
        axis.loglog(lengths, limits, "--", color=GREY, label="alpha S1 / S2")
        axis.set(xlabel="S2, s")
        axis.legend()


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw)
