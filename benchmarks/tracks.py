"""Updates per second with two tracks against one, on small updates.

The whole warehouse works: each round puts one small file into every feed, then runs
``Warehouse`` until idle, and takes from its journal how long it was from the first update's
start to the last one's end. Rounds with one track and with two alternate over the same
tables in one JVM.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.common.projects import FORMATS, FeedSpec, TableSpec, add_file, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.common.rounds import KeptOpen
from freshline.project.model import Project
from freshline.render.log_observer import Counting
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.options import RunOptions
from freshline.runtime.warehouse import Warehouse
from freshline.spark.engine.session import start_session

_GOAL = 1.25
_FEEDS = 6
_ROWS = 500


def updates_per_s(project: Project, executor: KeptOpen, tracks: int) -> float:
    """One run until idle; what its journal says.

    Raises:
        RuntimeError: An update failed.
    """
    scheduler = dataclasses.replace(project.scheduler, tracks=tracks)
    chosen = dataclasses.replace(project, scheduler=scheduler)
    observer = Counting(chosen)
    Warehouse(chosen, lambda: executor, observer, RunOptions(until_idle=True)).run()
    if observer.failed:
        raise RuntimeError(f"{observer.failed} updates failed")
    journal = sqlite3.connect(journal_path(project))
    try:
        ((count, first_s, last_s),) = journal.execute(
            "SELECT count(*), min(start_s), max(finish_s) FROM updates"
            " WHERE run = (SELECT max(id) FROM runs)"
        ).fetchall()
    finally:
        journal.close()
    return float(count / (last_s - first_s))


def measure(*, quick: bool) -> Report:
    """Rounds in the order 1 2 2 1, so that growing tables count against neither."""
    rounds, warm = (6, 2) if quick else (20, 4)
    feeds = [FeedSpec(f"f{index}", FORMATS[index % 3]) for index in range(_FEEDS)]
    tables = [TableSpec(f"b_{f.name}", 1.0, f"SELECT * FROM STREAM {f.name}") for f in feeds]
    tables += [
        TableSpec(f"v_{f.name}", 2.0, f"SELECT key, count(*) AS n FROM b_{f.name} GROUP BY key")
        for f in feeds
    ]
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        project = write_project(Path(folder) / "project", feeds, tables)
        session = start_session(project)
        executor = KeptOpen(project, session)
        try:
            for index in range(-warm, rounds):
                for feed in feeds:
                    add_file(project, feed, _ROWS, time.time())
                tracks = (1, 2, 2, 1)[index % 4]
                rate = updates_per_s(project, executor, tracks)
                if index >= 0:
                    rates[tracks].append(rate)
        finally:
            session.stop()
    one, two = median(rates[1]), median(rates[2])
    return Report(
        "tracks",
        f"Two tracks against one: {len(tables)} small tables a round",
        ("tracks", "updates a second", "ratio"),
        [("1", f"{one:.2f}", "1.00"), ("2", f"{two:.2f}", f"{two / one:.2f}")],
        goals=[Goal("updates a second, two tracks to one", two / one, _GOAL, at_most=False)],
        notes=[f"Medians of {rounds // 2} rounds each, alternating, after {warm} to warm up."],
        quick=quick,
        data={"updates_per_s": {str(tracks): found for tracks, found in rates.items()}},
    )


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
