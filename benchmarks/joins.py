"""Joins of two tables that grow, and views by keys: from changes, against in full, by the clock.

Orders and their items arrive, four items an order, their numbers in the order of arrival. One view
sums the items by the orders' customers, one shows each item with its order's customer, one also
orders without items, and one the largest item of each order. Each stands twice over the same
tables, kept up from changes and in full. In each repeat 250 orders come with 1,000 items of their
own (``near``), then as many, but 100 of the items belong to orders of any age (``far``). All of it
alternates in one JVM.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.common.projects import FeedSpec, TableSpec, file_name, listed, write_project
from benchmarks.common.report import Report
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_HISTORIES = (1_000_000, 10_000_000)
_QUICK_HISTORIES = (100_000,)
_FILE_ITEMS, _ITEMS_AN_ORDER, _CUSTOMERS = 1_000_000, 4, 1_000
_CHANGED, _FAR = 1_000, 100
_WARM = 2
_START_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

_FEEDS = {
    "orders": FeedSpec("orders_feed", "parquet", schema="id BIGINT, customer INT"),
    "items": FeedSpec("items_feed", "parquet", schema="order_id BIGINT, amount BIGINT"),
}
_JOIN = "FROM items i JOIN orders o ON i.order_id = o.id"
_VIEWS = {
    "by_customer": f"SELECT o.customer, count(*) AS n, sum(i.amount) AS total {_JOIN} GROUP BY 1",
    "items_of_customers": f"SELECT o.id, o.customer, i.amount {_JOIN}",
    "orders_and_items": "SELECT o.id, o.customer, i.amount FROM orders o LEFT JOIN items i"
    " ON i.order_id = o.id",
    "largest_items": "SELECT order_id, amount FROM items"
    " QUALIFY row_number() OVER (PARTITION BY order_id ORDER BY amount DESC) = 1",
}
_WAYS = ("incremental", "full")

Seconds = dict[tuple[str, str, str], list[float]]
"""By view, how far the items' orders reach, and way: seconds of each update."""


def _tables() -> list[TableSpec]:
    made = [
        TableSpec(name, 1.0, f"SELECT * FROM STREAM {feed.name}") for name, feed in _FEEDS.items()
    ]
    made += [
        TableSpec(f"{name}_{way}", 1.0, query, {"refresh": way})
        for name, query in _VIEWS.items()
        for way in _WAYS
    ]
    return made


class Shop:
    """Orders, items and the views over them.

    Args:
        project: With these tables.
        session: Of Spark.
    """

    def __init__(self, project: Project, session: SparkSession) -> None:
        self._project, self._session = project, session
        self._executor = SparkExecutor(project, session)
        self._number = self._orders = 0
        self._versions: dict[str, int] = {}
        self.strategies: dict[str, set[str]] = defaultdict(set)

    def build(self, items: int) -> None:
        """Load so many items with their orders, and make all views for the first time."""
        for first in range(0, items, _FILE_ITEMS):
            self._come(min(_FILE_ITEMS, items - first), far=0)
        for name in _VIEWS:
            for way in _WAYS:
                self._update(f"{name}_{way}")
        self.strategies.clear()

    def repeat(self, number: int, far: int) -> dict[tuple[str, str], float]:
        """New orders and items, and every view brought up to date: seconds by view and way."""
        self._come(_CHANGED, far)
        took_s = {}
        for name in _VIEWS:
            for way in _WAYS if number % 2 else _WAYS[::-1]:
                began_s = time.perf_counter()
                self._update(f"{name}_{way}")
                took_s[name, way] = time.perf_counter() - began_s
        return took_s

    def _come(self, items: int, far: int) -> None:
        """Orders and their items; the last ``far`` of these belong to orders of any age."""
        first, count = self._orders, items // _ITEMS_AN_ORDER
        self._orders += count
        self._load("orders", count, f"id + {first} AS id", f"CAST(id % {_CUSTOMERS} AS INT) AS c")
        order = f"{first} + id div {_ITEMS_AN_ORDER}"
        if far:
            order = f"IF(id < {items - far}, {order}, id * 7919 % {first})"
        self._load("items", items, f"{order} AS order_id", "id * 31 % 9973 AS amount")

    def _load(self, table: str, rows: int, *columns: str) -> None:
        self._number += 1
        feed, moment_s = _FEEDS[table], _START_S + self._number
        path = Path(self._project.feeds[feed.name].path) / file_name(feed, moment_s)
        folder = path.with_name(f"_{path.name}")
        names = [each.split()[0] for each in feed.schema.split(", ")]
        frame = self._session.range(0, rows, numPartitions=1).selectExpr(*columns).toDF(*names)
        frame.write.parquet(str(folder))
        (part,) = folder.glob("part-*.parquet")
        part.rename(path)
        file = listed(self._project, feed, path.name)
        request = UpdateRequest(self._number, table, moment_s - 1.0, moment_s, (file,))
        self._versions[table] = self._executor.run(request).version

    def _update(self, view: str) -> None:
        self._number += 1
        moment_s = _START_S + self._number
        parents = {name: self._versions[name] for name in self._project.table(view).parents}
        request = UpdateRequest(self._number, view, moment_s - 1.0, moment_s, parents=parents)
        self.strategies[view].add(self._executor.run(request).strategy)


def measure(items: int, repeats: int) -> tuple[Seconds, Mapping[str, set[str]]]:
    """Seconds of the updates over one history, and which strategies each view used."""
    found: Seconds = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="freshline-bench-") as folder:
        project = write_project(Path(folder) / "project", list(_FEEDS.values()), _tables())
        session = start_session(project)
        try:
            shop = Shop(project, session)
            shop.build(items)
            for number in range(-_WARM, repeats):
                for reach, far in (("near", 0), ("far", _FAR)):
                    for (name, way), seconds in shop.repeat(number, far).items():
                        if number >= 0:
                            found[name, reach, way].append(seconds)
        finally:
            session.stop()
    return found, shop.strategies


def report(found: Mapping[int, tuple[Seconds, Mapping[str, set[str]]]], *, quick: bool) -> Report:
    """What was measured, by rows of the history."""
    made = Report(
        "joins",
        f"Two tables that grow, {_CHANGED:,} new items: seconds by the clock",
        ("view", "items before", "of orders", "strategy", "wall, s", "in full, s", "full to it"),
        [],
        quick=quick,
        data={},
    )  # fmt: skip
    for items, (seconds, strategies) in found.items():
        for name in _VIEWS:
            for reach in ("near", "far"):
                wall_s, full_s = (median(seconds[name, reach, way]) for way in _WAYS)
                strategy = ", ".join(sorted(strategies[f"{name}_incremental"]))
                made.rows.append(
                    (
                        name,
                        f"{items:,}",
                        reach,
                        strategy,
                        f"{wall_s:.2f}",
                        f"{full_s:.2f}",
                        f"{full_s / wall_s:.1f}",
                    )
                )
    made.notes = [
        f"Medians after {_WARM} repeats that do not count.",
        f"near: the new items are of new orders; far: {_FAR} of them are of any order there is.",
    ]
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short history, few repeats")
    parser.add_argument("--rows", type=int, nargs="*", help="items of the histories")
    options = parser.parse_args(arguments)
    lengths = options.rows or (_QUICK_HISTORIES if options.quick else _HISTORIES)
    repeats = 2 if options.quick else 5
    report({items: measure(items, repeats) for items in lengths}, quick=options.quick).publish()


if __name__ == "__main__":
    main()
