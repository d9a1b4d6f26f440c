"""The tables of the generated projects, and rows that lie on every edge.

A rental of bicycles: trips, positions and repairs arrive, bicycles and zones stand still. Doubles
are small multiples of an eighth, so that their sums do not depend on an order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """Spark types by column; ``time``: the column that is declared as the event time."""

    name: str
    columns: Mapping[str, str]
    static: bool = False
    time: str | None = None

    @property
    def ddl(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns.items())


TRIPS = Table(
    "trips",
    {
        "id": "bigint", "began": "timestamp", "ended": "timestamp", "rider": "string",
        "bike": "int", "fare": "decimal(10,2)", "km": "double", "wall": "timestamp_ntz",
        "tags": "array<string>", "member": "boolean",
    },
    time="began",
)  # fmt: skip
PINGS = Table(
    "pings",
    {
        "id": "bigint", "seen": "timestamp", "bike": "int", "level": "int", "temp": "double",
        "day": "date", "rider": "string",
    },
)  # fmt: skip
REPAIRS = Table(
    "repairs",
    {"bike": "int", "day": "date", "cost": "decimal(18,6)", "note": "string", "at": "timestamp"},
    time="at",
)
OFFERS = Table(
    "offers", {"rider": "string", "valid": "timestamp", "cut": "decimal(5,4)", "id": "bigint"}
)
BIKES = Table("bikes", {"bike": "int", "model": "string", "bought": "date"}, static=True)
ZONES = Table("zones", {"rider": "string", "zone": "string", "rank": "int"}, static=True)

STREAMS = (TRIPS, PINGS, REPAIRS, OFFERS)
STATICS = (BIKES, ZONES)
TABLES = {table.name: table for table in (*STREAMS, *STATICS)}

ZONE_STARTS = {
    "UTC": datetime(2024, 2, 29, tzinfo=UTC),
    # 03:00 becomes 02:00 at 01:00 UTC.
    "Europe/Berlin": datetime(2024, 10, 27, 0, tzinfo=UTC),
    # 02:00 becomes 03:00 at 07:00 UTC.
    "America/New_York": datetime(2024, 3, 10, 6, tzinfo=UTC),
    # 02:00 becomes 02:30 at 15:30 UTC.
    "Australia/Lord_Howe": datetime(2024, 10, 5, 15, tzinfo=UTC),
    "Asia/Kathmandu": datetime(2023, 12, 31, 18, 15, tzinfo=UTC),
}

_ARROW = {
    "bigint": pa.int64(), "int": pa.int32(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"), "date": pa.date32(), "string": pa.string(),
    "double": pa.float64(), "boolean": pa.bool_(), "array<string>": pa.list_(pa.string()),
    "decimal(10,2)": pa.decimal128(10, 2), "decimal(18,6)": pa.decimal128(18, 6),
    "decimal(5,4)": pa.decimal128(5, 4),
}  # fmt: skip
_US = timedelta(microseconds=1)
_MINUTES = (0, 5, 10, 15, 30, 60, 60, 90, 120, 24 * 60)
RIDERS = ("ann", "bob", "Ann", "ann ", "", "o'neil", "back\\slash", None, None)
_DOUBLES = (0.0, -0.0, 0.125, 1.5, -2.25, 3.0, 3.0, float("nan"), None)


def moment(chance: random.Random, start: datetime, late: float) -> datetime:
    """A time on an edge of a bucket or a microsecond beside it; ``late``: how often earlier."""
    at = start + timedelta(minutes=chance.choice(_MINUTES) * chance.randrange(4))
    at += chance.choice((0, 0, 0, -1, 1)) * _US
    if chance.random() < late:
        at -= timedelta(days=chance.choice((1, 1, 2, 40)))
    return at


def value(kind: str, column: str, chance: random.Random, start: datetime, late: float) -> Any:
    """A value of a column, now and then NULL."""
    if chance.random() < 0.06:
        return None
    at = moment(chance, start, late)
    choices: dict[str, Any] = {
        "int": chance.choice((0, 1, 1, 2, 2, 3, -1)),
        "bigint": chance.randrange(60),
        "timestamp": at,
        "timestamp_ntz": at.replace(tzinfo=None),
        "date": at.date(),
        "string": chance.choice(RIDERS)
        if column == "rider"
        else chance.choice(("a", "b", "B", "")),
        "double": chance.choice(_DOUBLES),
        "boolean": chance.random() < 0.5,
        "array<string>": [chance.choice(("x", "y", None)) for _ in range(chance.randrange(3))],
        "decimal(10,2)": Decimal(chance.randrange(-500, 2000)) / 100,
        "decimal(18,6)": Decimal(chance.randrange(-9_000_000, 9_000_000)) / 1_000_000,
        "decimal(5,4)": Decimal(chance.randrange(10_000)) / 10_000,
    }
    return choices[kind]


def rows(table: Table, count: int, seed: int, start: datetime, late: float = 0.3) -> pa.Table:
    """Rows of a table, some of them twice."""
    chance = random.Random(f"{table.name} {seed}")
    found: list[dict[str, Any]] = []
    for _ in range(count):
        if found and chance.random() < 0.08:
            found.append(dict(chance.choice(found)))
            continue
        row = {name: value(kind, name, chance, start, late) for name, kind in table.columns.items()}
        if row.get("began") and chance.random() < 0.8:
            row["ended"] = row["began"] + timedelta(minutes=chance.choice(_MINUTES))
        found.append(row)
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in table.columns.items()])
    return pa.Table.from_pylist(found, schema)


def static_rows(table: Table, start: datetime) -> pa.Table:
    """What stands in a static table: keys that match, one that is there twice, and others."""
    schema = pa.schema([(name, _ARROW[kind]) for name, kind in table.columns.items()])
    values: list[tuple[Any, ...]]
    if table.name == "bikes":
        days = [start.date() + timedelta(days=day) for day in (-2, -1, 0, 0, 1, 9)]
        values = [(1, "a", days[0]), (2, "b", days[1]), (2, "B", days[2]), (3, None, days[3]),
                  (9, "x", days[5]), (None, "y", None)]  # fmt: skip
    else:
        values = [("ann", "north", 1), ("bob", "south", 2), ("Ann", "north", 2), ("", None, 0),
                  ("eve", "west", None), (None, "east", 3)]  # fmt: skip
    return pa.Table.from_pylist(
        [dict(zip(table.columns, each, strict=True)) for each in values], schema
    )
