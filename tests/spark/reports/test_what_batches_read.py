"""What a window's batches read beside their new rows, and when the window is begun again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.delta.metadata import encode
from freshline.executor.report_records import BatchRequest
from freshline.spark.engine import jvm
from freshline.spark.reports import batches as report_batches
from freshline.spark.reports import state as report_state
from freshline.spark.reports.state import short_name
from tests.spark.conftest import Shop
from tests.spark.reports.test_report_batches import REGIONS, Sales, _dying_at, _sales, regions
from tests.support.share import share

pytestmark = pytest.mark.spark


def spark_rows(shop: Shop) -> list[tuple[Any, ...]]:
    """The report as Spark reads it, which fills up a CHAR."""
    found = shop.session.read.format("delta").load(shop.path("sales")).collect()
    return sorted((tuple(row) for row in found), key=repr)


def overwritten(path: Path, rows: pa.Table, *, vacuumed: bool = False) -> None:
    """Others replace a table's rows, and may remove the files of before."""
    deltalake.write_deltalake(str(path), rows, mode="overwrite")
    if vacuumed:
        vacuum(path)


def vacuum(path: Path) -> None:
    table = deltalake.DeltaTable(str(path))
    assert table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)


def put_together(shop: Shop) -> int:
    """Others put the files of the orders together and remove those of before: its version."""
    path = Path(shop.path("orders"))
    deltalake.DeltaTable(str(path)).optimize.compact()
    vacuum(path)
    return deltalake.DeltaTable(str(path)).version()


def chars(shop: Shop, kind: str, *codes: str) -> str:
    """A static table of the codes 0, 1, ..."""
    name = f"delta.`{shop.root}/codes`"
    shop.session.sql(f"CREATE TABLE {name} (k BIGINT, code {kind}) USING delta")
    values = ", ".join(f"({number}, '{code}')" for number, code in enumerate(codes))
    shop.session.sql(f"INSERT INTO {name} VALUES {values}")
    return name


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


@pytest.mark.parametrize("batches", share([1, 2], part=2, first=1))
def test_a_char_beside_other_texts_in_a_union_is_a_text_like_them(shop: Shop, batches: int) -> None:
    codes = chars(shop, "CHAR(4)", "ab", "abcd")
    rows = f"SELECT code FROM orders JOIN {codes} ON id % 2 = k UNION ALL SELECT shop FROM orders"
    sales = _sales(shop, query=f"SELECT code, count(*) AS n FROM ({rows}) GROUP BY code")
    first, second = (0, 5, "ab", "1.00"), (1, 6, "longer", "1.00")
    version = sales.orders(first)
    if batches > 1:
        assert sales.batch(orders=version).code == "UNITED_CHARS"
    sales.batch(orders=sales.orders(second), final=True)
    assert spark_rows(shop) == [("ab  ", 1), ("ab", 1), ("abcd", 1), ("longer", 1)]


@pytest.mark.parametrize("then", share(["grows", "is a STRING"], part=2, first=1))
def test_a_char_of_a_static_table_is_another_type_in_the_next_window(shop: Shop, then: str) -> None:
    codes = chars(shop, "VARCHAR(4)" if then == "grows" else "CHAR(4)", "ab", "cd")
    query = f"SELECT code, count(*) AS n FROM orders JOIN {codes} ON id % 2 = k GROUP BY code"
    sales = _sales(shop, query=query)
    sales.batch(orders=sales.orders((0, 5, "x", "1.00")), final=True)
    expected = "ab"
    if then == "grows":
        shop.session.sql(f"ALTER TABLE {codes} ALTER COLUMN code TYPE VARCHAR(10)")
        shop.session.sql(f"UPDATE {codes} SET code = 'abcdefgh'")
        expected = "abcdefgh"
    else:
        path = shop.root / "codes"
        shutil.rmtree(path)
        deltalake.write_deltalake(str(path), pa.table({"k": [0, 1], "code": ["ab", "cd"]}))
    sales.batch(hour=1, orders=sales.orders((2, 65, "x", "1.00")), final=True)
    assert spark_rows(shop) == [(expected, 1)]


def test_a_static_version_that_somebody_removed_begins_the_window_again(shop: Shop) -> None:
    path = shop.root / "regions"
    regions(path, a="north")
    sales = _sales(shop, query=REGIONS.format(path))
    sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    overwritten(path, pa.table({"shop": ["a"], "region": ["NORTH"]}), vacuumed=True)
    result = sales.batch(orders=sales.orders((2, 7, "a", "2.00")), final=True)
    assert (result.batches, spark_rows(shop)) == (1, [("NORTH", 2)])
    assert [part["number"] for part in sales.metadata()["batches"]] == [2]


def test_files_of_a_stream_that_somebody_removed_begin_the_window_again(shop: Shop) -> None:
    """Put together with others, they hold the same rows still."""
    sales = _sales(shop)
    sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    sales.orders((2, 6, "b", "2.20"))
    sales.orders((3, 7, "a", "3.30"))
    version = put_together(shop)
    assert sales.batch(orders=version, final=True).batches == 1
    assert shop.rows("sales") == sales.at_once()


@pytest.mark.parametrize("first", share(["all", "sold"], part=2))
def test_a_state_of_a_stream_without_news_beside_one_with_news(shop: Shop, first: str) -> None:
    """Such a batch reads no stream for it, in whatever order the states come."""
    queries = [
        "SELECT 'all' AS what, count(*) AS n FROM orders",
        "SELECT 'sold' AS what, count(*) AS n FROM orders JOIN lines ON id = order",
    ]
    query = " UNION ALL ".join(queries if first == "all" else reversed(queries))
    folder = shop.feed("lines_feed", "csv", "order BIGINT, sold TIMESTAMP")
    shop.table("lines", "SELECT order, sold FROM STREAM lines_feed", time_column="sold")
    sales = _sales(shop, query=query)

    def lines(name: str, text: str) -> int:
        (folder / name).write_text(text, encoding="utf-8")
        return shop.load("lines", name).version

    orders = sales.orders((1, 5, "a", "1.00"), (2, 6, "b", "1.00"))
    sales.batch(orders=orders, lines=lines("0.csv", ""))
    sales.batch(orders=orders, lines=lines("1.csv", "1,2026-01-01T00:10:00Z\n"))
    more = lines("2.csv", "2,2026-01-01T00:11:00Z\n")
    assert sales.batch(orders=orders, lines=more, final=True).batches == 3
    assert spark_rows(shop) == [("all", 2), ("sold", 2)]


def asked(sales: Sales, at_s: float, version: int, *, final: bool) -> None:
    """A batch of the submission of a moment."""
    window = replace(sales.window(), asked_s=at_s)
    sales.shop.executor.run_batch(BatchRequest(window, {"orders": version}, final=final))


def test_a_report_asked_for_again_reads_static_tables_as_they_are(shop: Shop) -> None:
    """What was begun for a withdrawn submission read those of its day."""
    path = shop.root / "regions"
    regions(path, a="north")
    sales = _sales(shop, query=REGIONS.format(path))
    version = sales.orders((1, 5, "a", "1.10"))
    asked(sales, 1.0e9, version, final=False)
    overwritten(path, pa.table({"shop": ["a"], "region": ["NORTH"]}))
    asked(sales, 2.0e9, version, final=False)
    overwritten(path, pa.table({"shop": ["a"], "region": ["later"]}))
    asked(sales, 2.0e9, sales.orders((2, 6, "a", "1.00")), final=True)
    assert spark_rows(shop) == [("NORTH", 2)]


@pytest.mark.proof
def test_a_report_asked_for_again_goes_on_from_the_batches_that_there_are(shop: Shop) -> None:
    path = shop.root / "regions"
    regions(path, a="north")
    sales = _sales(shop, query=REGIONS.format(path))
    asked(sales, 1.0e9, sales.orders((1, 5, "a", "1.10")), final=False)
    asked(sales, 2.0e9, sales.orders((2, 6, "a", "1.00")), final=True)
    assert [part["number"] for part in sales.metadata()["batches"]] == [1, 2]
    assert spark_rows(shop) == [("north", 2)]


@pytest.mark.parametrize("rank", [2, "first"])
def test_a_window_that_an_earlier_version_began_goes_on_with_rows_of_the_same_types(
    shop: Shop, rank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It named the state without the types of its rows."""
    path = shop.root / "ranks"
    deltalake.write_deltalake(str(path), pa.table({"shop": ["a"], "rank": [2]}))
    query = "SELECT rank, count(*) AS n, count(DISTINCT id) AS ids FROM orders o"
    query += f" JOIN delta.`{path}` r ON o.shop = r.shop GROUP BY rank"
    sales = _sales(shop, query=query)
    with monkeypatch.context() as earlier:
        earlier.setattr(report_batches, "short_name", lambda facts: short_name(facts[:4]))
        sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    shop.restart()
    if rank != 2:
        shutil.rmtree(path)
        deltalake.write_deltalake(str(path), pa.table({"shop": ["a"], "rank": [rank]}))
    done = sales.batch(orders=sales.orders((2, 6, "a", "1.00")), final=True)
    assert done.batches == (2 if rank == 2 else 1)
    assert spark_rows(shop) == [(rank, 2, 2)]


def test_a_submission_that_an_earlier_version_began_goes_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not note in its batches who had asked."""
    path = shop.root / "regions"
    regions(path, a="north")
    sales = _sales(shop, query=REGIONS.format(path))

    def as_before(*args: Any, more: dict[str, Any], **named: Any) -> str:
        del more["asked"]
        return encode(*args, more=more, **named)

    with monkeypatch.context() as earlier:
        earlier.setattr(report_batches, "short_name", lambda facts: short_name(facts[:4]))
        earlier.setattr(report_state, "encode", as_before)
        asked(sales, 1.0e9, sales.orders((1, 5, "a", "1.10")), final=False)
    shop.restart()
    overwritten(path, pa.table({"shop": ["a"], "region": ["NORTH"]}))
    asked(sales, 1.0e9, sales.orders((2, 6, "a", "1.00")), final=True)
    assert [part["number"] for part in sales.metadata()["batches"]] == [1, 2]
    assert spark_rows(shop) == [("north", 2)]


def test_what_a_window_has_left_in_batches_goes_also_where_it_ends_at_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version may have begun it."""
    path = shop.root / "regions"
    path.mkdir()
    pq.write_table(pa.table({"shop": ["a"], "region": ["north"]}), path / "1.parquet")
    sales = _sales(shop, query=REGIONS.replace("delta.", "parquet.").format(path))
    with monkeypatch.context() as earlier:
        earlier.setattr(report_batches, "has_unversioned", lambda *_: False)
        sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    assert sales.partials()
    shop.restart()
    sales.batch(orders=sales.orders((2, 7, "a", "2.00")))
    assert sales.partials()
    sales.batch(orders=sales.orders((3, 8, "a", "3.00")), final=True)
    assert spark_rows(shop) == [("north", 3)]
    assert not sales.partials()


def test_state_rows_of_another_type_are_of_another_state(shop: Shop) -> None:
    path = shop.root / "ranks"

    def ranked(rank: Any) -> None:
        shutil.rmtree(path, ignore_errors=True)
        deltalake.write_deltalake(str(path), pa.table({"shop": ["a"], "rank": [rank]}))

    ranked(1)
    query = f"SELECT rank, count(*) AS n FROM orders o JOIN delta.`{path}` r ON o.shop = r.shop"
    sales = _sales(shop, query=f"{query} GROUP BY rank")
    sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    ranked("first")
    sales.batch(orders=sales.orders((2, 6, "a", "1.00")), final=True)
    assert spark_rows(shop) == [("first", 2)]


@pytest.mark.proof
def test_a_batch_of_which_a_part_is_lost_begins_the_window_again(shop: Shop) -> None:
    sales = _sales(
        shop, query="SELECT count(DISTINCT shop) AS shops, count(DISTINCT id) AS ids FROM orders"
    )
    sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    lost = sales.partials()[0]
    shutil.copytree(lost, shop.root / "copy")
    sales.batch(orders=sales.orders((2, 6, "b", "1.00")))
    sales.batch(orders=sales.orders((3, 7, "c", "1.00")))
    shutil.rmtree(lost)
    shutil.copytree(shop.root / "copy", lost)
    jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    shop.restart()
    sales.batch(orders=sales.orders((4, 8, "d", "1.00")), final=True)
    assert spark_rows(shop) == [(4, 4)]


@pytest.mark.proof
def test_a_batch_that_died_half_way_over_rows_that_were_replaced_since(shop: Shop) -> None:
    """Their files were put together and removed."""
    query = "SELECT count(DISTINCT shop) AS shops, count(DISTINCT id) AS ids FROM orders"
    sales = _sales(shop, query=query)
    sales.batch(orders=sales.orders((1, 5, "a", "1.10")))
    second = sales.orders((2, 6, "b", "2.00"))
    with _dying_at("report.after_partial"):
        sales.batch(orders=second)
    shop.restart()
    version = put_together(shop)
    assert sales.batch(orders=version, final=True).batches == 1
    assert shop.rows("sales") == sales.at_once()
