"""A better update is about to come: the lookahead example of Golab et al. 2011, 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Row
from experiments.common.size import Size
from experiments.common.worked import (
    Fed,
    Run,
    beside,
    bound_row,
    compared,
    draw_runs,
    findings,
    scenario,
)
from freshline.core.assembly import PolicySettings
from freshline.core.lookahead.cover import Item, best_cover

TAU_S = 60.0
HORIZON_S = 70.0
# At tau: 10 s of news for table 1, 5 s for table 2; table 3 gets 50 s of news at tau + 1.
TABLES = (
    Fed("T1", (50.0, 60.0), period_s=10.0, alpha_s=3.0),
    Fed("T2", (55.0, 60.0), period_s=5.0, alpha_s=2.0),
    Fed("T3", period_s=50.0, phase_s=11.0, priority=10.0, alpha_s=3.0),
)


def _run(policy: str) -> Run:
    return Run(scenario(TABLES, horizon_s=HORIZON_S, policy=PolicySettings(policy)))


def _order(run: Run) -> str:
    starts = sorted((u.start_s, u.table) for u in run.trace if u.start_s >= TAU_S)
    return ", ".join(f"{table} at {start_s:g}" for start_s, table in starts)


def play(_size: Size) -> list[Row]:
    """What is chosen at tau, with and without looking ahead."""
    ahead, greedy = _run("lookahead"), _run("max-benefit")
    first, second, third = Item(10.0, 3.0, 0), Item(5.0, 2.0, 1), Item(500.0, 3.0, 2)
    found = best_cover(
        [second], expected=third, wait_s=1.0, limit_s=first.seconds, above=first.value / 3.0
    )
    assert found is not None
    return [
        compared("marginal benefit of J1, the largest at tau", "10/3", f"{first.value:g}/3"),
        compared("sets S that fill the time until J3 comes", "J2", _names(found.members)),
        compared("B of that set and J3", 101, found.ratio),
        compared("lookahead starts", "T2 at 60, T3 at 62", _first_two(ahead)),
        compared("max benefit starts", "", _order(greedy)),
        compared(
            "weighted staleness from tau to tau + 10, lookahead",
            "",
            ahead.weighted_s2(TAU_S, HORIZON_S),
        ),
        compared(
            "weighted staleness from tau to tau + 10, max benefit",
            "",
            greedy.weighted_s2(TAU_S, HORIZON_S),
        ),
        bound_row(ahead),
    ]


def _names(members: Sequence[Item]) -> str:
    return ", ".join(f"J{item.order + 1}" for item in members)


def _first_two(run: Run) -> str:
    return ", ".join(_order(run).split(", ")[:2])


def draw(_rows: Sequence[Row], path: Path) -> None:
    """Staleness under both."""
    draw_runs({name: _run(name) for name in ("lookahead", "max-benefit")}, path)


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw, beside)
