"""The kinds of views that are proved: those of the analysis' tests, and those without buckets.

For each the strategy that an update must take. ``bucket-merge`` stands for views with both
buckets and a state: they are recomputed until that was slow, and then merged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from freshline.sql.query.normal import normalise
from tests.support.view_cases import CASES, HOURLY, SOURCES

STATICS = tuple(source.name for source in SOURCES if source.static)
STREAMS = tuple(source for source in SOURCES if not source.static)

APPENDED = {
    "filter", "stream with static", "static keeps nothing", "shifted", "union all",
    "union all of one stream twice", "explode", "a month later", "bound through another column",
}  # fmt: skip
MERGED = {
    "left join whose matches alone stay",
    "hourly", "key called like the column", "by column that an alias hides", "group by all",
    "with queries", "tumbling window", "sliding window's end", "time_bucket", "daily distinct",
    "distinct", "to_date, date_add", "weekly", "monthly", "rollup of a rollup",
    "busiest five minutes of the hour", "last time in the hour", "only the last time", "having",
    "rollup below the hour", "grouping sets that all have the hour", "calendar keeps its days",
    "column called like a function", "except", "intersect", "dates as event times",
    "share of the day", "hour and the one before", "hourly full join", "hourly full join using",
    "inner join of the same hour", "hour that compares with the day's",
    "full join of which both sides are asked for", "dates before timestamps in a union",
    "table in a WITH that nothing reads",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A view that is proved.

    Attributes:
        name: Of the view.
        query: Over the sources, static ones under their plain names.
        way: Strategy of its updates, ``full`` and ``append`` with a code where it is another one.
        duckdb: The same query for DuckDB; None: Spark alone judges.
        why: What it is, for the table in the docs.
    """

    name: str
    query: str
    way: str
    duckdb: str | None
    why: str


def slug(text: str) -> str:
    """A name for a table."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _analysed() -> list[Kind]:
    kinds = []
    for case in CASES:
        way = "bucket-recompute"
        if case.name in APPENDED:
            way = "append"
        elif case.name in MERGED:
            way = "bucket-merge"
        other = case.duckdb
        if other == "":
            other = normalise(case.query, SOURCES).sql(dialect="duckdb")
        kinds.append(Kind(f"v_{slug(case.name)}", case.query, way, other, case.name))
    return kinds


_MORE = (
    # Groups without a bucket: states.
    ("totals per user", "group-merge", ("SELECT usr, sum(amount) AS s, count(*) AS n, "
     "avg(amount) AS a FROM orders GROUP BY usr")),
    ("rollup", "group-merge", ("SELECT usr, id % 3 AS k, sum(amount) AS s, grouping(usr) AS g "
     "FROM orders GROUP BY ROLLUP (usr, id % 3)")),
    ("cube", "group-merge", ("SELECT usr, amount, count(*) AS n FROM orders "
     "GROUP BY CUBE (usr, amount)")),
    ("grand total", "group-merge", ("SELECT count(*) AS n, sum(amount) AS s, max(ts) AS last "
     "FROM orders")),
    ("who ever ordered", "group-merge", "SELECT DISTINCT usr FROM orders"),
    ("counts of distinct", "group-merge", ("SELECT usr, count(DISTINCT amount) AS d, "
     "count(DISTINCT id) AS i FROM orders GROUP BY usr")),
    ("deviations", "group-merge", ("SELECT usr, stddev(amount) AS s, var_pop(amount) AS v "
     "FROM orders GROUP BY usr")),
    ("having in groups", "group-merge", ("SELECT usr, count(*) AS n FROM orders GROUP BY usr "
     "HAVING count(*) > 4")),
    ("unbounded join in groups", "group-merge", ("SELECT o.usr, count(*) AS n, sum(c.n) AS s "
     "FROM orders o JOIN clicks c ON o.usr = c.usr GROUP BY o.usr")),
    ("static keeps its rows in groups", "group-merge", ("SELECT u.usr, count(o.id) AS n FROM users "
     "u LEFT JOIN orders o ON o.usr = u.usr GROUP BY u.usr")),
    ("groups of groups", "group-merge", ("SELECT n, count(*) AS users FROM (SELECT usr, count(*) "
     "AS n FROM orders GROUP BY usr) GROUP BY n")),
    ("busiest users", "group-merge", ("SELECT usr, count(*) AS n FROM orders GROUP BY usr "
     "ORDER BY n DESC, usr LIMIT 2")),
    ("share of all", "group-merge", ("SELECT usr, count(*) / sum(count(*)) OVER () AS share "
     "FROM orders GROUP BY usr")),
    # States that hold rows: for partners that come in other batches.
    ("outer join in groups", "group-merge", ("SELECT o.usr, count(*) AS n, count(c.id) AS c, "
     "sum(c.n) AS s, sum(o.amount) AS a FROM orders o LEFT JOIN clicks c ON o.usr = c.usr "
     "AND c.n > 1 GROUP BY o.usr")),
    ("without a partner", "group-merge", ("SELECT o.usr, count(*) AS n FROM orders o LEFT JOIN "
     "clicks c ON o.usr = c.usr AND o.id < c.id WHERE c.id IS NULL GROUP BY o.usr")),
    ("every group of both", "group-merge", ("SELECT o.usr, c.usr AS other, count(*) AS n, "
     "max(o.ts) AS last FROM orders o FULL JOIN clicks c ON o.usr = c.usr AND o.id = c.n "
     "GROUP BY o.usr, c.usr")),
    ("pairs", "group-merge", ("SELECT a.usr, count(*) AS n, sum(b.amount) AS s FROM orders a "
     "JOIN orders b ON a.usr = b.usr AND a.id < b.id GROUP BY a.usr")),
    ("above the mean of both", "group-merge", ("SELECT sum(v) AS v, count(*) AS n FROM (SELECT id "
     "AS v FROM orders WHERE id > (SELECT avg(id) FROM clicks) UNION ALL SELECT n FROM clicks "
     "WHERE n < (SELECT avg(id) FROM orders)) AS q")),
    # What is often asked in a way that needs all rows, in one that merges (``ASKED``).
    ("newest row of each key", "group-merge", ("SELECT usr, o.ts, o.id, o.amount FROM (SELECT usr, "
     "max(struct(ts, id, amount)) AS o FROM orders GROUP BY usr)")),
    ("rows with no partner", "group-merge", ("SELECT o.id, o.usr FROM orders o LEFT JOIN clicks c "
     "ON c.id = o.id GROUP BY o.id, o.usr HAVING count(c.id) = 0")),
    ("rows with a partner", "group-merge", ("SELECT o.id, o.usr FROM orders o JOIN clicks c "
     "ON c.id = o.id GROUP BY o.id, o.usr")),
    ("each row with its newest partner", "group-merge", ("SELECT o.id, o.usr, max(struct(c.ts, "
     "c.n)).n AS n FROM orders o LEFT JOIN clicks c ON c.id = o.id GROUP BY o.id, o.usr")),
    ("both ends of each key", "group-merge", ("SELECT usr, min(struct(ts, id)).id AS earliest, "
     "max(struct(ts, id)).id AS latest, count(*) AS n FROM orders GROUP BY usr")),
    # Buckets with a state that only Spark has.
    ("hourly exact percentile", "bucket-merge", ("SELECT date_trunc('hour', ts) AS h, "
     "percentile(amount, 0.5) AS p FROM orders GROUP BY 1")),
    # Buckets without a state.
    ("hourly approximate percentile", "bucket-recompute", ("SELECT date_trunc('hour', ts) AS h, "
     "percentile_approx(amount, 0.5) AS p FROM orders GROUP BY 1")),
    ("union of streams", "bucket-merge", ("SELECT ts, usr FROM orders UNION SELECT ts, usr "
     "FROM clicks")),
    # Rows of each stream with all of the others.
    ("unbounded join", "append joined", ("SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c "
     "ON o.usr = c.usr")),
    ("unbounded join by number", "append joined", ("SELECT o.ts, c.id AS c, u.name FROM orders o, "
     "clicks c LEFT JOIN users u ON u.usr = c.usr WHERE c.n = o.id AND o.amount > 1")),
    ("unbounded joins in a union", "append joined", ("SELECT o.id, c.n FROM orders o JOIN clicks c "
     "ON o.id = c.id UNION ALL SELECT -o.id, c.usr FROM clicks c JOIN orders o ON c.n > o.usr")),
    # Keys: their rows depend on rows of theirs alone.
    ("newest row of each key by its rank", "key-recompute", ("SELECT usr, ts, id, amount FROM "
     "orders QUALIFY row_number() OVER (PARTITION BY usr ORDER BY ts DESC, id DESC, amount DESC) "
     "= 1")),
    ("newest partner by its rank", "key-recompute", ("SELECT id, usr, n FROM (SELECT o.id, o.usr, "
     "c.n, row_number() OVER (PARTITION BY o.id, o.usr ORDER BY c.ts DESC, c.n DESC) AS r FROM "
     "orders o LEFT JOIN clicks c ON c.id = o.id) WHERE r = 1")),
    ("anti join by keys", "key-recompute", ("SELECT o.id, o.usr FROM orders o LEFT ANTI JOIN "
     "clicks c ON c.id = o.id")),
    ("semi join by keys", "key-recompute", ("SELECT o.id, o.usr FROM orders o LEFT SEMI JOIN "
     "clicks c ON c.id = o.id")),
    ("left join by keys", "key-recompute", ("SELECT o.usr, o.ts, o.id, c.id AS c FROM orders o "
     "LEFT JOIN clicks c ON o.usr = c.usr")),
    ("either side of a full join", "key-recompute", ("SELECT coalesce(o.usr, c.usr) AS usr, o.id, "
     "c.n FROM orders o FULL JOIN clicks c ON o.usr = c.usr AND o.id = c.id")),
    ("static keeps its rows by keys", "key-recompute", ("SELECT u.usr, u.name, o.id FROM users u "
     "LEFT JOIN orders o ON o.usr = u.usr")),
    ("order before of its user", "key-recompute", ("SELECT usr, id, ts, lag(id) OVER (PARTITION BY "
     "usr ORDER BY ts, id) AS before, sum(amount) OVER (PARTITION BY usr ORDER BY id ROWS "
     "UNBOUNDED PRECEDING) AS s FROM orders")),
    ("in another, or not at all", "key-recompute", ("SELECT usr, id FROM orders o WHERE usr IN "
     "(SELECT usr FROM clicks WHERE n > 2) UNION ALL SELECT c.usr, -c.id FROM clicks c WHERE NOT "
     "EXISTS (SELECT 1 FROM orders o WHERE o.usr = c.usr AND o.id < c.id)")),
    ("number of partners", "key-recompute", ("SELECT o.usr, o.id, (SELECT count(*) FROM clicks c "
     "WHERE c.usr = o.usr AND c.id < o.id) AS n FROM orders o")),
    ("sessions of each user", "key-recompute", ("SELECT usr, session_window(ts, '10 minutes').start"
     " AS s, count(*) AS n FROM orders GROUP BY usr, session_window(ts, '10 minutes')")),
    ("key that another name hides", "key-recompute", ("SELECT usr AS id, id AS usr, rank() OVER "
     "(PARTITION BY usr ORDER BY id) AS r FROM orders")),
    ("rows that only one has, by two columns", "key-recompute", ("SELECT usr, id FROM orders "
     "EXCEPT ALL SELECT usr, id FROM clicks")),
    # In full.
    ("order before", "full WINDOW", ("SELECT id, ts, lag(ts) OVER (PARTITION BY usr ORDER BY ts, "
     "id) AS before FROM orders")),
    ("first five", "full KEEPS_ROWS", ("SELECT ts, id, usr, amount FROM orders ORDER BY ts, id, "
     "amount LIMIT 5")),
    ("unbounded left join", "full UNBOUNDED", ("SELECT o.ts, o.id, c.id AS c FROM orders o LEFT "
     "JOIN clicks c ON o.usr = c.usr")),
    ("static keeps its rows", "full KEEPS_ROWS", ("SELECT u.name, o.ts, o.id FROM users u LEFT "
     "JOIN orders o ON o.usr = u.usr")),
    ("rank among all", "full WINDOW", ("SELECT id, ts, rank() OVER (ORDER BY amount) AS r "
     "FROM orders")),
    ("sessions", "full SESSION", ("SELECT session_window(ts, '10 minutes').start AS s, count(*) "
     "AS n FROM orders GROUP BY session_window(ts, '10 minutes')")),
    ("approximate percentile of all", "key-recompute", ("SELECT usr, percentile_approx(amount, "
     "0.5) AS p FROM orders GROUP BY usr")),
)  # fmt: skip

_SPARK_ONLY = {
    "hourly exact percentile", "hourly approximate percentile", "approximate percentile of all",
    "sessions", "sessions of each user", "newest row of each key",
    "each row with its newest partner", "both ends of each key",
    "newest row of each key by its rank", "anti join by keys",
    "semi join by keys", "newest partner by its rank", "either side of a full join",
}  # fmt: skip

ASKED = {
    "the newest row of each key": ("newest row of each key by its rank", "newest row of each key"),
    "rows that have no partner": ("anti join by keys", "rows with no partner"),
    "rows that have a partner": ("semi join by keys", "rows with a partner"),
    "each row with the newest of its partners": (
        "newest partner by its rank", "each row with its newest partner",
    ),
}  # fmt: skip
"""Questions: the kind of which keys are computed again, and one that merges."""

KINDS = (
    *_analysed(),
    *(
        Kind(
            f"w_{slug(name)}",
            query,
            way,
            None if name in _SPARK_ONLY else normalise(query, SOURCES).sql(dialect="duckdb"),
            name,
        )
        for name, way, query in _MORE
    ),
)

OVER_VIEWS = tuple(
    # Plain enough to mean the same in DuckDB.
    Kind(f"x_{slug(name)}", query, way, query, name)
    for name, way, query in (
        ("rollup of another view", "bucket-merge", ("SELECT date_trunc('day', h) AS d, "
         "sum(n) AS n, max(s) AS s FROM v_hourly GROUP BY 1")),
        ("stream joined to another view", "bucket-recompute", ("SELECT c.ts, c.id, v.n "
         "FROM clicks c LEFT JOIN v_hourly v ON v.h = date_trunc('hour', c.ts)")),
        ("rows of another view", "append", "SELECT h, s FROM v_hourly WHERE n > 2"),
        ("groups of another view's rows", "group-merge", ("SELECT n, count(*) AS hours, "
         "sum(s) AS s FROM v_hourly GROUP BY n")),
        ("groups of another view's groups", "group-merge", ("SELECT n > 4 AS many, "
         "count(*) AS users, max(a) AS a FROM w_totals_per_user GROUP BY 1")),
        ("all of another view in one row", "group-merge", ("SELECT count(*) AS hours, "
         "max(n) AS most, sum(s) AS s FROM v_hourly")),
    )
)  # fmt: skip
"""Their parents rewrite rows whenever some come, so nothing of theirs can be added or merged."""

UNCERTAIN = {
    "rand": ("SELECT ts, rand() AS r FROM orders", "full VOLATILE"),
    "uuid": ("SELECT ts, uuid() AS u FROM orders", "full VOLATILE"),
    "current_timestamp": ("SELECT ts, current_timestamp() AS now FROM orders", "full CLOCK"),
    "current_date": ("SELECT count(*) AS n FROM orders WHERE ts < current_date()", "full CLOCK"),
    "first": ("SELECT usr, first(amount) AS f FROM orders GROUP BY usr", "full ORDER_DEPENDENT"),
    "any_value": (
        "SELECT usr, any_value(amount) AS a FROM orders GROUP BY usr",
        "full ORDER_DEPENDENT",
    ),
    "collect_list": (
        "SELECT usr, collect_list(amount) AS c FROM orders GROUP BY usr",
        "full ORDER_DEPENDENT",
    ),
    "limit": ("SELECT ts, id FROM orders LIMIT 3", "full LIMIT_UNORDERED"),
}
"""Whose results nobody can check: what analysis says of them is all there is to prove."""

__all__ = ["HOURLY", "KINDS", "OVER_VIEWS", "STATICS", "STREAMS", "UNCERTAIN", "Kind"]
