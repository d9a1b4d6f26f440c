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
QUERIES = {
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
