"""Rows that come on the very edges of buckets, late, without times and without keys."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from freshline.sql.query.records import Source

_TYPES = {
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "decimal(38,18)": pa.decimal128(38, 18),
    "decimal(12,2)": pa.decimal128(12, 2),
    "decimal(9,3)": pa.decimal128(9, 3),
    "decimal(7,5)": pa.decimal128(7, 5),
}
_STEPS = [timedelta(minutes=minutes) for minutes in (5, 10, 10, 15, 30, 60, 60, 24 * 60)]
_US = timedelta(microseconds=1)


def table(source: Source, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as the columns that the source declares."""
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in source.columns.items()])
    return pa.Table.from_pylist([dict(row) for row in rows], schema)


def edge(chance: random.Random, start: datetime, late: bool = False) -> datetime:
    """A time on the edge of a bucket, or a microsecond beside it; late ones a day before."""
    at = start + chance.randrange(3) * chance.choice(_STEPS)
    at += chance.choice((timedelta(), timedelta(), -_US, _US, timedelta(hours=1)))
    return at - timedelta(days=chance.choice((0, 1, 1, 2))) if late else at


def some(
    source: Source, chance: random.Random, count: int, start: datetime, first_id: int
) -> pa.Table:
    """Random rows of a source around ``start``, a third of them late.

    Few users, and few amounts: groups must meet again.
    """
    rows = []
    for number in range(count):
        row: dict[str, Any] = {}
        late = chance.random() < 0.33
        for name, kind in source.columns.items():
            if name == "id":
                row[name] = first_id + number
            elif kind == "timestamp":
                row[name] = None if chance.random() < 0.07 else edge(chance, start, late)
            elif kind == "date":
                day = edge(chance, start, late).astimezone(UTC).date()
                row[name] = None if chance.random() < 0.07 else day
            elif kind == "int":
                row[name] = None if chance.random() < 0.06 else chance.randrange(1, 5)
            else:
                row[name] = f"s{chance.randrange(3)}"
        if row.get("ts") is not None and "shipped" in row and chance.random() < 0.7:
            row["shipped"] = row["ts"] + chance.choice(_STEPS) + chance.choice((0, 0, 1)) * _US
        rows.append(row)
    return table(source, rows)


def fixed(source: Source, start: datetime) -> pa.Table:
    """The rows of a static table."""
    if source.name == "cal":
        days = [start.date() + timedelta(days=day) for day in range(-3, 4)]
        return table(source, [{"day": day, "label": f"d{day.day}"} for day in days])
    since = [None, start, start - timedelta(hours=1), start + timedelta(days=1)]
    return table(
        source,
        [
            {"usr": usr, "name": f"u{usr}", "since": since[number % 4]}
            for number, usr in enumerate((1, 2, 3, 9, None))
        ],
    )


START = datetime(2024, 2, 29, tzinfo=UTC)
DAY = date(2024, 2, 29)
