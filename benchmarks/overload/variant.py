"""``python -m benchmarks.overload.variant HOW ROOT SECONDS``: follow the workload one way.

A child process: it starts Spark and warms it up, says "ready", reads the moment at which the
producer starts from its standard input, works until SECONDS after it, and says how many
updates failed. HOW is warehouse (the policy stands in the project), loop (by
hand, with PySpark and Delta alone), own-loop (the same order, freshline's updates) or streaming.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.overload import streaming
from benchmarks.overload.loop import Loop, Runner
from benchmarks.overload.plain import PlainExecutor
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.render.log_observer import LogObserver
from freshline.runtime.options import RunOptions
from freshline.runtime.warehouse import Warehouse
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_WARM_ROUNDS = 4


def warm_up(session: SparkSession, folder: Path) -> None:
    """Plain appends and overwrites, the same for all variants, so that none starts cold."""
    source, rollup = str(folder / "source"), str(folder / "rollup")
    for _ in range(_WARM_ROUNDS):
        rows = session.range(1000).selectExpr("id", "id % 101 AS key", "id * 0.5 AS amount")
        rows.coalesce(1).write.format("delta").mode("append").save(source)
        read = session.read.format("delta").load(source)
        counts = read.groupBy("key").count().coalesce(1)
        counts.write.format("delta").mode("overwrite").save(rollup)


def start_told() -> float:
    """Say that all is ready; the moment at which the producer starts."""
    print("ready", flush=True)
    return float(sys.stdin.readline())


def by_warehouse(project: Project, session: SparkSession, seconds: float) -> int:
    """The warehouse under the project's policy."""
    executor = SparkExecutor(project, session)
    observer = LogObserver(project)
    warehouse = Warehouse(project, lambda: executor, observer, RunOptions(grace_s=5.0))
    end_s = start_told() + seconds
    threading.Timer(end_s - time.time(), warehouse.stop).start()
    warehouse.run()
    return observer.failed


def by_loop(project: Project, executor: Runner, seconds: float) -> int:
    """The engineer's loop."""
    loop = Loop(project, executor)
    loop.run(start_told() + seconds)
    for failure in loop.failures:
        print(failure, file=sys.stderr)
    return len(loop.failures)


def by_streaming(project: Project, session: SparkSession, seconds: float, root: Path) -> int:
    """A streaming query per table; they run before the first file comes."""
    streaming.create_tables(project, session)
    queries = streaming.start(project, session, root / "checkpoints")
    end_s = start_told() + seconds
    time.sleep(max(0.0, end_s - time.time()))
    failures = [query.exception() for query in queries if query.exception() is not None]
    for failure in failures:
        print(failure, file=sys.stderr)
    return len(failures)


def main() -> None:
    """Follow the workload."""
    how, root, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    project = load_project(root, root)
    session = start_session(project)
    warm_up(session, root / "warm")
    if how == "warehouse":
        failures = by_warehouse(project, session, seconds)
    elif how == "loop":
        failures = by_loop(project, PlainExecutor(project, session), seconds)
    elif how == "own-loop":
        failures = by_loop(project, SparkExecutor(project, session), seconds)
    else:
        failures = by_streaming(project, session, seconds, root)
    print(failures, flush=True)
    os._exit(0)  # without waiting for what still runs; the JVM goes with us


if __name__ == "__main__":
    main()
