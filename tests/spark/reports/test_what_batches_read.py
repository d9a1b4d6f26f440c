"""What a window's batches read beside their new rows, and when the window is begun again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import Shop
from tests.spark.reports.test_report_batches import REGIONS, _sales
from tests.support.share import share

pytestmark = pytest.mark.spark


def spark_rows(shop: Shop) -> list[tuple[Any, ...]]:
    """The report as Spark reads it, which fills up a CHAR."""
    found = shop.session.read.format("delta").load(shop.path("sales")).collect()
    return sorted((tuple(row) for row in found), key=repr)


def test_a_static_table_without_versions_is_read_once(shop: Shop) -> None:
    """By each batch it would be another one, and the result of no state that there ever was."""
    path = shop.root / "regions"
    path.mkdir()
    pq.write_table(pa.table({"shop": ["a"], "region": ["north"]}), path / "1.parquet")
    sales = _sales(shop, query=REGIONS.replace("delta.", "parquet.").format(path))
    early = sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    assert (early.batches, early.code) == (0, "STATIC_UNVERSIONED")
    pq.write_table(pa.table({"shop": ["a"], "region": ["NORTH"]}), path / "2.parquet")
    (path / "1.parquet").unlink()
    sales.batch(orders=sales.orders((2, 7, "a", "2.00")), final=True)
    assert spark_rows(shop) == [("NORTH", 2)]


@pytest.mark.parametrize("later", share([False, True], part=2, first=1))
def test_a_static_table_with_deletion_vectors_is_read_by_every_batch(
    shop: Shop, later: bool
) -> None:
    """Delta reads no version of it by name where its statistics are not believed."""
    rates = f"delta.`{shop.root}/rates`"
    vectors = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    shop.session.sql(f"CREATE TABLE {rates} (shop STRING, rate DOUBLE) USING delta {vectors}")
    shop.session.sql(f"INSERT INTO {rates} VALUES ('a', 1.5D), ('b', 2.5D), ('c', 9D)")
    shop.session.sql(f"DELETE FROM {rates} WHERE shop = 'c'")
    query = (
        f"SELECT r.shop, count(*) AS n, max(r.rate) AS rate FROM orders o JOIN {rates} r"
        " ON o.shop = r.shop GROUP BY r.shop"
    )
    sales = _sales(shop, query=query)
    sales.batch(orders=sales.orders((1, 5, "a", "1.00"), (4, 8, "c", "1.00")))
    if later:
        shop.session.sql(f"UPDATE {rates} SET rate = 7D WHERE shop = 'b'")
    version = sales.orders((2, 6, "b", "1.00"), (3, 7, "c", "1.00"))
    assert sales.batch(orders=version, final=True).batches == 2
    assert spark_rows(shop) == [("a", 1, 1.5), ("b", 1, 2.5)]
