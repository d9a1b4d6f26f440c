"""The overloaded workload: 8 feeds and their base tables, 16 views in two layers over them.

Priorities go from 1 to 10 and periods from 1 to 8 seconds; costs differ because files have
100 to 8,000 rows and because views aggregate, rank or join them. Bringing every table up to
date with every file would take about 18 commits a second, where two tracks make a few.
"""

from __future__ import annotations

from benchmarks.common.projects import FeedSpec, TableSpec
from benchmarks.overload.workload import Arrivals, Workload, loading

FEEDS = (
    # name, format, period, rows of a file, priority of its base table
    ("clicks", "csv", 1.0, 2000, 1.0),
    ("pages", "json", 1.0, 400, 1.0),
    ("orders", "parquet", 1.5, 1000, 2.0),
    ("payments", "csv", 2.0, 200, 3.0),
    ("stock", "csv", 3.0, 4000, 1.0),
    ("refunds", "json", 4.0, 100, 2.0),
    ("prices", "parquet", 6.0, 300, 1.0),
    ("visits", "csv", 8.0, 8000, 1.0),
)

BY_KEY = "SELECT key, count(*) AS n, sum(amount) AS total FROM {} GROUP BY key"
JOINED = (
    "SELECT l.key, l.n AS {0}_n, r.n AS {1}_n, l.total - r.total AS gap"
    " FROM (SELECT key, count(*) AS n, sum(amount) AS total FROM {0} GROUP BY key) l"
    " JOIN (SELECT key, count(*) AS n, sum(amount) AS total FROM {1} GROUP BY key) r"
    " ON l.key = r.key"
)
RANKED = (
    "SELECT key, note, total, rank() OVER (PARTITION BY note ORDER BY total DESC) AS place"
    " FROM (SELECT key, note, sum(amount) AS total FROM {} GROUP BY key, note) t"
)
SPREAD = (
    "SELECT note, count(DISTINCT id) AS n, percentile(amount, 0.5) AS middle,"
    " percentile(amount, 0.95) AS high FROM {} GROUP BY note"
)

VIEWS = (
    # name, priority, query
    ("clicks_by_key", 2.0, BY_KEY.format("clicks")),
    ("clicks_spread", 1.0, SPREAD.format("clicks")),
    ("pages_by_key", 1.0, BY_KEY.format("pages")),
    ("clicks_per_page", 4.0, JOINED.format("clicks", "pages")),
    ("orders_by_key", 8.0, BY_KEY.format("orders")),
    ("orders_ranked", 3.0, RANKED.format("orders")),
    ("orders_paid", 10.0, JOINED.format("orders", "payments")),
    ("payments_by_key", 5.0, BY_KEY.format("payments")),
    ("stock_ranked", 2.0, RANKED.format("stock")),
    ("stock_for_orders", 6.0, JOINED.format("stock", "orders")),
    ("refunds_by_key", 4.0, BY_KEY.format("refunds")),
    ("visits_spread", 1.0, SPREAD.format("visits")),
    # over views
    ("orders_total", 9.0, "SELECT sum(n) AS n, sum(total) AS total FROM orders_by_key"),
    (
        "net_by_key",
        7.0,
        (
            "SELECT p.key, p.total - coalesce(r.total, 0) AS net"
            " FROM payments_by_key p LEFT JOIN refunds_by_key r ON p.key = r.key"
        ),
    ),
    (
        "price_of_orders",
        3.0,
        (
            "SELECT o.key, o.total / q.mean AS relative FROM orders_by_key o"
            " JOIN (SELECT key, avg(amount) AS mean FROM prices GROUP BY key) q ON o.key = q.key"
        ),
    ),
    (
        "busiest",
        2.0,
        "SELECT c.key, c.n + g.n AS n FROM clicks_by_key c JOIN pages_by_key g ON c.key = g.key",
    ),
)

CROWD = Workload(
    tuple(
        Arrivals(FeedSpec(f"{name}_feed", kind, period_s), rows)
        for name, kind, period_s, rows, _ in FEEDS
    ),
    (
        *(TableSpec(name, priority, loading(name)) for name, _, _, _, priority in FEEDS),
        *(TableSpec(name, priority, query) for name, priority, query in VIEWS),
    ),
)
