"""TPC-H's orders and lineitem as two streams, in slices that come one after the other.

Each slice is one version of each base table, loaded by the product's own updates before the
clock starts: what then arrives is a version that may be read. So all ways of making a report
read the same tables, and what loading them costs is nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isclose
from pathlib import Path
from typing import Any

import deltalake
import duckdb

from benchmarks.common.metered import logging_to
from benchmarks.common.projects import FeedSpec, TableSpec, file_name, write_project
from benchmarks.intermittent.queries import ARRIVED, STREAMS, of_stored, text
from demo import data
from demo.places import Places
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project
from freshline.runtime.feeds.listing import FeedListing
from freshline.spark.updates import SparkExecutor

START_S = 1_700_006_400.0
"""When the window begins: a midnight, since Spark's windows begin at round times."""
SLICE_S = 60.0
"""Between two slices, as their rows say; by the clock they come faster."""
FLUSH_S = START_S + 2 * 86_400.0
"""The time of rows that come after the window, so that watermarks pass its end."""

_FLUSHING = 5000
_MEMORY = "8g"
"""Thirteen streaming queries keep so much state that in a heap of 1 GB, which is enough for the
batches, Java did nothing but collect garbage for ten minutes."""

_KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
_DIGITS = 1e-6


@dataclass(frozen=True, slots=True)
class Slices:
    """What there is to read.

    Attributes:
        project: Its tables are the two streams; version 0 is empty, version n has the first n
            slices, and one more version holds the row that moves a watermark.
        places: Where the generated data is.
        events: Where Spark logs.
        count: Slices.
        rows: Of each stream, without the last version.
    """

    project: Project
    places: Places
    events: Path
    count: int
    rows: Mapping[str, int]

    @property
    def end_s(self) -> float:
        """When the window ends."""
        return START_S + SLICE_S * (self.count + 1)

    @property
    def statics(self) -> dict[str, Path]:
        """Tables that nobody changes."""
        return {name: self.places.static / name for name in data.STATIC_TABLES}

    def expected(self, name: str) -> list[tuple[Any, ...]]:
        """A query's rows by DuckDB, from what was generated."""
        with duckdb.connect() as database:
            for table in (*STREAMS, *data.STATIC_TABLES):
                rows = database.read_parquet(str(self.places.source / f"{table}.parquet"))
                rows.create_view(table)
            return database.execute(text(name)).fetchall()

    def check(self, name: str, result: Path) -> None:
        """Fail unless a Delta table holds the query's rows.

        Raises:
            RuntimeError: It does not.
        """
        with duckdb.connect() as database:
            database.register("result", deltalake.DeltaTable(result).to_pyarrow_table())
            found = database.execute(of_stored(name, "result")).fetchall()
        if not _alike(found, self.expected(name)):
            raise RuntimeError(f"{result}: these are not the rows of {name}: {found[:3]}")


def write(root: Path, scale: float, count: int) -> Slices:
    """Generate the data, cut it, and write the project; nothing is loaded yet."""
    places = Places(root / "tpch")
    places.start_afresh()
    data.generate(places, scale)
    data.write_static_tables(places)
    with duckdb.connect() as database:
        for name in STREAMS:
            database.execute(f"CREATE TABLE {name} AS FROM '{places.source}/{name}.parquet'")
        feeds = {name: _feed(database, name) for name in STREAMS}
        tables = [TableSpec(name, 1.0, f"SELECT * FROM STREAM {name}_feed") for name in STREAMS]
        events = root / "events"
        configuration = {**logging_to(events), "spark.driver.memory": _MEMORY}
        project = write_project(
            root / "project", list(feeds.values()), tables, configuration=configuration
        )
        (most,) = database.execute("SELECT max(o_orderkey) FROM orders").fetchall()[0]
        for no_key, (name, key) in enumerate(_KEYS.items(), 1):
            slice_of = f"CAST(floor(({key} - 1) * {count} / {most}) AS INTEGER) + 1"
            for number in range(count + 1):
                chosen = f"SELECT * FROM {name} WHERE {slice_of} = {number}"
                _file(database, project, feeds[name], chosen, START_S + number * SLICE_S)
            # Of no order, and unlike in both streams; as many as leave some behind any filter,
            # since Spark filters rows before it looks at their times for the watermark.
            flush = f"SELECT * REPLACE (-{no_key} AS {key}) FROM {name} LIMIT {_FLUSHING}"
            _file(database, project, feeds[name], flush, FLUSH_S)
        rows = {name: database.table(name).count("*").fetchall()[0][0] for name in STREAMS}
    return Slices(project, places, events, count, rows)


def load(slices: Slices, executor: SparkExecutor) -> None:
    """Load every slice, a version each."""
    for name in STREAMS:
        files = FeedListing(slices.project.feeds[f"{name}_feed"]).new_files()
        before_s = START_S - SLICE_S
        for number, file in enumerate(files):
            request = UpdateRequest(number + 1, name, before_s, file.timestamp_s, (file,))
            result = executor.run(request)
            assert result.version == number, "a slice is a version"
            before_s = file.timestamp_s


def _feed(database: duckdb.DuckDBPyConnection, stream: str) -> FeedSpec:
    """The feed of a stream, whose rows say when they came."""
    described = database.execute(f"DESCRIBE {stream}").fetchall()
    columns = [f"{column} {_spark_type(kind)}" for column, kind, *_ in described]
    schema = ", ".join([*columns, f"{ARRIVED[stream]} TIMESTAMP"])
    return FeedSpec(f"{stream}_feed", "parquet", SLICE_S, schema)


def _file(
    database: duckdb.DuckDBPyConnection, project: Project, feed: FeedSpec, rows: str, at_s: float
) -> None:
    """One file of a feed."""
    stream = feed.name.removesuffix("_feed")
    path = Path(project.feeds[feed.name].path) / file_name(feed, at_s)
    arrived = f"make_timestamptz({round(at_s * 1e6)}) AS {ARRIVED[stream]}"
    database.execute(f"COPY (SELECT *, {arrived} FROM ({rows})) TO '{path}' (FORMAT parquet)")


def _spark_type(kind: str) -> str:
    return {"VARCHAR": "STRING", "INTEGER": "INT"}.get(kind, kind)


def _alike(found: Sequence[tuple[Any, ...]], expected: Sequence[tuple[Any, ...]]) -> bool:
    """Whether rows are the same but for the order and an average's last digits."""
    if len(found) != len(expected):
        return False
    pairs = zip(sorted(found, key=_place), sorted(expected, key=_place), strict=True)
    return all(all(map(_close, one, other)) for one, other in pairs)


def _place(row: tuple[Any, ...]) -> list[str]:
    return [f"{float(each):.4e}" if _number(each) else str(each) for each in row]


def _close(one: Any, other: Any) -> bool:
    if _number(one) and _number(other):
        return isclose(one, other, rel_tol=_DIGITS, abs_tol=_DIGITS)
    return bool(one == other)


def _number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal)
