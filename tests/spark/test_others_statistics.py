"""Rows that statistics and dictionaries of files would hide: NaN and the two zeros."""

from __future__ import annotations

import math

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.sources.world import World

pytestmark = pytest.mark.spark

NAN = math.nan
READINGS = ("km > 2", "km <> 1", "km >= 0", "km = 0", "km IN (0, 7)", "part.km > 2", "part.km = 0")


def readings(*km: float, first: int = 0) -> pa.Table:
    """Rows with numbers, as Arrow writes them: NaN is in no statistics."""
    return pa.table(
        {"id": range(first, first + len(km)), "km": km, "part": [{"km": each} for each in km]}
    )


# A file each: without NaN in its statistics, and with one of the zeros in its dictionary.
FILES = [
    readings(NAN, 1.0, 1.0, first=0),
    readings(-0.0, -0.0, first=10),
    readings(0.0, 1.5, 0.0, first=20),
    readings(NAN, NAN, first=30),
]


def is_wanted(km: float, condition: str) -> bool:
    """What Spark says of one number: NaN is greater than all others, and the zeros are equal."""
    value = math.inf if math.isnan(km) else km
    answers = {"km > 2": value > 2, "km <> 1": value != 1, "km >= 0": value >= 0}
    return answers.get(condition.removeprefix("part."), value == 0)


def wanted(condition: str) -> list[int]:
    rows = [row for table in FILES for row in table.to_pylist()]
    return [row["id"] for row in rows if is_wanted(row["km"], condition)]


@pytest.fixture
def loaded(shop):
    """A base table over the files, an update each."""
    folder = shop.feed("trips_feed", "parquet", None)
    shop.table("trips", "SELECT id, km, part FROM STREAM trips_feed")
    for number, table in enumerate(FILES):
        pq.write_table(table, folder / f"{number}.parquet")
        shop.load("trips", f"{number}.parquet")
    return shop


def each_condition(table: str) -> str:
    """A query that shows which rows of a table fulfil which condition."""
    parts = (f"SELECT '{each}' AS what, id FROM {table} WHERE {each}" for each in READINGS)
    return " UNION ALL ".join(parts)


def found(shop, table: str) -> dict[str, list[int]]:
    """The rows of each condition, as a view of :func:`each_condition` shows them."""
    rows = shop.rows(table)
    return {each: sorted(row["id"] for row in rows if row["what"] == each) for each in READINGS}


EXPECTED = {each: wanted(each) for each in READINGS}


def test_a_view_has_every_row_of_a_condition(loaded):
    loaded.table("view", each_condition("trips"))
    loaded.derive("view", trips=len(FILES) - 1)
    assert found(loaded, "view") == EXPECTED


@pytest.mark.parametrize("condition", ["km > 2", "part.km = 0"])
def test_a_base_table_has_every_row_of_a_condition(loaded, condition):
    loaded.table("some", f"SELECT id FROM STREAM trips_feed WHERE {condition}")
    loaded.load("some", *(f"{number}.parquet" for number in range(len(FILES))))
    assert sorted(row["id"] for row in loaded.rows("some")) == EXPECTED[condition]


def test_a_feed_of_a_delta_table_brings_every_row_of_a_condition(shop):
    """The table is delta-rs's, whose log has no NaN among the greatest values."""
    world = World(shop)
    shop.tables = []
    shop.table("orders", "SELECT id FROM STREAM orders_feed WHERE km > 2")
    for table in FILES:
        deltalake.write_deltalake(world.at, table, mode="append")
    world.load(*world.news().files)
    assert sorted(row["id"] for row in shop.rows("orders")) == EXPECTED["km > 2"]


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_a_table_of_others_is_read_as_a_whole(loaded, kind):
    for number, table in enumerate(FILES):
        if kind == "delta":
            loaded.delta("others", table)
        else:
            (loaded.root / "others").mkdir(exist_ok=True)
            pq.write_table(table, loaded.root / "others" / f"{number}.parquet")
    query = each_condition(f"{kind}.`others`")
    loaded.table("view", f"{query} UNION ALL SELECT 'trips', id FROM trips")
    loaded.derive("view", trips=0)
    assert found(loaded, "view") == EXPECTED
    loaded.table("most", f"SELECT max(km) AS km FROM {kind}.`others`")
    loaded.derive("most")
    assert math.isnan(loaded.rows("most")[0]["km"])
