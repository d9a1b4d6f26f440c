"""Rows that statistics and dictionaries of files would hide: NaN and the two zeros."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.executor.verified import RIGHT
from freshline.spark.engine.pins import has_doubtful_statistics
from freshline.spark.verification.versions import Verifier
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


@pytest.mark.parametrize(
    "condition", [pytest.param("km > 2", marks=pytest.mark.proof), "part.km = 0"]
)
def test_a_base_table_has_every_row_of_a_condition(loaded, condition):
    loaded.table("some", f"SELECT id FROM STREAM trips_feed WHERE {condition}")
    loaded.load("some", *(f"{number}.parquet" for number in range(len(FILES))))
    assert sorted(row["id"] for row in loaded.rows("some")) == EXPECTED[condition]


@pytest.mark.parametrize("kind", ["delta", pytest.param("parquet", marks=pytest.mark.proof)])
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


# ---- deletion vectors: Delta refuses to read such a table without statistics ----

REMOVED = 2
KEPT = {each: [id_ for id_ in ids if id_ != REMOVED] for each, ids in EXPECTED.items()}


def remove_a_row(shop, path: str) -> None:
    """By a deletion vector, so that its file stays as Arrow wrote it."""
    vectors = "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    shop.session.sql(f"ALTER TABLE delta.`{path}` {vectors}")
    shop.session.sql(f"DELETE FROM delta.`{path}` WHERE id = {REMOVED}")
    assert list(Path(path).glob("deletion_vector*.bin"))


def test_tables_with_deletion_vectors_are_read_as_a_whole(loaded):
    for table in FILES:
        loaded.delta("others", table)
    others = str(loaded.root / "others")
    for path in (others, loaded.path("trips")):
        remove_a_row(loaded, path)
    newest = deltalake.DeltaTable(loaded.path("trips")).version()
    within = "trips WHERE km > 2 AND id NOT IN (SELECT id FROM delta.`others` WHERE km = 0)"
    query = f"{each_condition('delta.`others`')} UNION ALL SELECT 'trips', id FROM {within}"
    loaded.table("view", query)
    loaded.derive("view", trips=newest)
    assert found(loaded, "view") == KEPT
    assert sorted(row["id"] for row in loaded.rows("view") if row["what"] == "trips") == [0, 30, 31]
    loaded.delta("others", readings(NAN, first=40))  # the version that was read is not the newest
    table = loaded.project.table("view")
    check = Verifier(loaded.project).check(loaded.session.newSession(), table, 0)
    assert (check.outcome, check.reason) == (RIGHT, "")


def test_a_version_of_its_own_of_a_table_with_deletion_vectors_is_read(loaded):
    loaded.delta("others", FILES[0])
    remove_a_row(loaded, str(loaded.root / "others"))
    loaded.table("view", "SELECT id FROM delta.`others` VERSION AS OF 2 WHERE id > 0")
    loaded.derive("view")
    assert [row["id"] for row in loaded.rows("view")] == [1]


@pytest.mark.parametrize("has_vectors", [False, pytest.param(True, marks=pytest.mark.proof)])
def test_a_feed_of_a_delta_table_brings_every_row_of_a_condition(has_vectors, shop):
    """The table is delta-rs's, whose log has no NaN among the greatest values."""
    world = World(shop)
    shop.tables = []
    shop.table("orders", "SELECT id FROM STREAM orders_feed WHERE km > 2")
    for table in FILES:
        deltalake.write_deltalake(world.at, table, mode="append")
    if has_vectors:
        remove_a_row(shop, world.at)
    world.load(*world.news().files)
    expected = KEPT if has_vectors else EXPECTED
    assert sorted(row["id"] for row in shop.rows("orders")) == expected["km > 2"]


# ---- decimals: delta-rs writes the least and the greatest one as a double ----


def test_a_long_decimal_is_found_in_a_table_of_others(loaded):
    """In more files than a table has whose rows are held."""
    price = Decimal("1234567890123456.85")
    for number in range(11):
        rows = {"id": [number], "price": pa.array([price], pa.decimal128(18, 2))}
        loaded.delta("prices", pa.table(rows))
    others = "delta.`prices`"
    loaded.table(
        "dear",
        f"SELECT t.id, p.price FROM trips t JOIN {others} p ON p.id = t.id"
        " WHERE p.price > 1234567890123456.82",
    )
    loaded.derive("dear", trips=0)
    assert [row["id"] for row in loaded.rows("dear")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("types", "is_doubtful"),
    [
        ("struct<id:bigint,at:timestamp,name:string>", False),
        ("struct<id:decimal(15,2),n:decimal(1,0)>", False),
        ("struct<id:bigint,n:decimal(16,2)>", True),
        ("struct<id:bigint,n:struct<a:array<decimal(38,18)>>>", True),
        ("struct<id:bigint,km:float>", True),
        ("struct<id:bigint,m:map<string,double>>", True),
    ],
)
def test_types_whose_statistics_may_be_wrong(types, is_doubtful):
    assert has_doubtful_statistics(types) is is_doubtful
