"""Feeds of Delta tables as Databricks and others make them, with the features of their protocol."""

from __future__ import annotations

import pytest

from tests.spark.sources.world import World

pytestmark = pytest.mark.spark

FEATURES = {
    "enableDeletionVectors": "true",
    "columnMapping.mode": "name",
    "enableRowTracking": "true",
    "enableTypeWidening": "true",
    "enableInCommitTimestamps": "true",
    "enableChangeDataFeed": "true",
    "checkpointPolicy": "v2",
    "feature.allowColumnDefaults": "supported",
    "constraints.positive": "price > 0",
}


def test_a_table_with_all_features_is_loaded(shop):
    """Rows of each commit come once, under the columns' names, and what is removed is gone."""
    world = World(shop)
    shop.tables = []
    shop.table("orders", "SELECT id, `the kind` AS kind, price FROM STREAM orders_feed")
    sql, at = shop.session.sql, f"delta.`{world.at}`"
    properties = ", ".join(f"'delta.{name}' = '{value}'" for name, value in FEATURES.items())
    sql(
        f"CREATE TABLE {at} (id INT, kind STRING, price INT DEFAULT 5) USING delta"
        f" CLUSTER BY (id) TBLPROPERTIES ({properties})"
    )
    sql(f"INSERT INTO {at} (id, kind) VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    sql(f"ALTER TABLE {at} RENAME COLUMN kind TO `the kind`")
    world.load(*world.news().files)
    assert found(shop) == [(1, "a", 5), (2, "b", 5), (3, None, 5)]
    sql(f"INSERT INTO {at} VALUES (4, 'd', 7)")
    world.load(*world.news().files)
    sql(f"ALTER TABLE {at} ALTER COLUMN id TYPE BIGINT")
    sql(f"INSERT INTO {at} VALUES ({2**40}, 'e', 9)")
    sql(f"DELETE FROM {at} WHERE id = 2")
    sql(f"OPTIMIZE {at} FULL")
    world.load(*world.news().files)
    assert found(shop) == [(1, "a", 5), (3, None, 5), (4, "d", 7), (2**40, "e", 9)]


def found(shop) -> list[tuple[int, str | None, int]]:
    return sorted((row["id"], row["kind"], row["price"]) for row in shop.rows("orders"))
