"""Groups of like periods keep the stretch below 3: Bateni et al. 2009, 4, figure 2.

The paper has no experiment; this one plays GROUPANDRUN and MYOPIC under the conditions of
Theorem 4.3 (p >= 2g, alpha <= (p - g) / (8t), alpha <= 1/8), beside every eager policy's
penalty under those of Theorem 3.1.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import GREY, axes_of
from experiments.common.size import Size, each
from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import play as played
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.theory.bounds import bounds_of, least_factor

PERIODS_S = (1.0, 100.0)
"""Least period of each of the two groups; within one they differ by at most 2."""
SPREAD, TOGETHER = "releases spread", "long updates together"
TOGETHER_S = 2_000.0
"""Period of a slow group whose files come within a second of one another."""
TABLES_A_GROUP, TRACKS = 8, 4
EAGER = ("myopic", "fifo", "edf", "max-benefit", "random", "index")
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.35)
"""C of Corollary 3.2, alpha = C p/t; below (sqrt(3) - 1) / 2 = 0.366."""


def _scenario(alpha: float, seed: int) -> Scenario:
    """Two groups of base tables whose updates take ``alpha`` seconds a second of data."""
    chance = random.Random(seed)
    tables, feeds = [], {}
    for number in range(2 * TABLES_A_GROUP):
        least_s = PERIODS_S[number // TABLES_A_GROUP]
        period_s = least_s * chance.uniform(1.0, 2.0)
        # Quasiperiodic: the first file as long as half the longest, or longer.
        phase_s = least_s * chance.uniform(1.0, 2.0)
        name = f"t{number}"
        tables.append(TableSpec(name, period_s=period_s, beta=alpha))
        feeds[name] = FeedSpec(phase_s, period_s)
    horizon_s = 10.0 * PERIODS_S[-1]
    policy = PolicySettings("group-and-run")
    return Scenario(horizon_s, seed, TRACKS, policy, 1.0, 1.0, None, tuple(tables), feeds)


def _stretch(seed: int) -> dict[str, float]:
    """Stretch of both at the largest alpha that Theorem 4.3 allows."""
    return _stretches(_scenario(_ALPHA, seed))


def _together(seed: int) -> dict[str, float]:
    """The same where all long updates are released within a second."""
    given = _scenario(_ALPHA, seed)
    tables, feeds = list(given.tables), dict(given.feeds)
    for number in range(TABLES_A_GROUP, 2 * TABLES_A_GROUP):
        table = tables[number]
        tables[number] = replace(table, period_s=TOGETHER_S)
        feeds[table.name] = FeedSpec(TOGETHER_S + number / 17.0, TOGETHER_S)
    slow = replace(given, tables=tuple(tables), feeds=feeds, horizon_s=2.5 * TOGETHER_S)
    return _stretches(slow)


_ALPHA = (TRACKS - 2) / (8 * 2 * TABLES_A_GROUP)


def _stretches(given: Scenario) -> dict[str, float]:
    found = {}
    for name in ("group-and-run", "myopic"):
        scenario = replace(given, settings=PolicySettings(name))
        result = played(scenario)
        assert result.stretch is not None
        found[name] = result.stretch
        if name == "group-and-run":
            assert bounds_of(scenario, result)["theorem_4_3"].limit is not None
    return found


def _penalty(job: tuple[float, int]) -> float:
    """The largest penalty / LOW of any eager policy, alpha = C p/t."""
    share, seed = job
    given = _scenario(share * TRACKS / (2 * TABLES_A_GROUP), seed)
    ratios = []
    for name in EAGER:
        result = played(replace(given, settings=PolicySettings(name)))
        ratios.append(result.penalty_s2 / result.low_s2)
    return max(ratios)


def play(size: Size) -> list[Row]:
    """Stretch inside and outside Theorem 4.3's conditions, penalty over Theorem 3.1's."""
    seeds = size.seeds if size.quick else tuple(range(1, 11))
    rows = []
    for label, work in ((SPREAD, _stretch), (TOGETHER, _together)):
        found = each(work, seeds, size)
        rows += [_row("stretch", label, name, max(run[name] for run in found)) for name in found[0]]
    penalties = each(_penalty, [(share, seed) for share in SHARES for seed in seeds], size)
    for number, share in enumerate(SHARES):
        largest = max(penalties[number * len(seeds) : (number + 1) * len(seeds)])
        rows.append(_row("penalty / LOW", f"{share:g}", "any eager policy", largest))
        factor = least_factor(share * TRACKS / (2 * TABLES_A_GROUP), 2 * TABLES_A_GROUP / TRACKS)
        assert factor is not None
        rows.append(_row("penalty / LOW", f"{share:g}", "Theorem 3.1", factor))
    return rows


def _row(what: str, case: str, which: str, value: float) -> Row:
    return {"what": what, "case": case, "which": which, "value": f"{value:.6g}"}


def _values(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    return {(row["case"], row["which"]): float(row["value"]) for row in rows}


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Both theorems."""
    value = _values(rows)
    within = max(value[SPREAD, "group-and-run"], value[TOGETHER, "group-and-run"])
    grouped, mixed = value[TOGETHER, "group-and-run"], value[TOGETHER, "myopic"]
    measured = [value[f"{share:g}", "any eager policy"] for share in SHARES]
    limits = [value[f"{share:g}", "Theorem 3.1"] for share in SHARES]
    return [
        Finding("Theorem 4.3: stretch < 3 with groups", f"at most {within:.2f}", within < 3.0),
        Finding(
            "ours: myopic without groups does not keep that, though the machine is as fast",
            f"long updates together: {grouped:.2f} with groups, {mixed:.2f} without",
            mixed > 3.0,
        ),
        Finding(
            "Theorem 3.1: penalty at most a constant times LOW under every eager policy",
            "; ".join(
                f"C = {share:g}: {ratio:.3f} <= {limit:.4g}"
                for share, ratio, limit in zip(SHARES, measured, limits, strict=True)
            ),
            all(ratio <= limit for ratio, limit in zip(measured, limits, strict=True)),
        ),
        Finding(
            "the factor tends to 1 with alpha",
            f"{measured[0]:.3f} at C = {SHARES[0]:g}",
            measured[0] < 1.1,
        ),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Penalty over C, measured and proven."""
    value = _values(rows)
    with axes_of(path) as (axis,):
        for name, style in (("any eager policy", "o-"), ("Theorem 3.1", "--")):
            points = [value[f"{share:g}", name] for share in SHARES]
            axis.semilogy(SHARES, points, style, label=name, color=GREY if style == "--" else "C0")
        axis.set(xlabel="C = alpha t / p", ylabel="penalty / LOW")
        axis.legend()


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw)
