"""A pipeline of eighteen tables, Python and SQL mixed, and its files in two instalments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SPEC = """\
name: eighteen
storage: {storage}
configuration:
  spark.sql.session.timeZone: UTC
libraries:
  - glob:
      include: definitions/**
"""
PYTHON = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.active()


@dp.table(comment="as they come")
def orders_raw() -> DataFrame:
    schema = "id BIGINT, customer INT, at TIMESTAMP, product INT, quantity INT, price DOUBLE"
    return spark.readStream.format("json").schema(schema).load("{root}/in/orders")


@dp.table
def returns_raw() -> DataFrame:
    rows = spark.readStream.option("header", True).schema("order_id BIGINT, reason STRING")
    return rows.csv("{root}/in/returns").where(F.col("reason").isNotNull())


@dp.temporary_view
def clicks_stream() -> DataFrame:
    clicks = spark.readStream.schema("at TIMESTAMP, customer INT, page STRING")
    return clicks.json("{root}/in/clicks")


@dp.materialized_view
def products() -> DataFrame:
    return spark.range(4).selectExpr("CAST(id AS INT) AS product", "concat('p', id) AS title")


dp.create_streaming_table("events")


@dp.append_flow(target="events")
def ordered() -> DataFrame:
    orders = spark.readStream.table("orders_raw")
    return orders.select("at", "customer", F.lit("order").alias("what"))


@dp.materialized_view(schema="customer INT, at TIMESTAMP, amount DOUBLE, place INT")
def best() -> DataFrame:
    window = Window.partitionBy("customer").orderBy(F.desc("amount"), "id")
    ranked = spark.read.table("priced").withColumn("place", F.row_number().over(window))
    return ranked.where("place <= 2").select("customer", "at", "amount", "place")


@dp.materialized_view
def shares() -> DataFrame:
    whole = spark.table("by_day").agg(F.sum("amount").alias("whole"))
    return spark.table("by_day").crossJoin(whole).selectExpr(
        "day", "round(amount / whole, 6) AS share"
    )


@dp.temporary_view
def large() -> DataFrame:
    return spark.sql("SELECT * FROM priced WHERE amount >= 20")


@dp.materialized_view
def large_days() -> DataFrame:
    return spark.table("large").groupBy(F.to_date("at").alias("day")).count()
"""
SQL = """\
CREATE MATERIALIZED VIEW customers AS
  SELECT * FROM VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Cy') AS t(customer, name);

CREATE STREAMING TABLE clicks AS SELECT at, customer, page FROM STREAM clicks_stream;

CREATE FLOW clicked AS INSERT INTO events BY NAME
  SELECT 'click' AS what, customer, at FROM STREAM clicks;

CREATE STREAMING TABLE priced AS
  SELECT id, customer, at, product, quantity * price AS amount FROM STREAM(orders_raw);

CREATE STREAMING TABLE big AS SELECT * FROM STREAM priced WHERE amount > 10;

CREATE TEMPORARY VIEW known AS
  SELECT p.*, c.name FROM priced p JOIN customers c ON p.customer = c.customer;

CREATE MATERIALIZED VIEW by_day AS
  SELECT CAST(at AS DATE) AS day, count(*) AS n, sum(amount) AS amount FROM priced GROUP BY 1;
"""
MORE_SQL = """\
CREATE MATERIALIZED VIEW by_name AS
  SELECT name, count(*) AS n, max(at) AS last_at FROM known GROUP BY name;

CREATE MATERIALIZED VIEW by_title AS
  SELECT title, count(id) AS n FROM products LEFT JOIN priced USING (product) GROUP BY title;

CREATE MATERIALIZED VIEW returned AS
  SELECT o.id, o.amount, r.reason FROM priced o JOIN returns_raw r ON o.id = r.order_id;

CREATE MATERIALIZED VIEW days AS SELECT DISTINCT day FROM by_day;

CREATE MATERIALIZED VIEW large_count AS SELECT count(*) AS n FROM large;

CREATE MATERIALIZED VIEW visits AS
  SELECT customer, what, count(*) AS n FROM events GROUP BY customer, what;
"""
TABLES: dict[str, tuple[str, ...]] = {
    "orders_raw": (),
    "returns_raw": (),
    "products": (),
    "customers": (),
    "clicks": (),
    "events": ("orders_raw", "clicks"),
    "priced": ("orders_raw",),
    "big": ("priced",),
    "best": ("priced",),
    "by_day": ("priced",),
    "shares": ("by_day",),
    "large_days": ("priced",),
    "by_name": ("priced", "customers"),
    "by_title": ("priced", "products"),
    "returned": ("priced", "returns_raw"),
    "days": ("by_day",),
    "large_count": ("priced",),
    "visits": ("events",),
}
"""Each stored table, and those that it reads."""
FLOWS = {"events": ("ordered", "clicked")}
"""The flows into tables that have others than their own."""


def _lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _order(number: int, customer: int, day: int, quantity: int) -> dict[str, Any]:
    at = f"2026-03-{day:02}T{number % 24:02}:30:00Z"
    return {
        "id": number, "customer": customer, "at": at, "product": number % 3,
        "quantity": quantity, "price": 2.5 + number % 5,
    }  # fmt: skip


def _click(customer: int, day: int, page: str) -> dict[str, Any]:
    return {"at": f"2026-03-{day:02}T08:00:00Z", "customer": customer, "page": page}


FILES: tuple[dict[str, str], ...] = (
    {
        "orders/1.json": _lines(*(_order(n, n % 4, 1 + n % 3, n % 7) for n in range(40))),
        "orders/2.json": _lines(*(_order(n, n % 4, 2 + n % 3, n % 5) for n in range(40, 70))),
        "returns/1.csv": "order_id,reason\n3,broken\n41,late\n5,\n",
        "clicks/1.json": _lines(_click(1, 1, "a"), _click(2, 1, "b"), _click(9, 2, "a")),
    },
    {
        "orders/3.json": _lines(*(_order(n, n % 3, 1 + n % 6, n % 9) for n in range(70, 95))),
        "returns/2.csv": "order_id,reason\n71,broken\n",
        "clicks/2.json": _lines(_click(1, 3, "c")),
    },
)
"""What comes before the first run, and before the second."""


def write(root: Path) -> None:
    """The pipeline's files; feeds are below ``in``."""
    definitions = root / "definitions"
    (definitions / "sql").mkdir(parents=True)
    storage = (root / "kept").as_uri()
    (root / "spark-pipeline.yml").write_text(SPEC.format(storage=storage))
    (root / "freshline.yml").write_text("maintenance: {trials: false}\n")
    (definitions / "tables.py").write_text(PYTHON.replace("{root}", str(root)))
    (definitions / "sql" / "first.sql").write_text(SQL)
    (definitions / "sql" / "more.sql").write_text(MORE_SQL)
