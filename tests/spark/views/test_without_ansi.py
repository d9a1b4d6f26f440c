"""Views of a project that turns ANSI mode off: what overflows is NULL there, and no error."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import Shop
from tests.spark.views.proving import session_in

pytestmark = [pytest.mark.spark, pytest.mark.proof]

ANSI_OFF = {"spark.sql.ansi.enabled": "false"}
PAID = pa.schema({"sku": pa.string(), "cost": pa.decimal128(38, 6), "price": pa.decimal128(18, 2)})
VIEWS = {
    "costs": "SELECT sku, sum(cost) AS s FROM paid GROUP BY sku",
    "prices": "SELECT sku, sum(price) AS s, avg(price) AS a FROM paid GROUP BY sku",
    "pairs": "SELECT p.sku, sum(q.cost) AS s FROM paid p LEFT JOIN paid q ON p.sku = q.sku"
    " GROUP BY p.sku",
}
HALF = Decimal(6).scaleb(31)  # two of them have more digits than the type


@pytest.fixture
def shop(spark, tmp_path):
    shop = Shop(tmp_path, session_in(spark, "UTC", ANSI_OFF))
    shop.feed("paid_feed", "parquet", "sku STRING, cost DECIMAL(38,6), price DECIMAL(18,2)")
    shop.table("paid", "SELECT * FROM STREAM paid_feed")
    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")
    assert not shop.plan().errors
    return shop


def test_a_sum_that_overflowed_stays_null(shop):
    ways: dict[str, list[tuple[str, str]]] = {name: [] for name in VIEWS}
    for number, costs in enumerate(([HALF, HALF], [Decimal(5)])):
        rows = [{"sku": sku, "cost": each, "price": 2} for each in costs for sku in ("a", "b")]
        rows = [{**row, "cost": Decimal(1)} if row["sku"] == "b" else row for row in rows]
        file = Path(shop.feeds["paid_feed"].path) / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, PAID), file)
        version = shop.load("paid", file.name).version
        for name, query in VIEWS.items():
            done = shop.derive(name, paid=version)
            ways[name].append((done.strategy, done.code))
            shop.session.read.format("delta").load(shop.path("paid")).createOrReplaceTempView(
                "paid"
            )
            expected = [row.asDict() for row in shop.session.sql(query).collect()]
            assert shop.rows(name) == sorted(expected, key=repr)
    assert {name: told[-1] for name, told in ways.items()} == {
        "costs": ("full", "OVERFLOW"),
        "prices": ("group-merge", "state-built"),
        "pairs": ("full", "JOIN_ACROSS_BATCHES"),
    }
