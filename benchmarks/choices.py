"""How often `auto` takes the quickest of the right strategies, and what it loses where it does not.

Views of 42 shapes (`choosing/views.py`) stand over two base tables with a history of three sizes.
Each view has a copy for each strategy that is right for it, kept up by that strategy alone, one in
full, and one that chooses as `auto` does; all copies read the same base tables. In each round 1,000
rows come, and every copy is brought up to date, in turns. After some rounds, in which `auto` may
learn, the medians of the copies say which strategy was the quickest for the same update; the
strategy that `auto` took in these rounds is held against that.

What a strategy that is followed for good takes does not contain what changing to it takes: a
state that is built first. It is in the seconds of the copy that chooses.

Sizes can be measured in several runs: `--rows` names them, and each run's results are kept in
``results/choices``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from benchmarks.choosing.views import QUICK, SCHEMA, VIEWS
from benchmarks.common.projects import FeedSpec, TableSpec, file_name, listed, write_project
from benchmarks.common.report import RESULTS, Goal, Report
from freshline.executor.records import UpdateRequest
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor
from freshline.spark.views.derived import DerivedUpdates
from freshline.sql.costs import Costs, Sizes
from freshline.sql.query.records import ViewPlan
from freshline.sql.strategy import Choice, Strategy, chosen, full, incremental

_SIZES = (20_000, 300_000, 2_000_000)
_QUICK_SIZES = (20_000,)
_CHANGED, _LATE = 1_000, 100
_ROWS_AN_HOUR = 2_000
_GOAL_TAKEN, _GOAL_LOST = 0.92, 0.03
_ALIKE = 1.05
"""Times as long as the quickest: copies of one strategy differ by as much."""

_AUTO, _FULL = "auto", "full"
_START = datetime(2026, 1, 1, tzinfo=UTC)


def _only(name: str) -> Choice:
    """Takes one strategy wherever it is right, and the first that is right elsewhere."""

    def choose(
        table: object,
        plan: ViewPlan,
        costs: Costs,
        *,
        rewrote: bool,
        sizes: Sizes,
        holds_state: bool,
    ) -> Strategy:
        del table, costs, sizes, holds_state
        ways = incremental(plan, rewrote=rewrote, final=False)
        return next((way for way in ways if way.name == name), full("configured"))

    return choose


class Copies:
    """The base tables with their views, and of each view a copy for each way.

    Args:
        root: An empty folder.
        rows: Of the history of each base table.
        views: Their names, parents first.
    """

    def __init__(self, root: Path, rows: int, views: Sequence[str]) -> None:
        keys = root / "keys"
        numbers = pa.array(range(1000), pa.int32())
        regions = pa.array([f"region {key % 25}" for key in range(1000)])
        write_deltalake(str(keys), pa.table({"key": numbers, "region": regions}))
        self._root, self._rows, self._number = root, rows, 0
        self._feeds = {name: FeedSpec(f"{name}_feed", "parquet", schema=SCHEMA) for name in "eo"}
        tables = [
            TableSpec(name, 1.0, f"SELECT * FROM STREAM {name}_feed", {"time": "at"})
            for name in self._feeds
        ]
        tables += [
            TableSpec(name, 1.0, query.replace("{keys}", str(keys)), properties)
            for name, (query, properties) in VIEWS.items()
            if name in views
        ]
        self._project = write_project(root / "project", list(self._feeds.values()), tables)
        self._session: SparkSession = start_session(self._project)
        self._executor = SparkExecutor(self._project, self._session)
        self._versions: dict[str, int] = {}
        self._copies: dict[tuple[str, str], DerivedUpdates] = {}
        self._views = [table for table in self._project.tables if table.kind == "derived"]

    def close(self) -> None:
        """Stop Spark."""
        self._session.stop()

    def build(self) -> None:
        """Load the histories and make every view and every copy for the first time."""
        for name in self._feeds:
            self._load(name, self._rows, _START, 0)
        for view in self._views:
            self._update_shared(view)
            self._begin(view, _AUTO, chosen)
            self._begin(view, _FULL, _only(_FULL))

    def round(self, number: int) -> list[tuple[str, str, str, float]]:
        """A thousand rows more; view, way, strategy and seconds of each copy's update."""
        newest = _START + timedelta(hours=self._rows // _ROWS_AN_HOUR)
        self._load("e", _CHANGED, newest, number)
        self._load("o", _LATE, newest, number)
        made = []
        for view in self._views:
            for way in self._ways(view):
                if (view.name, way) not in self._copies:
                    self._begin(view, way, _only(way))
            ways = [way for name, way in self._copies if name == view.name]
            turn = number % len(ways)
            for way in (*ways[turn:], *ways[:turn]):
                began_s = time.perf_counter()
                strategy = self._update(view, way)
                made.append((view.name, way, strategy, time.perf_counter() - began_s))
            self._update_shared(view)
        return made

    def _ways(self, view: TableDef) -> list[str]:
        """The incremental strategies that are right; known once the view has been planned."""
        updates = self._copies[view.name, _AUTO]
        plan, _ = updates.plan_and_key(own_session(self._session, view), self._request(view))
        rewrote = any(name not in self._feeds for name in view.parents)
        return [way.name for way in incremental(plan, rewrote=rewrote, final=False)]

    def _request(self, view: TableDef) -> UpdateRequest:
        self._number += 1
        pins = {name: self._versions[name] for name in view.parents}
        return UpdateRequest(
            self._number,
            view.name,
            self._moment_s - 1.0,
            self._moment_s,
            parents=pins,
            definition=definition_of(view),
        )

    def _begin(self, view: TableDef, way: str, choose: Choice) -> None:
        """A copy's first update, in a storage of its own that shares all tables but the view."""
        storage = self._root / "copies" / f"{view.name}-{way}"
        storage.mkdir(parents=True)
        for name in view.parents:
            (storage / name).symlink_to(self._project.table_path(name))
        project: Project = replace(self._project, storage=str(storage))
        self._copies[view.name, way] = DerivedUpdates(project, view, choose=choose)
        self._update(view, way)

    def _update(self, view: TableDef, way: str) -> str:
        session = own_session(self._session, view)
        return self._copies[view.name, way].run(session, self._request(view)).strategy

    def _update_shared(self, view: TableDef) -> None:
        self._versions[view.name] = self._executor.run(self._request(view)).version

    @property
    def _moment_s(self) -> float:
        return _START.timestamp() + self._number

    def _load(self, name: str, rows: int, since: datetime, number: int) -> None:
        """Rows from ``since`` on, the first tenth of a change late by some hours."""
        self._number += 1
        feed = self._feeds[name]
        path = Path(self._project.feeds[feed.name].path) / file_name(feed, self._moment_s)
        start_us = int(since.timestamp() * 1e6)
        step_us = 3_600_000_000 // _ROWS_AN_HOUR
        late_us = min(24, self._rows // _ROWS_AN_HOUR // 2) * 3_600_000_000
        late = _LATE if rows == _CHANGED else 0
        times = [start_us + at * step_us - (late_us if at < late else 0) for at in range(rows)]
        columns = {
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "key": pa.array([at * 7919 % 1000 for at in range(rows)], pa.int32()),
            "id": pa.array(range(number * rows, (number + 1) * rows), pa.int64()),
            "amount": pa.array([(at + number) * 31 % 9973 for at in range(rows)], pa.int64()),
        }
        unfinished = path.with_name(path.name + ".tmp")
        pq.write_table(pa.table(columns), unfinished)
        unfinished.rename(path)
        file = listed(self._project, feed, path.name)
        request = UpdateRequest(self._number, name, self._moment_s - 1.0, self._moment_s, (file,))
        self._versions[name] = self._executor.run(request).version


def measure(rows: int, warm: int, rounds: int, views: Sequence[str]) -> list[dict[str, Any]]:
    """A line for each view: seconds of each way, what `auto` took and what it took for it."""
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        copies = Copies(Path(folder), rows, views)
        try:
            copies.build()
            for number in range(1, warm + 1):
                copies.round(number)
            found = [
                each
                for number in range(warm + 1, warm + rounds + 1)
                for each in copies.round(number)
            ]
        finally:
            copies.close()
    by_view: dict[str, dict[str, list[tuple[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for view, way, strategy, took_s in found:
        by_view[view][way].append((strategy, took_s))
    return [_line(view, rows, ways) for view, ways in by_view.items()]


def _line(view: str, rows: int, ways: Mapping[str, list[tuple[str, float]]]) -> dict[str, Any]:
    # A way that was not right for these updates went another, and says nothing.
    right_s = {
        way: median(took_s for _, took_s in made)
        for way, made in ways.items()
        if way != _AUTO and all(strategy == way for strategy, _ in made)
    }
    return {
        "view": view,
        "rows": rows,
        "ways_s": right_s,
        "took": [strategy for strategy, _ in ways[_AUTO]],
        "auto_s": [took_s for _, took_s in ways[_AUTO]],
    }


def report(lines: Sequence[Mapping[str, Any]], *, quick: bool) -> Report:
    """What was measured, by view and size."""
    made = Report(
        "choices",
        "What `auto` took, and what was quickest",
        ("view", "history, rows", "quickest", "s", "other ways, s", "auto took", "lost, s"),
        [],
        quick=quick,
        data={"lines": list(lines)},
    )
    choices = best_choices = alike = 0
    lost_s = least_s = 0.0
    for line in lines:
        ways_s = line["ways_s"]
        best = min(ways_s, key=ways_s.__getitem__)
        line_lost_s = 0.0
        for took in line["took"]:
            seconds = ways_s.get(took, ways_s[best])
            choices += 1
            best_choices += took == best
            alike += seconds <= _ALIKE * ways_s[best]
            line_lost_s += seconds - ways_s[best]
            least_s += ways_s[best]
        lost_s += line_lost_s
        made.rows.append(
            (
                line["view"],
                f"{line['rows']:,}",
                best,
                f"{ways_s[best]:.2f}",
                ", ".join(f"{way} {each:.2f}" for way, each in ways_s.items() if way != best),
                ", ".join(sorted(set(line["took"]))),
                f"{line_lost_s:.2f}" if line_lost_s else "",
            )
        )
    if choices:
        made.goals = [
            Goal("choices that were the quickest", best_choices / choices, _GOAL_TAKEN, False),
            Goal(f"choices within {_ALIKE:g} of the quickest", alike / choices, _GOAL_TAKEN, False),
            Goal("seconds lost to the quickest", lost_s / least_s, _GOAL_LOST),
        ]
    made.notes = [
        f"{len(lines)} views; {choices} choices. {_CHANGED:,} new rows, {_LATE} of them late.",
        "Seconds are medians of each way's own copy; lost are those of what `auto` took.",
    ]
    return made


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one size, few views and rounds")
    parser.add_argument("--rows", type=int, nargs="*", help="sizes to be measured in this run")
    options = parser.parse_args()
    sizes = options.rows or (_QUICK_SIZES if options.quick else _SIZES)
    warm, rounds = (1, 1) if options.quick else (3, 4)
    views = QUICK if options.quick else tuple(VIEWS)
    folder = RESULTS / "choices"
    folder.mkdir(parents=True, exist_ok=True)
    found = {rows: measure(rows, warm, rounds, views) for rows in sizes}
    if not options.quick:
        for rows, lines in found.items():
            (folder / f"{rows}.json").write_text(json.dumps(lines, indent=1) + "\n")
        for path in folder.glob("*.json"):  # of other runs
            found.setdefault(int(path.stem), json.loads(path.read_text()))
    report([line for rows in sorted(found) for line in found[rows]], quick=options.quick).publish()


if __name__ == "__main__":
    main()
