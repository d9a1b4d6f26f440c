"""Three hundred tables: checking them, starting to update them, and what an update then takes.

75 feeds, each with a base table and three levels of views over it, against 8 feeds with the same
tables. `freshline validate` is timed by itself. Then `freshline run` follows files that come into
all feeds faster than two tracks can load them, in a heap of 1 GB; from its journal come the first
update's start and what updates took, from the JVM what the heap holds after a collection, in the
middle and at the end.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks.common.children import answer, child, environment, program
from benchmarks.common.projects import FeedSpec, TableSpec, file_name, write_file, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.spark.engine.session import settings

_MANY, _FEW = 75, 8
"""Feeds; each has a base table and three views."""

_ROWS, _ROUND_S = 500, 5.0
_VALIDATE_GOAL_S, _FIRST_GOAL_S, _UPDATE_GOAL, _HEAP_MB = 20.0, 10.0, 1.15, 1024.0
_LEVELS = ("b", "v1", "v2", "v3")
_LATER = 0.5
"""Updates of this last part of a run are compared: Java has compiled what is common to them."""


def _tables(feeds: int) -> list[TableSpec]:
    made = []
    for index in range(feeds):
        n = f"{index:02d}"
        made += [
            TableSpec(f"b_{n}", 1.0, f"SELECT id, key, amount FROM STREAM f_{n}"),
            TableSpec(
                f"v1_{n}",
                2.0,
                f"SELECT key, count(*) AS n, sum(amount) AS total FROM b_{n} GROUP BY key",
            ),
            TableSpec(
                f"v2_{n}",
                3.0,
                f"SELECT key % 10 AS part, sum(n) AS n, sum(total) AS total FROM v1_{n}"
                " GROUP BY key % 10",
            ),
            TableSpec(f"v3_{n}", 5.0, f"SELECT sum(n) AS n, sum(total) AS total FROM v2_{n}"),
        ]
    return made


def _feeds(feeds: int) -> list[FeedSpec]:
    return [FeedSpec(f"f_{index:02d}", "csv", _ROUND_S) for index in range(feeds)]


def _arrive(project: Project, feeds: int, number: int, staged: Path) -> None:
    """One file more in every feed."""
    for feed in _feeds(feeds):
        folder = Path(project.feeds[feed.name].path)
        os.link(staged, folder / file_name(feed, 1_700_000_000.0 + number * _ROUND_S))


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of `freshline run`.

    Attributes:
        tables: In the project.
        first_s: From its launch to the first update's start, seconds.
        updates: Finished.
        failed: Updates that failed.
        level_s: Median seconds of an update in the run's last part, by level.
        heap_mb: What the heap held after a collection, in the middle and at the end.
        updates_between: Finished between the two.
    """

    tables: int
    first_s: float
    updates: int
    failed: int
    level_s: Mapping[str, float]
    heap_mb: tuple[float, float]
    updates_between: int


def run(root: Path, feeds: int, seconds: float) -> Ran:
    """Let `freshline run` follow files for so long.

    Raises:
        RuntimeError: It ended by itself.
    """
    project = write_project(root, _feeds(feeds), _tables(feeds))
    staged = root / "staged.csv"
    write_file(staged, _ROWS, 0.0)
    _arrive(project, feeds, 0, staged)
    began_s = time.time()
    command = [program("freshline"), "run", "--project", str(root)]
    heap_mb, done = [], []
    with (root / "run.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment(), stdout=log, stderr=log, start_new_session=True
        )
        try:
            first_s = _first_update_s(project, process) - began_s
            start_s, number = time.time(), 1
            for until_s in (seconds / 2, seconds):
                while time.time() < start_s + until_s:
                    _arrive(project, feeds, number, staged)
                    number += 1
                    time.sleep(_ROUND_S)
                done.append(_finished(project))
                heap_mb.append(_heap_after_collection_mb(process.pid))
            if process.poll() is not None:
                raise RuntimeError(
                    f"freshline run ended:\n{(root / 'run.log').read_text()[-2000:]}"
                )
            process.send_signal(signal.SIGINT)
            process.wait(60.0)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    with closing(sqlite3.connect(journal_path(project))) as journal:
        rows = journal.execute(
            "SELECT table_name, seconds FROM updates WHERE state='done' ORDER BY id"
        ).fetchall()
        ((failed,),) = journal.execute("SELECT count(*) FROM updates WHERE state='failed'")
    later = rows[int(len(rows) * _LATER) :]
    level_s = {
        level: median([took_s for name, took_s in later if name.startswith(f"{level}_")] or [0.0])
        for level in _LEVELS
    }
    first, last = heap_mb
    return Ran(4 * feeds, first_s, len(rows), failed, level_s, (first, last), done[1] - done[0])


def _first_update_s(project: Project, process: subprocess.Popen[bytes]) -> float:
    while process.poll() is None:
        if journal_path(project).exists():
            try:
                with closing(sqlite3.connect(journal_path(project))) as journal:
                    ((found,),) = journal.execute("SELECT min(start_s) FROM updates").fetchall()
            except sqlite3.OperationalError:
                found = None
            if found is not None:
                return float(found)
        time.sleep(0.1)
    raise RuntimeError("freshline run ended before its first update")


def _finished(project: Project) -> int:
    with closing(sqlite3.connect(journal_path(project))) as journal:
        ((count,),) = journal.execute("SELECT count(*) FROM updates WHERE state='done'").fetchall()
    return int(count)


def _heap_after_collection_mb(group: int) -> float:
    """What the heap of the group's JVM holds after a full collection."""
    listed = subprocess.run(
        ["pgrep", "-g", str(group), "java"], capture_output=True, text=True, check=True
    )
    jvm = listed.stdout.split()[0]
    tool = str(Path(os.environ["JAVA_HOME"]) / "bin" / "jcmd")
    subprocess.run([tool, jvm, "GC.run"], capture_output=True, check=True)
    told = subprocess.run(
        [tool, jvm, "GC.heap_info"], capture_output=True, text=True, check=True
    ).stdout
    # PSYoungGen total 300K, used 200K ... ParOldGen total 700K, used 100K
    heap = told.split("Metaspace")[0]
    used = [part.split()[0] for part in heap.split("used ")[1:]]
    return sum(int(each.rstrip("K,")) for each in used if each.rstrip(",").endswith("K")) / 1024


def validate_s(root: Path, feeds: int) -> float:
    """Seconds that `freshline validate` takes, Spark's start included.

    Raises:
        RuntimeError: It found something.
    """
    write_project(root, _feeds(feeds), _tables(feeds))
    command = [program("freshline"), "validate", "--project", str(root)]
    began_s = time.time()
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"freshline validate failed:\n{done.stderr[-3000:]}")
    return time.time() - began_s


def bare_s(root: Path) -> float:
    """Seconds until a bare Spark session is there."""
    project = write_project(root, _feeds(1), _tables(1))
    chosen = root / "settings.json"
    chosen.write_text(json.dumps(settings(project)))
    began_s = time.time()
    command = [sys.executable, "-m", "benchmarks.common.bare_start", str(chosen)]
    with child(command, log=root / "child.log") as one:
        return float(answer(one, root / "child.log")) - began_s


def measure(*, quick: bool) -> Report:
    """Each once: validate, then the runs."""
    seconds = 40.0 if quick else 120.0
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        root = Path(folder)
        bare = bare_s(root / "bare")
        checked = {feeds: validate_s(root / f"v{feeds}", feeds) for feeds in (_FEW, _MANY)}
        few = run(root / "few", _FEW, seconds)
        many = run(root / "many", _MANY, seconds)
    ratios = {
        level: many.level_s[level] / few.level_s[level]
        for level in _LEVELS
        if many.level_s[level] and few.level_s[level]
    }
    ratio = fmean(ratios.values())
    made = Report(
        "many",
        f"{4 * _MANY} tables against {4 * _FEW}",
        ("what", f"{4 * _FEW} tables", f"{4 * _MANY} tables"),
        [
            ("`validate`, s", f"{checked[_FEW]:.1f}", f"{checked[_MANY]:.1f}"),
            (
                "first update, beyond a bare Spark session's start, s",
                f"{few.first_s - bare:.1f}",
                f"{many.first_s - bare:.1f}",
            ),
            ("updates", str(few.updates), str(many.updates)),
            ("failed", str(few.failed), str(many.failed)),
            *(
                (
                    f"an update, {level}, s",
                    f"{few.level_s[level]:.2f}",
                    f"{many.level_s[level]:.2f}",
                )
                for level in _LEVELS
            ),
            (
                "heap after a collection, middle and end, MB",
                " ".join(f"{each:.0f}" for each in few.heap_mb),
                " ".join(f"{each:.0f}" for each in many.heap_mb),
            ),
        ],
        quick=quick,
        data={
            "bare_s": bare,
            "validate_s": {str(4 * feeds): each for feeds, each in checked.items()},
            "few": asdict(few),
            "many": asdict(many),
            "ratios": ratios,
        },
    )
    hour = 3600.0 / seconds * many.updates
    grown_mb = (many.heap_mb[1] - many.heap_mb[0]) / max(1, many.updates_between)
    made.goals = [
        Goal("validate", checked[_MANY], _VALIDATE_GOAL_S, unit=" s"),
        Goal("first update, beyond Spark's start", many.first_s - bare, _FIRST_GOAL_S, unit=" s"),
        Goal("an update, to that of few tables, mean of levels", ratio, _UPDATE_GOAL),
        Goal("heap at the end", many.heap_mb[1], _HEAP_MB, unit=" MB"),
    ]
    made.notes = [
        f"{seconds:.0f} s each; times of updates are medians of the last half.",
        (
            f"The heap grew by {grown_mb * 1000:.0f} kB an update from the middle to the end, while"
            f" tables were still made; {hour:.0f} updates would be an hour's."
        ),
    ]
    return made


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
