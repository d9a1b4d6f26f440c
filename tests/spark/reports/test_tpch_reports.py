"""TPC-H over orders and lineitem as streams, in batches of which one is empty.

All queries that read a stream, those of the paper (CQ1 to CQ4) among them, and the aggregates
that only Spark can judge: made by the product's batches, equal to the query at once. Orders
come before or after their lines, and an order's lines in two batches. Some of the queries are
made in every run of the tests, all by ``make proof``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from freshline.core.errors import Place
from freshline.executor.report_records import BatchRequest, Window
from freshline.project.model import Feed
from freshline.sql.text.reads import rewritten
from tests.spark.aggregate_queries import AGGREGATES
from tests.spark.conftest import MIDNIGHT_S, Shop
from tests.spark.same_rows import assert_same_rows
from tests.support.share import share
from tests.support.tpch import generate, tpch_names, tpch_query, tpch_sources

pytestmark = pytest.mark.spark

SCALE = 0.005
BATCHES = {
    "orders": ("o_orderkey % 5 < 2", "FALSE", "o_orderkey % 5 >= 2"),
    "lineitem": (
        "l_orderkey % 5 IN (0, 3) AND l_linenumber < 4",
        "FALSE",
        "l_orderkey % 5 NOT IN (0, 3) OR l_linenumber >= 4",
    ),
}
STATICS = [source.name for source in tpch_sources(batch_keys=False) if source.static]
NAMES = [
    *share(tpch_names(), part=24, always=("q03", "q12")),
    *share(list(AGGREGATES), part=24),
]
EMPTY = {"q20", "q21", "empty_groups"}
"""Queries that find nothing in so few rows."""


@dataclass
class Warehouse:
    """Both streams, loaded, and a report of each query.

    Attributes:
        spark: A session with all rows of all tables under their plain names.
        pins: Versions of the streams up to which each batch reads.
    """

    shop: Shop
    spark: SparkSession
    pins: list[dict[str, int]]

    def query(self, name: str) -> str:
        """Its text; a name from Spark that Delta does not take as a column's is replaced."""
        if name not in AGGREGATES:
            return tpch_query(name)
        query = AGGREGATES[name]
        columns = (f"c{number}" for number, _ in enumerate(self.spark.sql(query).columns))
        return f"SELECT * FROM ({query}) AS t({', '.join(columns)})"


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("tpch_reports")
    generate(folder, SCALE)
    warehouse = Warehouse(Shop(folder, spark), spark.newSession(), [])
    for source in tpch_sources(batch_keys=False):
        rows = warehouse.spark.read.parquet(str(folder / f"{source.name}.parquet"))
        rows.createOrReplaceTempView(source.name)
    _streams(warehouse.shop, folder)
    for name in STATICS:  # with versions: else a query that reads one is not run in batches
        warehouse.spark.table(name).write.format("delta").save(str(folder / "statics" / name))
    paths = {name: f"delta.`{folder}/statics/{name}`" for name in STATICS}
    for name in NAMES:
        warehouse.shop.table(f"report_{name}", rewritten(warehouse.query(name), paths))
    for number in range(3):
        versions = {
            stream: warehouse.shop.load(stream, f"{number}.parquet").version for stream in BATCHES
        }
        warehouse.pins.append(versions)
    return warehouse


def _streams(shop: Shop, folder: Path) -> None:
    """Both base tables, and the files of their feeds."""
    with duckdb.connect() as database:
        for name, batches in BATCHES.items():
            files = folder / name
            files.mkdir()
            for number, holds in enumerate(batches):
                rows = f"FROM '{folder}/{name}.parquet' WHERE {holds}"
                database.execute(f"COPY ({rows}) TO '{files}/{number}.parquet'")
            shop.feeds[f"{name}_feed"] = Feed(
                f"{name}_feed", "files", str(files), "parquet", {}, None, None, None,
                Place("freshline.yml", 7),
            )  # fmt: skip
            shop.table(name, f"SELECT * FROM STREAM {name}_feed")


def test_every_query_of_the_paper_is_there() -> None:
    paper = {f"q{number:02}" for number in (1, 3, 4, 6, 9, 10, 12, 14, 19)}
    assert paper | {"cq1", "cq2", "cq3", "cq4"} <= set(tpch_names())


@pytest.mark.parametrize("name", NAMES)
def test_in_batches_equals_at_once(warehouse: Warehouse, name: str) -> None:
    shop = warehouse.shop
    table = shop.project.table(f"report_{name}")
    window = Window(table, MIDNIGHT_S - 60.0, MIDNIGHT_S + 3600.0, MIDNIGHT_S + 7200.0)
    for pins in warehouse.pins[:-1]:
        shop.executor.run_batch(BatchRequest(window, pins, final=False))
    result = shop.executor.run_batch(BatchRequest(window, warehouse.pins[-1], final=True))
    assert (result.batches, result.code) == (3, ""), result.reason

    at_once = warehouse.spark.sql(warehouse.query(name))
    found = warehouse.spark.read.format("delta").load(shop.path(table.name))
    assert found.columns == at_once.columns
    expected = at_once.collect()
    assert_same_rows(expected, found.collect())
    assert bool(expected) != (name in EMPTY)
