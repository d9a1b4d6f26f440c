"""The same project as a Spark Declarative Pipeline, run after run, and under freshline.

Both get the same files at the same moments, once they are ready: freshline's Spark runs then,
and a first ``spark-pipelines run`` has made the pipeline's tables. A pipeline starts Spark anew
with every run, which is how it is run; that is in its staleness, not in its executor seconds.
What is in a table is read from its Delta log in the same way for both.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.metered import Tasks, TaskTimes, logging_to
from benchmarks.common.projects import write_project
from benchmarks.common.report import Report, asked_quick
from benchmarks.overload.follow import LEAD_S, follow, start_producer
from benchmarks.overload.staleness import area_s2
from benchmarks.overload.workload import stage
from benchmarks.pipelined.contents import contents, empty_s
from benchmarks.pipelined.declarative import Pipeline
from benchmarks.pipelined.project import PROJECT

_SECONDS, _QUICK_SECONDS = 120.0, 40.0


@dataclass(frozen=True, slots=True)
class Side:
    """What one side came to.

    Attributes:
        mean_s: Staleness, mean over time and over the tables by priority, seconds.
        tables_s: Each table's.
        empty_s: Seconds in which a view that had had rows had none, of all views together.
        commits: Within the time.
        tasks: That began within the time.
    """

    mean_s: float
    tables_s: Mapping[str, float]
    empty_s: float
    commits: int
    tasks: Tasks


def seen(tables: Mapping[str, Path], events: Path, start_s: float, seconds: float) -> Side:
    """Measure one side.

    Args:
        tables: Where each table is.
        events: Where Spark logged.
        start_s: When the first file was due.
        seconds: How long.
    """
    end_s = start_s + seconds
    found = {name: contents(path, start_s) for name, path in tables.items()}
    means_s = {
        name: area_s2([commit for commit, _ in made], start_s, end_s) / seconds
        for name, made in found.items()
    }
    weighted_s = sum(table.priority * means_s[table.name] for table in PROJECT.tables)
    views = [table.name for table in PROJECT.tables if "STREAM " not in table.query]
    return Side(
        weighted_s / sum(table.priority for table in PROJECT.tables),
        means_s,
        sum(empty_s(found[view], start_s, end_s) for view in views),
        sum(start_s <= commit.at_s <= end_s for made in found.values() for commit, _ in made),
        TaskTimes(events, start_s, end_s).so_far(),
    )


def freshline(folder: Path, staged: Path, seconds: float) -> Side:
    """The warehouse with its default settings."""
    events = folder / "events"
    outcome = follow(
        PROJECT,
        folder / "project",
        staged,
        "warehouse",
        {},
        seconds,
        configuration=logging_to(events),
    )
    if outcome.failures:
        raise RuntimeError(f"{outcome.failures} updates failed")
    tables = {table.name: Path(outcome.project.table_path(table.name)) for table in PROJECT.tables}
    return seen(tables, events, outcome.start_s, seconds)


def declarative(folder: Path, staged: Path, seconds: float) -> tuple[Side, list[float]]:
    """A pipeline run after run, and the seconds of each."""
    events = folder / "events"
    project = write_project(folder / "project", PROJECT.feeds, PROJECT.tables)
    pipeline = Pipeline(PROJECT, project, folder / "pipeline", logging_to(events))
    pipeline.run()
    start_s = time.time() + LEAD_S
    producer = start_producer(staged, folder / "project" / "feed", start_s)
    runs_s = []
    try:
        while time.time() < start_s + seconds:
            runs_s.append(pipeline.run())
        if producer.wait(30.0):
            raise RuntimeError("the producer failed")
    finally:
        producer.kill()
        producer.wait()
    tables = {table.name: pipeline.table_path(table.name) for table in PROJECT.tables}
    return seen(tables, events, start_s, seconds), runs_s


def measure(*, quick: bool) -> Report:
    """One side, then the other."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as name:
        folder = Path(name)
        stage(PROJECT, folder / "staged", seconds)
        ours = freshline(folder / "ours", folder / "staged", seconds)
        print(f"pipelines: freshline: {ours.mean_s:.2f} s stale", file=sys.stderr, flush=True)
        theirs, runs_s = declarative(folder / "theirs", folder / "staged", seconds)
    report = Report(
        "pipelines",
        f"{len(PROJECT.tables)} tables, {seconds:.0f} s: freshline and a declarative pipeline",
        ("side", "staleness, s", "commits", "executor, s", "CPU, s", "views empty, s"),
        [],
        quick=quick,
    )
    for side, found in (("freshline", ours), ("declarative pipeline", theirs)):
        report.rows.append(
            (
                side,
                f"{found.mean_s:.2f}",
                str(found.commits),
                f"{found.tasks.run_s:.1f}",
                f"{found.tasks.cpu_s:.1f}",
                f"{found.empty_s:.2f}",
            )
        )
        report.data[side] = {
            "mean_s": found.mean_s,
            "tables_s": dict(found.tables_s),
            "commits": found.commits,
            "executor_s": found.tasks.run_s,
            "cpu_s": found.tasks.cpu_s,
            "empty_s": found.empty_s,
        }
    report.data["runs_s"] = runs_s
    report.notes = [
        "Staleness is now - F from the Delta logs, mean over time, weighted by priority.",
        f"Runs of the pipeline: {', '.join(f'{run_s:.0f}' for run_s in runs_s)} s.",
        "Views empty: seconds in which a view that had had rows had none, all views together.",
        "Executor seconds are those of tasks that began within the time, however much was done.",
    ]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
