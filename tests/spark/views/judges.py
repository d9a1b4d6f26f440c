"""What a view must hold: its query over the versions that its commit names, by two engines."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.sql.text.reads import rewritten

Row = tuple[Any, ...]
DIGITS = 9
"""To which doubles must agree: their sums depend on the order of the rows."""

_LAST_DIGIT = 1e-6
"""Spark gives the average of a decimal(p,s) s + 4 digits, here six at least."""


class SparkJudge:
    """Runs queries over pinned versions, in a session that no update uses.

    delta-rs reads the versions: where Spark does, that takes longer than the query itself.

    Args:
        session: Any; the judge takes a new one of its kind.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session.newSession()
        self._shown: dict[str, tuple[str, int, int | None]] = {}

    def rows(
        self,
        query: str,
        parents: Mapping[str, tuple[str, int]],
        statics: Mapping[str, tuple[str, int]] | None = None,
        partitions: int | None = None,
    ) -> Counter[Row]:
        """The query's rows.

        Args:
            query: The view's own text.
            parents: Path and version of each parent.
            statics: The same of each static table, by the name that the query uses.
            partitions: Of each table, where another number than Spark's own is asked for.
        """
        return counted(self.frame(query, parents, statics or {}, partitions).toArrow())

    def frame(
        self,
        query: str,
        parents: Mapping[str, tuple[str, int]],
        statics: Mapping[str, tuple[str, int]],
        partitions: int | None = None,
    ) -> DataFrame:
        """The query over the versions."""
        names = {name: f"static_{number}" for number, name in enumerate(statics)}
        for name, (path, version) in {
            **parents,
            **{names[name]: pin for name, pin in statics.items()},
        }.items():
            if self._shown.get(name) != (path, version, partitions):
                rows = as_of(self._session, path, version)
                if partitions is not None:
                    rows = rows.repartition(partitions)
                rows.createOrReplaceTempView(name)
                self._shown[name] = (path, version, partitions)
        return self._session.sql(rewritten(query, names))

    def forget(self) -> None:
        """Read all tables again, also at a version that was read."""
        self._shown.clear()


def as_of(session: SparkSession, path: str, version: int) -> DataFrame:
    """A Delta table's rows at a version, with its columns' types, as delta-rs reads them."""
    table = DeltaTable(path, version=version)
    columns = StructType.fromJson(json.loads(table.schema().to_json()))
    rows = table.to_pyarrow_table()
    # PySpark cannot convert an Arrow table without a chunk that has nested times.
    return session.createDataFrame(rows if rows.num_rows else [], columns)


def duckdb_rows(
    query: str, tables: Mapping[str, tuple[str, int]], zone: str | None = None
) -> Counter[Row]:
    """What DuckDB makes of a query over tables at versions.

    Args:
        query: In its words.
        tables: Path and version of each.
        zone: The session's, where instants are TIMESTAMP WITH TIME ZONE; None: they are wall
            clocks of UTC.
    """
    with duckdb.connect(config={"threads": 1}) as database:
        if zone is not None:
            database.execute(f"SET TimeZone = '{zone}'")
        for name, (path, version) in tables.items():
            rows = DeltaTable(path, version=version).to_pyarrow_table()
            database.register(name, naive(rows) if zone is None else rows)
        return Counter(tuple(map(plain, row)) for row in database.execute(query).fetchall())


def stored(path: str | Path, version: int) -> Counter[Row]:
    """What a Delta table holds at a version, read by delta-rs."""
    return counted(DeltaTable(path, version=version).to_pyarrow_table())


def counted(table: pa.Table) -> Counter[Row]:
    """Rows and how often each is there."""
    columns = [_values(column) for column in table.columns]
    if not columns:
        return Counter()
    return Counter(tuple(map(plain, row)) for row in zip(*columns, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    """A column's values; texts as their bytes where one of them is no UTF-8."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = column.cast(pa.binary()).to_pylist()
    return values


def naive(table: pa.Table) -> pa.Table:
    """Instants as wall clocks of UTC, which is how DuckDB has them here."""
    for index, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            moments = table[column.name].cast(pa.timestamp("us"))
            table = table.set_column(index, column.name, moments)
    return table


def plain(value: Any) -> Any:
    """A value in a form that can be compared and hashed, whichever engine it comes from."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return tuple(map(plain, value.values()))
    if isinstance(value, list | tuple):
        return tuple(sorted(map(plain, value), key=repr))  # the order of a set is nobody's
    return value


def assert_same(what: str, found: Counter[Row], expected: Counter[Row]) -> None:
    """Fails with the first rows that differ."""
    more, missing = found - expected, expected - found
    assert not more, f"{what}: {more.total()} rows too many: {_some(more)} missing {_some(missing)}"
    assert not missing, f"{what}: {missing.total()} rows are missing: {_some(missing)}"


def assert_close(what: str, found: Counter[Row], expected: Counter[Row]) -> None:
    """The same where an engine's decimal averages are the other's doubles."""
    more, missing = found - expected, expected - found
    if more.total() == missing.total():
        pairs = zip(
            sorted(more.elements(), key=_place), sorted(missing.elements(), key=_place), strict=True
        )
        if all(len(one) == len(other) and all(map(_close, one, other)) for one, other in pairs):
            return
    assert_same(what, found, expected)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return math.isclose(one, other, rel_tol=1e-8, abs_tol=_LAST_DIGIT)
    return bool(one == other)


def _place(row: Row) -> list[str]:
    """An order in which rows that differ in last digits stay neighbours."""
    numbers = (int, float, Decimal)
    return [f"{float(each):.4g}" if isinstance(each, numbers) else str(each) for each in row]


def _some(rows: Iterable[Row]) -> list[Row]:
    return list(rows)[:3]
