"""An hourly rollup with 1,000 changed rows: short history, long history, and computed anew.

The long history is ten times the short one, in files of the same size, at the same number of
rows an hour. In each repeat 1,000 rows come into both, most of the newest hour and some a day
late. All three updates alternate in one JVM.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.common.metered import Meter, Metered, logging_to
from benchmarks.common.projects import FeedSpec, TableSpec, file_name, listed, write_project
from benchmarks.common.report import Goal, Report, asked_quick
from freshline.executor.records import FeedFile, UpdateRequest
from freshline.project.model import Project
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_TIMES = 10
"""The long history to the short one."""
_ROWS_AN_HOUR = 10_000
_CHANGED, _LATE = 1_000, 100
_KEYS = 20
_GOAL_GROWTH, _GOAL_FULL = 1.3, 5.0
_START = datetime(2026, 1, 1, tzinfo=UTC)
_ROLLUP = (
    "SELECT date_trunc('HOUR', at) AS hour, key, count(*) AS n, sum(amount) AS total,"
    " max(amount) AS most FROM {} GROUP BY date_trunc('HOUR', at), key"
)
_HISTORIES = ("short", "long")
_FEEDS = {
    name: FeedSpec(f"{name}_feed", "parquet", schema="at TIMESTAMP, key INT, amount BIGINT")
    for name in _HISTORIES
}
_FULL = "full_long"
_TABLES = (
    *(
        TableSpec(name, 1.0, f"SELECT at, key, amount FROM STREAM {name}_feed", {"time": "at"})
        for name in _HISTORIES
    ),
    *(
        TableSpec(
            f"hourly_{name}", 1.0, _ROLLUP.format(name), {"time": "hour", "refresh": "incremental"}
        )
        for name in _HISTORIES
    ),
    TableSpec(_FULL, 1.0, _ROLLUP.format("long"), {"refresh": "full"}),
)


class Histories:
    """Both histories and the views over them.

    Args:
        project: With ``_FEEDS`` and ``_TABLES``.
        session: It logs its events into ``events``.
        events: Of :func:`benchmarks.common.metered.logging_to`.
        short_rows: Of the short history, a multiple of the rows of an hour.
    """

    def __init__(
        self, project: Project, session: SparkSession, events: Path, short_rows: int
    ) -> None:
        self._project = project
        self._session = session
        self._executor = Meter(SparkExecutor(project, session), session, events)
        self._rows = {"short": short_rows, "long": short_rows * _TIMES}
        self._chunk_rows = short_rows
        self._number = 0
        self._versions: dict[str, int] = {}

    @property
    def spent(self) -> Sequence[Metered]:
        """On every update so far."""
        return self._executor.spent

    def build(self) -> None:
        """Load the histories, in commits of as many rows as the short one has."""
        for name in _HISTORIES:
            for first in range(0, self._rows[name], self._chunk_rows):
                self._load(name, self._generated(name, first))

    def change(self, repeat: int) -> None:
        """A thousand rows more in both."""
        for name in _HISTORIES:
            newest = _START + timedelta(hours=self._rows[name] // _ROWS_AN_HOUR - 1)
            late = newest - timedelta(days=1) if name == "long" else newest - timedelta(hours=5)
            hours = [late] * _LATE + [newest] * (_CHANGED - _LATE)
            times = [hour + timedelta(seconds=index % 3600) for index, hour in enumerate(hours)]
            columns = {
                "at": pa.array(times, pa.timestamp("us", "UTC")),
                "key": pa.array([index % _KEYS for index in range(_CHANGED)], pa.int32()),
                "amount": pa.array([index + repeat for index in range(_CHANGED)], pa.int64()),
            }
            path = self._path(name)
            unfinished = path.with_name(path.name + ".tmp")
            pq.write_table(pa.table(columns), unfinished)
            unfinished.rename(path)
            self._load(name, listed(self._project, _FEEDS[name], path.name))

    def update(self, view: str) -> None:
        """Bring a view to its parent's newest version."""
        parent = "long" if view == _FULL else view.removeprefix("hourly_")
        self._number += 1
        moment_s = self._moment_s
        parents = {parent: self._versions[parent]}
        self._executor.run(
            UpdateRequest(self._number, view, moment_s - 1.0, moment_s, parents=parents)
        )

    @property
    def _moment_s(self) -> float:
        """What a file's name says: one a second."""
        return _START.timestamp() + self._number

    def _path(self, name: str) -> Path:
        self._number += 1
        feed = _FEEDS[name]
        return Path(self._project.feeds[feed.name].path) / file_name(feed, self._moment_s)

    def _generated(self, name: str, first: int) -> FeedFile:
        """A file of the history's rows from ``first`` on, written by Spark."""
        path = self._path(name)
        folder = path.with_name(f"_{path.name}")
        seconds = f"{int(_START.timestamp())} + (id div {_ROWS_AN_HOUR}) * 3600 + id % 3600"
        rows = self._session.range(first, first + self._chunk_rows, numPartitions=1).selectExpr(
            f"timestamp_seconds({seconds}) AS at",
            f"CAST(id * 7919 % {_KEYS} AS INT) AS key",
            "id * 31 % 9973 AS amount",
        )
        rows.write.parquet(str(folder))
        (part,) = folder.glob("part-*.parquet")
        part.rename(path)
        return listed(self._project, _FEEDS[name], path.name)

    def _load(self, name: str, file: FeedFile) -> None:
        self._number += 1
        moment_s = file.timestamp_s
        request = UpdateRequest(self._number, name, moment_s - 1.0, moment_s, (file,))
        self._versions[name] = self._executor.run(request).version


def measure(*, quick: bool) -> Report:
    """Build both, then repeat."""
    short_rows, repeats, warm = (100_000, 3, 2) if quick else (1_000_000, 9, 3)
    views = [f"hourly_{name}" for name in _HISTORIES] + [_FULL]
    found: dict[str, list[Metered]] = {view: [] for view in views}
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        events = Path(folder) / "events"
        project = write_project(
            Path(folder) / "project",
            list(_FEEDS.values()),
            _TABLES,
            configuration=logging_to(events),
        )
        session = start_session(project)
        try:
            histories = Histories(project, session, events, short_rows)
            histories.build()
            for repeat in range(-warm, repeats):
                histories.change(repeat)
                turn = repeat % len(views)
                for view in (*views[turn:], *views[:turn]):
                    histories.update(view)
                    if repeat >= 0:
                        found[view].append(histories.spent[-1])
        finally:
            session.stop()
    return _report(found, short_rows, quick=quick)


def _report(found: dict[str, list[Metered]], short_rows: int, *, quick: bool) -> Report:
    executor_s = {view: median(each.executor_s for each in made) for view, made in found.items()}
    report = Report(
        "incremental",
        f"An hourly rollup, {_CHANGED:,} changed rows",
        ("update", "history, rows", "strategy", "executor, s", "CPU, s", "wall, s"),
        [],
        quick=quick,
    )
    for view, made in found.items():
        rows = short_rows if view == "hourly_short" else short_rows * _TIMES
        strategies = ", ".join(sorted({each.strategy for each in made}))
        report.rows.append(
            (
                view,
                f"{rows:,}",
                strategies,
                f"{executor_s[view]:.3f}",
                f"{median(each.cpu_s for each in made):.3f}",
                f"{median(each.wall_s for each in made):.2f}",
            )
        )
        report.data[view] = [asdict(each) for each in made]
    short_s, long_s, full_s = (
        executor_s["hourly_short"],
        executor_s["hourly_long"],
        executor_s[_FULL],
    )
    report.goals = [
        Goal("incremental update, long history to short", long_s / short_s, _GOAL_GROWTH),
        Goal("full to incremental, long history", full_s / long_s, _GOAL_FULL, at_most=False),
    ]
    report.notes = [
        "Executor: seconds of the update's tasks, from start to end; CPU: of the processors.",
        f"Medians of {len(found[_FULL])} repeats, the three updates in changing order.",
    ]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
