"""The pipeline of pipelines.py: eight tables over three streams, SQL and Python mixed.

Every view carries ``due_s``, up to which its rows count the arrivals: so what a version holds
is in its Delta log's statistics, whoever made it. A file has rows of every key.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.common.projects import SCHEMA, FeedSpec
from benchmarks.overload.workload import Arrivals, Workload

_BASES = (
    ("clicks", "csv", 2.0, 1000),
    ("orders", "json", 3.0, 500),
    ("prices", "parquet", 6.0, 300),
)
ARRIVALS = Workload(
    tuple(
        Arrivals(FeedSpec(f"{name}_feed", kind, period_s), rows)
        for name, kind, period_s, rows in _BASES
    ),
    (),
)
PRIORITIES: dict[str, float] = {
    "clicks": 1.0,
    "orders": 1.0,
    "prices": 1.0,
    "clicks_by_key": 2.0,
    "orders_by_key": 5.0,
    "prices_by_key": 1.0,
    "orders_per_click": 8.0,
    "totals": 3.0,
}
"""Each table's priority, which only freshline looks at, and which weighs its staleness."""
SOURCES: dict[str, tuple[str, ...]] = {
    "clicks_by_key": ("clicks",),
    "orders_by_key": ("orders",),
    "prices_by_key": ("prices",),
    "orders_per_click": ("orders_by_key", "clicks_by_key"),
    "totals": ("orders_by_key",),
}
"""The tables that each view reads."""

_HEAD = "from pyspark import pipelines as dp\n"
_BASE = """

@dp.table(table_properties={{"freshline.priority": "{priority:g}"}})
def {name}():
    stream = spark.readStream.format("{kind}").schema("{schema}")
    return stream.load("{folder}")
"""
_PER_CLICK = """

@dp.materialized_view(table_properties={{"freshline.priority": "{priority:g}"}})
def orders_per_click():
    both = spark.table("orders_by_key").alias("o").join(
        spark.table("clicks_by_key").alias("c"), "key"
    )
    return both.selectExpr("key", "o.n / c.n AS share", "least(o.due_s, c.due_s) AS due_s")
"""
_VIEW = """\
CREATE MATERIALIZED VIEW {name}
  TBLPROPERTIES ('freshline.priority' = '{priority:g}')
  AS {query};
"""
_BY_KEY = (
    "SELECT key, count(*) AS n, sum(amount) AS total, max(due_s) AS due_s FROM {} GROUP BY key"
)


def write_pipeline(root: Path) -> None:
    """A folder as ``spark-pipelines`` and ``freshline`` run it; its streams are empty."""
    spec = {
        "name": "bench",
        "storage": (root / "kept").as_uri(),
        "configuration": {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
        },
        "libraries": [{"glob": {"include": "definitions/**"}}],
    }
    (root / "definitions").mkdir(parents=True)
    (root / "spark-pipeline.yml").write_text(json.dumps(spec, indent=1))  # JSON is YAML
    bases = [
        _BASE.format(
            name=name,
            kind=kind,
            schema=SCHEMA,
            folder=root / "feed" / f"{name}_feed",
            priority=PRIORITIES[name],
        )
        for name, kind, *_ in _BASES
    ]
    per_click = _PER_CLICK.format(priority=PRIORITIES["orders_per_click"])
    (root / "definitions" / "tables.py").write_text(_HEAD + "".join(bases) + per_click)
    queries = {f"{name}_by_key": _BY_KEY.format(name) for name, *_ in _BASES}
    queries["totals"] = (
        "SELECT sum(n) AS n, sum(total) AS total, max(due_s) AS due_s FROM orders_by_key"
    )
    views = [
        _VIEW.format(name=name, query=query, priority=PRIORITIES[name])
        for name, query in queries.items()
    ]
    (root / "definitions" / "views.sql").write_text("\n".join(views))
    empty_streams(root)


def empty_streams(root: Path) -> None:
    """Take the files out of the streams' folders."""
    for feed in ARRIVALS.feeds:
        folder = root / "feed" / feed.name
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
