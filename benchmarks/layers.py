"""Policies on real Spark: 32 tables in three layers, an outage and an overload.

Each variant starts with fresh storage in a fresh process and gets the same files at the same
moments. The engineer's loop, by hand with PySpark and Delta, runs at the beginning and at the
end: what its two results differ by is what the machine changed meanwhile. It has every setting
of ours but two, code generation and the garbage collector, which are as Spark and Java have
them. Between its runs, to tell apart what is gained by what: the same loop with these settings
too, and with freshline's updates: from there to a policy only the order differs; and index with
views computed anew each time. Beside each policy stands what the simulator made of the fifo
run's journal, its files and its learned costs, under that policy: before it was run.

A warehouse runs for weeks, and in its first minute most of the processors' time goes into Java's
compilers. So what counts is staleness without the first third of the time; that of all of it
stands beside it, and the outage with what comes after it is in what counts.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.overload.follow import Outcome, follow
from benchmarks.overload.layers import LAYERS, LAYERS_IN_FULL
from benchmarks.overload.prediction import happened_s, least_s, predicted_s
from benchmarks.overload.workload import Workload, stage
from freshline.core.recorded import RecordedRun
from freshline.runtime.status.recorded_run import last_run
from freshline.spark.engine.sizing import COMPILED

_SECONDS, _QUICK_SECONDS = 180.0, 15.0
_GOAL = 0.3
_KNOWN = "fifo"
"""The run that predictions are made from."""
_BY_DEFAULT = {**COMPILED, "spark.driver.extraJavaOptions": "-XX:+UseG1GC"}
"""Where our settings are none that an engineer would find in a guide to small tables."""

_LOOPS = ("loop, first", "loop, again")
_SET_LOOP = "loop, our settings"
_OWN_LOOP = "loop, our updates"
_IN_FULL = "index, views in full"
_INHERITING = "max-benefit, inherit max, chop 4"


@dataclass(frozen=True, slots=True)
class _Variant:
    """How the workload is followed.

    Attributes:
        how: warehouse, loop or own-loop.
        scheduler: The warehouse's settings.
        workload: Its tables.
        configuration: Settings of Spark over ours.
    """

    how: str
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    workload: Workload = LAYERS
    configuration: Mapping[str, str] = field(default_factory=dict)


_VARIANTS: Mapping[str, _Variant] = {
    "loop, first": _Variant("loop", configuration=_BY_DEFAULT),
    _SET_LOOP: _Variant("loop"),
    _OWN_LOOP: _Variant("own-loop"),
    _KNOWN: _Variant("warehouse", {"policy": "fifo"}),
    "edf": _Variant("warehouse", {"policy": "edf"}),
    "max-benefit": _Variant("warehouse", {"policy": "max-benefit", "inherit": "none"}),
    _INHERITING: _Variant("warehouse", {"policy": "max-benefit", "inherit": "max", "chop": 4}),
    "index": _Variant("warehouse", {"policy": "index"}),
    _IN_FULL: _Variant("warehouse", {"policy": "index"}, LAYERS_IN_FULL),
    "loop, again": _Variant("loop", configuration=_BY_DEFAULT),
}


def measure(*, quick: bool) -> Report:
    """All variants, one after the other."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    outcomes: dict[str, Outcome] = {}
    runs: dict[str, RecordedRun] = {}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        staged, root = Path(folder) / "staged", Path(folder) / "run"
        stage(LAYERS, staged, seconds)
        for name, variant in _VARIANTS.items():
            outcome = follow(
                variant.workload,
                root,
                staged,
                variant.how,
                variant.scheduler,
                seconds,
                configuration=variant.configuration,
            )
            outcomes[name] = outcome
            if variant.how == "warehouse":
                runs[name] = last_run(outcome.project)
            stale = f"{outcome.mean_s:.2f} s stale, warm {outcome.warm_s:.2f} s"
            done = f"{stale}, {outcome.commits} commits"
            print(f"layers: {name}: {done}", file=sys.stderr, flush=True)
            shutil.rmtree(root)
    return _report(outcomes, runs, seconds, quick=quick)


def _report(
    outcomes: Mapping[str, Outcome],
    runs: Mapping[str, RecordedRun],
    seconds: float,
    *,
    quick: bool,
) -> Report:
    loops_s = [outcomes[name].warm_s for name in _LOOPS]
    loop_s, whole_loop_s = fmean(loops_s), fmean(outcomes[name].mean_s for name in _LOOPS)
    tables = len(LAYERS.tables)
    report = Report(
        "layers",
        f"Weighted staleness: {tables} tables, an outage, {seconds:.0f} s, two tracks",
        (
            "variant",
            "all, s",
            "to loop",
            "warm, s",
            "to loop",
            "to set",
            "to ours",
            "commits",
            "failed",
            "as run, s",
            "predicted",
            "error",
        ),
        [],
        quick=quick,
    )
    errors = []
    for name, outcome in outcomes.items():
        cells: tuple[str, ...] = ("", "", "")
        if name in runs:
            ran_s, said_s = happened_s(runs[name]), predicted_s(runs[_KNOWN], runs[name])
            error = said_s / ran_s - 1.0
            if name not in (_KNOWN, _IN_FULL):
                errors.append(abs(error))
            cells = (f"{ran_s:.2f}", f"{said_s:.2f}", f"{error:+.0%}")
            report.data[f"prediction of {name}"] = {"happened_s": ran_s, "predicted_s": said_s}
        report.rows.append(
            (
                name,
                f"{outcome.mean_s:.2f}",
                f"{outcome.mean_s / whole_loop_s:.2f}",
                f"{outcome.warm_s:.2f}",
                f"{outcome.warm_s / loop_s:.2f}",
                f"{outcome.warm_s / outcomes[_SET_LOOP].warm_s:.2f}",
                f"{outcome.warm_s / outcomes[_OWN_LOOP].warm_s:.2f}",
                str(outcome.commits),
                str(outcome.failures),
                *cells,
            )
        )
        report.data[name] = outcome.record()
    report.goals = [
        Goal(f"{name}, to the loop, warm", outcomes[name].warm_s / loop_s, _GOAL)
        for name in ("max-benefit", _INHERITING, "index", _IN_FULL)
    ]
    bound_s = least_s(runs[_KNOWN])
    report.data["lower bound"] = {"least_s": bound_s}
    report.notes = [
        "Staleness is now - F from the Delta logs, mean over time, weighted by priority.",
        "Warm: without the first third of the time. The ratios after it are of it.",
        f"The loop's two runs differ by {max(loops_s) / min(loops_s):.2f}.",
        (
            f"With each table's quickest update of {_KNOWN} no order comes below {bound_s:.2f} s"
            f" as run, {bound_s / happened_s(runs[_KNOWN]):.2f} of {_KNOWN}."
        ),
        f"To set: to the {_SET_LOOP}; to ours: to the {_OWN_LOOP}, where only the order differs.",
        (
            f"As run: the same from the journal; predicted: from the journal of {_KNOWN}. Error"
            f" of predictions but that of {_KNOWN} itself: median {median(errors):.0%}, at most"
            f" {max(errors):.0%}."
        ),
    ]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
