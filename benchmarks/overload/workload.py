"""The overloaded workload: 8 feeds and their base tables, 16 views in two layers over them.

Priorities go from 1 to 10 and periods from 1 to 8 seconds; costs differ because files have
100 to 8,000 rows and because views aggregate, rank or join them. Bringing every table up to
date with every file would take about 18 commits a second, where two tracks make a few.

Every row carries ``due_s``, the seconds after the start for which its file stands: so what a
version of a base table contains can be seen in the statistics of its Delta log, whoever made
it. Files come in order, and whole.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.common.projects import FeedSpec, TableSpec, write_file

_FEEDS = (
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

_BY_KEY = "SELECT key, count(*) AS n, sum(amount) AS total FROM {} GROUP BY key"
_JOINED = (
    "SELECT l.key, l.n AS {0}_n, r.n AS {1}_n, l.total - r.total AS gap"
    " FROM (SELECT key, count(*) AS n, sum(amount) AS total FROM {0} GROUP BY key) l"
    " JOIN (SELECT key, count(*) AS n, sum(amount) AS total FROM {1} GROUP BY key) r"
    " ON l.key = r.key"
)
_RANKED = (
    "SELECT key, note, total, rank() OVER (PARTITION BY note ORDER BY total DESC) AS place"
    " FROM (SELECT key, note, sum(amount) AS total FROM {} GROUP BY key, note) t"
)
_SPREAD = (
    "SELECT note, count(DISTINCT id) AS n, percentile(amount, 0.5) AS middle,"
    " percentile(amount, 0.95) AS high FROM {} GROUP BY note"
)

_VIEWS = (
    # name, priority, query
    ("clicks_by_key", 2.0, _BY_KEY.format("clicks")),
    ("clicks_spread", 1.0, _SPREAD.format("clicks")),
    ("pages_by_key", 1.0, _BY_KEY.format("pages")),
    ("clicks_per_page", 4.0, _JOINED.format("clicks", "pages")),
    ("orders_by_key", 8.0, _BY_KEY.format("orders")),
    ("orders_ranked", 3.0, _RANKED.format("orders")),
    ("orders_paid", 10.0, _JOINED.format("orders", "payments")),
    ("payments_by_key", 5.0, _BY_KEY.format("payments")),
    ("stock_ranked", 2.0, _RANKED.format("stock")),
    ("stock_for_orders", 6.0, _JOINED.format("stock", "orders")),
    ("refunds_by_key", 4.0, _BY_KEY.format("refunds")),
    ("visits_spread", 1.0, _SPREAD.format("visits")),
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

FEEDS = tuple(FeedSpec(f"{name}_feed", kind, period_s) for name, kind, period_s, _, _ in _FEEDS)
TABLES = (
    *(
        TableSpec(name, priority, f"SELECT id, due_s, key, amount, note FROM STREAM {name}_feed")
        for name, _, _, _, priority in _FEEDS
    ),
    *(TableSpec(name, priority, query) for name, priority, query in _VIEWS),
)


@dataclass(frozen=True, slots=True)
class Release:
    """One file: when it appears (and for when it stands), and where it lies until then."""

    feed: str
    due_s: float
    staged: str


def stage(folder: Path, seconds: float) -> list[Release]:
    """Write the files of the first ``seconds`` beforehand; the plan of their release."""
    planned = []
    for feed, (*_, period_s, rows, _) in zip(FEEDS, _FEEDS, strict=True):
        (folder / feed.name).mkdir(parents=True)
        for index in range(int(seconds / period_s)):
            due_s = index * period_s
            path = folder / feed.name / f"{index}.{feed.format}"
            write_file(path, rows, due_s, first_id=index * rows)
            planned.append(Release(feed.name, due_s, str(path)))
    planned.sort(key=lambda release: (release.due_s, release.feed))
    (folder / "plan.json").write_text(json.dumps([asdict(each) for each in planned]))
    return planned


def plan(folder: Path) -> list[Release]:
    """What :func:`stage` planned."""
    return [Release(**each) for each in json.loads((folder / "plan.json").read_text())]
