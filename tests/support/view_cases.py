"""Views of the kinds that people write, with the exact rows their buckets depend on.

Shared by the tests of the analysis and by the oracle, which runs the same views in DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshline.sql.query.records import Source

S = 1_000_000
M = 60 * S
H = 60 * M
D = 24 * H

SOURCES = (
    Source(
        "orders",
        {"ts": "timestamp", "shipped": "timestamp", "id": "int", "usr": "int", "amount": "int"},
        time_column="ts",
    ),
    Source("clicks", {"ts": "timestamp", "id": "int", "usr": "int", "n": "int"}),
    Source("days", {"d": "date", "id": "int", "usr": "int"}),
    Source("users", {"usr": "int", "name": "string", "since": "timestamp"}, static=True),
    Source("cal", {"day": "date", "label": "string"}, static=True),
)


@dataclass(frozen=True)
class Case:
    """A view, its bucket column, and lo and hi in microseconds by source.

    ``duckdb`` holds another text for DuckDB, None where it has no such function.
    """

    name: str
    query: str
    column: str
    reads: dict[str, tuple[int, int]]
    duckdb: str | None = ""


HOUR = (0, H - 1)
DAY = (0, D - 1)
HOURLY = (
    "SELECT date_trunc('hour', ts) AS h, count(*) AS n, sum(amount) AS s FROM orders GROUP BY 1"
)
CLICKS = "SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM clicks GROUP BY 1"

CASES = (
    # Row by row.
    Case("filter", "SELECT * FROM orders WHERE amount > 2", "ts", {"orders": (0, 0)}),
    Case(
        "stream with static",
        "SELECT o.ts, o.id, u.name FROM orders o LEFT JOIN users u ON o.usr = u.usr",
        "ts",
        {"orders": (0, 0)},
    ),
    Case(
        "static keeps nothing",
        "SELECT o.ts, u.name FROM users u RIGHT JOIN orders o USING (usr)",
        "ts",
        {"orders": (0, 0)},
    ),
    Case(
        "shifted",
        "SELECT ts + INTERVAL 90 MINUTES AS due, id FROM orders",
        "due",
        {"orders": (-90 * M, -90 * M)},
    ),
    Case(
        "band join",
        "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON o.usr = c.usr "
        "AND c.ts BETWEEN o.ts - INTERVAL 1 HOUR AND o.ts",
        "ts",
        {"orders": (0, 0), "clicks": (-H, 0)},
    ),
    Case(
        "left join whose matches alone stay",
        "SELECT date_trunc('hour', c.ts) AS h, count(*) AS n FROM orders o LEFT JOIN clicks c "
        "ON o.usr = c.usr AND date_trunc('hour', c.ts) = date_trunc('hour', o.ts) WHERE c.id > 3 "
        "GROUP BY date_trunc('hour', c.ts)",
        "h",
        {"orders": HOUR, "clicks": HOUR},
    ),
    Case(
        "left join whose condition comes again in the next",
        "SELECT o.ts, v.id FROM orders o LEFT JOIN clicks c ON o.usr = c.usr "
        "AND o.ts BETWEEN c.ts - INTERVAL 2 HOURS AND c.ts "
        "JOIN orders v ON v.ts BETWEEN c.ts - INTERVAL 2 HOURS AND c.ts",
        "ts",
        {"orders": (-2 * H, 2 * H), "clicks": (0, 2 * H)},
    ),
    Case(
        "band left join",
        "SELECT o.ts, o.id, c.id AS c FROM orders o LEFT JOIN clicks c ON o.usr = c.usr "
        "AND c.ts >= o.ts AND c.ts < o.ts + INTERVAL '30' MINUTE",
        "ts",
        {"orders": (0, 0), "clicks": (0, 30 * M - 1)},
    ),
    Case(
        "band right join",
        "SELECT c.ts, o.id FROM orders o RIGHT JOIN clicks c ON o.ts > c.ts - INTERVAL 1 HOUR "
        "AND o.ts <= c.ts",
        "ts",
        {"orders": (1 - H, 0), "clicks": (0, 0)},
    ),
    Case(
        "other side's time, matched rows only",
        "SELECT c.ts, o.id FROM orders o LEFT JOIN clicks c ON c.ts BETWEEN o.ts AND "
        "o.ts + INTERVAL 1 HOUR WHERE c.n > 0",
        "ts",
        {"orders": (-H, 0), "clicks": (0, 0)},
    ),
    Case(
        "chain of bands",
        "SELECT a.ts, c.id FROM orders a JOIN clicks b ON b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 "
        "HOUR JOIN orders c ON c.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR AND c.id = b.id",
        "ts",
        {"orders": (0, 2 * H), "clicks": (0, H)},
    ),
    Case(
        "exists",
        "SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.usr = o.usr AND "
        "c.ts BETWEEN o.ts - INTERVAL 10 MINUTES AND o.ts)",
        "ts",
        {"orders": (0, 0), "clicks": (-10 * M, 0)},
    ),
    Case(
        "not exists",
        "SELECT * FROM orders o WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE c.usr = o.usr AND "
        "c.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES)",
        "ts",
        {"orders": (0, 0), "clicks": (0, 10 * M)},
    ),
    Case(
        "semi join",
        "SELECT * FROM orders o LEFT SEMI JOIN clicks c ON c.usr = o.usr AND c.ts = o.ts",
        "ts",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "anti join",
        "SELECT * FROM orders o LEFT ANTI JOIN clicks c ON c.usr = o.usr AND c.ts < o.ts "
        "AND c.ts > o.ts - INTERVAL 1 HOUR",
        "ts",
        {"orders": (0, 0), "clicks": (1 - H, -1)},
    ),
    Case(
        "in",
        "SELECT ts, id FROM orders WHERE ts IN (SELECT ts FROM clicks WHERE n > 1)",
        "ts",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "not in, bounded within",
        "SELECT o.ts, o.id FROM orders o WHERE o.usr NOT IN (SELECT c.usr FROM clicks c WHERE "
        "c.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR)",
        "ts",
        {"orders": (0, 0), "clicks": (0, H)},
    ),
    Case(
        "in under or",
        "SELECT o.ts, o.id FROM orders o WHERE o.amount > 3 OR EXISTS (SELECT 1 FROM clicks c "
        "WHERE c.ts = o.ts)",
        "ts",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "scalar subquery",
        "SELECT o.ts, o.id, (SELECT max(c.n) FROM clicks c WHERE c.ts BETWEEN o.ts - INTERVAL 1 "
        "DAY AND o.ts) AS m FROM orders o",
        "ts",
        {"orders": (0, 0), "clicks": (-D, 0)},
    ),
    Case(
        "scalar subquery of the same hour",
        "SELECT date_trunc('hour', o.ts) AS h, o.id, (SELECT count(*) FROM clicks c WHERE "
        "date_trunc('hour', c.ts) = date_trunc('hour', o.ts)) AS n FROM orders o",
        "h",
        {"orders": (0, H - 1), "clicks": (0, H - 1)},
    ),
    Case(
        "band left join of another band",
        "SELECT o.ts, o.id, d.id AS d FROM orders o LEFT JOIN clicks c ON c.ts BETWEEN o.ts AND "
        "o.ts + INTERVAL 1 HOUR LEFT JOIN orders d ON d.ts = o.ts - INTERVAL 1 HOUR",
        "ts",
        {"orders": (-H, 0), "clicks": (0, H)},
    ),
    Case(
        "first click of the hour, joined in a band",
        "SELECT o.ts, o.id, x.id AS c FROM orders o LEFT JOIN (SELECT ts, id, rank() OVER "
        "(PARTITION BY date_trunc('hour', ts) ORDER BY id) AS r FROM clicks) x ON x.ts BETWEEN "
        "o.ts - INTERVAL 5 MINUTES AND o.ts AND x.r = 1",
        "ts",
        {"orders": (0, 0), "clicks": (1 - H - 5 * M, H - 1)},
    ),
    Case(
        "full join of rows, coalesced",
        "SELECT coalesce(o.ts, c.ts) AS t, o.id, c.id AS c FROM orders o FULL JOIN clicks c ON "
        "o.ts = c.ts",
        "t",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "null-safe join",
        "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON o.ts <=> c.ts",
        "ts",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "union all",
        "SELECT ts, id FROM orders UNION ALL SELECT ts + INTERVAL 1 HOUR, id FROM clicks",
        "ts",
        {"orders": (0, 0), "clicks": (-H, -H)},
    ),
    Case(
        "union all of one stream twice",
        "SELECT ts, id FROM orders UNION ALL SELECT ts - INTERVAL 1 HOUR AS ts, id FROM orders",
        "ts",
        {"orders": (0, H)},
    ),
    Case(
        "union with a static branch",
        "SELECT ts, usr FROM orders UNION ALL SELECT since, usr FROM users",
        "ts",
        {"orders": (0, 0)},
    ),
    Case(
        "except",
        "SELECT ts, usr FROM orders EXCEPT SELECT ts, usr FROM clicks",
        "ts",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "intersect",
        "SELECT ts, usr FROM orders INTERSECT SELECT ts, usr FROM clicks",
        "ts",
        {"orders": (0, 0), "clicks": (0, 0)},
    ),
    Case(
        "explode",
        "SELECT o.ts, e.x FROM orders o LATERAL VIEW explode(array(1, o.usr)) e AS x",
        "ts",
        {"orders": (0, 0)},
        duckdb="SELECT ts, unnest([1, usr]) AS x FROM orders",
    ),
    Case(
        "trailing frame",
        "SELECT ts, id, sum(amount) OVER (PARTITION BY usr ORDER BY ts RANGE BETWEEN INTERVAL 1 "
        "HOUR PRECEDING AND CURRENT ROW) AS s FROM orders",
        "ts",
        {"orders": (-H, 0)},
    ),
    Case(
        "frame both ways, descending",
        "SELECT ts, id, sum(amount) OVER (ORDER BY ts DESC RANGE BETWEEN INTERVAL 60 MINUTES "
        "PRECEDING AND INTERVAL 10 MINUTES FOLLOWING) AS s FROM orders",
        "ts",
        {"orders": (-10 * M, H)},
    ),
    Case(
        "named window",
        "SELECT ts, id, count(*) OVER w AS n FROM orders WINDOW w AS (ORDER BY ts RANGE BETWEEN "
        "INTERVAL 5 MINUTES PRECEDING AND CURRENT ROW)",
        "ts",
        {"orders": (-5 * M, 0)},
    ),
    Case(
        "greatest of a band",
        "SELECT greatest(o.ts, c.ts) AS t, o.id FROM orders o JOIN clicks c ON c.ts BETWEEN o.ts "
        "AND o.ts + INTERVAL 1 HOUR",
        "t",
        {"orders": (-H, 0), "clicks": (0, 0)},
    ),
    Case(
        "least of a symmetric band",
        "SELECT least(o.ts, c.ts) AS t, o.id FROM orders o JOIN clicks c ON c.ts BETWEEN "
        "o.ts - INTERVAL 1 HOUR AND o.ts + INTERVAL 1 HOUR",
        "t",
        {"orders": (0, H), "clicks": (0, H)},
    ),
    Case(
        "the same source twice",
        "SELECT a.ts, b.id FROM orders a JOIN orders b ON b.ts BETWEEN a.ts - INTERVAL 1 HOUR AND "
        "a.ts AND a.usr = b.usr",
        "ts",
        {"orders": (-H, 0)},
    ),
    Case(
        "bound through another column",
        "SELECT shipped, id FROM orders WHERE shipped BETWEEN ts AND ts + INTERVAL 1 HOUR",
        "shipped",
        {"orders": (-H, 0)},
    ),
    # Buckets.
    Case("hourly", HOURLY, "h", {"orders": HOUR}),
    Case(
        "key called like the column",
        "SELECT date_trunc('hour', ts) AS ts, count(*) AS n FROM orders GROUP BY "
        "date_trunc('hour', ts)",
        "ts",
        {"orders": HOUR},
    ),
    Case(
        "by column that an alias hides",
        "SELECT date_trunc('hour', ts) AS ts, count(*) AS n FROM orders GROUP BY ts",
        "ts",
        {"orders": HOUR},
        duckdb="SELECT date_trunc('hour', o.ts) AS ts, count(*) AS n FROM orders o GROUP BY o.ts",
    ),
    Case(
        "group by all",
        "SELECT date_trunc('minute', ts) AS m, usr, count(*) AS n FROM orders GROUP BY ALL",
        "m",
        {"orders": (0, M - 1)},
    ),
    Case(
        "with queries",
        f"WITH a AS ({HOURLY}), b AS (SELECT h, n FROM a WHERE n > 1) SELECT * FROM b",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "tumbling window",
        "SELECT window.start AS w, window.end AS e, count(*) AS n FROM orders "
        "GROUP BY window(ts, '1 hour')",
        "w",
        {"orders": HOUR},
        duckdb="SELECT time_bucket(INTERVAL 1 HOUR, ts) AS w, time_bucket(INTERVAL 1 HOUR, ts) + "
        "INTERVAL 1 HOUR AS e, count(*) AS n FROM orders WHERE ts IS NOT NULL GROUP BY 1",
    ),
    Case(
        "sliding window's end",
        "SELECT w.end AS e, count(*) AS n FROM (SELECT window(ts, '1 hour', '15 minutes') AS w "
        "FROM orders) GROUP BY w.end",
        "e",
        {"orders": (-H, -1)},
        duckdb="SELECT time_bucket(INTERVAL 15 MINUTES, ts) + i * INTERVAL 15 MINUTES AS e, "
        "count(*) AS n FROM orders, range(1, 5) r(i) WHERE ts IS NOT NULL GROUP BY 1",
    ),
    Case(
        "time_bucket",
        "SELECT time_bucket(INTERVAL 5 MINUTES, ts) AS b, max(amount) AS m FROM orders GROUP BY 1",
        "b",
        {"orders": (0, 5 * M - 1)},
        duckdb="SELECT time_bucket(INTERVAL 5 MINUTES, ts) AS b, max(amount) AS m FROM orders "
        "GROUP BY 1",
    ),
    Case(
        "daily distinct",
        "SELECT CAST(ts AS DATE) AS d, count(DISTINCT usr) AS n FROM orders GROUP BY 1",
        "d",
        {"orders": DAY},
    ),
    Case(
        "distinct", "SELECT DISTINCT CAST(ts AS DATE) AS d, usr FROM orders", "d", {"orders": DAY}
    ),
    Case(
        "to_date, date_add",
        "SELECT date_add(to_date(ts), 1) AS due, count(*) AS n FROM orders GROUP BY 1",
        "due",
        {"orders": (-D, -1)},
        duckdb="SELECT CAST(ts AS DATE) + 1 AS due, count(*) AS n FROM orders GROUP BY 1",
    ),
    Case(
        "weekly",
        "SELECT date_trunc('WEEK', ts) AS w, count(*) AS n FROM orders GROUP BY 1",
        "w",
        {"orders": (0, 7 * D - 1)},
    ),
    Case(
        "monthly",
        "SELECT trunc(ts, 'MM') AS m, count(*) AS n FROM orders GROUP BY 1",
        "m",
        {"orders": (0, 31 * D - 1)},
        duckdb="SELECT CAST(date_trunc('month', ts) AS DATE) AS m, count(*) AS n FROM orders "
        "GROUP BY 1",
    ),
    Case(
        "a month later",
        "SELECT ts + INTERVAL 1 MONTH AS t, id FROM orders",
        "t",
        {"orders": (-31 * D, -28 * D)},
    ),
    Case(
        "rollup of a rollup",
        f"SELECT date_trunc('day', h) AS d, sum(n) AS n, max(s) AS s FROM ({HOURLY}) GROUP BY 1",
        "d",
        {"orders": DAY},
    ),
    Case(
        "busiest five minutes of the hour",
        "SELECT date_trunc('hour', b) AS h, max(n) AS n FROM (SELECT "
        "time_bucket(INTERVAL 5 MINUTES, "
        "ts) AS b, count(*) AS n FROM orders GROUP BY 1) GROUP BY 1",
        "h",
        {"orders": HOUR},
        duckdb="SELECT date_trunc('hour', b) AS h, max(n) AS n FROM (SELECT time_bucket(INTERVAL 5 "
        "MINUTES, ts) AS b, count(*) AS n FROM orders GROUP BY 1) GROUP BY 1",
    ),
    Case(
        "last time in the hour",
        "SELECT date_trunc('hour', ts) AS h, max(ts) AS last FROM orders GROUP BY 1",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "only the last time",
        "SELECT usr, max(ts) AS last FROM orders GROUP BY usr, date_trunc('hour', ts)",
        "last",
        {"orders": (1 - H, H - 1)},
    ),
    Case(
        "rank within the hour",
        "SELECT date_trunc('hour', ts) AS h, id, rank() OVER (PARTITION BY date_trunc('hour', ts) "
        "ORDER BY amount, id) AS r FROM orders",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "first of each hour",
        "SELECT ts, id FROM orders QUALIFY row_number() OVER (PARTITION BY date_trunc('hour', ts) "
        "ORDER BY ts, id) = 1",
        "ts",
        {"orders": (1 - H, H - 1)},
    ),
    Case(
        "share of the day",
        f"SELECT h, n / sum(n) OVER (PARTITION BY CAST(h AS DATE)) AS share FROM ({HOURLY})",
        "h",
        {"orders": (-23 * H, D - 1)},
    ),
    Case(
        "hour and the one before",
        f"SELECT a.h, a.n, b.n AS p FROM ({HOURLY}) a LEFT JOIN ({HOURLY}) b "
        "ON b.h = a.h - INTERVAL 1 HOUR",
        "h",
        {"orders": (-H, H - 1)},
    ),
    Case(
        "hourly full join",
        f"SELECT coalesce(a.h, b.h) AS h, a.n, b.n AS m FROM ({HOURLY}) a FULL JOIN ({CLICKS}) b "
        "ON a.h = b.h",
        "h",
        {"orders": HOUR, "clicks": HOUR},
    ),
    Case(
        "hourly full join using",
        f"SELECT h, a.n, b.n AS m FROM ({HOURLY}) a FULL JOIN ({CLICKS}) b USING (h)",
        "h",
        {"orders": HOUR, "clicks": HOUR},
    ),
    Case(
        "inner join of the same hour",
        "SELECT date_trunc('hour', o.ts) AS h, count(*) AS n FROM orders o JOIN clicks c ON "
        "date_trunc('hour', o.ts) = date_trunc('hour', c.ts) AND o.usr = c.usr GROUP BY 1",
        "h",
        {"orders": HOUR, "clicks": HOUR},
    ),
    Case(
        "counted band join",
        "SELECT date_trunc('hour', o.ts) AS h, count(DISTINCT c.id) AS n FROM orders o LEFT JOIN "
        "clicks c ON c.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR GROUP BY 1",
        "h",
        {"orders": HOUR, "clicks": (0, 2 * H - 1)},
    ),
    Case(
        "having",
        f"{HOURLY} HAVING count(*) > 1",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "rollup below the hour",
        "SELECT date_trunc('hour', ts) AS h, usr, count(*) AS n FROM orders "
        "GROUP BY date_trunc('hour', ts), ROLLUP (usr)",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "grouping sets that all have the hour",
        "SELECT date_trunc('hour', ts) AS h, usr, count(*) AS n FROM orders GROUP BY GROUPING SETS "
        "((date_trunc('hour', ts), usr), (date_trunc('hour', ts)))",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "calendar keeps its days",
        "SELECT c.day, count(o.id) AS n FROM cal c LEFT JOIN orders o ON CAST(o.ts AS "
        "DATE) = c.day "
        "GROUP BY c.day",
        "day",
        {"orders": DAY},
    ),
    Case(
        "dates as event times",
        "SELECT a.d, count(*) AS n FROM days a JOIN orders o ON CAST(o.ts AS DATE) = a.d "
        "GROUP BY a.d",
        "d",
        {"days": (0, 0), "orders": DAY},
    ),
    Case(
        "hour that compares with the day's",
        "SELECT a.h, a.n FROM (SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM orders GROUP "
        "BY 1) a JOIN (SELECT date_trunc('day', ts) AS d, avg(amount) AS m FROM orders "
        "GROUP BY 1) b "
        "ON date_trunc('day', a.h) = b.d WHERE a.n > b.m",
        "h",
        {"orders": (-23 * H, D - 1)},
    ),
    Case(
        "full join of which both sides are asked for",
        f"SELECT a.h, a.n, b.n AS m FROM ({HOURLY}) a FULL JOIN ({CLICKS}) b ON a.h = b.h"
        " WHERE a.n > 0 AND b.n > 1",
        "h",
        {"orders": HOUR, "clicks": HOUR},
    ),
    Case(
        "dates before timestamps in a union",
        "SELECT CAST(t AS DATE) AS d, count(*) AS n FROM (SELECT d AS t FROM days UNION ALL "
        "SELECT ts FROM orders) GROUP BY 1",
        "d",
        {"days": DAY, "orders": DAY},
    ),
    Case(
        "table in a WITH that nothing reads",
        "WITH old AS (SELECT * FROM clicks) SELECT date_trunc('hour', ts) AS h, count(*) AS n "
        "FROM orders GROUP BY 1",
        "h",
        {"orders": HOUR},
    ),
    Case(
        "column called like a function",
        "SELECT hour, count(*) AS `count` FROM (SELECT date_trunc('hour', ts) AS hour FROM orders) "
        "GROUP BY hour",
        "hour",
        {"orders": HOUR},
    ),
)
