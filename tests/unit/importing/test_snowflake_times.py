"""DATE_TRUNC, texts that become times, NOT IN, and products of small whole numbers."""

from __future__ import annotations

import pytest

from freshline.importing.snowflake.script import read_snowflake
from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.records import Buckets, Reads, Source
from tests.support.snowflake import DECLARED, on_one_line
from tests.support.snowflake import one_query as query_over

TIMES = "create table times (ts timestamp_ntz, lt timestamp_ltz, tz timestamp_tz(9));\n"
TS = "CAST(CAST(ts AS DATE) AS TIMESTAMP_NTZ)"


def one_query(folder, query):
    return query_over(folder, query, declared=DECLARED + TIMES)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("select date_trunc('hour', ts) as v from times",
         f"({TS} + MAKE_DT_INTERVAL(0, HOUR(ts)))"),
        ("select date_trunc('second', ts) as v from times",
         f"({TS} + MAKE_DT_INTERVAL(0, HOUR(ts), MINUTE(ts), SECOND(ts)))"),
        ("select date_trunc('day', ts) as v from times", f"{TS} AS v"),
        ("select date_trunc('month', ts) as v from times",
         "CAST(TRUNC(CAST(ts AS DATE), 'MONTH') AS TIMESTAMP_NTZ) AS v"),
        ("select date_trunc('quarter', d + 1) as v from t", "TRUNC(d + 1, 'QUARTER') AS v"),
        ("select date_trunc('day', d) as v from t", "d AS v"),
        ("select date_trunc('day', lt) as v from times", "DATE_TRUNC('DAY', lt) AS v"),
        ("select date_trunc('month', date_trunc('day', ts)) as v from times",
         f"CAST(TRUNC(CAST({TS} AS DATE), 'MONTH') AS TIMESTAMP_NTZ) AS v"),
    ],
)  # fmt: skip
def test_date_trunc_is_of_the_type_of_its_value(tmp_path, query, text):
    item = one_query(tmp_path, query)
    assert text in on_one_line(item)
    assert item.changed == ()


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour", "minute", "second"])
@pytest.mark.parametrize(("column", "table"), [("lt", "times"), ("tz", "times"), ("z", "u")])
def test_trunc_with_a_unit_is_date_trunc(tmp_path, unit, column, table):
    """Before, it was Spark's TRUNC: NULL in every row, or a DATE."""
    query = "select {} as v, count(*) as n from " + table + " group by 1"
    item = one_query(tmp_path, query.format(f"trunc({column}, '{unit}')"))
    assert f"DATE_TRUNC('{unit.upper()}', {column}) AS v" in on_one_line(item)
    assert item == one_query(tmp_path, query.format(f"date_trunc('{unit}', {column})"))


def test_trunc_within_another_one_is_of_the_type_of_its_value(tmp_path):
    item = one_query(tmp_path, "select trunc(trunc(lt, 'day'), 'month') as v from times")
    assert "DATE_TRUNC('MONTH', DATE_TRUNC('DAY', lt)) AS v" in on_one_line(item)
    item = one_query(tmp_path, "select trunc(ts, 'hour') as v, trunc(d, 'day') as w from times, t")
    assert f"({TS} + MAKE_DT_INTERVAL(0, HOUR(ts))) AS v, d AS w" in on_one_line(item)


@pytest.mark.parametrize(("unit", "most_us"), [("hour", 3_599_999_999), ("day", 86_399_999_999)])
def test_date_trunc_keeps_its_buckets(tmp_path, unit, most_us):
    query = f"select date_trunc('{unit}', ts) as v, count(distinct ts) as n from times group by 1"
    found = buckets(
        one_query(tmp_path, query).query,
        (Source("times", {"ts": "timestamp_ntz"}, time_column="ts"),),
        session_zone="Europe/Berlin",
    )
    assert found == Buckets("v", {"times": Reads("ts", 0, most_us)})


@pytest.mark.parametrize(
    ("value", "noted"),
    [
        ("tz::date", True), ("year(tz)", True), ("date_trunc('day', max(tz))", True),
        ("tz::timestamp_ntz", True), ("'at ' || tz", True), ("max(tz)", False),
        ("tz > '2024-05-31'", False), ("lt::date", False),
    ],
)  # fmt: skip
def test_dates_of_moments_with_offsets_of_their_own_are_noted(tmp_path, value, noted):
    item = one_query(tmp_path, f"select {value} as v from times")
    told = [each for each in item.changed if each.startswith("dates, hours and texts of a TIMES")]
    assert bool(told) == noted
    assert not any("does not say" in each for each in item.changed)
    items = read_snowflake(tmp_path / "one.sql").items
    (schema,) = [each.schema for each in items if each.key == "times"]
    assert schema == "`ts` TIMESTAMP_NTZ, `lt` TIMESTAMP, `tz` TIMESTAMP"


def test_date_trunc_of_what_is_not_declared_is_noted(tmp_path):
    item = one_query(tmp_path, "select date_trunc('hour', z) as v from u")
    assert "DATE_TRUNC('HOUR', z) AS v" in on_one_line(item)
    assert item.changed[0].startswith("DATE_TRUNC gives a TIMESTAMP where the script does not say")


@pytest.mark.parametrize(
    "query",
    [
        "select '2024'::date as v from t",
        "select '2024-05'::timestamp_ntz as v from t",
        "select s from t where d > '20240105'",
        "select coalesce(d, '2024') as v from t",
        "select year('2024') as v from t",
        "select lag(d, 1, '2024') over (order by q) as v from t",
        "select ts from times where ts = '2024-01-01 00:00:00.1234567'",
        "select d as v from t union all select '2024'",
        "select null as v union all (select '2024' union all select d from t)",
        "select coalesce(d, case when q > 1 then '2024' end) as v from t",
        "select d > iff(q > 1, coalesce(null, '2024'), '2024-05-31') as v from t",
        "select case when q > 1 then '2024' else s end::date as v from t",
    ],
)
def test_a_text_that_is_a_time_in_two_ways_is_refused(tmp_path, query):
    refusal = one_query(tmp_path, query).refusal
    assert refusal is not None
    assert "which Snowflake and Spark read in two ways: write it like '2024-05-31'" in refusal


@pytest.mark.parametrize(
    "text", ["2024-05-31", "2024-5-1", "2024-05-31 12:00:00.123", "2024-05-31T12:00:00 +02:00"]
)
def test_a_text_that_is_a_time_in_one_way_stays(tmp_path, text):
    item = one_query(tmp_path, f"select d > '{text}' as v, '{text}'::timestamp_ntz as w from t")
    assert f"d > '{text}' AS v, CAST('{text}' AS TIMESTAMP_NTZ) AS w" in on_one_line(item)
    assert item.changed == ()


def test_other_texts_that_become_times_are_noted(tmp_path):
    (note,) = one_query(tmp_path, "select s::date as v from t").changed
    assert note.startswith("texts that become dates or times are read as Spark reads them")


@pytest.mark.parametrize("text", ["2024-05", "2024", "12024-5-31", "2024-05-31T12:00:00 CET"])
def test_a_text_like_a_date_beside_what_is_not_declared_is_noted(tmp_path, text):
    *_, note = one_query(tmp_path, f"select z > '{text}' as v from u").changed
    assert note.startswith("a text that looks like a date stands beside a value whose type")


@pytest.mark.parametrize("text", ["2024-05-31", "open", "A-2024-05", "12:30"])
def test_other_texts_beside_what_is_not_declared_are_not_noted(tmp_path, text):
    assert one_query(tmp_path, f"select z > '{text}' as v from u").changed == ()


def test_texts_in_columns_of_a_union_are_noted(tmp_path):
    query = "with c as (select '2024' as v) select d as v from t union all select v from c"
    (note,) = one_query(tmp_path, query).changed
    assert note.startswith("texts that become dates or times are read as Spark reads them")


def test_not_in_a_query_is_translated_for_one_value(tmp_path):
    item = one_query(tmp_path, "select q from t where q not in (select q from t)")
    assert "WHERE NOT q IN (SELECT q FROM shop.raw.t AS t)" in on_one_line(item)
    rows = one_query(tmp_path, "select q from t where (q, s) not in (select q, s from t)")
    assert "is not translated" in str(rows.refusal)


@pytest.mark.parametrize(
    ("product", "text"),
    [
        ("1000 * 60 * 60 * 24 * 30", "CAST(1000 * 60 * 60 * 24 AS DECIMAL(38, 0)) * 30"),
        ("length(s) * 1000", "CAST(LENGTH(s) AS DECIMAL(38, 0)) * 1000"),
        ("year(d) * 100 + month(d)", "YEAR(d) * 100 + MONTH(d)"),
        ("q * 1000000000", "q * 1000000000"),
        ("2000000000 + 2000000000", "CAST(2000000000 AS DECIMAL(38, 0)) + 2000000000"),
        ("-2147483648 - 1", "CAST(-2147483648 AS DECIMAL(38, 0)) - 1"),
        (
            "iff(q > 1, 2000000000, 0) + 2000000000",
            "CAST(IF(q > 1, 2000000000, 0) AS DECIMAL(38, 0)) + 2000000000",
        ),
        ("3000000000 + 2000000000", "3000000000 + 2000000000"),
        ("3000000000 * 4000000000", "CAST(3000000000 AS DECIMAL(38, 0)) * 4000000000"),
        ("9223372036854775807 + 1", "CAST(9223372036854775807 AS DECIMAL(38, 0)) + 1"),
        ("9223372036854775808 + 1", "9223372036854775808 + 1"),
        (
            "count(*) * 3000000000 * 4000000000",
            "CAST(COUNT(*) AS DECIMAL(38, 0)) * 3000000000 * 4000000000",
        ),
        ("count(*) * 1000 * 1000000", "CAST(COUNT(*) * 1000 AS DECIMAL(38, 0)) * 1000000"),
        ("count(*) * 1000 + 1", "COUNT(*) * 1000 + 1"),
        ("row_number() over (order by q) + 1", "ROW_NUMBER() OVER (ORDER BY q NULLS LAST) + 1"),
        ("d + 1", "d + 1"),
    ],
)
def test_a_whole_number_that_is_too_long_for_its_type_is_a_decimal(tmp_path, product, text):
    assert f"{text} AS v" in on_one_line(one_query(tmp_path, f"select {product} as v from t"))
