"""The workload of `layers` over tables that hold data: a million rows of the day before in each.

Every way begins with a copy of the same ten base tables and builds its views when the clock runs.
Then it follows the same files as in `layers`: index and max-benefit, freshline's updates in the
loop's order, and Structured Streaming, each in fresh storage and a fresh process, against the
engineer's loop, which runs first and last.

``--cold SHARE`` says after which share of the time a way counts as warm: with long first builds and
enough seconds, what is measured then is a warehouse whose views are all there.

Each run's outcome is kept in ``results/history``; with ``--resume`` a run of the same length and
rows is not made again. The base tables stay in the temporary folder for the next time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.common.report import RESULTS, Goal, Report
from benchmarks.overload.follow import COLD_SHARE, Outcome, follow
from benchmarks.overload.history import load_history
from benchmarks.overload.layers import LAYERS
from benchmarks.overload.made import made_by_way
from benchmarks.overload.workload import stage
from freshline.spark.engine.sizing import COMPILED

_ROWS, _SECONDS, _QUICK_SECONDS = 1_000_000, 90.0, 30.0
_GOAL, _GOAL_STREAMING = 0.25, 0.5
_GOAL_OF_MANY, _MANY_ROWS = 0.10, 10_000_000
_BY_DEFAULT = {**COMPILED, "spark.driver.extraJavaOptions": "-XX:+UseG1GC"}
_LOOPS = ("loop, first", "loop, again")
_STREAMING = "streaming"


@dataclass(frozen=True, slots=True)
class _Variant:
    """How the workload is followed: see :class:`benchmarks.layers._Variant`."""

    how: str
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)


_VARIANTS: Mapping[str, _Variant] = {
    "loop, first": _Variant("loop", configuration=_BY_DEFAULT),
    "index": _Variant("warehouse", {"policy": "index"}),
    "max-benefit": _Variant("warehouse", {"policy": "max-benefit", "inherit": "none"}),
    "loop, our updates": _Variant("own-loop"),
    _STREAMING: _Variant("streaming", configuration=_BY_DEFAULT),
    "loop, again": _Variant("loop", configuration=_BY_DEFAULT),
}


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the outcomes of a run are comparable by."""

    rows: int
    seconds: float
    cold_share: float

    def path(self, name: str) -> Path:
        """Where the outcome of a variant is kept."""
        short = name.replace(", ", "-").replace(" ", "-")
        length = f"{self.seconds:.0f}-{self.cold_share * self.seconds:.0f}"
        return RESULTS / "history" / f"{self.rows}-{length}-{short}.json"


def measure(names: Sequence[str], settings: _Settings, *, resume: bool, keep: Path | None) -> None:
    """The variants of these names, one after the other; each outcome is written to its file."""
    kept = Path(tempfile.gettempdir()) / f"freshline-bench-history-{settings.rows}"
    history = load_history(LAYERS, kept, settings.rows)
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        staged, root = Path(folder) / "staged", Path(folder) / "run"
        stage(LAYERS, staged, settings.seconds)
        for name in names:
            path = settings.path(name)
            if resume and path.exists():
                continue
            variant = _VARIANTS[name]
            outcome = follow(
                LAYERS,
                root,
                staged,
                variant.how,
                variant.scheduler,
                settings.seconds,
                configuration=variant.configuration,
                history=history,
                cold_share=settings.cold_share,
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(_record(outcome, variant), indent=1) + "\n")
            stale = f"{outcome.mean_s:.2f} s stale, warm {outcome.warm_s:.2f} s"
            print(f"history: {name}: {stale}, {outcome.commits} commits", file=sys.stderr)
            if keep is not None:
                shutil.copytree(root, keep / path.stem, dirs_exist_ok=True)
            shutil.rmtree(root)


def _record(outcome: Outcome, variant: _Variant) -> dict[str, Any]:
    return {
        **outcome.record(),
        "ways": made_by_way(outcome.project) if variant.how == "warehouse" else [],
    }


def report(settings: _Settings, *, quick: bool) -> Report:
    """What was measured with these settings, as far as it was."""
    found: dict[str, dict[str, Any]] = {
        name: json.loads(settings.path(name).read_text())
        for name in _VARIANTS
        if settings.path(name).exists()
    }
    loops = [found[name] for name in _LOOPS if name in found]
    made = Report(
        "history",
        f"Weighted staleness: {len(LAYERS.tables)} tables, {settings.rows:,} rows in each base"
        f" table before, {settings.seconds:.0f} s, two tracks",
        ("variant", "all, s", "to loop", "warm, s", "to loop", "commits", "failed", "CPU, s"),
        [],
        quick=quick,
        data=dict(found),
    )
    if not loops:
        return made
    loop_s, warm_loop_s = (fmean(each[key] for each in loops) for key in ("mean_s", "warm_s"))
    for name, each in found.items():
        made.rows.append(
            (
                name,
                f"{each['mean_s']:.2f}",
                f"{each['mean_s'] / loop_s:.2f}",
                f"{each['warm_s']:.2f}",
                f"{each['warm_s'] / warm_loop_s:.2f}",
                str(each["commits"]),
                str(each["failures"]),
                f"{each['own_cpu_s']:.0f}",
            )
        )
    for name in ("index", "max-benefit"):
        if name in found:
            ratio = found[name]["warm_s"] / warm_loop_s
            goal = _GOAL_OF_MANY if settings.rows >= _MANY_ROWS else _GOAL
            made.goals.append(Goal(f"{name}, to the loop, warm", ratio, goal))
    if "index" in found and _STREAMING in found:
        ratio = found["index"]["warm_s"] / found[_STREAMING]["warm_s"]
        made.goals.append(Goal("index, to Structured Streaming, warm", ratio, _GOAL_STREAMING))
    cold_s = settings.cold_share * settings.seconds
    made.notes = [
        "Staleness is now - F from the Delta logs, mean over time, weighted by priority.",
        f"Warm: after {cold_s:.0f} s. Views are first built within the time.",
    ]
    if len(loops) == len(_LOOPS):
        both_s = [each["warm_s"] for each in loops]
        made.notes.append(f"The loop's two runs differ by {max(both_s) / min(both_s):.2f}.")
    return made


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the time, more noise")
    parser.add_argument("--rows", type=int, default=_ROWS, help="in each base table before")
    parser.add_argument("--seconds", type=float, help="of each run")
    parser.add_argument("--cold", type=float, default=COLD_SHARE, help="share before warm")
    parser.add_argument("--only", nargs="*", default=list(_VARIANTS), choices=list(_VARIANTS))
    parser.add_argument("--resume", action="store_true", help="leave out what was measured")
    parser.add_argument("--keep", type=Path, help="copy each run's folder into this one")
    options = parser.parse_args()
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
    settings = _Settings(options.rows, seconds, options.cold)
    measure(options.only, settings, resume=options.resume, keep=options.keep)
    report(settings, quick=options.quick).publish()


if __name__ == "__main__":
    main()
