"""Parents whose every row a test decides, and whether a view equals its query over them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import pyarrow as pa

from freshline.delta.log import last_commit
from freshline.executor.records import UpdateResult
from tests.spark.conftest import Shop
from tests.spark.views.judges import SparkJudge, assert_same, counted, stored

START = datetime(2026, 3, 28, 20, tzinfo=UTC)
"""Some hours before Berlin's clocks change."""

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("person", pa.string()),
        ("cents", pa.int64()),
    ]
)
PEOPLE = ("ann", "bob", "o'hara", "back\\slash", None)


@dataclass
class Arrivals:
    """Rows that come into base tables of a shop, a commit a step.

    Attributes:
        shop: Whose tables they are.
        chance: Decides what comes.
        next_id: Of the next row.
    """

    shop: Shop
    chance: random.Random
    next_id: int = 0
    _judge: SparkJudge | None = None

    def rows(self, hour: int, count: int) -> list[dict[str, Any]]:
        """Rows of about that hour: on its boundaries, late by hours and days, without a time."""
        made = []
        for _ in range(count):
            late = self.chance.choice([0, 0, 0, 0, 1, 2, 26])
            at = START + timedelta(hours=hour - late)
            at += self.chance.choice(
                [
                    timedelta(0),
                    timedelta(microseconds=-1),
                    timedelta(minutes=self.chance.randrange(60)),
                    timedelta(microseconds=self.chance.randrange(3_600_000_000)),
                ]
            )
            made.append(
                {
                    "id": self.next_id,
                    "at": None if self.chance.random() < 0.05 else at,
                    "person": self.chance.choice(PEOPLE),
                    "cents": self.chance.choice([None, self.chance.randrange(1_000)]),
                }
            )
            self.next_id += 1
        return made

    def come(self, table: str, rows: Iterable[dict[str, Any]], to_s: float = 0.0) -> None:
        """Append rows in one commit that says how fresh the table is with them."""
        self.shop.come(table, pa.Table.from_pylist(list(rows), SCHEMA), to_s)

    def go(self, table: str, predicate: str) -> None:
        """Delete rows."""
        deltalake.DeltaTable(self.shop.path(table)).delete(predicate)

    def version(self, table: str) -> int:
        """The newest."""
        return int(deltalake.DeltaTable(self.shop.path(table)).version())

    def update(self, view: str, **more: Any) -> UpdateResult:
        """Bring a view to its parents' newest versions and check it."""
        parents = {name: self.version(name) for name in self.shop.project.table(view).parents}
        result = self.shop.executor.run(self.shop.request(view, parents=parents, **more))
        self.check(view)
        return result

    def check(self, view: str) -> None:
        """The view's newest version equals its query over the versions that it names.

        With final emission only those rows of the query count whose bucket is complete.
        """
        table, commit = self.shop.project.table(view), last_commit(self.shop.path(view))
        assert commit is not None
        pins = commit.metadata["parents"]
        if self._judge is None:
            self._judge = SparkJudge(self.shop.session)
        self._judge.forget()  # a version that was put back is another one
        rows = self._judge.frame(
            table.query,
            {name: (self.shop.path(name), pins[name]) for name in table.parents},
            {read.name: (str(read.path), pins[read.name]) for read in table.statics},
        )
        if table.emit == "final":
            until_us = commit.metadata["emitted_us"]
            column = commit.metadata["emitted_by"]
            rows = rows.filter(f"{column} IS NULL OR {column} <= timestamp_micros({until_us})")
        found = stored(self.shop.path(view), commit.version)
        told = f"{view} version {commit.version} by {commit.metadata['strategy']}"
        assert_same(told, found, counted(rows.toArrow()))

    def facts(self, view: str) -> dict[str, Any]:
        """The metadata of a view's newest commit."""
        commit = last_commit(self.shop.path(view))
        assert commit is not None
        return dict(commit.metadata)


def arrivals_in(shop: Shop, seed: int = 5) -> Arrivals:
    """Two base tables that a test fills itself."""
    for name in ("events", "visits"):
        shop.feed(f"{name}_feed", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
        shop.table(name, f"SELECT * FROM STREAM {name}_feed")
    return Arrivals(shop, random.Random(seed))
