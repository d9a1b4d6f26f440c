"""Updates from changes by the clock: against a plain append of the same rows, and in full.

Four views stand over each history: a rollup by hour, one by key, a join with a static table
rolled up by what that table says of the key, and a daily rollup over the hourly one. The histories
differ in length only: the same rows an hour, in files of at most a million rows. In each repeat
1,000 rows come into each, 900 of the newest hour and 100 late. The same file is appended to
another Delta table by plain PySpark; the base table and its views are updated by freshline, and of
long histories a second set of views in full. All of it alternates in one JVM.

A long history takes minutes to load, so histories can be measured in several runs: `--rows` names
them, and each run's results are kept in ``results/incremental``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from benchmarks.common.metered import Meter, Metered, logging_to
from benchmarks.common.projects import FeedSpec, TableSpec, file_name, listed, write_project
from benchmarks.common.report import RESULTS, Goal, Report
from freshline.executor.records import FeedFile, UpdateRequest
from freshline.project.model import Project
from freshline.spark.commits.transaction import TABLE_PROPERTIES
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_HISTORIES = (100_000, 1_000_000, 10_000_000)
_QUICK_HISTORIES = (100_000, 500_000)
_IN_FULL_FROM = 500_000
"""Rows of a history from which on its views are also made in full."""

_FILE_ROWS = 1_000_000
_ROWS_AN_HOUR = 10_000
_CHANGED, _LATE = 1_000, 100
_KEYS, _REGIONS = 1_000, 25
_WARM = 3
_START = datetime(2026, 1, 1, tzinfo=UTC)
_GOAL_APPEND, _GOAL_GROWTH = 2.0, 1.3
_GOALS_FULL: Mapping[int, float] = {10_000_000: 5.0, 30_000_000: 12.0}

_VIEWS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    # name, query of the base table {0} and of the static table {1}; further properties
    "by_hour": (
        (
            "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n, sum(amount) AS total,"
            " max(amount) AS most FROM {0} GROUP BY date_trunc('HOUR', at)"
        ),
        {"time": "hour"},
    ),
    "by_key": (
        (
            "SELECT key, count(*) AS n, sum(amount) AS total, max(amount) AS most FROM {0}"
            " GROUP BY key"
        ),
        {},
    ),
    "by_region": (
        (
            "SELECT k.region, count(*) AS n, sum(e.amount) AS total FROM {0} e"
            " JOIN delta.`{1}` k ON e.key = k.key GROUP BY k.region"
        ),
        {},
    ),
    "by_day": (
        (
            "SELECT date_trunc('DAY', hour) AS day, sum(n) AS n, sum(total) AS total"
            " FROM {2} GROUP BY date_trunc('DAY', hour)"
        ),
        {"time": "day"},
    ),
}
_APPEND, _LOAD = "plain append", "base table"


def _feed(rows: int) -> FeedSpec:
    return FeedSpec(f"e{rows}_feed", "parquet", schema="at TIMESTAMP, key INT, amount BIGINT")


def _tables(rows: int, keys: Path) -> list[TableSpec]:
    """The base table, its views from changes, and where it is long those in full."""
    base = f"e{rows}"
    made = [TableSpec(base, 1.0, f"SELECT at, key, amount FROM STREAM {base}_feed", {"time": "at"})]
    ways = ("incremental", "full") if rows >= _IN_FULL_FROM else ("incremental",)
    for way in ways:
        for name, (query, properties) in _VIEWS.items():
            text = query.format(base, keys, _view("by_hour", rows, way))
            made.append(
                TableSpec(_view(name, rows, way), 1.0, text, {**properties, "refresh": way})
            )
    return made


def _view(name: str, rows: int, way: str) -> str:
    return f"{name}_{rows}_{way}"


class Histories:
    """Histories of several lengths, and the views over them.

    Args:
        project: With the feeds and tables of these histories.
        session: It logs its events into ``events``.
        events: Of :func:`benchmarks.common.metered.logging_to`.
        lengths: Rows of each history.
        plain: Folder of the tables that are appended to by hand.
    """

    def __init__(
        self,
        project: Project,
        session: SparkSession,
        events: Path,
        lengths: Sequence[int],
        plain: Path,
    ) -> None:
        self._project = project
        self._session = session
        self._executor = Meter(SparkExecutor(project, session), session, events)
        self._lengths = lengths
        self._plain = plain
        self._number = 0
        self._versions: dict[str, int] = {}

    def build(self) -> None:
        """Load the histories and make all views for the first time."""
        for rows in self._lengths:
            for first in range(0, rows, _FILE_ROWS):
                self._load(rows, self._generated(rows, first, min(_FILE_ROWS, rows - first)))
            for table in self._project.tables:
                if table.kind == "derived" and f"_{rows}_" in table.name:
                    self._update(table.name)

    def repeat(self, number: int) -> list[Metered]:
        """A thousand rows more in each history, and everything that follows from them."""
        made = []
        turn = number % len(self._lengths)
        for rows in (*self._lengths[turn:], *self._lengths[:turn]):
            file = self._changed(rows, number)
            if number % 2:
                made += [self._appended(rows, file), self._load(rows, file)]
            else:
                made += [self._load(rows, file), self._appended(rows, file)]
            views = [
                table.name
                for table in self._project.tables
                if table.kind == "derived" and f"_{rows}_" in table.name
            ]
            made += [self._update(view) for view in views]  # parents first
        return made

    def _changed(self, rows: int, number: int) -> FeedFile:
        newest = _START + timedelta(hours=rows // _ROWS_AN_HOUR - 1)
        late = newest - timedelta(hours=min(24, rows // _ROWS_AN_HOUR // 2))
        hours = [late] * _LATE + [newest] * (_CHANGED - _LATE)
        times = [hour + timedelta(seconds=index % 3600) for index, hour in enumerate(hours)]
        columns = {
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "key": pa.array([index * 7 % _KEYS for index in range(_CHANGED)], pa.int32()),
            "amount": pa.array([index + number for index in range(_CHANGED)], pa.int64()),
        }
        path = self._path(rows)
        unfinished = path.with_name(path.name + ".tmp")
        pq.write_table(pa.table(columns), unfinished)
        unfinished.rename(path)
        return listed(self._project, _feed(rows), path.name)

    def _appended(self, rows: int, file: FeedFile) -> Metered:
        """The same rows by hand, into a table that has the same properties."""
        began_s = time.perf_counter()
        path = Path(self._project.feeds[_feed(rows).name].path) / file.name
        frame = self._session.read.schema(_feed(rows).schema).parquet(str(path)).coalesce(1)
        writer = frame.write.format("delta").mode("append").options(**TABLE_PROPERTIES)
        writer.save(str(self._plain / f"e{rows}"))
        return Metered(f"{_APPEND}_{rows}", _APPEND, 0.0, 0.0, time.perf_counter() - began_s)

    def _update(self, view: str) -> Metered:
        self._number += 1
        parents = {name: self._versions[name] for name in self._project.table(view).parents}
        moment_s = self._moment_s
        result = self._executor.run(
            UpdateRequest(self._number, view, moment_s - 1.0, moment_s, parents=parents)
        )
        self._versions[view] = result.version
        return self._executor.spent[-1]

    @property
    def _moment_s(self) -> float:
        """What a file's name says: one a second."""
        return _START.timestamp() + self._number

    def _path(self, rows: int) -> Path:
        self._number += 1
        feed = _feed(rows)
        return Path(self._project.feeds[feed.name].path) / file_name(feed, self._moment_s)

    def _generated(self, rows: int, first: int, count: int) -> FeedFile:
        """A file of the history's rows from ``first`` on, written by Spark."""
        path = self._path(rows)
        folder = path.with_name(f"_{path.name}")
        seconds = f"{int(_START.timestamp())} + (id div {_ROWS_AN_HOUR}) * 3600 + id % 3600"
        frame = self._session.range(first, first + count, numPartitions=1).selectExpr(
            f"timestamp_seconds({seconds}) AS at",
            f"CAST(id * 7919 % {_KEYS} AS INT) AS key",
            "id * 31 % 9973 AS amount",
        )
        frame.write.parquet(str(folder))
        (part,) = folder.glob("part-*.parquet")
        part.rename(path)
        return listed(self._project, _feed(rows), path.name)

    def _load(self, rows: int, file: FeedFile) -> Metered:
        self._number += 1
        moment_s, base = file.timestamp_s, f"e{rows}"
        request = UpdateRequest(self._number, base, moment_s - 1.0, moment_s, (file,))
        self._versions[base] = self._executor.run(request).version
        return self._executor.spent[-1]


def measure(lengths: Sequence[int], repeats: int) -> dict[str, list[Metered]]:
    """Build the histories, then repeat; every update after the first few repeats, by table."""
    found: dict[str, list[Metered]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        events, keys = Path(folder) / "events", Path(folder) / "keys"
        numbers = pa.array(range(_KEYS), pa.int32())
        regions = pa.array([f"region {key % _REGIONS}" for key in range(_KEYS)])
        write_deltalake(str(keys), pa.table({"key": numbers, "region": regions}))
        project = write_project(
            Path(folder) / "project",
            [_feed(rows) for rows in lengths],
            [table for rows in lengths for table in _tables(rows, keys)],
            configuration=logging_to(events),
        )
        session = start_session(project)
        try:
            histories = Histories(project, session, events, lengths, Path(folder) / "plain")
            histories.build()
            for number in range(-_WARM, repeats):
                for made in histories.repeat(number):
                    if number >= 0:
                        found[made.table].append(made)
        finally:
            session.stop()
    return found


def _of_history(found: Mapping[str, list[Metered]], rows: int) -> dict[str, dict[str, Any]]:
    """Medians of one history: by what was updated, and where it was in full under full."""

    def medians(name: str) -> dict[str, Any]:
        made = found[name]
        return {
            "strategies": sorted({each.strategy for each in made}),
            "wall_s": median(each.wall_s for each in made),
            "cpu_s": median(each.cpu_s for each in made),
            "executor_s": median(each.executor_s for each in made),
            "repeats": len(made),
        }

    told = {_APPEND: medians(f"{_APPEND}_{rows}"), _LOAD: medians(f"e{rows}")}
    for name in _VIEWS:
        told[name] = medians(_view(name, rows, "incremental"))
        if rows >= _IN_FULL_FROM:
            told[f"{name}, full"] = medians(_view(name, rows, "full"))
    return told


def report(histories: Mapping[int, Mapping[str, Mapping[str, Any]]], *, quick: bool) -> Report:
    """What was measured of these histories, by rows."""
    made = Report(
        "incremental",
        f"{_CHANGED:,} changed rows, {_LATE} of them late: seconds by the clock",
        ("view", "history, rows", "strategy", "wall, s", "to append", "in full, s", "full to it"),
        [],
        quick=quick,
        data={str(rows): dict(each) for rows, each in histories.items()},
    )
    lengths = sorted(histories)
    for name in (_LOAD, *_VIEWS):
        for rows in lengths:
            of = histories[rows]
            wall_s, append_s = of[name]["wall_s"], of[_APPEND]["wall_s"]
            full = of.get(f"{name}, full")
            made.rows.append(
                (
                    name,
                    f"{rows:,}",
                    ", ".join(of[name]["strategies"]),
                    f"{wall_s:.2f}",
                    f"{wall_s / append_s:.2f}",
                    f"{full['wall_s']:.2f}" if full else "",
                    f"{full['wall_s'] / wall_s:.2f}" if full else "",
                )
            )
    for rows in lengths:
        of = histories[rows]
        worst = max(of[name]["wall_s"] for name in _VIEWS) / of[_APPEND]["wall_s"]
        made.goals.append(
            Goal(f"dearest view to a plain append, {rows:,} rows", worst, _GOAL_APPEND)
        )
        if rows in _GOALS_FULL:
            full_s = sum(of[f"{name}, full"]["wall_s"] for name in _VIEWS)
            ratio = full_s / sum(of[name]["wall_s"] for name in _VIEWS)
            made.goals.append(
                Goal(f"in full to from changes, {rows:,} rows", ratio, _GOALS_FULL[rows], False)
            )
    if len(lengths) > 1:
        growth = max(
            histories[lengths[-1]][name]["wall_s"] / histories[lengths[0]][name]["wall_s"]
            for name in _VIEWS
        )
        made.goals.append(Goal("longest history to the shortest, worst view", growth, _GOAL_GROWTH))
    repeats = {each["repeats"] for of in histories.values() for each in of.values()}
    appends = (f"{histories[rows][_APPEND]['wall_s']:.2f} s at {rows:,}" for rows in lengths)
    made.notes = [
        f"Medians of {min(repeats)} repeats or more, after {_WARM} that do not count.",
        f"A plain append of the same file takes {', '.join(appends)} rows.",
    ]
    return made


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short histories, few repeats")
    parser.add_argument("--rows", type=int, nargs="*", help="histories to be measured in this run")
    parser.add_argument("--repeats", type=int, help="how often rows come")
    options = parser.parse_args()
    lengths = options.rows or (_QUICK_HISTORIES if options.quick else _HISTORIES)
    found = measure(lengths, options.repeats or (3 if options.quick else 7))
    folder = RESULTS / "incremental"
    folder.mkdir(parents=True, exist_ok=True)
    histories = {rows: _of_history(found, rows) for rows in lengths}
    if not options.quick:
        for rows, each in histories.items():
            (folder / f"{rows}.json").write_text(json.dumps(each, indent=1) + "\n")
        for path in folder.glob("*.json"):  # of other runs
            histories.setdefault(int(path.stem), json.loads(path.read_text()))
    report(histories, quick=options.quick).publish()


if __name__ == "__main__":
    main()
