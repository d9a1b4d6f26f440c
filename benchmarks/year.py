"""A warehouse after a year, beside one after its first day.

30 tables, an update every two seconds, one file a second; the owner of the feeds removes files
after a day. What a year leaves is generated: a journal as full as it is kept, the logs of a week,
a fold of what was loaded, the files of a day. Both warehouses then load new files in turns. Not
generated are the names of a year's files, which are known for ever: here those of two days are.

Old commits are links to one that was really made: Delta lists their names, and reads none.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import deltalake

from benchmarks.common.children import environment, program
from benchmarks.common.projects import FeedSpec, TableSpec, write_file, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from freshline.delta.loaded import fold
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.pruning import KEPT
from freshline.spark.commits.transaction import CHECKPOINTS

_GOAL = 1.3
_DAY_S = 86_400
_BASES, _VIEWS = 20, 10
_UPDATES_A_DAY = _DAY_S // 2
_FEEDS = [FeedSpec(f"f{n:02d}", "csv", period_s=float(_BASES)) for n in range(_BASES)]


@dataclass(frozen=True, slots=True)
class Age:
    """What a warehouse has behind it.

    Attributes:
        name: In the table.
        commits: Of each table that are still in its log.
        names: Of loaded files that are known, all feeds together.
        journal: Rows by table of the journal.
    """

    name: str
    commits: int
    names: int
    journal: Mapping[str, int]


def _ages() -> tuple[Age, Age]:
    kept = {each.table: each.rows for each in KEPT}
    first = {"updates": _UPDATES_A_DAY, "instants": 2 * _UPDATES_A_DAY}
    year = {name: min(kept[name], 365 * rows) for name, rows in first.items()}
    a_day = _UPDATES_A_DAY // (_BASES + _VIEWS)
    # A week and a day of commits, and a day until the next VACUUM; names of two days.
    return Age("first day", a_day, _DAY_S, first), Age("a year", 9 * a_day, 2 * _DAY_S, year)


@dataclass(slots=True)
class Measured:
    """What was found of one warehouse.

    Attributes:
        start_s: From launch to the first update's start, by run.
        update_s: Of each update, by kind.
        status_s: Of ``freshline status``.
        memory_mb: Of Python's process and of Spark's, at the end of each run.
        disk_mb: Of journal, folds and logs.
    """

    start_s: list[float] = field(default_factory=list)
    update_s: dict[str, list[float]] = field(default_factory=lambda: {"base": [], "derived": []})
    status_s: list[float] = field(default_factory=list)
    memory_mb: list[tuple[float, float]] = field(default_factory=list)
    disk_mb: float = 0.0


def _project(root: Path) -> Project:
    bases = [
        TableSpec(f"t{n:02d}", 1.0, f"SELECT id, due_s, key, amount FROM STREAM f{n:02d}")
        for n in range(_BASES)
    ]
    views = [
        TableSpec(f"v{n:02d}", 1.0, f"SELECT key, count(*) AS n FROM t{2 * n:02d} GROUP BY key")
        for n in range(_VIEWS)
    ]
    write_project(root, _FEEDS, [*bases, *views])
    return load_project(root, root)


def _put(project: Project, number: int) -> None:
    """One file, into the feed whose turn it is."""
    feed = _FEEDS[number % _BASES]
    path = Path(project.feeds[feed.name].path) / f"{feed.name}-new-{time.time_ns()}.csv"
    write_file(path, 100, time.time(), 100 * number)


def _run(project: Project, *more: str) -> subprocess.Popen[bytes]:
    log = (project.root / "run.log").open("ab")
    command = [program("freshline"), "run", "--project", str(project.root), *more]
    return subprocess.Popen(command, env=environment(), stdout=log, stderr=log)


def _aged(project: Project, age: Age) -> None:
    """Give a warehouse that has loaded a file into each table what a time leaves behind."""
    now_s = time.time()
    versions: dict[str, int] = {}
    for table in project.tables:  # parents first
        path = Path(project.table_path(table.name))
        pins = {name: versions[name] for name in table.parents}
        versions[table.name] = _age_log(path, age.commits, pins)
    with closing(sqlite3.connect(journal_path(project), isolation_level=None)) as db:
        db.execute("BEGIN")
        each = age.names // _BASES
        for feed, table in zip(_FEEDS, project.tables, strict=False):
            folder = Path(project.feeds[feed.name].path)
            (template,) = list(folder.iterdir())[:1]
            for number in range(each):
                name = f"{feed.name}-{number:09d}.csv"
                # The files of the last day are there, those of the day before are gone.
                if number >= each - _DAY_S // _BASES:
                    os.link(template, folder / name)
                status = template.stat()
                db.execute(
                    "INSERT INTO files (table_name, name, size_bytes, modified_s, timestamp_s,"
                    " arrived_s, state, number) VALUES (?,?,?,?,?,?,'loaded',?)",
                    (table.name, name, status.st_size, status.st_mtime, now_s, now_s, 1),
                )
        for name, rows in age.journal.items():
            _repeat(db, name, rows)
        for table in project.tables:
            version = versions[table.name]
            db.execute(
                "UPDATE tables SET version=?, number=?, parents=? WHERE name=?",
                (version, version + 1, json.dumps({name: versions[name] for name in table.parents}),
                 table.name),
            )  # fmt: skip
        db.execute("COMMIT")
    for table in project.tables:
        if table.kind == "base" and age.name != "first day":
            fold(project, table.name)


def _repeat(db: sqlite3.Connection, table: str, rows: int) -> None:
    """As many rows of a table of the journal as there were, like those that are there."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
    (there,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    names = ",".join(columns)
    db.execute(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?)"
        f" INSERT INTO {table} ({names}) SELECT {','.join('t.' + c for c in columns)}"
        f" FROM n JOIN (SELECT *, row_number() OVER (ORDER BY id) AS place FROM {table}) t"
        f" ON t.place = 1 + n.i % ?",
        (max(0, rows - there), there),
    )


def _age_log(path: Path, commits: int, pins: Mapping[str, int]) -> int:
    """Add so many commits to a table's log; only the last one is real. Returns its version.

    Args:
        path: Of a table with one commit or two.
        commits: How many.
        pins: Versions of its parents that the last one names.
    """
    log = path / "_delta_log"
    table = deltalake.DeltaTable(str(path))
    first = table.version()
    table.create_checkpoint()
    (told,) = (
        json.loads(line)["commitInfo"]
        for line in (log / f"{first:020d}.json").read_text().splitlines()
        if "commitInfo" in line
    )
    template = log / "template"
    template.write_text(json.dumps({"commitInfo": told}) + "\n")
    last = first + commits
    for version in range(first + 1, last):
        os.link(template, log / f"{version:020d}.json")
        if (log / f"{first:020d}.crc").exists():
            os.link(log / f"{first:020d}.crc", log / f"{version:020d}.crc")
    template.unlink()
    # Nothing but commits without actions lies between: the state is that of the first checkpoint.
    checkpoint = log / f"{first:020d}.checkpoint.parquet"
    every = int(CHECKPOINTS["delta.checkpointInterval"])
    for version in {*range(first + every, last - 1, every), last - 1}:
        os.link(checkpoint, log / f"{version:020d}.checkpoint.parquet")
    note = json.loads((log / "_last_checkpoint").read_text())
    note.pop("checksum", None)
    (log / "_last_checkpoint").write_text(json.dumps(note | {"version": last - 1}))
    fields = json.loads(told["userMetadata"]) | {"update": last + 1, "rows": 0}
    fields["parents"] = dict(pins)
    if "after" in fields:
        fields["after"] = last - 1
    if "files" in fields:
        fields["files"] = []
    number = {"appId": f"freshline.{path.name}", "version": last + 1}
    lines = ({"commitInfo": told | {"userMetadata": json.dumps(fields)}}, {"txn": number})
    (log / f"{last:020d}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return last


def _memory_mb(process: int) -> tuple[float, float]:
    """Of a process, and of those that it has started."""
    sizes: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(
                line.split(":", 1) for line in (folder / "status").read_text().splitlines()
            )
            rss_kb = float(status.get("VmRSS", "0 kB").split()[0])
            sizes[int(folder.name)] = (int(status["PPid"]), rss_kb / 1024)
        except (OSError, KeyError):
            continue
    started = sum(mb for parent, mb in sizes.values() if parent == process)
    return sizes.get(process, (0, 0.0))[1], started


def _disk_mb(project: Project) -> float:
    """Of what is kept beside the rows: names count what their file holds, linked or not."""
    roots = [Path(project.own_path)]
    roots += [Path(project.table_path(table.name)) / "_delta_log" for table in project.tables]
    return (
        sum(file.stat().st_size for root in roots for file in root.rglob("*") if file.is_file())
        / 1e6
    )


def _work(project: Project, seconds: float, found: Measured) -> None:
    """One run that loads a file a second for a while."""
    with closing(sqlite3.connect(journal_path(project))) as db:
        (before,) = db.execute("SELECT max(id) FROM updates").fetchone()
    _put(project, 0)
    began_s = time.time()
    process = _run(project)
    try:
        first_s = None
        number, end_s = 0, time.monotonic() + 240.0
        while time.monotonic() < end_s:
            time.sleep(1.0)
            if first_s is None:
                first_s = _started_s(project, before)
                if first_s is not None:
                    end_s = time.monotonic() + seconds
                    found.start_s.append(first_s - began_s)
                continue
            number += 1
            _put(project, number)
        status_s = time.monotonic()
        command = [program("freshline"), "status", "--json", "--project", str(project.root)]
        subprocess.run(command, env=environment(), capture_output=True, check=True)
        found.status_s.append(time.monotonic() - status_s)
        found.memory_mb.append(_memory_mb(process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
    kinds = {table.name: table.kind for table in project.tables}
    with closing(sqlite3.connect(journal_path(project))) as db:
        rows = db.execute(
            "SELECT table_name, seconds, strategy FROM updates WHERE id>? AND state='done'"
            " ORDER BY id", (before,),
        ).fetchall()  # fmt: skip
    for name, took_s, strategy in rows[10:]:  # the JVM warms up
        if strategy not in ("compact", "vacuum", "verify", "try"):
            found.update_s[kinds[name]].append(took_s)


def _started_s(project: Project, before: int) -> float | None:
    with closing(sqlite3.connect(journal_path(project))) as db:
        row = db.execute("SELECT min(start_s) FROM updates WHERE id>?", (before,)).fetchone()
    return None if row is None else row[0]


def measure(*, quick: bool) -> Report:
    """Both warehouses in turns."""
    rounds, seconds = (1, 45.0) if quick else (2, 60.0)
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        seed = _project(Path(folder) / "seed")
        for number in range(_BASES):
            _put(seed, number)
        if _run(seed, "--until-idle").wait(300):
            raise RuntimeError((seed.root / "run.log").read_text()[-3000:])
        ages = _ages()
        projects = []
        for age in ages:
            root = Path(folder) / age.name.replace(" ", "-")
            shutil.copytree(seed.root, root)
            projects.append(load_project(root, root))
            _aged(projects[-1], age)
        found = [Measured(disk_mb=_disk_mb(project)) for project in projects]
        for index in range(rounds):
            order = (0, 1) if index % 2 == 0 else (1, 0)
            for which in order:
                _work(projects[which], seconds, found[which])
    return _report(found, rounds, quick=quick)


def _report(found: list[Measured], rounds: int, *, quick: bool) -> Report:
    rows: list[Sequence[str]] = []
    goals = []
    kinds: dict[str, Callable[[Measured], float]] = {
        "update of a base table, s": lambda one: median(one.update_s["base"]),
        "update of a view, s": lambda one: median(one.update_s["derived"] or [0.0]),
        "`freshline status`, s": lambda one: median(one.status_s),
        "from launch to the first update, s": lambda one: median(one.start_s),
        "memory of the warehouse, MB": lambda one: median(mb for mb, _ in one.memory_mb),
        "memory of Spark, MB": lambda one: median(mb for _, mb in one.memory_mb),
        "journal, folds and logs on disk, MB": lambda one: one.disk_mb,
    }
    for what, of in kinds.items():
        day, year = (of(one) for one in found)
        ratio = year / day if day else 0.0
        rows.append((what, f"{day:.2f}", f"{year:.2f}", f"{ratio:.2f}"))
        goals.append(Goal(f"{what}, a year to the first day", ratio, _GOAL))
    counts = [sum(map(len, one.update_s.values())) for one in found]
    return Report(
        "year",
        "After a year, beside the first day",
        ("what", "first day", "a year", "ratio"),
        rows,
        goals=goals,
        notes=[
            f"Medians of {counts[0]} and {counts[1]} updates in {rounds} alternating runs each.",
            "Disk: grows for the retention, a week, then stays.",
        ],
        quick=quick,
        data={"update_s": [one.update_s for one in found]},
    )


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
