"""The tables of the views of other people's habits, and rows on their edges.

Nothing here is taken from the other suites: events of a product, payments, machines' readings
and prices with their validity arrive; customers and a calendar stand still.
"""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

START = datetime(2024, 10, 26, 22, 0, tzinfo=UTC)
"""Midnight in Berlin, three hours before its clocks are set back."""

DDL = {
    "events": """event_id BIGINT, ts TIMESTAMP, user_id STRING, kind STRING, amount DECIMAL(18,4),
        score DOUBLE, tags ARRAY<STRING>, props MAP<STRING, STRING>,
        device STRUCT<os: STRING, ver: STRUCT<major: INT, minor: INT>>, payload STRING, day DATE,
        wall TIMESTAMP_NTZ, ok BOOLEAN, bin BINARY""",
    "payments": """pay_id BIGINT, paid_at TIMESTAMP, user_id STRING, event_id BIGINT,
        value DECIMAL(38,10), currency STRING, status STRING""",
    "iot": """dev INT, at TIMESTAMP, temp DOUBLE, hum FLOAT, note STRING, `order` INT,
        `temp.c` DOUBLE, wall TIMESTAMP_NTZ""",
    "prices": "sku STRING, valid_from TIMESTAMP, valid_to TIMESTAMP, price DECIMAL(10,2)",
}
TIMES = {"events": "ts", "payments": "paid_at", "iot": "at", "prices": "valid_from"}

_AT, _WALL = pa.timestamp("us", "UTC"), pa.timestamp("us")
_VERSION = pa.struct({"major": pa.int32(), "minor": pa.int32()})
ARROW = {
    "events": pa.schema({
        "event_id": pa.int64(), "ts": _AT, "user_id": pa.string(), "kind": pa.string(),
        "amount": pa.decimal128(18, 4), "score": pa.float64(), "tags": pa.list_(pa.string()),
        "props": pa.map_(pa.string(), pa.string()),
        "device": pa.struct({"os": pa.string(), "ver": _VERSION}), "payload": pa.string(),
        "day": pa.date32(), "wall": _WALL, "ok": pa.bool_(), "bin": pa.binary(),
    }),
    "payments": pa.schema({
        "pay_id": pa.int64(), "paid_at": _AT, "user_id": pa.string(), "event_id": pa.int64(),
        "value": pa.decimal128(38, 10), "currency": pa.string(), "status": pa.string(),
    }),
    "iot": pa.schema({
        "dev": pa.int32(), "at": _AT, "temp": pa.float64(), "hum": pa.float32(),
        "note": pa.string(), "order": pa.int32(), "temp.c": pa.float64(), "wall": _WALL,
    }),
    "prices": pa.schema({
        "sku": pa.string(), "valid_from": _AT, "valid_to": _AT, "price": pa.decimal128(10, 2),
    }),
}  # fmt: skip

_MICRO, _MINUTE, _HOUR = timedelta(microseconds=1), timedelta(minutes=1), timedelta(hours=1)
_USERS = ("u1", "u2", "u3", "U3", "ü4", "x_5", "", None)
_KINDS = ("view", "view", "view", "cart", "buy", "Buy", None)
_DOUBLES = (0.0, -0.0, 1.5, -2.25, 20.0, 20.5, 21.0, 41.0, float("nan"), None)
_NOTES = ("ok", "OK", "Ok ", "bad", "bäd", "a:1", "Ünit", "de", None)


def _moment(chance: random.Random, hours: float) -> datetime | None:
    """On, beside and between the edges of hours, often one that was there before, at times none."""
    if chance.random() < 0.06:
        return None
    at = START + _HOUR * round(hours + chance.choice((-1, 0, 0, 0, 1, 2, -26)))
    inside = (0, 0, 3, 5, 10, 29.5, 30, 59.999999)
    return at + _MINUTE * chance.choice(inside) + _MICRO * chance.choice((0, 0, 0, -1, 1))


def _money(chance: random.Random, digits: int) -> Decimal | None:
    if chance.random() < 0.1:
        return None
    large = chance.choice((1, 1, 1, 1000))
    number = Decimal(chance.choice((0, 1, 1, 3, 5, 5, 19, -2, 7919)) * large)
    return number.scaleb(chance.choice((digits, digits, digits - 1, 0)) - digits)


def _event(chance: random.Random, hours: float) -> dict[str, Any]:
    at = _moment(chance, hours)
    ver = chance.choice(({"major": 1, "minor": None}, {"major": 2, "minor": 3}, None))
    return {
        "event_id": chance.randrange(60),
        "ts": at,
        "user_id": chance.choice(_USERS),
        "kind": chance.choice(_KINDS),
        "amount": _money(chance, 4),
        "score": chance.choice(_DOUBLES),
        "tags": chance.choice((["red"], ["red", None, "x"], [], None, ["x", "red"])),
        "props": chance.choice(([("a", "b"), ("c", None)], [("c", "z")], [], None)),
        "device": chance.choice(({"os": "ios", "ver": ver}, {"os": None, "ver": ver}, None)),
        "payload": chance.choice(
            ('{"a": "k", "b": {"c": 3}}', '{"a": null, "b": {"c": "4"}}', '{"b": {}}', "{no", None)
        ),
        "day": None if at is None else (at + 2 * _HOUR).date(),
        "wall": None if at is None else (at + 2 * _HOUR).replace(tzinfo=None),
        "ok": chance.choice((True, False, None)),
        "bin": chance.choice((b"", b"\x00", b"\x00\x01", b"\xff", None)),
    }


def _payment(chance: random.Random, hours: float) -> dict[str, Any]:
    return {
        "pay_id": chance.randrange(40),
        "paid_at": _moment(chance, hours),
        "user_id": chance.choice(_USERS),
        "event_id": None if chance.random() < 0.1 else chance.randrange(60),
        "value": _money(chance, 10),
        "currency": chance.choice(("EUR", "USD", "eur", None)),
        "status": chance.choice(("ok", "ok", "void", None)),
    }


def _reading(chance: random.Random, hours: float) -> dict[str, Any]:
    at = _moment(chance, hours)
    hum = chance.choice((0.5, -0.0, 0.0, 55.25, float("nan"), None))
    return {
        "dev": chance.choice((1, 1, 2, 3, None)),
        "at": at,
        "temp": chance.choice(_DOUBLES),
        "hum": hum,
        "note": chance.choice(_NOTES),
        "order": chance.choice((1, 2, None)),
        "temp.c": chance.choice((1.0, 2.5, None)),
        "wall": None if at is None else (at + 2 * _HOUR).replace(tzinfo=None),
    }


def _price(chance: random.Random, hours: float) -> dict[str, Any]:
    since = _moment(chance, hours)
    until = since and since + _HOUR * chance.choice((0, 1, 3))
    return {
        "sku": chance.choice(("view", "cart", "buy", None)),
        "valid_from": since,
        "valid_to": chance.choice((until, until, None)),
        "price": Decimal(chance.choice((1, 250, 999, -5))).scaleb(-2),
    }


_MAKERS = {"events": _event, "payments": _payment, "iot": _reading, "prices": _price}


def rows(table: str, count: int, seed: int, hours: float) -> pa.Table:
    """Rows of a table; a tenth of them are there twice.

    Args:
        table: One of :data:`DDL`.
        count: How many.
        seed: The same seed makes the same rows.
        hours: About how long after the start.
    """
    chance = random.Random(f"{table} {seed}")
    found = [_MAKERS[table](chance, hours) for _ in range(count)]
    found += found[: count // 10]
    return pa.Table.from_pylist(found, ARROW[table])


def customers() -> pa.Table:
    return pa.table({
        "user_id": pa.array(["u1", "u2", "u3", "ü4", "gone", None]),
        "country": pa.array(["DE", "at", None, "OK", "DE", "XX"]),
        "tier": pa.array([1, 2, 2, 3, None, 3], pa.int32()),
    })  # fmt: skip


def calendar() -> pa.Table:
    days = [date(2024, 10, 24) + timedelta(days=each) for each in range(7)]
    return pa.table({"d": pa.array(days), "wk": pa.array([d.isocalendar()[1] for d in days])})
