"""The exact bounds of 60 views, and why others have none."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.records import Buckets, Reads, Reason, Source
from tests.support.view_cases import CASES, CLICKS, HOURLY, SOURCES, D, H, M

_COLUMNS = {"orders": "ts", "clicks": "ts", "days": "d"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_view_has_exactly_these_bounds(case):
    reads = {name: Reads(_COLUMNS[name], lo, hi) for name, (lo, hi) in case.reads.items()}
    assert buckets(case.query, SOURCES) == Buckets(case.column, reads)


REFUSED = {
    ("CLOCK", "NOW() has another value in every run; write a literal"): (
        "SELECT * FROM orders WHERE ts > now()",
    ),
    ("CLOCK", "CURRENT_DATE has another value in every run; write a literal"): (
        "SELECT ts, current_date AS d FROM orders",
    ),
    ("CLOCK", "'now' as a time has another value in every run"): (
        "SELECT ts FROM orders WHERE ts < timestamp 'now'",
    ),
    ("VOLATILE", "RAND() differs from run to run"): ("SELECT ts, rand() AS r FROM orders",),
    (
        "UNKNOWN_FUNCTION",
        "my_score is not built in; nothing says that it is a deterministic function of a row",
    ): ("SELECT ts, my_score(id) AS s FROM orders",),
    (
        "ORDER_DEPENDENT",
        "FIRST(orders.id) depends on the order in which rows come; give it an order of its own",
    ): ("SELECT date_trunc('hour', ts) AS h, first(id) AS f FROM orders GROUP BY 1",),
    ("LIMIT_UNORDERED", "LIMIT without ORDER BY keeps whichever rows come"): (
        "SELECT ts FROM orders LIMIT 3",
    ),
    ("LIMIT", "LIMIT and OFFSET count all rows"): (
        "SELECT ts FROM orders ORDER BY ts LIMIT 3",
        "SELECT a.ts FROM (SELECT ts FROM orders ORDER BY ts LIMIT 3) a",
    ),
    (
        "WINDOW",
        (
            "a window function looks at rows of any time; partition it by the bucket or give it a "
            "RANGE frame of intervals with both ends"
        ),
    ): (
        "SELECT ts, lag(amount) OVER (PARTITION BY usr ORDER BY ts) AS l FROM orders",
        "SELECT ts, sum(amount) OVER (ORDER BY ts) AS l FROM orders",
        "SELECT ts, sum(amount) OVER (ORDER BY ts ROWS 3 PRECEDING) AS l FROM orders",
    ),
    ("SESSION", "a session's end depends on rows that may still come"): (
        (
            "SELECT session_window.start AS s, count(*) AS n FROM orders GROUP BY "
            "session_window(ts, '5 minutes')"
        ),
    ),
    (
        "UNBOUNDED",
        "no predicate bounds the time of clicks (ts) against ts (neither end); add a BETWEEN",
    ): (
        "SELECT o.ts FROM orders o JOIN clicks c ON o.usr = c.usr",
        "SELECT * FROM orders WHERE usr IN (SELECT usr FROM clicks)",
        "SELECT ts, id FROM orders WHERE ts NOT IN (SELECT ts FROM clicks)",
        "SELECT ts FROM orders WHERE ts IN (SELECT max(ts) FROM clicks)",
        "SELECT o.ts, c.ts AS t FROM orders o JOIN clicks c ON o.ts = c.ts OR o.id = c.id",
    ),
    (
        "UNBOUNDED",
        "no predicate bounds the time of clicks (ts) against ts (no lower end); add a BETWEEN",
    ): ("SELECT o.ts FROM orders o JOIN clicks c ON c.ts <= o.ts",),
    (
        "UNBOUNDED",
        "no predicate bounds the time of clicks (ts) against ts (no upper end); add a BETWEEN",
    ): ("SELECT o.ts FROM orders o JOIN clicks c ON c.ts > o.ts - INTERVAL 1 HOUR",),
    (
        "UNBOUNDED",
        "no predicate bounds the time of orders (ts) against h (neither end); add a BETWEEN",
    ): (f"{HOURLY} HAVING count(*) > (SELECT avg(amount) FROM orders)",),
    ("STATIC_OUTER", "rows of a static table are kept without a match, and have no time"): (
        "SELECT u.name, o.ts FROM users u LEFT JOIN orders o ON o.usr = u.usr",
    ),
    (
        "NULL_TIME",
        (
            "ts can be NULL in rows that depend on rows with a time, or the other way round; "
            "filter the NULLs out"
        ),
    ): (
        (
            "SELECT c.ts FROM orders o LEFT JOIN clicks c ON c.ts BETWEEN o.ts AND o.ts + INTERVAL "
            "1 HOUR"
        ),
    ),
    (
        "NULL_TIME",
        (
            "h can be NULL in rows that depend on rows with a time, or the other way round; filter "
            "the NULLs out"
        ),
    ): (
        f"SELECT a.h, b.n FROM ({HOURLY}) a FULL JOIN ({CLICKS}) b ON a.h = b.h",
        # Rows without orders are still there: whoever has clicks need not have a match.
        f"SELECT a.h, b.n FROM ({HOURLY}) a FULL JOIN ({CLICKS}) b ON a.h = b.h WHERE b.n > 0",
        (
            f"SELECT a.h, b.n FROM ({HOURLY}) a FULL JOIN ({CLICKS}) b ON a.h = b.h"
            " JOIN users u ON u.usr = b.n"
        ),
    ),
    (
        "NULL_TIME",
        (
            "t can be NULL in rows that depend on rows with a time, or the other way round; filter "
            "the NULLs out"
        ),
    ): (
        # A side was missing before, or the row of both is missing beside another.
        (
            "SELECT coalesce(c.ts, p.ts) AS t, o.id FROM orders o FULL JOIN clicks c ON o.ts = c.ts"
            " FULL JOIN orders p ON c.ts = p.ts"
        ),
        (
            "SELECT coalesce(c.ts, p.ts) AS t, o.id FROM orders o LEFT JOIN clicks c ON o.ts = c.ts"
            " FULL JOIN orders p ON c.ts = p.ts"
        ),
        (
            "SELECT coalesce(o.ts, c.ts) AS t, u.usr FROM orders o FULL JOIN clicks c ON"
            " o.ts = c.ts RIGHT JOIN users u ON o.ts = u.since"
        ),
    ),
    ("SUBTOTALS", "ROLLUP, CUBE and GROUPING SETS make rows over all times"): (
        (
            "SELECT date_trunc('hour', ts) AS h, usr, count(*) AS n FROM orders GROUP BY ROLLUP "
            "(date_trunc('hour', ts), usr)"
        ),
    ),
    ("NO_TIME_BUCKET", None): (
        "SELECT usr, sum(amount) AS s FROM orders GROUP BY usr",
        "SELECT coalesce(ts, timestamp '2020-01-01') AS t FROM orders",
        "SELECT greatest(ts, shipped) AS t FROM orders",
        "SELECT CASE WHEN id > 1 THEN ts END AS t FROM orders",
        "SELECT date_trunc('hour', ts), count(*) FROM orders GROUP BY 1",
        "SELECT ts, ts FROM orders",
    ),
    ("UNBOUNDED", None): ("SELECT coalesce(ts, shipped) AS t FROM orders",),
    ("STATIC", "the query reads nothing that changes"): ("SELECT name FROM users",),
    ("CONTRADICTION", "the conditions on times cannot be met together"): (
        "SELECT a.ts FROM orders a JOIN clicks b ON b.ts > a.ts AND b.ts < a.ts",
    ),
    ("SYNTAX", "only a literal unit of date_trunc can be analysed"): (
        "SELECT date_trunc(usr, ts) AS t FROM orders",
    ),
    ("SYNTAX", "other names for a table's columns are not analysed"): (
        "SELECT shipped AS t FROM orders AS o (shipped, ts, id, usr, amount)",
    ),
    ("SYNTAX", "'hours' is no unit by which Spark truncates: all is NULL"): (
        "SELECT date_trunc('hours', ts) AS h, count(*) AS n FROM orders GROUP BY 1",
    ),
    ("SYNTAX", "'H' is no unit by which Spark truncates: all is NULL"): (
        "SELECT date_trunc('H', ts) AS h, count(*) AS n FROM orders GROUP BY 1",
    ),
    ("SYNTAX", "'Y' is no unit by which Spark truncates: all is NULL"): (
        "SELECT trunc(coalesce(d, (d)), 'Y') AS y, count(*) AS n FROM days GROUP BY 1",
    ),
}


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [(query, *reason) for reason, queries in REFUSED.items() for query in queries],
)
def test_the_reason_has_a_code_and_says_what_is_missing(query, code, message):
    reason = buckets(query, SOURCES)
    assert isinstance(reason, Reason)
    assert reason.code == code
    if message is not None:
        assert reason.message == message


def bounds(query, source="orders", *, zone="UTC", sources=SOURCES):
    found = buckets(query, sources, session_zone=zone)
    assert isinstance(found, Buckets), found
    return found.reads[source].lo_us, found.reads[source].hi_us


def test_a_day_lasts_up_to_25_hours_where_clocks_are_put_back():
    daily = "SELECT CAST(ts AS DATE) AS d, count(*) AS n FROM orders GROUP BY 1"
    assert bounds(daily, zone="Europe/Berlin") == (0, 25 * H - 1)
    assert bounds(daily, zone="Pacific/Kwajalein") == (0, 47 * H - 1)
    assert bounds(daily, zone="+05:30") == (0, D - 1)


def test_an_hour_stays_one_where_shifts_are_whole_hours_and_grows_where_they_are_not():
    assert bounds(HOURLY, zone="Europe/Berlin") == (0, H - 1)
    lo, hi = bounds(HOURLY, zone="Australia/Lord_Howe")
    assert lo == 0
    assert hi >= 90 * M - 1


def test_an_unknown_zone_is_taken_for_the_worst():
    assert bounds(HOURLY, zone="Atlantis/Capital") == (-D, 25 * H - 1)


def test_adding_a_day_is_a_wall_clock_day():
    query = "SELECT ts + INTERVAL 1 DAY AS t FROM orders"
    assert bounds(query) == (-D, -D)
    lo, hi = bounds(query, zone="Europe/Lisbon")
    assert lo <= -25 * H
    assert hi >= -23 * H


def test_24_hours_are_a_wall_clock_day_and_less_are_not():
    lo, hi = bounds("SELECT ts + INTERVAL 24 HOURS AS t FROM orders", zone="Europe/Lisbon")
    assert (lo, hi) == bounds("SELECT ts + INTERVAL 1 DAY AS t FROM orders", zone="Europe/Lisbon")
    less = "SELECT ts + INTERVAL 23 HOURS AS t FROM orders"
    assert bounds(less, zone="Europe/Lisbon") == (-23 * H, -23 * H)
    lo, hi = bounds("SELECT ts + INTERVAL 25 HOURS AS t FROM orders", zone="Europe/Lisbon")
    assert lo <= -26 * H
    assert hi >= -24 * H


FRAMED = "SELECT ts, id, count(*) OVER (ORDER BY {}) AS n FROM {}"


@pytest.mark.parametrize(
    ("frame", "reads"),
    [
        ("ts RANGE BETWEEN CURRENT ROW AND INTERVAL 1 MONTH FOLLOWING", (-3 * D, 31 * D)),
        ("ts RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW", (-31 * D, 0)),
        ("ts DESC RANGE BETWEEN CURRENT ROW AND INTERVAL 1 MONTH FOLLOWING", (-31 * D, 3 * D)),
        (
            "ts RANGE BETWEEN INTERVAL 2 MONTHS PRECEDING AND INTERVAL 1 MONTH PRECEDING",
            (-62 * D, 0),
        ),
        ("ts RANGE BETWEEN CURRENT ROW AND INTERVAL 1 DAY FOLLOWING", (0, D)),
    ],
)
def test_a_row_whose_frame_would_end_earlier_than_one_before_it_has_that_ones_end(frame, reads):
    assert bounds(FRAMED.format(frame, "orders")) == reads


def test_frames_of_dates_never_go_back():
    frame = "d RANGE BETWEEN CURRENT ROW AND INTERVAL 1 MONTH FOLLOWING"
    found = bounds(FRAMED.format(frame, "days").replace("ts, id", "d"), "days")
    assert found == (0, 31 * D)


def test_where_clocks_are_put_back_frames_of_days_look_before_their_rows():
    frame = "ts RANGE BETWEEN CURRENT ROW AND INTERVAL 1 DAY FOLLOWING"
    lo, hi = bounds(FRAMED.format(frame, "orders"), zone="Europe/Lisbon")
    assert lo <= -H
    assert hi >= 25 * H


def test_a_window_does_not_know_the_zone():
    query = "SELECT window.start AS w, count(*) AS n FROM orders GROUP BY window(ts, '1 hour')"
    assert bounds(query, zone="Australia/Lord_Howe") == (0, H - 1)


def test_a_wall_clock_time_becomes_an_instant_by_any_offset_of_the_zone():
    sources = (Source("e", {"ts": "timestamp_ntz", "x": "int"}),)
    assert bounds("SELECT ts, x FROM e", "e", sources=sources) == (0, 0)
    query = "SELECT CAST(ts AS TIMESTAMP) AS t FROM e"
    assert bounds(query, "e", sources=sources) == (0, 0)
    lo, hi = bounds(query, "e", sources=sources, zone="Asia/Tokyo")
    assert lo <= 0
    assert hi >= 9 * H


WALL_DAY = "CAST(CAST(ts AS DATE) AS TIMESTAMP_NTZ)"
CUTS = {
    WALL_DAY: ("hour", "minute", "second", "microsecond"),
    f"({WALL_DAY} + MAKE_DT_INTERVAL(0, HOUR(ts)))": ("minute", "second", "microsecond"),
    f"{WALL_DAY} + make_dt_interval(0, hour(ts), minute(ts))": ("second", "microsecond"),
    f"{WALL_DAY} + make_dt_interval(0, hour(ts), minute(ts), second(ts))": ("microsecond",),
}
NO_CUTS = (
    "make_dt_interval()", "make_dt_interval(0)", "make_dt_interval(1, hour(ts))",
    "make_dt_interval(0, minute(ts))", "make_dt_interval(0, hour(ts), second(ts))",
    "make_dt_interval(0, hour(at))", "make_dt_interval(x, hour(ts))",
)  # fmt: skip


def cut_bounds(expression, kind, zone):
    sources = (Source("e", {"ts": kind, "at": kind, "x": "int"}, time_column="ts"),)
    query = f"SELECT {expression} AS v, median(x) AS m FROM e GROUP BY 1"
    return buckets(query, sources, session_zone=zone)


@pytest.mark.parametrize("expression", CUTS)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "+05:30"])
def test_a_wall_clock_cut_by_its_parts_is_cut_exactly(expression, zone):
    found = cut_bounds(expression, "timestamp_ntz", zone)
    unit_us = {4: D, 3: H, 2: M, 1: 1_000_000}[len(CUTS[expression])]
    assert found == Buckets("v", {"e": Reads("ts", 0, unit_us - 1)})


@pytest.mark.parametrize("expression", CUTS)
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns", "Australia/Lord_Howe"])
def test_the_wall_clock_of_an_instant_cut_by_its_parts_lies_within_its_bounds(expression, zone):
    found = cut_bounds(expression, "timestamp", zone)
    assert isinstance(found, Buckets)
    reads = found.reads["e"]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for minutes in range(0, 2 * 366 * 24 * 60, 97):
        instant = epoch + dt.timedelta(days=19_000, minutes=minutes, microseconds=-1)
        wall = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=dt.UTC)
        parts: dict[str, Any] = dict.fromkeys(CUTS[expression], 0)
        cut = wall.replace(**parts)
        read_us = (instant - cut) // dt.timedelta(microseconds=1)
        assert reads.lo_us <= read_us <= reads.hi_us


@pytest.mark.parametrize("interval", NO_CUTS)
def test_other_parts_of_a_wall_clock_make_no_bucket(interval):
    found = cut_bounds(f"{WALL_DAY} + {interval}", "timestamp_ntz", "UTC")
    assert isinstance(found, Reason)
    assert found.code == "NO_TIME_BUCKET"


def test_another_time_column_is_tried_where_the_declared_one_gives_nothing():
    found = buckets(
        "SELECT date_trunc('day', shipped) AS d, count(*) AS n FROM orders GROUP BY 1", SOURCES
    )
    assert found == Buckets("d", {"orders": Reads("shipped", 0, D - 1)})


def test_of_several_times_the_narrowest_is_the_bucket():
    query = (
        "SELECT date_trunc('day', ts) AS d, date_trunc('hour', ts) AS h, count(*) AS n "
        "FROM orders GROUP BY 1, 2"
    )
    assert buckets(query, SOURCES) == Buckets("h", {"orders": Reads("ts", 0, H - 1)})


def test_names_of_several_parts_and_in_backquotes():
    sources = (Source("lake.`raw-events`", {"ts": "timestamp"}),)
    found = buckets("SELECT ts FROM Lake.`raw-events`", sources)
    assert found == Buckets("ts", {"lake.`raw-events`": Reads("ts", 0, 0)})


def test_a_declared_function_of_a_row_is_accepted():
    query = "SELECT ts, my_score(id) AS s FROM orders"
    assert isinstance(buckets(query, SOURCES, functions={"my_score"}), Buckets)


def test_a_source_without_times():
    reason = buckets("SELECT x FROM e", (Source("e", {"x": "int"}),))
    assert reason == Reason("TIME_COLUMN", "e has no column of a time")


def test_a_condition_that_holds_without_rows_bounds_nothing():
    always = (
        "SELECT o.shipped AS t FROM orders o WHERE EXISTS (SELECT count(*) FROM clicks c WHERE "
        "c.ts = o.ts AND o.shipped BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR)"
    )
    empty = (
        "SELECT c.ts AS t FROM orders o LEFT JOIN clicks c ON c.ts = o.ts WHERE c.ts NOT IN "
        "(SELECT d.ts FROM clicks d WHERE d.ts = o.ts)"
    )
    sources = (SOURCES[0], SOURCES[1])
    declared = (Source("orders", {"ts": "timestamp", "shipped": "timestamp"}), sources[1])
    assert isinstance(buckets(empty, sources), Reason)
    found = buckets(always, declared)
    assert not isinstance(found, Buckets) or found.reads["orders"].column == "shipped"
    exists = always.replace("count(*)", "1")
    assert isinstance(buckets(exists, declared), Buckets)


def test_set_operations_by_name_are_left_alone():
    reason = buckets(
        "SELECT ts, id FROM orders UNION ALL BY NAME SELECT id, ts FROM clicks", SOURCES
    )
    assert isinstance(reason, Reason)
