"""Values in a column of PARTITIONED BY that Delta would give back as others."""

from __future__ import annotations

import json

import pytest

from freshline.core.errors import UserError

pytestmark = pytest.mark.spark

ORDERS = "SELECT id, region FROM STREAM sold"
TOTALS = "SELECT region, count(*) AS n FROM {} GROUP BY region"


@pytest.fixture
def sold(shop):
    folder = shop.feed("sold", "json", "id BIGINT, region STRING")
    (folder / "a.json").write_text('{"id": 1, "region": "north"}\n{"id": 2}\n')
    (folder / "b.json").write_text('{"id": 3, "region": ""}\n{"id": 4, "region": "north"}\n')
    return shop


def test_a_base_table_refuses_it_and_says_what_to_do(sold):
    sold.table("orders", ORDERS, partitioned_by=("region",))
    sold.load("orders", "a.json")
    with pytest.raises(UserError) as refused:
        sold.load("orders", "b.json")
    assert refused.value.render() == (
        "[empty-partition] tables/orders.sql:3: table orders was not updated: partition column"
        " region holds an empty text, which Delta keeps as NULL where it partitions; a column of"
        " PARTITIONED BY holds no empty text. Write nullif(column, '') AS column in the query,"
        " or partition by another."
    )
    assert sold.rows("orders") == [{"id": 1, "region": "north"}, {"id": 2, "region": None}]
    sold.table(
        "orders", "SELECT id, nullif(region, '') AS region FROM STREAM sold",
        partitioned_by=("region",),
    )  # fmt: skip
    sold.load("orders", "b.json")
    assert [row["region"] for row in sold.rows("orders")] == ["north", None, None, "north"]


def test_a_table_that_is_partitioned_no_longer_refuses_it_until_all_of_it_is_loaded_again(sold):
    sold.table("orders", ORDERS, partitioned_by=("region",))
    sold.load("orders", "a.json")
    sold.table("orders", ORDERS)
    with pytest.raises(UserError) as refused:
        sold.load("orders", "b.json")
    assert refused.value.code == "empty-partition"
    assert refused.value.next_step == (
        "PARTITIONED BY no longer has the column, but the table is divided by it until"
        " `freshline refresh orders --full`."
    )
    sold.load("orders", "a.json", "b.json", full=True)
    assert [row["region"] for row in sold.rows("orders")] == ["north", None, "", "north"]


@pytest.mark.parametrize("refresh", ["full", "incremental"])
def test_a_view_refuses_it_however_it_is_computed(sold, refresh):
    sold.table("orders", ORDERS)
    sold.table("totals", TOTALS.format("orders"), partitioned_by=("region",), refresh=refresh)
    version = sold.load("orders", "a.json").version
    sold.derive("totals", orders=version)
    before = sold.rows("totals")
    version = sold.load("orders", "b.json").version
    with pytest.raises(UserError) as refused:
        sold.derive("totals", orders=version)
    assert refused.value.code == "empty-partition"
    assert sold.rows("totals") == before


def test_it_is_a_text_like_any_other_where_nothing_is_partitioned_by_it(sold):
    sold.table("orders", ORDERS)
    sold.load("orders", "a.json")
    sold.load("orders", "b.json")
    assert [row["region"] for row in sold.rows("orders")] == ["north", None, "", "north"]


LOST = {
    "TIMESTAMP": ("2024-10-27T01:30:00Z", "2024-10-27T00:30:00Z"),  # 2:30 in Berlin, twice
    "STRING": ("__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION_"),
    "BINARY": ("/w==", "QQ=="),
}


@pytest.mark.parametrize("kind", LOST)
def test_a_value_that_would_come_back_as_another_is_refused(shop, kind):
    folder = shop.feed("sold", "json", f"id BIGINT, part {kind}")
    for name, value in zip(("lost.json", "kept.json"), LOST[kind], strict=True):
        (folder / name).write_text(json.dumps({"id": 1, "part": value}))
    shop.table("orders", "SELECT id, part FROM STREAM sold", partitioned_by=("part",))
    with pytest.raises(UserError) as refused:
        shop.load("orders", "lost.json")
    assert refused.value.code == "lost-partition"
    shop.load("orders", "kept.json")
    kept = shop.session.read.format("delta").load(shop.path("orders"))
    expected = shop.session.read.schema(kept.schema).json(str(folder / "kept.json"))
    assert kept.collect() == expected.collect()
