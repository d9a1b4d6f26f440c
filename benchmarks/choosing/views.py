"""Views of many shapes over two base tables, ``e`` and ``o``, and a static table of keys.

Both base tables have the columns of :data:`SCHEMA`. ``{keys}`` is the path of the static table,
with the columns key and region. A view's properties are freshline's, without its prefix.
"""

from __future__ import annotations

from collections.abc import Mapping

SCHEMA = "at TIMESTAMP, key INT, id BIGINT, amount BIGINT"

_SUMS = "count(*) AS n, sum(amount) AS total"
_HOUR = "date_trunc('HOUR', at)"
_BY_HOUR, _BY_DAY = {"time": "hour"}, {"time": "day"}

View = tuple[str, Mapping[str, str]]

ROW_BY_ROW: Mapping[str, View] = {
    "rows": ("SELECT at, key, amount * 2 AS twice FROM e WHERE key % 3 = 0", {}),
    "large_amounts": ("SELECT id, at, amount FROM e WHERE amount > 9000", {}),
    "with_region": (
        "SELECT e.at, e.id, k.region, e.amount FROM e JOIN delta.`{keys}` k ON e.key = k.key",
        {},
    ),
    "of_some_regions": (
        (
            "SELECT id, at, amount FROM e WHERE key IN"
            " (SELECT key FROM delta.`{keys}` WHERE region < 'region 12')"
        ),
        {},
    ),
    "both_feeds": (
        "SELECT 'e' AS source, at, amount FROM e UNION ALL SELECT 'o', at, amount FROM o",
        {},
    ),
}
"""Views that new rows are appended to."""

BY_GROUPS: Mapping[str, View] = {
    "by_key": (f"SELECT key, {_SUMS} FROM e GROUP BY key", {}),
    "means": ("SELECT key, avg(amount) AS mean, stddev(amount) AS spread FROM e GROUP BY key", {}),
    "shares": (
        (
            "SELECT key, count_if(amount > 5000) / count(*) AS share,"
            " sum(CASE WHEN amount % 2 = 0 THEN amount ELSE 0 END) AS even FROM e GROUP BY key"
        ),
        {},
    ),
    "by_region": (
        (
            "SELECT k.region, count(*) AS n, sum(e.amount) AS total FROM e"
            " JOIN delta.`{keys}` k ON e.key = k.key GROUP BY k.region"
        ),
        {},
    ),
    "known_regions": (
        (
            "SELECT coalesce(k.region, 'unknown') AS region, max(e.at) AS newest, count(*) AS n"
            " FROM e LEFT JOIN delta.`{keys}` k ON e.key = k.key + 500 GROUP BY 1"
        ),
        {},
    ),
    "by_name": ("SELECT concat('key ', key) AS name, min(amount) AS least FROM e GROUP BY 1", {}),
    "by_class": (
        (
            "SELECT CASE WHEN amount < 1000 THEN 'small' WHEN amount < 8000 THEN 'middle'"
            f" ELSE 'large' END AS class, {_SUMS} FROM e GROUP BY 1"
        ),
        {},
    ),
    "many_groups": ("SELECT id % 20000 AS g, max(amount) AS most FROM e GROUP BY id % 20000", {}),
    "very_many_groups": (f"SELECT id % 150000 AS g, {_SUMS} FROM e GROUP BY id % 150000", {}),
    "total": (f"SELECT {_SUMS}, max(amount) AS most FROM e", {}),
    "distinct_keys": ("SELECT DISTINCT key, amount % 7 AS rest FROM e", {}),
    "large_keys": (
        f"SELECT key, {_SUMS} FROM e WHERE amount > 5000 GROUP BY key HAVING sum(amount) > 20000",
        {},
    ),
    "newest_of_key": ("SELECT key, max(struct(at, id, amount)) AS newest FROM e GROUP BY key", {}),
    "flags": (
        "SELECT key, bool_or(amount > 9900) AS peak, bit_or(amount) AS bits FROM e GROUP BY key",
        {},
    ),
    "both_by_key": (
        (
            "SELECT key, sum(amount) AS total FROM (SELECT key, amount FROM e"
            " UNION ALL SELECT key, -amount FROM o) t GROUP BY key"
        ),
        {},
    ),
    "joined_sums": (
        (
            "SELECT l.key, l.total - r.total AS gap FROM"
            " (SELECT key, sum(amount) AS total FROM e GROUP BY key) l JOIN"
            " (SELECT key, sum(amount) AS total FROM o GROUP BY key) r ON l.key = r.key"
        ),
        {},
    ),
    "ranked": (
        (
            "SELECT key, part, total, rank() OVER (PARTITION BY part ORDER BY total DESC) AS place"
            " FROM (SELECT key, id % 20 AS part, sum(amount) AS total FROM e"
            " GROUP BY key, id % 20) t"
        ),
        {},
    ),
    "subtotals": (
        f"SELECT key % 10 AS part, key % 3 AS third, {_SUMS} FROM e GROUP BY ROLLUP (1, 2)",
        {},
    ),
}
"""Views whose groups are not of one time."""

BY_TIME: Mapping[str, View] = {
    "by_hour": (f"SELECT {_HOUR} AS hour, {_SUMS} FROM e GROUP BY {_HOUR}", _BY_HOUR),
    "by_hour_and_key": (
        f"SELECT {_HOUR} AS hour, key, {_SUMS} FROM e GROUP BY {_HOUR}, key",
        _BY_HOUR,
    ),
    "by_minute": (
        f"SELECT date_trunc('MINUTE', at) AS minute, {_SUMS} FROM e GROUP BY 1",
        {"time": "minute"},
    ),
    "by_calendar_day": (f"SELECT date_trunc('DAY', at) AS day, {_SUMS} FROM e GROUP BY 1", _BY_DAY),
    "hourly_means": (f"SELECT {_HOUR} AS hour, avg(amount) AS mean FROM e GROUP BY 1", _BY_HOUR),
    "hourly_regions": (
        (
            f"SELECT {_HOUR} AS hour, k.region, sum(e.amount) AS total FROM e"
            " JOIN delta.`{keys}` k ON e.key = k.key GROUP BY 1, 2"
        ),
        _BY_HOUR,
    ),
    "hourly_keys": (
        f"SELECT {_HOUR} AS hour, count(DISTINCT key) AS keys FROM e GROUP BY 1",
        _BY_HOUR,
    ),
    "daily_median": (
        "SELECT date_trunc('DAY', at) AS day, median(amount) AS middle FROM e GROUP BY 1",
        _BY_DAY,
    ),
    "hourly_gap": (
        (
            f"SELECT l.hour, l.n - r.n AS gap FROM (SELECT {_HOUR} AS hour, count(*) AS n FROM e"
            f" GROUP BY 1) l JOIN (SELECT {_HOUR} AS hour, count(*) AS n FROM o GROUP BY 1) r"
            " ON l.hour = r.hour"
        ),
        _BY_HOUR,
    ),
    "hourly_top": (
        (
            f"SELECT hour, key, total FROM (SELECT {_HOUR} AS hour, key, sum(amount) AS total"
            " FROM e GROUP BY 1, 2) t QUALIFY row_number() OVER (PARTITION BY hour"
            " ORDER BY total DESC, key) <= 3"
        ),
        _BY_HOUR,
    ),
    "busy_hours": (
        f"SELECT {_HOUR} AS hour, count(*) AS n FROM e GROUP BY 1 HAVING count(*) > 2000",
        _BY_HOUR,
    ),
    "sliding": (
        (
            "SELECT window(at, '2 hours', '1 hour').start AS hour, count(*) AS n FROM e"
            " GROUP BY window(at, '2 hours', '1 hour')"
        ),
        _BY_HOUR,
    ),
    "in_both": (
        f"SELECT {_HOUR} AS hour, key FROM e INTERSECT SELECT {_HOUR}, key FROM o",
        _BY_HOUR,
    ),
}
"""Views by buckets of time."""

OVER_VIEWS: Mapping[str, View] = {
    "by_day": (
        (
            "SELECT date_trunc('DAY', hour) AS day, sum(n) AS n, sum(total) AS total FROM by_hour"
            " GROUP BY 1"
        ),
        _BY_DAY,
    ),
    "by_part": ("SELECT key % 10 AS part, sum(n) AS n FROM by_key GROUP BY key % 10", {}),
    "top_keys": ("SELECT key, total FROM by_key WHERE total > 100000", {}),
    "daily_regions": (
        (
            "SELECT date_trunc('DAY', hour) AS day, k.region, sum(n) AS n FROM by_hour_and_key v"
            " JOIN delta.`{keys}` k ON v.key = k.key GROUP BY 1, 2"
        ),
        _BY_DAY,
    ),
    "hour_before": (
        "SELECT hour, total - lag(total) OVER (ORDER BY hour) AS more FROM by_hour",
        {},
    ),
    "by_month": (
        "SELECT date_trunc('MONTH', day) AS month, sum(n) AS n FROM by_day GROUP BY 1",
        {"time": "month"},
    ),
}
"""Views over views, parents first."""

VIEWS: Mapping[str, View] = {**ROW_BY_ROW, **BY_GROUPS, **BY_TIME, **OVER_VIEWS}
QUICK = ("by_key", "by_hour", "means", "by_day")
