"""Weighted staleness over a fixed overloaded workload, on real Spark and Delta.

24 tables want about 18 commits a second of two tracks that make a few. The same files are
released at the same moments for each variant, which starts with fresh storage in a fresh
process: the warehouse under three policies, the loop that a competent engineer writes, and
one Structured Streaming query per table. The loop runs at the beginning and at the end: what
its two results differ by is what the machine changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.overload.crowd import CROWD
from benchmarks.overload.follow import Outcome, follow_each

_SECONDS, _QUICK_SECONDS = 60.0, 15.0
# Name, how, and the project's scheduler settings; in this order.
_VARIANTS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("loop, first", "loop", {}),
    ("max-benefit", "warehouse", {"policy": "max-benefit", "inherit": "max"}),
    ("index", "warehouse", {"policy": "index"}),
    ("fifo", "warehouse", {"policy": "fifo"}),
    ("edf", "warehouse", {"policy": "edf"}),
    ("streaming", "streaming", {}),
    ("loop, again", "loop", {}),
)


def measure(*, quick: bool) -> Report:
    """All variants, one after the other."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    outcomes = follow_each("freshness", CROWD, _VARIANTS, seconds)
    return _report(outcomes, seconds, quick=quick)


def _report(outcomes: Mapping[str, Outcome], seconds: float, *, quick: bool) -> Report:
    loops = [outcome.mean_s for name, outcome in outcomes.items() if name.startswith("loop")]
    loop_s = fmean(loops)
    report = Report(
        "freshness",
        f"Weighted staleness: {len(CROWD.tables)} tables, {seconds:.0f} s, two tracks",
        ("variant", "staleness, s", "to the loop", "commits", "failed", "its cores", "others'"),
        [],
        quick=quick,
    )
    for name, outcome in outcomes.items():
        report.rows.append(
            (
                name,
                f"{outcome.mean_s:.2f}",
                f"{outcome.mean_s / loop_s:.2f}",
                str(outcome.commits),
                str(outcome.failures),
                f"{outcome.cpu.own_s / seconds:.2f}",
                f"{outcome.cpu.others_s / seconds:.2f}",
            )
        )
        report.data[name] = {
            "mean_s": outcome.mean_s,
            "commits": outcome.commits,
            "failures": outcome.failures,
            "own_cpu_s": outcome.cpu.own_s,
            "others_cpu_s": outcome.cpu.others_s,
            "tables_s": dict(outcome.tables_s),
        }
    best = outcomes["max-benefit"].mean_s
    report.goals = [
        Goal("max-benefit to the loop", best / loop_s, 1.0),
        Goal("max-benefit to fifo", best / outcomes["fifo"].mean_s, 1.0),
        Goal("max-benefit to edf", best / outcomes["edf"].mean_s, 1.0),
        Goal("max-benefit to streaming", best / outcomes["streaming"].mean_s, 1.0),
        Goal("index to the loop", outcomes["index"].mean_s / loop_s, 1.0),
    ]
    report.notes = [
        "Staleness is now - F from the Delta logs, mean over time, weighted by priority.",
        (
            f"The loop's two runs differ by {max(loops) / min(loops):.2f}: a difference between"
            " variants below that says nothing."
        ),
        "Cores: CPU seconds a second, of the variant and of everything else on the machine.",
    ]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
