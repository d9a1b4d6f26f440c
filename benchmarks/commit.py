"""What one update costs beyond plain PySpark and Delta: a base one and a derived one.

Both sides read the same files with the same schema through the same query in one session
with the same settings, and write tables with the same properties; ours also counts rows and
misfits, pins versions and commits metadata with the transaction identifier. Pairs alternate,
and which side goes first alternates too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.common.processor import process_s
from benchmarks.common.projects import FORMATS, SCHEMA, FeedSpec, TableSpec, add_file, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project
from freshline.spark.commits.transaction import TABLE_PROPERTIES
from freshline.spark.engine import jvm
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_GOAL = 1.25
_ROWS = 1000
_START_S = 1_700_000_000.0
_PICKED = "id, due_s, key, amount * 2 AS doubled, note"
_ROLLUP = "SELECT key, count(*) AS n, sum(doubled) AS total FROM {} GROUP BY key"


class Sides:
    """Both ways to load one feed and to recompute one view over it.

    Args:
        project: With table ``loaded_F`` over feed ``feed_F`` and view ``rolled_F`` over that,
            for each format F.
        session: Shared by both sides.
        plain: Folder of the plain tables.
    """

    def __init__(self, project: Project, session: SparkSession, plain: Path) -> None:
        self._project = project
        self._session = session
        self._executor = SparkExecutor(project, session)
        self._plain = plain
        self._count = 0
        self._version = dict.fromkeys(FORMATS, 0)

    def base(self, kind: str) -> tuple[Callable[[], object], Callable[[], object]]:
        """Ours and the plain way to append a new file."""
        self._count += 1
        feed = FeedSpec(f"feed_{kind}", kind)
        now_s = _START_S + self._count
        file = add_file(self._project, feed, _ROWS, now_s)
        request = UpdateRequest(self._count, f"loaded_{kind}", now_s - 1.0, now_s, (file,))

        def ours() -> None:
            self._version[kind] = self._executor.run(request).version

        def plain() -> None:
            path = f"{self._project.feeds[feed.name].path}/{file.name}"
            frame = self._session.read.format(kind).schema(SCHEMA).load(path)
            frame.createOrReplaceTempView(feed.name)
            rows = self._session.sql(f"SELECT {_PICKED} FROM {feed.name}")
            writer = rows.write.format("delta").mode("append").options(**TABLE_PROPERTIES)
            writer.save(str(self._plain / request.table))

        return ours, plain

    def derived(self, kind: str) -> tuple[Callable[[], object], Callable[[], object]]:
        """Ours and the plain way to recompute the view from the table's newest version."""
        self._count += 1
        now_s = _START_S + self._count
        parent = f"loaded_{kind}"
        parents = {parent: self._version[kind]}
        request = UpdateRequest(self._count, f"rolled_{kind}", now_s - 1.0, now_s, parents=parents)

        def ours() -> None:
            self._executor.run(request)

        def plain() -> None:
            frame = self._session.read.format("delta").load(str(self._plain / parent))
            frame.createOrReplaceTempView(parent)
            rows = self._session.sql(_ROLLUP.format(parent))
            writer = rows.write.format("delta").mode("overwrite").options(**TABLE_PROPERTIES)
            writer.save(str(self._plain / request.table))

        return ours, plain


def project_in(root: Path) -> Project:
    """A feed, a base table and a view for each format."""
    feeds = [FeedSpec(f"feed_{kind}", kind) for kind in FORMATS]
    tables = [
        TableSpec(f"loaded_{kind}", 1.0, f"SELECT {_PICKED} FROM STREAM feed_{kind}")
        for kind in FORMATS
    ]
    tables += [
        TableSpec(f"rolled_{kind}", 1.0, _ROLLUP.format(f"loaded_{kind}")) for kind in FORMATS
    ]
    return write_project(root, feeds, tables)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one write took: seconds by the clock, and of the processors (Python and JVM).

    The second hardly feels what else runs on the machine; it has a resolution of 10 ms, and
    what the JVM compiles in the background counts against whoever is being measured.
    """

    wall_s: float
    cpu_s: float


def spent_on(action: Callable[[], object], java: int) -> Spent:
    """Do it, with the JVM's process ``java``."""
    began_s, used_s = time.perf_counter(), time.process_time() + process_s(java)
    action()
    wall_s = time.perf_counter() - began_s
    return Spent(wall_s, time.process_time() + process_s(java) - used_s)


def measure(*, quick: bool) -> Report:
    """Alternate ours and plain, base and derived, over the formats."""
    pairs, warm = (8, 3) if quick else (30, 8)
    report = Report(
        "commit",
        f"One update of {_ROWS:,} rows against the same write by plain PySpark and Delta",
        ("update", "plain, ms", "ours, ms", "ratio", "of pairs", "CPU ratio"),
        [],
        quick=quick,
    )
    spent: dict[str, list[tuple[Spent, Spent]]] = {}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        project = project_in(Path(folder) / "project")
        session = start_session(project)
        try:
            sides = Sides(project, session, Path(folder) / "plain")
            java = int(jvm.named(session, "java.lang.ProcessHandle.current")().pid())
            for index in range(warm + pairs):
                for kind in FORMATS:
                    for name, make in (("base", sides.base), ("derived", sides.derived)):
                        ours, plain = make(kind)
                        if index % 2:
                            pair = (spent_on(plain, java), spent_on(ours, java))
                        else:
                            pair = (spent_on(ours, java), spent_on(plain, java))[::-1]
                        if index >= warm:
                            spent.setdefault(f"{name} {kind}", []).append(pair)
        finally:
            session.stop()
    for name in sorted(spent):
        _add(report, name, spent[name])
    for name in ("base", "derived"):
        pooled = [pair for key, found in spent.items() if key.startswith(name) for pair in found]
        ratio = _add(report, f"{name}, all", pooled)
        report.goals.append(Goal(f"{name} update, ours to plain", ratio, _GOAL))
    report.notes.append(
        f"Medians of {pairs} alternating pairs for each format in one JVM, after {warm} to warm"
        " up; `of pairs`: quartiles of each pair's ratio; `CPU ratio`: of the sums."
    )
    report.data = {
        name: [{"plain": asdict(plain), "ours": asdict(ours)} for plain, ours in found]
        for name, found in spent.items()
    }
    return report


def _add(report: Report, name: str, pairs: list[tuple[Spent, Spent]]) -> float:
    """One row of the table; the ratio of the medians by the clock."""
    plain_s = median(plain.wall_s for plain, _ in pairs)
    ours_s = median(ours.wall_s for _, ours in pairs)
    ratios = sorted(ours.wall_s / plain.wall_s for plain, ours in pairs)
    plain_cpu_s, ours_cpu_s = sum(p.cpu_s for p, _ in pairs), sum(o.cpu_s for _, o in pairs)
    report.rows.append(
        (
            name,
            f"{plain_s * 1000:.0f}",
            f"{ours_s * 1000:.0f}",
            f"{ours_s / plain_s:.2f}",
            f"{ratios[len(ratios) // 4]:.2f} to {ratios[len(ratios) * 3 // 4]:.2f}",
            f"{ours_cpu_s / plain_cpu_s:.2f}",
        )
    )
    return ours_s / plain_s


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
