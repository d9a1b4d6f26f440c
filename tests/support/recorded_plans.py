"""Plans that Spark made of queries, recorded so that they can be read without Spark.

``python -m tests.support.recorded_plans`` records them again; a test on Spark fails when they are
no longer what Spark makes of the queries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from freshline.sql.query.records import Source
from freshline.sql.readings.plans import simplified
from freshline.sql.readings.trees import Tree, parsed
from tests.support.view_cases import SOURCES

FILE = Path(__file__).parents[1] / "data" / "readings" / "plans.json"
_UNREAD = (
    "qualifier", "metadata", "nullable", "nonInheritableMetadataKeys", "evalContext", "resultId",
    "rdd", "session", "outputPartitioning", "outputOrdering", "options", "isStreaming", "hint",
    "sameOrderExpressions", "explicitMetadata", "isTempView", "jvmId", "mode", "timeZoneId",
)  # fmt: skip

COUNTS = "SELECT usr, count(*) AS n FROM orders GROUP BY usr"
FRAME = (
    "SELECT ts, id, sum(amount) over (partition by usr order by ts range between"
    " interval 10 minutes preceding and current row) AS s FROM orders"
)
DAY = "PARTITION BY CAST(ts AS DATE)"
HOURS = "SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM orders GROUP BY 1"
NUMBERED = (
    "SELECT ts, id, amount, row_number() OVER (PARTITION BY {} ORDER BY usr) AS rn FROM orders"
)
OF_HOURS = NUMBERED.format("date_trunc('hour', ts)")
CHOOSING = {
    "numbers of a day": "SELECT ts, date_trunc('hour', ts) AS h, CAST(ts AS DATE) AS d,"
    f" row_number() OVER ({DAY} ORDER BY usr) AS n, ntile(2) OVER ({DAY} ORDER BY ts) AS k"
    " FROM orders",
    "ranks of a day": "SELECT ts, rank() OVER ({0}) AS r, dense_rank() OVER ({0}) AS d,"
    " percent_rank() OVER ({0}) AS p, cume_dist() OVER ({0}) AS c,"
    " sum(amount) OVER ({0}) AS s, max(id) OVER ({0} ROWS BETWEEN UNBOUNDED PRECEDING AND"
    " UNBOUNDED FOLLOWING) AS m FROM orders".format(f"{DAY} ORDER BY usr"),
    "neighbours": f"SELECT ts, lag(id) OVER ({DAY} ORDER BY ts) AS n FROM orders",
    "next neighbours": f"SELECT ts, lead(id) OVER ({DAY} ORDER BY usr, id) AS n FROM orders",
    "neighbours' times": f"SELECT ts, lag(ts) OVER ({DAY} ORDER BY ts, usr) AS n FROM orders",
    "frame of rows of a day": f"SELECT ts, sum(amount) OVER ({DAY} ORDER BY ts ROWS 2 PRECEDING)"
    " AS s FROM orders",
    "best of some rows": f"SELECT ts, max_by(amount, struct(id, amount)) OVER ({DAY} ORDER BY usr"
    " ROWS 2 PRECEDING) AS s FROM orders",
    "best of a day": f"SELECT h.h, d.d, d.best FROM ({HOURS}) h JOIN (SELECT CAST(ts AS DATE) AS d,"
    " max_by(id, usr) AS best FROM orders GROUP BY 1) d ON d.d = CAST(h.h AS DATE)",
    "one best of a day": f"SELECT h.h, d.best, d.l, d.s FROM ({HOURS}) h JOIN (SELECT CAST(ts AS"
    " DATE) AS d, max_by(id, struct(usr, id)) AS best, listagg(usr) WITHIN GROUP (ORDER BY usr)"
    " AS l, sum(amount) AS s FROM orders GROUP BY 1) d ON d.d = CAST(h.h AS DATE)",
    "list of a day": f"SELECT h.h, d.l FROM ({HOURS}) h JOIN (SELECT CAST(ts AS DATE) AS d,"
    " listagg(id) WITHIN GROUP (ORDER BY usr) AS l FROM orders GROUP BY 1) d"
    " ON d.d = CAST(h.h AS DATE)",
    "groups in order": "SELECT h, lag(n) OVER (PARTITION BY CAST(h AS DATE) ORDER BY h) AS p"
    f" FROM ({HOURS}) WHERE n > 1",
    "groups that tie": "SELECT h, lag(n) OVER (PARTITION BY CAST(h AS DATE) ORDER BY n) AS p"
    f" FROM ({HOURS})",
    "window over numbers of hours": "SELECT date_trunc('hour', ts) AS h, sum(rn * id) OVER"
    f" ({DAY}) AS s FROM ({OF_HOURS})",
    "window beside numbers of hours": "SELECT date_trunc('hour', ts) AS h, rn, sum(id) OVER"
    f" ({DAY}) AS s FROM ({OF_HOURS})",
    "frame over first rows": "SELECT ts, sum(id) OVER (ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING)"
    f" AS s FROM ({NUMBERED.format('ts')}) WHERE rn = 1",
    "first rows in sliding windows": "SELECT window(ts, '1 hour', '20 minutes').start AS w, sum(id)"
    f" AS s FROM ({NUMBERED.format('ts')}) WHERE rn = 1"
    " GROUP BY window(ts, '1 hour', '20 minutes')",
    "first rows in windows": "SELECT window(ts, '1 hour').start AS w, sum(id) AS s FROM"
    f" ({NUMBERED.format('ts')}) WHERE rn = 1 GROUP BY window(ts, '1 hour')",
    "numbers that nobody looks at": f"SELECT ts, id FROM ({NUMBERED.format('CAST(ts AS DATE)')})",
    "days of numbers of hours": "SELECT date_trunc('day', date_trunc('hour', ts)) AS d, lag(id)"
    " OVER (PARTITION BY date_trunc('hour', ts) ORDER BY usr) AS n FROM orders",
    "numbers of one branch": "SELECT ts AS a, ts AS b, rn FROM"
    f" ({NUMBERED.format('ts')}) UNION ALL SELECT ts, shipped, id FROM orders",
    "days without numbered rows": "SELECT ts, id FROM orders EXCEPT"
    f" SELECT ts, rn FROM ({NUMBERED.format('CAST(ts AS DATE)')})",
    "beside first rows": "SELECT o.ts, CAST(o.ts AS DATE) AS d, CAST(f.ts AS DATE) AS a"
    " FROM orders o LEFT JOIN"
    f" ({NUMBERED.format('CAST(ts AS DATE)')}) f ON CAST(f.ts AS DATE) = CAST(o.ts AS DATE)"
    " AND f.id = o.id AND f.rn = 1",
    "with a number": f"SELECT o.ts, o.id FROM orders o LEFT SEMI JOIN ({NUMBERED.format('ts')}) f"
    " ON f.ts = o.ts AND f.id = o.id AND f.rn = 1",
    "either side's days": "SELECT coalesce(f.ts, o.ts) AS t, f.rn, o.id FROM orders o FULL JOIN"
    f" ({NUMBERED.format('ts')}) f ON f.ts = o.ts AND f.rn = o.id",
    "best in a subquery": "SELECT ts, CAST(ts AS DATE) AS d, (SELECT max_by(x.id, x.usr) FROM"
    " orders x WHERE CAST(x.ts AS DATE) = CAST(o.ts AS DATE)) AS best FROM orders o",
    "first in a subquery": "SELECT ts, CAST(ts AS DATE) AS d, (SELECT x.id FROM orders x WHERE"
    " CAST(x.ts AS DATE) = CAST(o.ts AS DATE) ORDER BY x.usr LIMIT 1) AS best FROM orders o",
    "window over a subquery": "SELECT date_trunc('hour', ts) AS h, sum((SELECT max_by(x.id, x.usr)"
    f" FROM orders x WHERE x.ts = o.ts)) OVER ({DAY}) AS s FROM orders o",
    "among the best": "SELECT ts, CAST(ts AS DATE) AS d FROM orders WHERE (CAST(ts AS DATE), id) IN"
    " (SELECT CAST(ts AS DATE), max_by(id, usr) FROM orders GROUP BY 1)",
    "a day has a number": "SELECT ts FROM orders o WHERE EXISTS (SELECT 1 FROM"
    f" ({NUMBERED.format('CAST(ts AS DATE)')}) f WHERE f.ts = o.ts)",
    "best beside each row": "SELECT o.ts, CAST(o.ts AS DATE) AS d, l.best FROM orders o, LATERAL"
    " (SELECT max_by(x.id, x.usr) AS best FROM orders x WHERE CAST(x.ts AS DATE) ="
    " CAST(o.ts AS DATE)) l",
    "subtotals of numbers": "SELECT ts, rn, count(*) AS n FROM"
    f" ({NUMBERED.format('ts')}) GROUP BY ROLLUP (ts, rn)",
    "tiles of a day": f"SELECT ts, ntile(2) OVER ({DAY} ORDER BY usr) AS k FROM orders",
    "tiles in order of time": f"SELECT ts, ntile(2) OVER ({DAY} ORDER BY ts) AS k FROM orders",
    "next neighbours' times": f"SELECT ts, lead(ts) OVER ({DAY} ORDER BY ts, usr) AS n FROM orders",
    "rows before": f"SELECT ts, count(*) OVER ({DAY} ORDER BY usr ROWS UNBOUNDED PRECEDING) AS n"
    " FROM orders",
    "neighbours by a remainder": f"SELECT ts, lag(id) OVER ({DAY} ORDER BY ts, id % 2) AS n"
    " FROM orders",
    "mode of a day": f"SELECT h.h, d.m FROM ({HOURS}) h JOIN (SELECT CAST(ts AS DATE) AS d,"
    " mode(usr) AS m FROM orders GROUP BY 1) d ON d.d = CAST(h.h AS DATE)",
    "least of a day": f"SELECT h.h, d.m FROM ({HOURS}) h JOIN (SELECT CAST(ts AS DATE) AS d,"
    " min_by(id, usr) AS m FROM orders GROUP BY 1) d ON d.d = CAST(h.h AS DATE)",
    "most frequent of a day": f"SELECT h.h, d.m FROM ({HOURS}) h JOIN (SELECT CAST(ts AS DATE)"
    " AS d, approx_top_k(usr, 2) AS m FROM orders GROUP BY 1) d ON d.d = CAST(h.h AS DATE)",
    "distinct rows in order": f"SELECT ts, id, lag(id) OVER ({DAY} ORDER BY ts, id) AS p"
    " FROM (SELECT DISTINCT ts, id FROM orders)",
    "distinct rows that tie": f"SELECT ts, id, lag(id) OVER ({DAY} ORDER BY ts) AS p"
    " FROM (SELECT DISTINCT ts, id FROM orders)",
    "groups of two keys that tie": "SELECT date_trunc('hour', ts) AS h, usr, lag(count(*)) OVER"
    " (PARTITION BY CAST(date_trunc('hour', ts) AS DATE) ORDER BY date_trunc('hour', ts)) AS p"
    " FROM orders GROUP BY date_trunc('hour', ts), usr",
    "groups of two keys in order": "SELECT date_trunc('hour', ts) AS h, usr, lag(count(*)) OVER"
    " (PARTITION BY CAST(date_trunc('hour', ts) AS DATE) ORDER BY date_trunc('hour', ts), usr) AS p"
    " FROM orders GROUP BY date_trunc('hour', ts), usr",
    "subtotals that tie": "SELECT date_trunc('hour', ts) AS h, usr, lag(count(*)) OVER"
    " (PARTITION BY CAST(date_trunc('hour', ts) AS DATE) ORDER BY date_trunc('hour', ts), usr) AS p"
    " FROM orders GROUP BY date_trunc('hour', ts), ROLLUP (usr)",
    "numbers of moments": "SELECT ts, shipped, greatest(ts, shipped) AS g,"
    " ts + INTERVAL 1 HOUR AS t, row_number() OVER (PARTITION BY ts ORDER BY usr) AS n FROM orders",
    "a first row exists": "SELECT ts, CAST(ts AS DATE) AS d FROM orders o WHERE EXISTS (SELECT 1"
    f" FROM ({NUMBERED.format('CAST(ts AS DATE)')}) f WHERE f.ts = o.ts AND f.rn = 1)",
    "neighbours in windows": f"SELECT h, lag(n) OVER (PARTITION BY CAST(h AS DATE) ORDER BY h) AS p"
    " FROM (SELECT h, n, window(h, '2 hours', '1 hour').start AS w"
    f" FROM ({HOURS}))",
    "read twice": f"WITH f AS ({NUMBERED.format('ts')}) SELECT a.ts, a.rn FROM f a JOIN f b"
    " ON a.ts = b.ts AND a.rn = b.rn",
}
"""Queries that choose among rows that tie, and others of their kind that do not."""

QUERIES = {
    **CHOOSING,
    "rows": "SELECT ts, id FROM orders WHERE amount > 2",
    "frame": FRAME,
    "frame of rows": FRAME.replace("range between interval 10 minutes", "rows between 3"),
    "frame downwards": FRAME.replace("order by ts", "order by ts desc"),
    "hourly": "SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM orders GROUP BY 1",
    "tumbling": "SELECT window.start AS w, count(*) AS n FROM orders GROUP BY window(ts, '1 hour')",
    "sessions": "SELECT session_window(ts, '10 minutes').start AS s, count(*) AS n FROM orders"
    " GROUP BY session_window(ts, '10 minutes')",
    "band": "SELECT o.ts, c.id FROM orders o JOIN clicks c ON c.ts BETWEEN"
    " o.ts - interval 1 hour 30 minutes AND o.ts - interval 1 hour + interval 30 minutes",
    "full using": "SELECT ts, o.id, c.n FROM orders o FULL JOIN clicks c USING (ts)",
    "exists": "SELECT ts, id FROM orders o WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.usr = o.usr"
    " AND c.ts BETWEEN o.ts - INTERVAL 10 MINUTES AND o.ts)",
    "not in": "SELECT ts, id FROM orders WHERE ts NOT IN (SELECT ts FROM clicks)",
    "above the average": f"WITH c AS ({COUNTS}) SELECT usr, n FROM c"
    " WHERE n > (SELECT avg(n) FROM c)",
    "top three": f"({COUNTS}) ORDER BY n DESC LIMIT 3",
    "limited union": "SELECT * FROM ((SELECT ts, id FROM orders UNION ALL SELECT ts, id FROM"
    " clicks) ORDER BY id LIMIT 10)",
    "any": "SELECT any(amount > 5) AS a FROM orders",
    "having alone": "SELECT sum(x) AS s FROM (SELECT 1 AS x FROM orders HAVING max(amount) > 5)",
    "union by place": "SELECT a, b FROM (SELECT ts AS a, shipped AS b FROM orders UNION ALL"
    " SELECT c.ts + INTERVAL 1 HOUR, c.ts FROM clicks c)",
    "one column twice": "SELECT ts, ts FROM orders UNION ALL SELECT ts, ts + INTERVAL 1 HOUR FROM"
    " clicks",
    "union with constants": "SELECT ts, id FROM orders UNION ALL SELECT NULL, 0",
    "exploded subquery": "SELECT o.id, x FROM orders o LATERAL VIEW"
    " explode((SELECT sort_array(collect_set(id)) FROM orders)) e AS x",
    "offset in a subquery": "SELECT id FROM orders WHERE usr IN (SELECT usr FROM users"
    " ORDER BY usr OFFSET 9)",
    "static outer": "SELECT o.ts, u.name FROM orders o LEFT JOIN users u USING (usr)",
    "kept by a static table": "SELECT u.name, o.ts FROM users u LEFT JOIN orders o USING (usr)",
    "itself": "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.usr = b.usr",
    "both": "SELECT o.id, c.n FROM orders o JOIN clicks c ON o.usr = c.usr",
    "joined set": "SELECT usr, concat_ws(',', collect_set(name)) AS names FROM users GROUP BY usr",
    "sorted set": "SELECT usr, sort_array(collect_set(name)) AS names FROM users GROUP BY usr",
    "lateral explode": "SELECT o.ts, x FROM orders o, LATERAL explode(array(o.id, o.usr)) AS t(x)",
    "lateral left": "SELECT o.ts, l.n FROM orders o LEFT JOIN LATERAL (SELECT max(n) AS n FROM"
    " clicks c WHERE c.ts BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR) l",
    "last day": "SELECT last_day(ts) AS d, count(*) AS n FROM orders GROUP BY 1",
    "hints": "SELECT /*+ BROADCAST(u), REPARTITION(3) */ o.ts, u.name FROM orders o"
    " JOIN users u USING (usr)",
    "pivot": "SELECT * FROM (SELECT date_trunc('hour', ts) AS h, usr, amount FROM orders)"
    " PIVOT (sum(amount) FOR usr IN (1, 2))",
    "unpivot": "SELECT * FROM (SELECT ts, id, usr FROM orders) UNPIVOT (v FOR k IN (id, usr))",
    "chance": "SELECT ts, rand(7) AS r FROM orders",
    "clock": "SELECT ts FROM orders WHERE ts < current_timestamp()",
    "any three": "SELECT ts FROM orders LIMIT 3",
    "lateral": "SELECT o.ts, l.n FROM orders o, LATERAL (SELECT max(n) AS n FROM clicks c"
    " WHERE c.ts = o.ts) l",
}


def recorded(name: str) -> Tree:
    """The plan of one of the queries, as it is read."""
    return simplified(parsed(json.dumps(_read()[name]["plan"])))


def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def shortened(value: object) -> object:
    """Spark's JSON without what nobody reads, and with small numbers of attributes."""
    return _shortened(value, {})


def _shortened(value: object, numbers: dict[int, int]) -> object:
    if isinstance(value, list):
        return [_shortened(each, numbers) for each in value]
    if not isinstance(value, Mapping):
        return value
    if "jvmId" in value:
        return {"id": numbers.setdefault(int(value["id"]), len(numbers))}
    kept = {name: each for name, each in value.items() if name not in _UNREAD}
    if "desc" in kept:
        table = kept["desc"]["identifier"]["table"]
        kept["desc"] = {"identifier": {"table": table}}
    if "cteId" in kept:
        kept["cteId"] = numbers.setdefault(-1 - int(kept["cteId"]), len(numbers))
    if str(kept.get("class", "")).endswith("CTERelationDef"):
        kept["id"] = numbers.setdefault(-1 - int(kept["id"]), len(numbers))
    return {name: _shortened(each, numbers) for name, each in kept.items()}


def plans(session: Any, sources: Sequence[Source]) -> dict[str, object]:
    """What the session's Spark makes of the queries, over empty views of the sources."""
    for source in sources:
        columns = ", ".join(f"`{name}` {kind}" for name, kind in source.columns.items())
        session.createDataFrame([], columns).createOrReplaceTempView(source.name)
    found: dict[str, object] = {}
    for name, query in QUERIES.items():
        text = session.sql(query)._jdf.queryExecution().analyzed().toJSON()
        found[name] = {"query": query, "plan": shortened(json.loads(text))}
    return found


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    FILE.parent.mkdir(exist_ok=True)
    lines = [
        f"{json.dumps(name)}: {json.dumps(plan)}" for name, plan in plans(spark, SOURCES).items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
