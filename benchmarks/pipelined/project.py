"""The project of pipelines.py: three feeds, three tables loaded from them, five views.

Every view carries ``due_s``, up to which its rows count the arrivals: so what a version holds
is in its Delta log's statistics, whoever made it. A file has rows of every key.
"""

from __future__ import annotations

from benchmarks.common.projects import FeedSpec, TableSpec
from benchmarks.overload.workload import Arrivals, Workload, loading

_BY_KEY = (
    "SELECT key, count(*) AS n, sum(amount) AS total, max(due_s) AS due_s FROM {} GROUP BY key"
)
_BASES = (
    ("clicks", "csv", 2.0, 1000),
    ("orders", "json", 3.0, 500),
    ("prices", "parquet", 6.0, 300),
)

PROJECT = Workload(
    tuple(
        Arrivals(FeedSpec(f"{name}_feed", kind, period_s), rows)
        for name, kind, period_s, rows in _BASES
    ),
    (
        *(TableSpec(name, 1.0, loading(name)) for name, *_ in _BASES),
        TableSpec("clicks_by_key", 2.0, _BY_KEY.format("clicks")),
        TableSpec("orders_by_key", 5.0, _BY_KEY.format("orders")),
        TableSpec("prices_by_key", 1.0, _BY_KEY.format("prices")),
        TableSpec(
            "orders_per_click",
            8.0,
            "SELECT o.key, o.n / c.n AS share, least(o.due_s, c.due_s) AS due_s"
            " FROM orders_by_key o JOIN clicks_by_key c ON o.key = c.key",
        ),
        TableSpec(
            "totals",
            3.0,
            "SELECT sum(n) AS n, sum(total) AS total, max(due_s) AS due_s FROM orders_by_key",
        ),
    ),
)
