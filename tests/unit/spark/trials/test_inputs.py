"""The rows of a trial: repeatable, of every type, on the edges that the query has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.spark.trials.constants import constants_of
from freshline.spark.trials.inputs import REGIMES, Inputs, Regime

MINUTE_US = 60_000_000
INSTANT = pa.timestamp("us", "UTC")
NOTHING = constants_of("")

flat = st.sampled_from(
    [
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(),
        pa.string(), pa.binary(), pa.date32(), INSTANT, pa.timestamp("us"),
        pa.decimal128(38, 18), pa.decimal128(38, 38), pa.decimal128(5, 0), pa.decimal128(1, 1),
    ]
)  # fmt: skip
kinds = st.recursive(
    flat,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.struct([("x", kind), ("y", pa.string())])),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
    ),
    max_leaves=3,
)


def made(schemas, query="", regime=REGIMES[0], seed=0, zone="Europe/Berlin", count=60):
    inputs = Inputs(schemas, constants_of(query), zone, regime, seed)
    return {name: inputs.rows(name, count) for name in schemas}


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdef"), kinds, min_size=1),
    st.sampled_from([*REGIMES, Regime(distinct=True)]),
    st.integers(0, 1000),
)
def test_rows_of_every_type_fit_their_columns_and_are_the_same_for_a_seed(columns, regime, seed):
    schemas = {"t": pa.schema(columns.items()), "u": pa.schema(columns.items())}
    query = "SELECT 99999999999 + 1.123456789 FROM t WHERE x = 'PROMO%' AND d > '2026-02-30'"
    rows = made(schemas, query, regime, seed, count=20)
    assert rows == made(schemas, query, regime, seed, count=20) or "nan" in str(rows)
    for name, schema in schemas.items():
        for field in schema:
            values = pa.array([row[field.name] for row in rows[name]], field.type)
            values.validate(full=True)


def test_numbers_lie_at_and_beside_the_constants_of_the_query():
    schemas = {"t": pa.schema([("n", pa.int64())])}
    rows = made(schemas, "SELECT * FROM t WHERE n > 40", count=200)["t"]
    assert {None, 39, 40, 41, 1, 2} <= {row["n"] for row in rows}


def test_times_lie_a_microsecond_beside_an_interval_from_each_other():
    schemas = {"a": pa.schema([("ts", INSTANT)]), "b": pa.schema([("ts", INSTANT)])}
    rows = made(schemas, "SELECT * FROM a, b WHERE a.ts > b.ts - INTERVAL 10 MINUTES", count=80)
    ones, others = ([row["ts"] for row in rows[name] if row["ts"] is not None] for name in "ab")
    apart = {one - other for one in ones for other in others}
    span_us = 10 * MINUTE_US
    assert {0, 1, -1, span_us, span_us + 1, span_us - 1, -span_us, -span_us - 1} <= apart
    assert len(ones) < len(rows["a"])


def test_keys_meet_across_tables_and_some_do_not():
    schemas = {name: pa.schema([("usr", pa.string()), ("n", pa.int32())]) for name in ("a", "b")}
    rows = made(schemas)
    ones, others = ({row["usr"] for row in rows[name]} for name in schemas)
    assert len(ones & others) >= 3
    assert ones - others
    assert others - ones
    assert None in ones & others


def test_every_table_lacks_a_common_key_that_others_have():
    schemas = {name: pa.schema([("k", pa.string())]) for name in "abc"}
    rows = made(schemas, count=12)
    keys = {name: {row["k"] for row in rows[name]} for name in schemas}
    assert any({"a", "b", "k1"} & (keys[one] - keys[other]) for one in "abc" for other in "abc")


@pytest.mark.parametrize("regime", [*REGIMES, Regime(distinct=True)])
@pytest.mark.parametrize("seed", range(20))
def test_every_column_lacks_a_value_among_the_rows_of_a_trials_start(regime, seed):
    columns = {name: pa.int32() for name in ("a", "b", "c", "d", "e", "f")}
    rows = made({"t": pa.schema(columns.items())}, regime=regime, seed=seed, count=12)["t"]
    for name in columns:
        missing = [row[name] for row in rows].count(None)
        assert 1 <= missing <= 8


def test_distinct_values_never_repeat():
    schemas = {"t": pa.schema([("n", pa.int64()), ("s", pa.string()), ("ts", INSTANT)])}
    rows = made(schemas, regime=Regime(distinct=True, extremes=False), count=200)["t"]
    for column in ("n", "s", "ts"):
        values = [row[column] for row in rows if row[column] is not None]
        assert len(values) == len(set(values)) > 150


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+02:00", "no such zone"])
def test_the_first_and_last_times_come_in_any_zone(zone):
    schemas = {"t": pa.schema([("ts", INSTANT)])}
    times = [row["ts"] for row in made(schemas, zone=zone, count=400)["t"] if row["ts"] is not None]
    assert min(times) < -62_135_000_000_000_000
    assert max(times) > 253_402_000_000_000_000


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("regime", REGIMES[:2])
@pytest.mark.parametrize("seed", range(5))
def test_days_that_a_query_adds_last_longer_or_shorter_in_some_rows(zone, regime, seed):
    """In those of the first steps after the build, which a slow machine tries as well."""
    schema = pa.schema([("ts", INSTANT), ("id", pa.int32()), ("usr", pa.int32())])
    query = "SELECT ts + INTERVAL 2 DAYS AS t, id FROM orders"
    rows = made({"orders": schema}, query, regime, seed, zone, count=24)["orders"][12:]
    clocks, lasted_h = ZoneInfo(zone), set()
    for row in rows:
        if row["ts"] is not None and 0 < row["ts"] < 2**56:
            start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row["ts"])
            end = start.astimezone(clocks) + timedelta(days=2)
            lasted_h.add((end.astimezone(UTC) - start) / timedelta(hours=1))
    assert lasted_h - {48.0}


def test_maps_have_the_keys_that_a_query_asks_for():
    schemas = {"t": pa.schema([("attrs", pa.map_(pa.string(), pa.string()))])}
    rows = made(schemas, "SELECT attrs.Color, attrs['Price'] FROM t")["t"]
    keys = {key for row in rows for key, _ in row["attrs"] or ()}
    assert keys >= {"Color", "color", "Price"}
    assert any(dict(row["attrs"] or ()).keys() >= {"Color", "color"} for row in rows)
