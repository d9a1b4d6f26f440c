"""From ``freshline run`` to the first update's start, beyond a bare Spark session's start.

Both are child processes, timed from the moment they are launched, in turns: the bare one
until its session is there, ``freshline run`` until its journal says that the first update
started (a file is waiting, and nothing was ever loaded).
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.common.children import answer, child, environment, program
from benchmarks.common.projects import FORMATS, FeedSpec, TableSpec, add_file, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from freshline.runtime.journal.paths import journal_path
from freshline.spark.engine.session import settings

_GOAL_S = 2.0
_ROWS = 1000


def bare_s(chosen: Path, log: Path) -> float:
    """Seconds until a bare session with these settings is there."""
    began_s = time.time()
    with child([sys.executable, "-m", "benchmarks.common.bare_start", str(chosen)], log=log) as one:
        return float(answer(one, log)) - began_s


def run_s(root: Path) -> float:
    """Seconds until ``freshline run`` starts its first update, in a project never run before.

    Raises:
        RuntimeError: It failed.
    """
    feeds = [FeedSpec(f"feed_{kind}", kind) for kind in FORMATS]
    tables = [
        TableSpec(f"t_{kind}", 1.0, f"SELECT id, due_s, amount FROM STREAM feed_{kind}")
        for kind in FORMATS
    ]
    tables.append(TableSpec("all_of_them", 5.0, "SELECT count(*) AS n FROM t_csv JOIN t_json"))
    project = write_project(root, feeds, tables)
    for feed in feeds:
        add_file(project, feed, _ROWS, 1_700_000_000.0)
    command = [program("freshline"), "run", "--until-idle", "--project", str(root)]
    began_s = time.time()
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"freshline run failed:\n{done.stderr[-3000:]}")
    journal = sqlite3.connect(journal_path(project))
    try:
        ((first_s,),) = journal.execute("SELECT min(start_s) FROM updates").fetchall()
    finally:
        journal.close()
    return float(first_s) - began_s


def measure(*, quick: bool) -> Report:
    """Bare and run in turns."""
    pairs = 3 if quick else 9
    found: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        root = Path(folder)
        log = root / "children.log"
        chosen = root / "settings.json"
        project = write_project(root / "settings-of", [FeedSpec("f", "csv")],
                                [TableSpec("t", 1.0, "SELECT id FROM STREAM f")])  # fmt: skip
        chosen.write_text(json.dumps(settings(project)))
        for index in range(pairs):
            bare_first = index % 2 == 0
            one_s = bare_s(chosen, log) if bare_first else 0.0
            other_s = run_s(root / f"run{index}")
            found.append((one_s if bare_first else bare_s(chosen, log), other_s))
    bare = median(bare for bare, _ in found)
    run = median(run for _, run in found)
    beyond = median(run - bare for bare, run in found)
    return Report(
        "start",
        "From launch to work",
        ("what", "seconds"),
        [
            ("bare Spark session there", f"{bare:.2f}"),
            ("`freshline run`, first update started", f"{run:.2f}"),
            ("difference, median of pairs", f"{beyond:.2f}"),
            ("ratio", f"{run / bare:.2f}"),
        ],
        goals=[Goal("run beyond a bare start", beyond, _GOAL_S, unit=" s")],
        notes=[f"Medians of {pairs} alternating pairs of child processes."],
        quick=quick,
        data={"bare_and_run_s": found},
    )


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
