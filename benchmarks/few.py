"""One table and one view, with Spark to spare: where there is nothing for a scheduler to choose.

A file of 1,000 rows comes each second. The same files are released at the same moments for the
warehouse, for the loop that an engineer writes (first and last), and for one Structured Streaming
query per table; each starts with fresh storage in a fresh process. What counts is staleness
without the first third of the time, in which Java compiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from benchmarks.common.projects import FeedSpec, TableSpec
from benchmarks.common.report import Report, asked_quick
from benchmarks.overload.crowd import BY_KEY
from benchmarks.overload.follow import Outcome, follow_each
from benchmarks.overload.workload import Arrivals, Workload, loading

_SECONDS, _QUICK_SECONDS = 90.0, 30.0

FEW = Workload(
    (Arrivals(FeedSpec("orders_feed", "parquet", 1.0), 1000),),
    (
        TableSpec("orders", 1.0, loading("orders")),
        TableSpec("orders_by_key", 1.0, BY_KEY.format("orders")),
    ),
)

_VARIANTS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("loop, first", "loop", {}),
    ("index", "warehouse", {"policy": "index"}),
    ("streaming", "streaming", {}),
    ("loop, again", "loop", {}),
)
"""Name, how, and the project's scheduler settings; in this order."""


def measure(*, quick: bool) -> Report:
    """All variants, one after the other."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    outcomes = follow_each("few", FEW, _VARIANTS, seconds)
    return _report(outcomes, seconds, quick=quick)


def _report(outcomes: Mapping[str, Outcome], seconds: float, *, quick: bool) -> Report:
    loops = [each.warm_s for name, each in outcomes.items() if name.startswith("loop")]
    loop_s = fmean(loops)
    report = Report(
        "few",
        f"Staleness of a table and a view, {seconds:.0f} s, a file each second",
        ("variant", "warm, s", "to the loop", *_columns(outcomes), "commits", "failed", "cores"),
        [
            (
                name,
                f"{each.warm_s:.2f}",
                f"{each.warm_s / loop_s:.2f}",
                *(f"{staleness_s:.2f}" for staleness_s in each.tables_s.values()),
                str(each.commits),
                str(each.failures),
                f"{each.cpu.own_s / seconds:.2f}",
            )
            for name, each in outcomes.items()
        ],
        quick=quick,
        data={name: each.record() for name, each in outcomes.items()},
    )
    report.notes = [
        "Staleness is now - F from the Delta logs, mean over time; of a table over all the time.",
        f"The loop's two runs differ by {max(loops) / min(loops):.2f}.",
    ]
    return report


def _columns(outcomes: Mapping[str, Outcome]) -> list[str]:
    first = next(iter(outcomes.values()))
    return [f"{name}, s" for name in first.tables_s]


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
