"""The columns of a Parquet feed without `schema:`, from run to run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import LongType, StructType

from freshline.core.errors import PlatformError
from freshline.project.model import Project
from freshline.spark.feeds.reader import FeedReader
from tests.support.shop import Shop, made_shop


def session(*columns: str) -> Any:
    """A session to which every file has these columns."""
    schema = StructType()
    for name in columns:
        schema.add(name, LongType())
    reader: Any = SimpleNamespace(
        format=lambda _: reader,
        options=lambda **_: reader,
        load=lambda _: SimpleNamespace(schema=schema),
    )
    return SimpleNamespace(read=reader)


def columns_of(project: Project, found: Any, names: list[str]) -> list[str]:
    """As a new process takes them."""
    reader = FeedReader(project, project.feeds["orders_feed"])
    return reader.schema(found, names).names


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Its feed was read at its first place, and its columns are written down."""
    shop = made_shop(tmp_path, {"orders": ()})
    feed = shop.project.feeds["orders_feed"]
    without = dataclasses.replace(feed, format="parquet", schema=None)
    shop = Shop(dataclasses.replace(shop.project, feeds={"orders_feed": without}))
    assert columns_of(shop.project, session("id", "amount"), ["a.parquet"]) == ["id", "amount"]
    return shop


def moved(shop: Shop) -> Project:
    feed = dataclasses.replace(shop.project.feeds["orders_feed"], path=str(shop.root / "other"))
    return dataclasses.replace(shop.project, feeds={"orders_feed": feed})


def test_a_new_table_has_the_columns_of_the_place_where_its_feed_is_now(shop: Shop) -> None:
    assert columns_of(moved(shop), session("id", "shop"), ["b.parquet"]) == ["id", "shop"]


def test_they_are_looked_for_in_files_alone(shop: Shop) -> None:
    assert columns_of(moved(shop), session("id", "shop"), []) == ["id", "amount"]


def test_a_table_that_is_filled_keeps_its_columns(shop: Shop) -> None:
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    for project in (shop.project, moved(shop)):  # `freshline accept` says that its files moved
        assert columns_of(project, session("id", "shop"), ["b.parquet"]) == ["id", "amount"]


def test_without_a_file_or_a_note_they_are_not_known(shop: Shop, tmp_path: Path) -> None:
    project = dataclasses.replace(shop.project, root=tmp_path, storage=str(tmp_path / "none"))
    with pytest.raises(PlatformError, match="declares no schema and has no file to take it from"):
        columns_of(project, session(), [])
