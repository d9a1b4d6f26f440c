"""Three hundred tables: checking them, starting to update them, and what an update then takes.

75 feeds, each with a base table and three levels of views over it, against 8 feeds with the same
tables. `freshline validate` is timed by itself. Then `freshline run` follows files that come into
all feeds faster than two tracks can load them, in a heap of 1 GB; from its journal comes the first
update's start, from the JVM what the heap holds after a collection, in the middle and at the end.

What an update takes is measured in rounds (:mod:`benchmarks.common.rounds`), since in a run of some
minutes most tables of 300 get their first updates while those of 32 get their twentieth, and load
ten files where these load two. Few, many and few tables alternate in one JVM, each side new every
time; the same updates of their tables are compared, each of one file.
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
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median

from pyspark.sql import SparkSession

from benchmarks.common.children import answer, child, environment, program
from benchmarks.common.projects import FeedSpec, TableSpec, file_name, write_file, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from benchmarks.common.rounds import Played, Rounds
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.spark.engine.session import settings, start_session

_MANY, _FEW = 75, 8
"""Feeds; each has a base table and three views."""

_ROWS, _ROUND_S = 500, 5.0
_MADE_WAY = "it gave way to an update"
"""What the journal says of a compaction that an update ended."""

_VALIDATE_GOAL_S, _FIRST_GOAL_S, _UPDATE_GOAL, _HEAP_MB = 20.0, 10.0, 1.15, 1024.0
_LEVELS = ("b", "v1", "v2", "v3")
_ROUNDS, _SETTLED, _WARM = 4, 2, 15
"""Rounds of a side; those after the second are compared: views are built in the first, and in the
second learn what their ways take. Before all, more rounds of few tables warm the JVM up."""


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
        errors: Of updates that failed; upkeep that made way for an update has not.
        heap_mb: What the heap held after a collection, in the middle and at the end.
        updates_between: Finished between the two.
    """

    tables: int
    first_s: float
    updates: int
    errors: tuple[str, ...]
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
        failed = journal.execute(
            "SELECT table_name, error FROM updates WHERE state='failed' AND error<>?", (_MADE_WAY,)
        ).fetchall()
        ((count,),) = journal.execute("SELECT count(*) FROM updates WHERE state='done'").fetchall()
    errors = tuple(f"{name}: {error}" for name, error in failed)
    first, last = heap_mb
    return Ran(4 * feeds, first_s, count, errors, (first, last), done[1] - done[0])


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


def played(session: SparkSession, root: Path, feeds: int, rounds: int) -> Played:
    """Rounds of a new warehouse."""
    project = write_project(root, _feeds(feeds), _tables(feeds))
    staged = root / "staged.csv"
    write_file(staged, _ROWS, 0.0)
    specs = {feed.name: feed for feed in _feeds(feeds)}
    groups = {name: [name.replace("f_", f"{level}_") for level in _LEVELS] for name in specs}

    def arrive(name: str, number: int) -> None:
        moment_s = 1_700_000_000.0 + number * _ROUND_S
        os.link(staged, Path(project.feeds[name].path) / file_name(specs[name], moment_s))

    return Rounds(project, session, groups, arrive, rounds).play()


def sides(root: Path, many: int) -> dict[str, list[Played]]:
    """Few, many and few tables in one JVM, which few of their own have warmed up."""
    found: dict[str, list[Played]] = {"warm": [], "few": [], "many": []}
    order = (("warm", _FEW, _WARM), ("few", _FEW, _ROUNDS), ("many", many, _ROUNDS))
    session = start_session(write_project(root / "session", _feeds(1), _tables(1)))
    try:
        for index, (side, feeds, rounds) in enumerate((*order, order[1])):
            found[side].append(played(session, root / str(index), feeds, rounds))
    finally:
        session.stop()
    return found


def _level_s(side: Sequence[Played], level: str) -> float:
    """Median seconds of the updates that are compared."""
    return median(
        took_s
        for each in side
        for table, seconds in each.seconds.items()
        if table.startswith(f"{level}_")
        for took_s in seconds[_SETTLED:]
    )


def measure(*, quick: bool) -> Report:
    """Each once: validate, then the runs, then the rounds."""
    seconds, most = (40.0, 25) if quick else (120.0, _MANY)
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        root = Path(folder)
        bare = bare_s(root / "bare")
        checked = {feeds: validate_s(root / f"v{feeds}", feeds) for feeds in (_FEW, _MANY)}
        few = run(root / "few", _FEW, seconds)
        many = run(root / "many", _MANY, seconds)
        rounds = sides(root, most)
    level_s = {
        side: {level: _level_s(rounds[side], level) for level in _LEVELS}
        for side in ("few", "many")
    }
    ratios = {level: level_s["many"][level] / level_s["few"][level] for level in _LEVELS}
    ratio = fmean(ratios.values())
    used_s = {side: fmean(each.processor_s for each in rounds[side]) for side in ("few", "many")}
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
            *(
                (
                    f"an update, {level}, s",
                    f"{level_s['few'][level]:.3f}",
                    f"{level_s['many'][level]:.3f}",
                )
                for level in _LEVELS
            ),
            ("an update, processor, s", f"{used_s['few']:.3f}", f"{used_s['many']:.3f}"),
            ("updates of the run", str(few.updates), str(many.updates)),
            ("failed", str(len(few.errors)), str(len(many.errors))),
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
            "rounds": {side: [asdict(each) for each in found] for side, found in rounds.items()},
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
        (
            f"Updates: {4 * most} tables after and before {4 * _FEW}, new ones each time, in one"
            f" JVM that was warm; medians of the updates {_SETTLED + 1} to {_ROUNDS} of each"
            " table, a file each. Processor: Python and JVM, over all updates."
        ),
        f"Runs: {seconds:.0f} s each, first update, heap and failures.",
        (
            f"The heap grew by {grown_mb * 1000:.0f} kB an update from the middle to the end, while"
            f" tables were still made; {hour:.0f} updates would be an hour's."
        ),
        *(f"Failed: {error}" for error in (*few.errors, *many.errors)),
        *(
            f"Failed in a round: {error}"
            for found in rounds.values()
            for each in found
            for error in each.errors
        ),
    ]
    return made


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
