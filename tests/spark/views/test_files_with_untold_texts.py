"""Rows are found in tables that Delta reads, beside texts that are not UTF-8.

As of tables above 64 MB, or of more than 50 files: Delta leaves out files by its statistics, which
have U+FFFD for such texts. Here all tables are said to be so.
"""

from __future__ import annotations

import dataclasses

import pytest

from freshline.project.model import Program
from freshline.spark.commits.replacement import replace
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine.pins import location
from tests.spark.views.proving import Proving
from tests.spark.views.test_texts_that_are_no_utf8 import SMILE

pytestmark = pytest.mark.spark

VIEWS = {
    "by keys": (
        "SELECT k, id, count(*) OVER (PARTITION BY k) AS n FROM blobs",
        ["full", "key-recompute", "key-recompute"],
    ),
    "by a state beside the view": (
        "SELECT k, avg(id) AS n FROM blobs GROUP BY k",
        ["full", "group-merge", "group-recompute"],
    ),
    "by a text of the query for a state": (
        "SELECT k, avg(id) AS n FROM blobs GROUP BY k HAVING k = '\N{SLIGHTLY SMILING FACE}'",
        ["full", "group-merge", "group-recompute"],
    ),
    "by the view's own rows": (
        "SELECT k, count(*) AS n FROM blobs GROUP BY k",
        ["full", "group-merge", "group-recompute"],
    ),
    "by a text of the query": (
        "SELECT id, k FROM blobs WHERE k = '\N{SLIGHTLY SMILING FACE}'",
        ["full", "append", "key-recompute"],
    ),
}


def rows_of(query: str, session, path: str) -> list[tuple[object, ...]]:
    """What a query gives over all rows of a table, texts as bytes."""
    rows = session.read.format("delta").load(path)
    # Of a projection that is no column Delta knows no statistics.
    rows.selectExpr("id", "concat(k, '') AS k").createOrReplaceTempView("blobs")
    found = session.sql(query)
    shown = ["hex(CAST(k AS BINARY)) AS k", *(name for name in found.columns if name != "k")]
    return sorted(tuple(row) for row in found.selectExpr(*shown).collect())


def append(session, path: str, rows: list[tuple[int, bytes]]) -> None:
    frame = session.createDataFrame(rows, "id BIGINT, raw BINARY")
    frame = frame.selectExpr("id", "CAST(raw AS STRING) AS k").coalesce(1)
    writer = frame.write.format("delta").option("delta.enableChangeDataFeed", "true")
    writer.mode("append").save(path)


@pytest.mark.parametrize("case", VIEWS)
def test_rows_are_found_in_files_that_statistics_leave_out(shop, monkeypatch, case):
    query, ways = VIEWS[case]
    for module in ("engine.pins", "commits.transaction"):
        monkeypatch.setattr(f"freshline.spark.{module}.listed_files", lambda *_: None)
    monkeypatch.setattr("freshline.spark.views.whole.WHOLE_BYTES", 0)
    proving, path = Proving(shop), shop.path("blobs")
    shop.feed("blobs_feed", "parquet", "id BIGINT, raw BINARY")
    shop.table("blobs", "SELECT id, CAST(raw AS STRING) AS k FROM STREAM blobs_feed")
    proving.view("shown", query)
    proving.plan()
    session = shop.session.newSession()
    session.conf.set("spark.databricks.delta.stats.skipping", "false")

    def write(rows: list[tuple[int, bytes]]) -> None:
        append(session, path, rows)

    def update() -> None:
        proving.update("shown", judged=False)
        told = session.read.format("delta").load(shop.path("shown"))
        shown = ["hex(CAST(k AS BINARY)) AS k", *(name for name in told.columns if name != "k")]
        found = sorted(tuple(row) for row in told.selectExpr(*shown).collect())
        assert found == rows_of(query, session, path)

    write([(1, SMILE), (2, b"\xff"), (3, SMILE)])  # the greatest is U+FFFD, say the statistics
    write([(4, b"a")])
    update()
    write([(5, SMILE)])
    update()
    session.sql(f"DELETE FROM delta.`{path}` WHERE id = 5")
    update()
    assert [way for way, _ in proving.told["shown"]] == ways


def test_rows_are_found_that_a_view_of_a_pipeline_asks_for(shop, monkeypatch):
    monkeypatch.setattr("freshline.spark.engine.pins.listed_files", lambda *_: None)
    path = shop.path("blobs")
    shop.feed("blobs_feed", "parquet", "id BIGINT, raw BINARY")
    shop.table("blobs", "SELECT id, CAST(raw AS STRING) AS k FROM STREAM blobs_feed")
    shop.table("shown", "SELECT id FROM blobs", refresh="full")
    faces = Program("faces", f"SELECT id FROM blobs WHERE k = '{SMILE.decode()}'")
    view = dataclasses.replace(
        shop.project.table("shown"), query="SELECT id FROM faces", programs=(faces,)
    )
    shop.tables[-1] = view
    shop.restart()
    append(shop.session, path, [(1, SMILE), (2, b"\xff"), (3, b"a")])
    Proving(shop).update("shown", judged=False)
    assert shop.rows("shown") == [{"id": 1}]


def test_rows_of_a_static_table_are_found(shop, monkeypatch):
    monkeypatch.setattr("freshline.spark.engine.pins._small_rows", lambda *_: None)  # not held
    append(shop.session, str(shop.root / "others"), [(1, SMILE), (2, b"\xff"), (3, SMILE)])
    shop.table("shown", f"SELECT id FROM delta.`others` WHERE k = '{SMILE.decode()}'")
    shop.derive("shown")
    assert sorted(row["id"] for row in shop.rows("shown")) == [1, 3]


def test_rows_of_a_table_without_a_change_feed_are_replaced(spark, tmp_path):
    """Delta's own replaceWhere looks for them by the same statistics."""
    session, path = spark.newSession(), str(tmp_path / "shown")

    def frame(*rows: tuple[int, bytes]):
        made = session.createDataFrame(rows, "id BIGINT, raw BINARY")
        return made.selectExpr("id", "CAST(raw AS STRING) AS k").coalesce(1)

    frame((1, SMILE), (2, b"\xff"), (3, b"a")).write.format("delta").save(path)
    replaced = replace(
        Transaction(session, location(path), "shown", 1),
        frame((4, SMILE)),
        f"(`k` IS NOT NULL AND `k` IN ('{SMILE.decode()}'))",
        configuration={},
        input_bytes=0,
        counted={"large": "id > 3", "small": "id < 3"},
    )
    replaced.staged.commit("{}")
    assert (replaced.staged.rows, replaced.facts) == (1, {"large": 1, "small": 0})
    found = session.read.format("delta").load(path)
    assert sorted(row["id"] for row in found.collect()) == [2, 3, 4]
