"""DuckDB as the oracle: random rows on the very edges of buckets, changed at random.

Two laws for every view of the list. Touch: an output row that differs after a change has its
bucket in [t - hi, t - lo] of a changed row at t (NULL where t is NULL). Restriction: the query
over the inputs in [v + lo, v + hi] alone gives bucket v exactly as over everything. And bounds
that are too narrow by a microsecond are noticed.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter

import duckdb
import pytest

from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Buckets, Reads
from tests.support.view_cases import CASES, SOURCES, D, H, M

pytestmark = pytest.mark.slow

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - DuckDB's TIMESTAMP has no zone
_BASE = (dt.datetime(2024, 2, 29) - _EPOCH) // dt.timedelta(microseconds=1)  # noqa: DTZ001
_TYPES = {"timestamp": "TIMESTAMP", "date": "DATE", "int": "INTEGER", "string": "VARCHAR"}
_ROUNDS = 4

RUNNABLE = [case for case in CASES if case.duckdb is not None]


def us(value):
    """A time as microseconds, NULL as None."""
    if value is None:
        return None
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return (value - _EPOCH) // dt.timedelta(microseconds=1)


def edge(chance):
    """A time on a bucket's edge, or a microsecond beside it."""
    step = chance.choice((5 * M, 10 * M, 10 * M, 15 * M, 30 * M, H, H, D))
    return _BASE + chance.randrange(0, 3) * step + chance.choice((0, 0, -1, 1, H, D, 2 * D))


def row(source, ident, chance):
    values = []
    for column, kind in source.columns.items():
        if column == "id":
            values.append(ident)
        elif kind in {"timestamp", "date"}:
            values.append(None if chance.random() < 0.08 and column != "since" else edge(chance))
        elif kind == "int":
            values.append(None if chance.random() < 0.05 else chance.randrange(1, 4))
        else:
            values.append(f"s{chance.randrange(3)}")
    if source.name == "orders" and values[0] is not None and chance.random() < 0.7:
        values[1] = values[0] + chance.choice((0, 1, H, H - 1, H + 1, 5 * M))
    if "date" in source.columns.values():
        values = [
            v - v % D if k == "date" and v is not None else v
            for v, k in zip(values, source.columns.values(), strict=True)
        ]
    return tuple(values)


def literal(value, kind):
    if value is None:
        return f"CAST(NULL AS {_TYPES[kind]})"
    if kind == "timestamp":
        return f"make_timestamp({value})"
    if kind == "date":
        return f"CAST(make_timestamp({value}) AS DATE)"
    return str(value) if kind == "int" else f"'{value}'"


class Oracle:
    """Runs a case's query over given rows in DuckDB."""

    def __init__(self, case):
        text = case.duckdb or normalise(case.query, SOURCES).sql(dialect="duckdb")
        self.case, self.text = case, text
        self.used = [s for s in SOURCES if f"{s.name}" in text]
        self.connection = duckdb.connect(":memory:", config={"threads": 1})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def run(self, state):
        """Output rows with their bucket, as a bag."""
        for source in self.used:
            kinds = list(source.columns.values())
            rows = state[source.name]
            values = ", ".join(
                "(" + ", ".join(literal(v, k) for v, k in zip(r, kinds, strict=True)) + ")"
                for r in rows or [(None,) * len(kinds)]
            )
            names = ", ".join(source.columns)
            where = "" if rows else " WHERE FALSE"
            self.connection.execute(
                f"CREATE OR REPLACE TABLE {source.name} AS "
                f"SELECT * FROM (VALUES {values}) AS v({names}){where}"
            )
        cursor = self.connection.execute(self.text)
        at = [column[0].lower() for column in cursor.description].index(self.case.column)
        return Counter((us(r[at]), r) for r in cursor.fetchall())


def world(oracle, chance):
    counts = {"users": 3, "cal": 4}
    return {
        source.name: [row(source, ident, chance) for ident in range(counts.get(source.name, 14))]
        for source in oracle.used
    }


def changed(state, oracle, chance):
    """Another state, and the rows that make the difference, by source."""
    after, rows = dict(state), {}
    moving = [source for source in oracle.used if not source.static]
    for source in chance.sample(moving, chance.randrange(1, len(moving) + 1)):
        old = list(state[source.name])
        gone = chance.sample(old, chance.randrange(0, 2))
        new = [row(source, 100 + ident, chance) for ident in range(chance.randrange(0, 3))]
        after[source.name] = [r for r in old if r not in gone] + new
        rows[source.name] = gone + new
    return after, rows


def event_time(found, name, values):
    source = next(s for s in SOURCES if s.name == name)
    return values[list(source.columns).index(found.reads[name].column)]


def is_touched(found, rows, bucket):
    for name, changes in rows.items():
        read = found.reads[name]
        for values in changes:
            time = event_time(found, name, values)
            if time is None or bucket is None:
                if time is None and bucket is None:
                    return True
            elif time - read.hi_us <= bucket <= time - read.lo_us:
                return True
    return False


def restricted(found, state, bucket):
    """The rows that, as the analysis says, suffice for one bucket."""
    kept = dict(state)
    for name, read in found.reads.items():
        if name not in state:
            continue
        times = [(event_time(found, name, values), values) for values in state[name]]
        if bucket is None:
            kept[name] = [values for time, values in times if time is None]
        else:
            kept[name] = [
                values
                for time, values in times
                if time is not None and bucket + read.lo_us <= time <= bucket + read.hi_us
            ]
    return kept


def violation(oracle, found, seed):
    """The law that these bounds break on the random world of ``seed``, or None."""
    chance = random.Random(f"{oracle.case.name} {seed}")
    state = world(oracle, chance)
    before = oracle.run(state)
    after_state, rows = changed(state, oracle, chance)
    after = oracle.run(after_state)
    for bucket, _ in (before - after) + (after - before):
        if not is_touched(found, rows, bucket):
            return f"touch: {bucket} differs"
    there = sorted({bucket for bucket, _ in after}, key=str)
    for bucket in chance.sample(there, min(4, len(there))):
        part = oracle.run(restricted(found, after_state, bucket))
        if {k: n for k, n in part.items() if k[0] == bucket} != {
            k: n for k, n in after.items() if k[0] == bucket
        }:
            return f"restriction: {bucket} differs"
    return None


@pytest.mark.parametrize("case", RUNNABLE, ids=lambda case: case.name)
def test_changes_touch_only_the_buckets_that_the_analysis_names(case):
    found = buckets(case.query, SOURCES)
    assert isinstance(found, Buckets)
    with Oracle(case) as oracle:
        assert [violation(oracle, found, seed) for seed in range(_ROUNDS)] == [None] * _ROUNDS


_BITES = (
    "band join", "band left join", "band right join", "chain of bands", "exists", "not exists",
    "union all", "trailing frame", "frame both ways, descending", "greatest of a band",
    "the same source twice", "hourly", "tumbling window", "sliding window's end", "time_bucket",
    "daily distinct", "rollup of a rollup", "rank within the hour", "hour and the one before",
    "hourly full join", "counted band join", "calendar keeps its days", "scalar subquery",
)  # fmt: skip


def narrower(found, name):
    """The same bounds with one end of one source drawn in by a microsecond."""
    read = found.reads[name]
    for lo, hi in ((read.lo_us + 1, read.hi_us), (read.lo_us, read.hi_us - 1)):
        yield Buckets(found.column, {**found.reads, name: Reads(read.column, lo, hi)})


@pytest.mark.slow
@pytest.mark.parametrize("name", _BITES)
def test_bounds_too_narrow_by_a_microsecond_are_noticed(name):
    case = next(case for case in RUNNABLE if case.name == name)
    found = buckets(case.query, SOURCES)
    assert isinstance(found, Buckets)
    with Oracle(case) as oracle:
        for source in found.reads:
            for wrong in narrower(found, source):
                assert any(violation(oracle, wrong, seed) for seed in range(150)), (source, wrong)
