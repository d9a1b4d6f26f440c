"""The forms of Spark's programming guide for declarative pipelines, in words of our own.

Each section of the guide has its counterpart here: tables from outside, names given to datasets,
temporary views, streams of files, batch files, datasets that read each other, datasets made in a
loop, and several flows into one table; in Python and in SQL. What is not taken is in
``test_documented.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SPEC = """\
name: documented
storage: {storage}
configuration:
  spark.sql.session.timeZone: UTC
libraries:
  - glob:
      include: transformations/**
"""
PYTHON = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, collect_list, lit

TRIPS = "parquet.`{root}/outside/trips`"


@dp.materialized_view
def trips() -> DataFrame:
    return spark.table(TRIPS)


@dp.materialized_view(name="trips_again", comment="the same under a name of its own")
def some_function() -> DataFrame:
    return spark.read.table(TRIPS)


@dp.temporary_view
def long_trips() -> DataFrame:
    return spark.table("trips").where(col("minutes") > 20)


@dp.materialized_view(partition_cols=["zone"], table_properties={"team": "fares"})
def long_trips_by_zone() -> DataFrame:
    return spark.table("long_trips").groupBy("zone").count().withColumnRenamed("count", "trips")


@dp.table
def orders() -> DataFrame:
    schema = "customer_id INT, order_number BIGINT, order_datetime TIMESTAMP"
    return spark.readStream.format("json").schema(schema).load("{root}/in/orders")


@dp.materialized_view
def customers() -> DataFrame:
    read = spark.read.format("csv").option("header", True).option("inferSchema", True)
    return read.load("{root}/outside/customers")


@dp.materialized_view
def customer_orders() -> DataFrame:
    joined = spark.table("orders").join(spark.table("customers"), "customer_id")
    date = col("order_datetime").cast("date").alias("order_date")
    return joined.select("customer_id", "order_number", "state", date)


@dp.materialized_view
def daily_orders_by_state() -> DataFrame:
    counted = spark.table("customer_orders").groupBy("state", "order_date").count()
    return counted.withColumnRenamed("count", "orders")


@dp.temporary_view()
def orders_with_regions() -> DataFrame:
    regions = spark.table("parquet.`{root}/outside/regions`")
    return spark.table("customer_orders").join(regions, "state")


for region in (
    spark.table("parquet.`{root}/outside/regions`")
    .select(collect_list("region"))
    .collect()[0][0]
):

    @dp.materialized_view(name=f"{region.lower().replace(' ', '_')}_orders")
    def orders_of_a_region(wanted=region) -> DataFrame:
        return spark.table("orders_with_regions").filter(f"region = '{wanted}'")


@dp.table
def customers_us_west() -> DataFrame:
    return spark.readStream.schema("id INT, name STRING").json("{root}/in/west")


@dp.table(schema="id INT, name STRING")
def customers_us_east() -> DataFrame:
    return spark.readStream.schema("id INT, name STRING").json("{root}/in/east")


dp.create_streaming_table("customers_us", comment="of both coasts")


@dp.append_flow(target="customers_us")
def append_west() -> DataFrame:
    return spark.readStream.table("customers_us_west").withColumn("coast", lit("west"))


@dp.append_flow(
    target="customers_us", name="append_east", spark_conf={"spark.sql.ansi.enabled": "false"}
)
def append_the_other() -> DataFrame:
    return spark.readStream.table("customers_us_east").withColumn("coast", lit("east"))
"""
SQL = """\
CREATE MATERIALIZED VIEW sql_trips
AS SELECT * FROM parquet.`{root}/outside/trips`;

CREATE TEMPORARY VIEW sql_short_trips
AS SELECT * FROM trips WHERE minutes <= 20;

CREATE STREAMING TABLE sql_orders
AS SELECT * FROM STREAM orders;

CREATE MATERIALIZED VIEW sql_short_count
AS SELECT zone, count(*) AS n FROM sql_short_trips GROUP BY zone;

CREATE MATERIALIZED VIEW sql_customer_orders
AS SELECT
  c.customer_id,
  o.order_number,
  c.state,
  date(o.order_datetime) order_date
FROM sql_orders o
INNER JOIN customers c
ON o.customer_id = c.customer_id;

CREATE MATERIALIZED VIEW sql_daily_orders_by_state
AS SELECT state, order_date, count(*) order_count
FROM sql_customer_orders
GROUP BY state, order_date;

CREATE STREAMING TABLE sql_customers_us;

CREATE FLOW sql_append_west
AS INSERT INTO sql_customers_us BY NAME
SELECT * FROM STREAM(customers_us_west);

CREATE FLOW sql_append_east
AS INSERT INTO sql_customers_us BY NAME
SELECT * FROM STREAM(customers_us_east);
"""
TABLES: dict[str, tuple[str, ...]] = {
    "trips": (),
    "trips_again": (),
    "long_trips_by_zone": ("trips",),
    "orders": (),
    "customers": (),
    "customer_orders": ("orders", "customers"),
    "daily_orders_by_state": ("customer_orders",),
    "far_west_orders": ("customer_orders",),
    "east_orders": ("customer_orders",),
    "customers_us_west": (),
    "customers_us_east": (),
    "customers_us": ("customers_us_west", "customers_us_east"),
    "sql_trips": (),
    "sql_orders": ("orders",),
    "sql_short_count": ("trips",),
    "sql_customer_orders": ("sql_orders", "customers"),
    "sql_daily_orders_by_state": ("sql_customer_orders",),
    "sql_customers_us": ("customers_us_west", "customers_us_east"),
}
"""Each stored table, and those that it reads."""
FLOWS = {
    "customers_us": ("append_west", "append_east"),
    "sql_customers_us": ("sql_append_west", "sql_append_east"),
}
"""The flows into tables that have others than their own."""


def _lines(*rows: dict[str, object]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _order(number: int, customer: int, day: int) -> dict[str, object]:
    at = f"2026-03-{day:02}T09:30:00Z"
    return {"customer_id": customer, "order_number": number, "order_datetime": at}


FILES: tuple[dict[str, str], ...] = (
    {
        "orders/1.json": _lines(*(_order(n, 1 + n % 3, 1 + n % 2) for n in range(12))),
        "west/1.json": _lines({"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}),
        "east/1.json": _lines({"id": 3, "name": "Cy"}),
    },
    {
        "orders/2.json": _lines(*(_order(n, 1 + n % 4, 2 + n % 3) for n in range(12, 20))),
        "west/2.json": _lines({"id": 4, "name": None}),
    },
)
"""What comes before the first run, and before the second."""


def write(root: Path) -> None:
    """The pipeline's files, and the tables outside of it; feeds are below ``in``."""
    outside = root / "outside"
    tables = {
        "trips": {"zone": ["a", "a", "b", None], "minutes": [5, 30, 45, 21]},
        "regions": {"state": ["CA", "NY"], "region": ["Far West", "East"]},
    }
    for name, columns in tables.items():
        (outside / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), outside / name / "1.parquet")
    (outside / "customers").mkdir()
    text = "customer_id,state\n1,CA\n2,NY\n3,CA\n4,OR\n"
    (outside / "customers" / "1.csv").write_text(text)
    (root / "spark-pipeline.yml").write_text(SPEC.format(storage=(root / "kept").as_uri()))
    (root / "freshline.yml").write_text("maintenance: {trials: false}\n")
    folder = root / "transformations"
    folder.mkdir()
    (folder / "in_python.py").write_text(PYTHON.replace("{root}", str(root)))
    (folder / "in_sql.sql").write_text(SQL.replace("{root}", str(root)))


def come(root: Path, files: dict[str, str]) -> None:
    """An instalment of files."""
    for name, text in files.items():
        path = root / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
