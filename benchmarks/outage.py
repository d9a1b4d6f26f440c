"""Six feeds, two of them silent for a while and then back with a backlog; two tracks.

Under the adaptive scheduler (aus) the tables of the other four have bounds on their staleness,
computed from what updates take; the same bounds are then held against a run of max-benefit,
which promises nothing. The files and their moments are the same. Every table's staleness is
taken from its Delta log, and counts from when the two feeds are back.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.projects import FeedSpec, TableSpec
from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.overload.follow import Outcome, follow
from benchmarks.overload.staleness import worst_s
from benchmarks.overload.workload import Arrivals, Workload, loading, stage
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal

_SECONDS, _QUICK_SECONDS = 120.0, 42.0
_PERIOD_S = 6.0
_SILENT = (0.2, 0.6)
_FAILING = ("meters", "sensors")
_HEALTHY = ("trades", "quotes", "orders", "visits")
_ROLLUP = "SELECT key, count(*) AS n, sum(amount) AS total FROM {} GROUP BY key"


def _feed(name: str) -> FeedSpec:
    return FeedSpec(f"{name}_feed", "csv", _PERIOD_S)


_WORKLOAD = Workload(
    (
        *(Arrivals(_feed(name), 500) for name in _HEALTHY),
        *(Arrivals(_feed(name), 10_000, _SILENT) for name in _FAILING),
    ),
    (
        *(TableSpec(name, 1.0, loading(name)) for name in (*_HEALTHY, *_FAILING)),
        TableSpec("trades_by_key", 1.0, _ROLLUP.format("trades")),
        TableSpec("meters_by_key", 1.0, _ROLLUP.format("meters")),
    ),
)
_CALM = (*_HEALTHY, "trades_by_key")
"""Tables that nothing silent feeds."""
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "aus": {"policy": "aus", "recovery": "average"},
    "max-benefit": {"policy": "max-benefit"},
}


@dataclass(frozen=True, slots=True)
class Watched:
    """What a run promised and counted itself.

    Attributes:
        bounds_s: On the staleness of each table, as computed last; 0, which nothing keeps, where
            there is none: what is wanted does not fit the tracks.
        violations: Of each table, all kinds together.
    """

    bounds_s: Mapping[str, float]
    violations: Mapping[str, int]


def watched(project: Project) -> Watched:
    """From the journal of a run under aus."""
    journal = Journal(journal_path(project), create=False)
    try:
        rows = journal.rows("SELECT name, bounds, violations FROM watched")
    finally:
        journal.close()
    bounds_s, violations = {}, {}
    for row in rows:
        bound_s = json.loads(row["bounds"] or "{}").get("staleness")
        bounds_s[row["name"]] = float(bound_s or 0.0)
        counts = json.loads(row["violations"] or "{}")
        violations[row["name"]] = sum(counts.values())
    return Watched(bounds_s, violations)


def measure(*, quick: bool) -> Report:
    """Both policies, aus first."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    outcomes: dict[str, Outcome] = {}
    promised = Watched({}, {})
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        staged, root = Path(folder) / "staged", Path(folder) / "run"
        stage(_WORKLOAD, staged, seconds)
        for name, scheduler in _VARIANTS.items():
            outcomes[name] = follow(_WORKLOAD, root, staged, "warehouse", scheduler, seconds)
            if name == "aus":
                promised = watched(outcomes[name].project)
            done = f"{outcomes[name].mean_s:.2f} s stale, {outcomes[name].commits} commits"
            print(f"outage: {name}: {done}", file=sys.stderr, flush=True)
            shutil.rmtree(root)
    return _report(outcomes, promised, seconds, quick=quick)


def _report(
    outcomes: Mapping[str, Outcome], promised: Watched, seconds: float, *, quick: bool
) -> Report:
    back_s = _SILENT[1] * seconds
    worst = {
        name: {
            table: worst_s(made, each.start_s, each.start_s + back_s, each.start_s + seconds)
            for table, made in each.made.items()
        }
        for name, each in outcomes.items()
    }
    report = Report(
        "outage",
        f"{len(_WORKLOAD.arrivals)} feeds, {len(_FAILING)} of them silent for"
        f" {(_SILENT[1] - _SILENT[0]) * seconds:.0f} s: greatest staleness since they are back",
        ("table", "bound, s", *(f"{name}, s" for name in outcomes), "violations"),
        [],
        quick=quick,
    )
    for table in (table.name for table in _WORKLOAD.tables):
        report.rows.append(
            (
                table if table in _CALM else f"{table} (was out)",
                f"{promised.bounds_s[table]:.1f}" if promised.bounds_s[table] else "none",
                *(f"{worst[name][table]:.1f}" for name in outcomes),
                str(promised.violations[table]),
            )
        )
    shares = {
        name: max(_share(worst[name][table], promised.bounds_s[table]) for table in _CALM)
        for name in outcomes
    }
    report.goals = [Goal("aus, the four feeds' worst staleness to its bound", shares["aus"], 1.0)]
    slipped = [table for table in _CALM if worst["max-benefit"][table] > promised.bounds_s[table]]
    report.notes = [
        (
            f"max-benefit let {', '.join(slipped)} slip over their bounds"
            if slipped
            else "max-benefit kept all of them within the bounds too"
        )
        + f"; its worst share of a bound is {shares['max-benefit']:.2f}.",
        "Bounds hold as long as updates take no longer than assumed; violations: as the run",
        "under aus counted them, of staleness, tardiness and response, from its first second on.",
        "Failed updates: "
        + ", ".join(f"{name} {each.failures}" for name, each in outcomes.items())
        + ".",
    ]
    report.data = {
        "bounds_s": dict(promised.bounds_s),
        "violations": dict(promised.violations),
        **{
            name: {
                "worst_s": worst[name],
                "mean_s": each.mean_s,
                "commits": each.commits,
                "failures": each.failures,
            }
            for name, each in outcomes.items()
        },
    }
    return report


def _share(worst_s: float, bound_s: float) -> float:
    return worst_s / bound_s if bound_s else float("inf")


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
