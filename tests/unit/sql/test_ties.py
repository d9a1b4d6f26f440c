"""Buckets where a query chooses among rows that tie: all of them lie in one, or there are none."""

from __future__ import annotations

import pytest

from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.records import Buckets, Source

EVENTS = Source("e", {"id": "bigint", "ts": "timestamp", "kind": "string"}, time_column="ts")

TOGETHER = {
    "row numbers of a day, by the day": (
        "SELECT cast(ts as date) d, ts, row_number() OVER (PARTITION BY cast(ts AS date) "
        "ORDER BY kind) AS rn FROM e"
    ),
    "lag within the hour": (
        "SELECT date_trunc('hour', ts) h, lag(id) OVER (PARTITION BY date_trunc('hour', ts) "
        "ORDER BY kind) AS rn FROM e"
    ),
    "lag within hours, by the day": (
        "SELECT date_trunc('day', date_trunc('hour', ts)) d, lag(id) OVER (PARTITION BY "
        "date_trunc('hour', ts) ORDER BY kind) AS rn FROM e"
    ),
    "rows that tie have one moment": (
        "SELECT ts, row_number() OVER (PARTITION BY cast(ts AS date) ORDER BY ts, id) AS rn FROM e"
    ),
    "a neighbour's moment": (
        "SELECT ts, lag(ts) OVER (PARTITION BY cast(ts AS date) ORDER BY ts, id) AS rn FROM e"
    ),
    "equal ranks": (
        "SELECT ts, rank() OVER (PARTITION BY cast(ts AS date) ORDER BY kind) AS rn FROM e"
    ),
    "a frame of equal values": (
        "SELECT ts, sum(id) OVER (PARTITION BY cast(ts AS date) ORDER BY kind) AS rn FROM e"
    ),
    "a frame of all rows": (
        "SELECT ts, count(*) OVER (PARTITION BY cast(ts AS date) ORDER BY kind ROWS BETWEEN "
        "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS rn FROM e"
    ),
    "groups are unique": (
        "select h, n, lag(n) over (partition by cast(h as date) order by h) as p from (select"
        " date_trunc('hour', ts) h, count(*) n from e group by 1)"
    ),
    "groups are unique by all their keys": (
        "select date_trunc('hour', ts) h, kind, lag(count(*)) over (partition by "
        "cast(date_trunc('hour', ts) as date) order by date_trunc('hour', ts), kind) as p "
        "from e group by 1, 2"
    ),
    "first of a day, counted by the day": (
        "SELECT cast(ts as date) d, count(*) n FROM (SELECT *, row_number() OVER (PARTITION "
        "BY kind, cast(ts as date) ORDER BY id) rn FROM e) WHERE rn = 1 GROUP BY 1"
    ),
    "a day's best by a struct": (
        "SELECT h.h, h.n, d.best FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM"
        " e GROUP BY 1) h JOIN (SELECT cast(ts AS date) AS d, max_by(id, struct(kind, id)) AS"
        " best FROM e GROUP BY 1) d ON d.d = cast(h.h AS date)"
    ),
    "a day's best, by the day": (
        "SELECT h.h, d.d, h.n, d.best FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n"
        " FROM e GROUP BY 1) h JOIN (SELECT cast(ts AS date) AS d, max_by(id, kind) AS best "
        "FROM e GROUP BY 1) d ON d.d = cast(h.h AS date)"
    ),
    "an hour's best": (
        "SELECT date_trunc('hour', ts) AS h, max_by(id, kind) AS best, listagg(kind) within "
        "group (order by ts) l FROM e GROUP BY 1"
    ),
    "top of the hour": (
        "SELECT h, kind, n FROM (SELECT date_trunc('hour', ts) h, kind, count(*) n FROM e "
        "GROUP BY 1, 2) QUALIFY row_number() OVER (PARTITION BY h ORDER BY n DESC) = 1"
    ),
    "tiles of a moment": (
        "SELECT id, ts, ntile(3) OVER w AS t FROM e WINDOW w AS (PARTITION BY ts ORDER BY kind)"
    ),
    "tiles of windows, by the window": (
        "SELECT id, ts, window(ts, '1 hour').start AS w, ntile(3) OVER w AS t FROM e WINDOW w"
        " AS (PARTITION BY window(ts, '1 hour') ORDER BY kind)"
    ),
    "names in capitals": (
        "SELECT TS, lag(E.TS) OVER (PARTITION BY cast(ts AS date) ORDER BY Ts, `ID`) AS rn FROM E"
    ),
    "groups in capitals": (
        "SELECT H, n, lag(N) OVER (PARTITION BY cast(h AS date) ORDER BY `h`) AS p "
        "FROM (SELECT date_trunc('HOUR', Ts) AS h, count(*) AS n FROM e "
        "GROUP BY DATE_TRUNC('HOUR', ts))"
    ),
    "windows that do not look at each other": (
        "SELECT date_trunc('hour', ts) AS h, row_number() OVER (PARTITION BY date_trunc('hour', "
        "ts) ORDER BY kind) AS rn, count(*) OVER (PARTITION BY cast(ts AS date)) AS c FROM e"
    ),
    "a window over what it partitions by": (
        "SELECT cast(ts AS date) AS d, ts, sum(rn * id) OVER (PARTITION BY id, cast(ts AS date))"
        " AS s FROM (SELECT ts, id, row_number() OVER (PARTITION BY cast(ts AS date) ORDER BY "
        "kind) AS rn FROM e)"
    ),
    "first of a moment, in windows": (
        "SELECT window(ts, '1 hour').start AS w, sum(id) AS s FROM (SELECT *, row_number() OVER "
        "(PARTITION BY ts ORDER BY kind) AS rn FROM e) WHERE rn = 1 GROUP BY window(ts, '1 hour')"
    ),
    "a struct's best of some rows before": (
        "SELECT cast(ts AS date) AS d, ts, max_by(kind, struct(id, kind)) OVER (PARTITION BY "
        "cast(ts AS date) ORDER BY kind ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b FROM e"
    ),
    "distinct rows": (
        "SELECT ts, id, lag(id) OVER (PARTITION BY cast(ts AS date) ORDER BY ts, id) AS p "
        "FROM (SELECT DISTINCT ts, id FROM e)"
    ),
    "hours of numbers under another name": (
        "SELECT date_trunc('hour', w) AS h, sum(n) AS s FROM (SELECT ts AS w, row_number() OVER "
        "(PARTITION BY date_trunc('hour', ts) ORDER BY kind) AS n FROM e) GROUP BY 1"
    ),
}
SPLIT = {
    "row numbers of a day, by the moment": (
        "SELECT ts, row_number() OVER (PARTITION BY cast(ts AS date) ORDER BY kind) AS rn FROM e"
    ),
    "row numbers of a day, by the hour": (
        "SELECT date_trunc('hour', ts) h, row_number() OVER (PARTITION BY cast(ts AS date) "
        "ORDER BY kind) AS rn FROM e"
    ),
    "a neighbour's kind": (
        "SELECT ts, lag(kind) OVER (PARTITION BY cast(ts AS date) ORDER BY ts, id) AS rn FROM e"
    ),
    "a frame of rows": (
        "SELECT ts, count(*) OVER (PARTITION BY cast(ts AS date) ORDER BY kind ROWS BETWEEN 1"
        " PRECEDING AND CURRENT ROW) AS rn FROM e"
    ),
    "groups that tie": (
        "select date_trunc('hour', ts) h, kind, lag(count(*)) over (partition by "
        "cast(date_trunc('hour', ts) as date) order by date_trunc('hour', ts)) as p from e "
        "group by 1, 2"
    ),
    "first of a day, counted by the hour": (
        "SELECT date_trunc('hour', ts) h, count(*) n FROM (SELECT *, row_number() OVER "
        "(PARTITION BY kind, cast(ts as date) ORDER BY id) rn FROM e) WHERE rn = 1 GROUP BY 1"
    ),
    "a day's best beside hours": (
        "SELECT h.h, h.n, d.best FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM"
        " e GROUP BY 1) h JOIN (SELECT cast(ts AS date) AS d, max_by(id, kind) AS best FROM e"
        " GROUP BY 1) d ON d.d = cast(h.h AS date)"
    ),
    "one side of a union": (
        "SELECT ts, row_number() OVER (PARTITION BY cast(ts AS date) ORDER BY kind) AS rn "
        "FROM e UNION ALL SELECT ts, id FROM e"
    ),
    "a day's best in a subquery": (
        "SELECT h.ts, (SELECT max_by(id, kind) FROM e x WHERE cast(x.ts AS date) = cast(h.ts "
        "AS date)) AS b FROM e h"
    ),
    "tiles of windows, by the moment": (
        "SELECT id, ts, ntile(3) OVER w AS t FROM e WINDOW w AS (PARTITION BY window(ts, '1 "
        "hour') ORDER BY kind)"
    ),
    "the first of a day in a subquery": (
        "SELECT h.ts, (SELECT x.kind FROM e x WHERE cast(x.ts AS date) = cast(h.ts AS date) "
        "ORDER BY x.id LIMIT 1) AS b FROM e h"
    ),
    "a day's best beside each row": (
        "SELECT ts, max_by(id, kind) OVER (PARTITION BY cast(ts AS date)) AS best FROM e"
    ),
    "a window over numbers of an hour": (
        "SELECT date_trunc('hour', ts) AS h, sum(rn * id) OVER (PARTITION BY cast(ts AS date)) AS "
        "s FROM (SELECT ts, id, row_number() OVER (PARTITION BY date_trunc('hour', ts) ORDER BY "
        "kind) AS rn FROM e)"
    ),
    "a frame over the first of a moment": (
        "SELECT ts, sum(id) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT "
        "ROW) AS s FROM (SELECT *, row_number() OVER (PARTITION BY ts ORDER BY kind) AS rn FROM e)"
        " WHERE rn = 1"
    ),
    "a window over the best of hours": (
        "SELECT date_trunc('hour', ts) AS h, sum(max_by(id, kind)) OVER (PARTITION BY "
        "cast(date_trunc('hour', ts) AS date)) AS s FROM e GROUP BY 1"
    ),
    "a window over the best of moments": (
        "SELECT date_trunc('hour', ts) AS h, sum((SELECT max_by(x.id, x.kind) FROM e x WHERE x.ts "
        "= e.ts)) OVER (PARTITION BY cast(ts AS date)) AS s FROM e"
    ),
    "a struct's best of some rows before, by the moment": (
        "SELECT ts, max_by(kind, struct(id, kind)) OVER (PARTITION BY cast(ts AS date) ORDER BY "
        "kind ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b FROM e"
    ),
    "first of a moment, in sliding windows": (
        "SELECT window(ts, '1 hour', '20 minutes').start AS w, sum(id) AS s FROM (SELECT *, "
        "row_number() OVER (PARTITION BY ts ORDER BY kind) AS rn FROM e) WHERE rn = 1 GROUP BY "
        "window(ts, '1 hour', '20 minutes')"
    ),
    "groups in sliding windows tie": (
        "SELECT h, n, lag(n) OVER (PARTITION BY cast(h AS date) ORDER BY h, n) AS p, lag(id) OVER "
        "(PARTITION BY cast(h AS date) ORDER BY h) AS q FROM (SELECT h, n, id, window(h, '2 hours'"
        ", '1 hour').start AS w FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n, max(id) "
        "AS id FROM e GROUP BY 1))"
    ),
    "the most frequent of a day beside hours": (
        "SELECT h.h, h.n, d.best FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM"
        " e GROUP BY 1) h JOIN (SELECT cast(ts AS date) AS d, approx_top_k(kind, 3) AS best FROM "
        "e GROUP BY 1) d ON d.d = cast(h.h AS date)"
    ),
    "the mode of a day beside hours": (
        "SELECT h.h, h.n, d.best FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM"
        " e GROUP BY 1) h JOIN (SELECT cast(ts AS date) AS d, mode(kind) AS best FROM "
        "e GROUP BY 1) d ON d.d = cast(h.h AS date)"
    ),
    "tiles of a day": (
        "SELECT ts, ntile(3) OVER (PARTITION BY cast(ts AS date) ORDER BY kind) AS n FROM e"
    ),
    "the next one's kind": (
        "SELECT ts, lead(kind) OVER (PARTITION BY cast(ts AS date) ORDER BY kind, id) AS n FROM e"
    ),
    "groups that were exploded tie": (
        "SELECT h, x, lag(x) OVER (PARTITION BY cast(h AS date) ORDER BY h) AS p FROM (SELECT h, "
        "explode(array(n, s)) AS x FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n, "
        "sum(id) AS s FROM e GROUP BY 1))"
    ),
    "joined groups tie": (
        "SELECT h, v, lag(x) OVER (PARTITION BY cast(h AS date) ORDER BY h) AS p FROM (SELECT "
        "date_trunc('hour', ts) AS h, count(*) AS v FROM e GROUP BY 1), (VALUES (1), (2)) t(x)"
    ),
}


@pytest.mark.parametrize("query", TOGETHER.values(), ids=TOGETHER)
def test_rows_that_tie_are_in_one_bucket(query):
    assert isinstance(buckets(query, [EVENTS]), Buckets)


@pytest.mark.parametrize("query", SPLIT.values(), ids=SPLIT)
def test_rows_that_tie_are_in_several_buckets(query):
    found = buckets(query, [EVENTS])
    assert not isinstance(found, Buckets)
    assert found.code == "TIES"
