"""The same pipeline folder under ``spark-pipelines run``, run after run, and ``freshline run``.

Nothing in the folder is changed or added for either. Both get the same files at the same moments,
once they are ready: freshline's views are tried (``freshline validate --try``) and its Spark runs
then, and a first ``spark-pipelines run`` has made the pipeline's tables. A pipeline starts Spark
again with every run, which is how it is run; that is in its staleness, not in its executor seconds.
What is in a table is read from its Delta log in the same way for both.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.children import environment, program
from benchmarks.common.metered import Tasks, TaskTimes, logging_to
from benchmarks.common.report import Report, asked_quick
from benchmarks.overload.follow import LEAD_S, start_producer
from benchmarks.overload.staleness import area_s2
from benchmarks.overload.workload import stage
from benchmarks.pipelined.contents import contents, empty_s
from benchmarks.pipelined.declarative import Pipeline, Run, write_settings
from benchmarks.pipelined.project import (
    ARRIVALS,
    PRIORITIES,
    SOURCES,
    empty_streams,
    write_pipeline,
)

_SECONDS, _QUICK_SECONDS = 120.0, 40.0
_PATIENCE_S = 300.0


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
    weighted_s = sum(priority * means_s[name] for name, priority in PRIORITIES.items())
    return Side(
        weighted_s / sum(PRIORITIES.values()),
        means_s,
        sum(empty_s(found[view], start_s, end_s) for view in SOURCES),
        sum(start_s <= commit.at_s <= end_s for made in found.values() for commit, _ in made),
        TaskTimes(events, start_s, end_s).so_far(),
    )


def freshline(root: Path, folder: Path, staged: Path, seconds: float) -> Side:
    """``freshline run`` in the pipeline's folder, with its default settings."""
    events = folder / "events"
    write_settings(folder / "conf", {"spark.driver.memory": "1g", **logging_to(events)})
    env = {**environment(), "SPARK_CONF_DIR": str(folder / "conf")}
    tried = subprocess.run(
        [program("freshline"), "validate", "--try"],
        cwd=root, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if tried.returncode:
        raise RuntimeError(f"freshline validate failed:\n{tried.stdout}{tried.stderr}"[-4000:])
    log = folder / "run.log"
    with log.open("w") as told:
        process = subprocess.Popen(
            [program("freshline"), "run", "--log-format", "json"],
            cwd=root, env=env, stdout=told, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        until_s = time.monotonic() + _PATIENCE_S
        while "Spark ready" not in log.read_text():
            if process.poll() is not None or time.monotonic() > until_s:
                raise RuntimeError(f"freshline did not start:\n{log.read_text()}"[-4000:])
            time.sleep(0.1)
        start_s = time.time() + LEAD_S
        producer = start_producer(staged, root / "feed", start_s)
        time.sleep(max(0.0, start_s + seconds - time.time()))
        faults = [line for line in log.read_text().splitlines() if _is_fault(line)]
        process.send_signal(signal.SIGINT)
        process.wait(60.0)
        if producer.wait(30.0):
            raise RuntimeError("the producer failed")
    finally:
        process.kill()
        process.wait()
    if faults:
        raise RuntimeError(f"updates failed:\n{faults[0]}")
    tables = {name: root / "kept" / "tables" / name for name in PRIORITIES}
    return seen(tables, events, start_s, seconds)


def _is_fault(line: str) -> bool:
    try:
        told = json.loads(line)
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("event") == "update-failed"


def declarative(
    root: Path, folder: Path, staged: Path, seconds: float
) -> tuple[Side, tuple[Run, ...]]:
    """Runs the pipeline again and again; returns the runs. The first one made the tables."""
    events = folder / "events"
    pipeline = Pipeline(root, folder, logging_to(events))
    runs = [pipeline.run()]
    start_s = time.time() + LEAD_S
    producer = start_producer(staged, root / "feed", start_s)
    try:
        while time.time() < start_s + seconds:
            runs.append(pipeline.run())
        if producer.wait(30.0):
            raise RuntimeError("the producer failed")
    finally:
        producer.kill()
        producer.wait()
    tables = {name: pipeline.table_path(name) for name in PRIORITIES}
    return seen(tables, events, start_s, seconds), tuple(runs)


def measure(*, quick: bool) -> Report:
    """One side, then the other."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as name:
        folder = Path(name)
        root, staged = folder / "pipeline", folder / "staged"
        stage(ARRIVALS, staged, seconds)
        write_pipeline(root)
        for side in ("ours", "theirs"):
            (folder / side).mkdir()
        ours = freshline(root, folder / "ours", staged, seconds)
        print(f"pipelines: freshline: {ours.mean_s:.2f} s stale", file=sys.stderr, flush=True)
        empty_streams(root)
        theirs, runs = declarative(root, folder / "theirs", staged, seconds)
    report = Report(
        "pipelines",
        f"{len(PRIORITIES)} tables, {seconds:.0f} s: freshline and spark-pipelines, one folder",
        ("side", "staleness, s", "commits", "executor, s", "CPU, s", "views empty, s"),
        [],
        quick=quick,
    )
    for side_name, found in (("freshline run", ours), ("spark-pipelines run", theirs)):
        report.rows.append(
            (
                side_name,
                f"{found.mean_s:.2f}",
                str(found.commits),
                f"{found.tasks.run_s:.1f}",
                f"{found.tasks.cpu_s:.1f}",
                f"{found.empty_s:.2f}",
            )
        )
        report.data[side_name] = {
            "mean_s": found.mean_s,
            "tables_s": dict(found.tables_s),
            "commits": found.commits,
            "executor_s": found.tasks.run_s,
            "cpu_s": found.tasks.cpu_s,
            "empty_s": found.empty_s,
        }
    report.data["runs_s"] = [run.seconds for run in runs]
    report.data["too_early"] = [list(run.too_early) for run in runs]
    took = ", ".join(f"{run.seconds:.0f}" for run in runs)
    early = [
        f"run {number} {', '.join(run.too_early)}"
        for number, run in enumerate(runs, 1)
        if run.too_early
    ]
    report.notes = [
        "Staleness is now - F from the Delta logs, mean over time, weighted by priority.",
        f"Runs of the pipeline: {took} s; the first is before the time.",
        "Views that a run computed before what they read was complete (apache/spark#57897): "
        + ("; ".join(early) or "none")
        + ".",
        "Views empty: seconds in which a view that had had rows had none, all views together.",
        "Executor seconds are those of tasks that began within the time, however much was done.",
    ]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
