"""``python -m benchmarks.overload.picture``: staleness over time in a real run, as a picture.

The workload of the benchmark ``layers``, followed on Spark by the engineer's loop, by fifo and by
whittle, one after the other: the same files at the same moments. Drawn is the weighted staleness
of all tables at each second, from the Delta logs. The picture is docs/staleness.svg, the numbers
behind it benchmarks/results/picture.json.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.report import RESULTS
from benchmarks.overload.follow import Outcome, follow
from benchmarks.overload.layers import LAYERS
from benchmarks.overload.staleness import Commit
from benchmarks.overload.workload import stage
from freshline.spark.engine.sizing import COMPILED

_SECONDS = 150.0
_PICTURE = Path(__file__).parents[2] / "docs" / "staleness.svg"
_BY_DEFAULT = {**COMPILED, "spark.driver.extraJavaOptions": "-XX:+UseG1GC"}
_VARIANTS: Sequence[tuple[str, str, Mapping[str, Any], Mapping[str, str]]] = (
    ("a loop written by hand", "loop", {}, _BY_DEFAULT),
    ("freshline, first in, first out", "warehouse", {"policy": "fifo"}, {}),
    ("freshline, whittle", "warehouse", {"policy": "whittle"}, {}),
)
"""Name, how, settings of the scheduler and of Spark; the loop's are as Spark and Java have them."""
_COLOURS = ("#9a6700", "#57606a", "#0969da")
_DASHES = ("dotted", "dashed", "solid")
_SILENT = (1 / 2, 2 / 3)


def staleness_by_second(outcome: Outcome, seconds: int) -> list[float]:
    """The tables' staleness weighted by priority at the end of each second."""
    priorities = {table.name: table.priority for table in outcome.project.tables}
    whole = sum(priorities.values())
    found = [0.0] * seconds
    for name, made in outcome.made.items():
        weight = priorities[name] / whole
        for second, stale_s in enumerate(_of_table(made, outcome.start_s, seconds)):
            found[second] += weight * stale_s
    return found


def _of_table(made: Sequence[Commit], start_s: float, seconds: int) -> list[float]:
    fresh_s, at, found = start_s, 0, []
    for second in range(1, seconds + 1):
        now_s = start_s + second
        while at < len(made) and made[at].at_s <= now_s:
            fresh_s = max(fresh_s, made[at].fresh_s)
            at += 1
        found.append(now_s - fresh_s)
    return found


def measure(seconds: float) -> dict[str, list[float]]:
    """Each variant's staleness by second, in seconds."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        staged, root = Path(folder) / "staged", Path(folder) / "run"
        stage(LAYERS, staged, seconds)
        for name, how, scheduler, configuration in _VARIANTS:
            outcome = follow(
                LAYERS, root, staged, how, scheduler, seconds, configuration=configuration
            )
            found[name] = staleness_by_second(outcome, int(seconds))
            print(f"{name}: {outcome.mean_s:.1f} s, {outcome.commits} commits", file=sys.stderr)
            shutil.rmtree(root)
    return found


def draw(series: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw the series into an SVG file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots()
    seconds = max(len(values) for values in series.values())
    axes.axvspan(_SILENT[0] * seconds, _SILENT[1] * seconds, color="0.93", lw=0)
    axes.text(
        sum(_SILENT) / 2 * seconds, 0.02, "two feeds silent", ha="center", va="bottom",
        transform=axes.get_xaxis_transform(), fontsize=8, color="0.4",
    )  # fmt: skip
    for (name, values), colour, dashes in zip(series.items(), _COLOURS, _DASHES, strict=True):
        mean_s = sum(values) / len(values)
        axes.plot(
            range(1, len(values) + 1), values, color=colour, ls=dashes,
            label=f"{name} (mean {mean_s:.0f} s)",
        )  # fmt: skip
    axes.set_xlim(0, seconds)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds since the first file")
    axes.set_ylabel("weighted staleness, s")
    axes.set_title(
        "32 tables, five times as many updates wanted as two tracks can run", fontsize=10
    )
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    FigureCanvasSVG(figure)
    figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="of each run")
    parser.add_argument("--into", type=Path, default=_PICTURE, help="the picture's file")
    options = parser.parse_args()
    series = measure(options.seconds)
    draw(series, options.into)
    RESULTS.mkdir(exist_ok=True)
    record = {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "staleness_s": {
            name: [round(each, 2) for each in values] for name, values in series.items()
        },
    }
    (RESULTS / "picture.json").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
