"""Texts of a time without a date, which Spark completes by the date of today.

Spark itself is the judge: a time that it makes near now is one that asks the clock.
"""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import pytest
from pyspark.errors import ParseException

from freshline.spark.engine.jvm import java_session
from freshline.spark.views.readings import spark_plan
from freshline.sql.query.nondeterministic import nondeterminism
from freshline.sql.query.normal import parsed
from freshline.sql.query.records import Reason
from freshline.sql.readings.certainty import uncertain

pytestmark = pytest.mark.spark

DAY_S = 86_400
WORDS = ("now", "today", "Tomorrow", "YESTERDAY", "epoch", "sometime")
BEHIND = (
    "", " ", "Z", "+02:00", "-1", "/UTC", "x", "  UTC", " CET", " pst", " PST", " JST", " Japan",
    " GMT-3", " UTC+02:00", " EST5EDT", " Europe/Berlin", " sales", " at 8",
)  # fmt: skip
TIMES = (
    "T08", " T08", "T8:5", "T08:00Z", "T08:00 Europe/Berlin", "08:00", " 8:00", "8:", "08:00:00.5",
    "08:00 CET", "-8:00", "T", "08", "2020", "2020-11", "2020-01-01 08:00", "2020-01-01T08:00",
    "+2020-01-01", "2020-01-01 08:00 CET",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "DATE"])
def test_literals_that_spark_takes_for_a_time_of_now_ask_the_clock(spark, kind):
    parser = java_session(spark).sessionState().sqlParser()
    unit_s = DAY_S if kind == "DATE" else 1e-6
    near, asking = set(), set()
    for text in (*TIMES, *(f"{word}{behind}" for word in WORDS for behind in BEHIND)):
        try:
            value = parser.parseExpression(f"{kind} '{text}'").value()
        except ParseException:  # it is no time to Spark
            continue
        if abs(int(value) * unit_s - time.time()) < 3 * DAY_S:
            near.add(text)
        reason = nondeterminism(parsed(f"SELECT id FROM t WHERE at >= {kind} '{text}'"))
        if reason is not None:
            assert reason.code == "CLOCK"
            asking.add(text)
    assert near == asking
    assert {"today", "today CET"} <= near


OF_TODAY = """
CAST('08:00' AS TIMESTAMP)
CAST(if(shop = 'a', '10:00', '08:00') AS TIMESTAMP)
CAST(CASE WHEN shop = 'b' THEN d WHEN shop = 'a' THEN '10:00' END AS TIMESTAMP)
CAST(CASE shop WHEN 'b' THEN d ELSE '10:00' END AS TIMESTAMP_LTZ)
CAST(map('a', '10:00', 'b', '08:00')[shop] AS TIMESTAMP)
CAST(element_at(array('08:00', d), 1) AS TIMESTAMP)
CAST(named_struct('opens', '08:00').opens AS TIMESTAMP)
CAST(coalesce(CAST(NULL AS STRING), '08:00') AS TIMESTAMP)
CAST(nvl(nullif(d, d), '08:00') AS TIMESTAMP)
CAST(greatest('08:00', '07:00') AS TIMESTAMP)
CAST(elt(1, '08:00', d) AS TIMESTAMP)
to_timestamp(concat('08', ':00'))
to_timestamp('08' || ':00')
to_timestamp(concat(h, ':00'))
to_timestamp(concat('0', CAST(h AS STRING), ':00'))
to_timestamp(concat('08:', lpad(h, 2, '0')))
to_timestamp(concat(lpad(h, 2, '0'), ':00'))
to_timestamp(concat(hour(at), ':', minute(at)))
to_timestamp(concat(substr(t, 12, 2), ':00'))
to_timestamp(concat('T', lpad(h, 2, '0')))
to_timestamp(concat_ws(':', h, '00'))
to_timestamp(concat_ws(' ', nullif(d, d), '08:00'))
to_timestamp(format_string('%02d:00', h))
to_timestamp(date_format(at, 'HH:mm'))
to_timestamp(substr('2020-01-01 08:00', 12))
to_timestamp(trim(' 08:00 '))
to_timestamp(upper('t08'))
to_timestamp_ltz('08:00')
try_to_timestamp('08:00')
timestamp('08:00')
coalesce(nullif(at, at), '08:00')
(SELECT max(CAST(if(shop = 'a', '10:00', '08:00') AS TIMESTAMP)) FROM e)
CAST((SELECT max(if(shop = 'a', '10:00', '08:00')) FROM e) AS TIMESTAMP)
CAST('today CET' AS TIMESTAMP)
CAST(concat('to', 'day') AS TIMESTAMP)
CAST('tomorrow Japan' AS DATE)
to_date('today')
CAST('today CET' AS TIMESTAMP_NTZ)
"""

OF_THEIR_DATE = """
CAST(d AS TIMESTAMP)
CAST(t AS TIMESTAMP)
CAST('2020-01-01 08:00' AS TIMESTAMP)
CAST(concat(d, ' 00:00:00') AS TIMESTAMP)
CAST(d || 'T08:00:00' AS TIMESTAMP)
to_timestamp(concat(d, ' ', '08:00'))
to_timestamp(concat(d, ' ', lpad(h, 2, '0'), ':00'))
to_timestamp(concat('2020-01-01 ', lpad(h, 2, '0'), ':00'))
to_timestamp(concat(CAST(CAST(at AS DATE) AS STRING), ' 08:00'))
to_timestamp(concat(date_format(at, 'yyyy-MM-dd '), '08:00'))
to_timestamp(concat(substr(t, 1, 13), ':00'))
to_timestamp(concat_ws('-', '2020', '01', lpad(h, 2, '0')))
to_timestamp(concat(year(at), '-01-01'))
to_timestamp(concat('20', '20-01-01 08:00'))
to_timestamp(concat(2, '020-01-01 08:00'))
to_timestamp(format_string('%d-01-01 08:00', year(at)))
to_timestamp(date_format(at, 'yyyy-MM-dd HH:00'))
to_timestamp('08:00', 'HH:mm')
to_timestamp(concat(h, ':00'), 'H:mm')
to_timestamp(replace(t, '24:00', '00:00'))
CAST(CASE WHEN date_format(at, 'HH:mm') < '08:00' THEN d ELSE t END AS TIMESTAMP)
CAST(if(shop IN ('08:00', '09:00'), d, t) AS TIMESTAMP)
date_trunc('DAY', at) + INTERVAL '08:00' HOUR TO MINUTE
CAST(concat(year(at), '-01-01') AS DATE)
CAST('epoch' AS TIMESTAMP)
CAST(make_date(2020, 1, 1) AS TIMESTAMP)
CAST(date_add(DATE '2020-01-01', 3) AS TIMESTAMP)
to_timestamp(to_date('2020-01-01', 'yyyy-MM-dd'))
CAST(TIMESTAMP '2020-01-01 08:00' + INTERVAL '08:00' HOUR TO MINUTE AS DATE)
"""

QUERIES_OF_TODAY = (
    "SELECT CAST(o AS TIMESTAMP) AS v FROM (SELECT if(shop = 'a', '10:00', '08:00') AS o FROM e)",
    "WITH s AS (SELECT *, '08:00' AS o FROM e) SELECT nvl(nullif(at, at), o) AS v FROM s",
    "SELECT CAST(o AS TIMESTAMP) AS v FROM (SELECT d AS o FROM e UNION ALL SELECT '08:00' FROM e)",
    "SELECT CAST(o AS TIMESTAMP) AS v FROM e JOIN (VALUES ('a', '10:00')) x (shop, o) USING (shop)",
    "SELECT CAST(o AS TIMESTAMP) AS v FROM e, (VALUES (NULL, '1'), ('08:00', '2')) x (o, p)",
    "WITH x AS (VALUES ('a', '8:')) SELECT CAST(x.col2 || '00' AS TIMESTAMP) AS v FROM e, x, x y",
    "SELECT (SELECT max(CAST(o AS TIMESTAMP)) FROM VALUES ('08:00') x (o)) AS v FROM e",
    "SELECT CAST(o AS TIMESTAMP) AS v FROM e LATERAL VIEW explode(array(t, '08:00')) x AS o",
    "SELECT CAST(o AS TIMESTAMP) AS v FROM (SELECT max(if(h = 7, '10:00', '08:00')) AS o FROM e)",
)

QUERIES_OF_THEIR_DATE = (
    "WITH s AS (SELECT *, '08:30' AS o FROM e) SELECT at AS v FROM s WHERE substr(t, 12) < o",
    "SELECT CAST(concat(d, ' ', o) AS TIMESTAMP) AS v FROM (SELECT d, '08:00' AS o FROM e)",
    (
        "SELECT at AS v FROM e JOIN (VALUES ('promo', '2020-01-01 00:00:00', '2020-02-01 00:00'))"
        " p (name, starts, ends) ON e.at >= p.starts AND e.at < p.ends"
    ),
    "SELECT CAST(o AS TIMESTAMP) AS v FROM e, (VALUES ('08:00', NULL), ('9:', '2020')) x (p, o)",
    (
        "WITH x AS (VALUES ('2020-01-01')) SELECT CAST(x.col1 || ' 08:00' AS TIMESTAMP) AS v"
        " FROM e, x, x y"
    ),
    "SELECT (SELECT max(CAST(o AS TIMESTAMP)) FROM VALUES ('2020-01-01') x (o)) AS v FROM e",
    "SELECT at AS v FROM e JOIN (VALUES ('a', '10:00')) AS x (shop, o) ON substr(t, 12) < o",
)


@pytest.fixture(scope="module")
def over_a_row(spark):
    session = spark.newSession()
    columns = "shop STRING, d STRING, t STRING, h INT, at TIMESTAMP"
    at = datetime(2020, 1, 1, 7, 30, tzinfo=UTC)
    rows = [("a", "2020-01-01", "2020-01-01 07:30", 7, at)]
    session.createDataFrame(rows, columns).createOrReplaceTempView("e")
    return session


def spark_and_we_say(session, query):
    """Whether a query's column v has a time near now, and whether the second reading says so."""
    values = [row["v"] for row in session.sql(query).collect()]
    days = {value.date() if isinstance(value, datetime) else value for value in values if value}
    near = any(abs((day - date.today()).days) < 3 for day in days)  # noqa: DTZ011
    return near, uncertain(spark_plan(session, query)) is not None


@pytest.mark.parametrize(("expressions", "today"), [(OF_TODAY, True), (OF_THEIR_DATE, False)])
def test_the_second_reading_knows_the_texts_that_spark_completes(over_a_row, expressions, today):
    lines = expressions.strip().splitlines()
    found = {each: spark_and_we_say(over_a_row, f"SELECT {each} AS v FROM e") for each in lines}
    assert found == dict.fromkeys(lines, (today, today))


@pytest.mark.parametrize(
    ("queries", "today"), [(QUERIES_OF_TODAY, True), (QUERIES_OF_THEIR_DATE, False)]
)
def test_the_second_reading_follows_a_text_through_subqueries(over_a_row, queries, today):
    found = {each: spark_and_we_say(over_a_row, each) for each in queries}
    assert found == dict.fromkeys(queries, (today, today))


@pytest.mark.parametrize(
    "condition",
    [
        "at >= '08:00'",
        "at >= TIMESTAMP 'today CET'",
        "at >= if(dayofweek(at) IN (1, 7), '10:00', '08:00')",
        "at >= CAST(CASE WHEN shop = 'a' THEN '10:00' ELSE '08:00' END AS TIMESTAMP)",
        "at >= map('a', '10:00', 'b', '08:00')[shop]",
        "at >= to_timestamp(concat('08', ':00'))",
    ],
)
def test_a_view_that_asks_for_today_is_not_maintained_from_changes(shop, condition):
    shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, shop STRING")
    shop.table("events", "SELECT * FROM STREAM f")
    shop.table("late", f"SELECT id, at FROM events WHERE {condition}")
    shop.plan()
    plan = shop.plans["late"]
    assert isinstance(plan.appends, Reason)
    assert isinstance(plan.buckets, Reason)
    assert isinstance(plan.keys, Reason)


@pytest.mark.parametrize(
    "condition",
    ["at >= concat(shop, ' 08:00')", "at >= CAST(concat(CAST(at AS DATE), ' 08:00') AS TIMESTAMP)"],
)
def test_a_view_of_times_with_a_date_is_maintained_from_changes(shop, condition):
    shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, shop STRING")
    shop.table("events", "SELECT * FROM STREAM f")
    shop.table("late", f"SELECT id, at FROM events WHERE {condition}", refresh="incremental")
    assert not shop.plan().errors
    assert shop.plans["late"].appends == "joint"
