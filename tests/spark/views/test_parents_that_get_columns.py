"""Views whose parents get a column, or one of another type, on a disk as in an object store.

What reads all columns reads other rows then: struct(*), NATURAL joins. In a store only the
change feed was asked, which does not tell of columns.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from freshline.spark.engine import jvm
from freshline.spark.views.plans import plan_of

pytestmark = pytest.mark.spark

OVER_ALL_COLUMNS = {
    "a row as text": "SELECT k, id, CAST(struct(*) AS STRING) AS line FROM orders",
    "the greatest row": "SELECT k, max(CAST(struct(*) AS STRING)) AS line FROM orders GROUP BY k",
    "natural": "SELECT o.k, o.id, m.name FROM orders o NATURAL JOIN marks m",
}


@pytest.fixture(params=["on a disk", "in a store"])
def place(request, monkeypatch) -> str:
    """Where the logs of all tables are."""
    if request.param == "in a store":
        for module in ("delta.log", "delta.arrivals", "delta.changelog", "spark.engine.pins"):
            monkeypatch.setattr(f"freshline.{module}.local_log", lambda _: None)
    return str(request.param)


def versions(shop) -> dict[str, int]:
    names = shop.project.table("shown").parents
    return {name: int(DeltaTable(shop.path(name)).version()) for name in names}


def expected(shop) -> list[dict[str, object]]:
    """What the view's query gives over its parents as they are."""
    session = shop.session.newSession()
    for name, version in versions(shop).items():
        frame = session.read.format("delta").option("versionAsOf", version).load(shop.path(name))
        frame.createOrReplaceTempView(name)
    rows = session.sql(shop.project.table("shown").query).collect()
    return sorted((row.asDict() for row in rows), key=repr)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("case", OVER_ALL_COLUMNS)
def test_a_column_that_a_parent_gets_is_noticed(shop, case):
    shop.feed("f", "csv", "k BIGINT, id BIGINT")
    shop.table("orders", "SELECT k, id FROM STREAM f")
    shop.feed("g", "csv", "k BIGINT, v BIGINT, name STRING")
    shop.table("marks", "SELECT k, v, name FROM STREAM g")
    shop.table("shown", OVER_ALL_COLUMNS[case], refresh="incremental")
    shop.come("orders", pa.table({"k": [1, 2], "id": [1, 2]}))
    shop.come("marks", pa.table({"k": [1, 2], "v": [7, 7], "name": ["a", "b"]}))
    shop.derive("shown", **versions(shop))
    # As the next load does where the feed has a column more.
    orders = f"delta.`{shop.path('orders')}`"
    shop.session.newSession().sql(f"ALTER TABLE {orders} ADD COLUMNS (v BIGINT)")
    shop.come("orders", pa.table({"k": [1], "id": [3], "v": [7]}))
    result = shop.derive("shown", **versions(shop))
    assert (result.strategy, result.code) == ("full", "parent-redefined")
    assert shop.rows("shown") == expected(shop)
    shop.come("orders", pa.table({"k": [2], "id": [4], "v": [7]}))
    assert shop.derive("shown", **versions(shop)).code != "parent-redefined"
    assert shop.rows("shown") == expected(shop)


@pytest.mark.usefixtures("place")
def test_a_column_that_gets_another_type_is_noticed(shop):
    folder = shop.feed("f", "csv", "k BIGINT, v BIGINT")
    shop.table("orders", "SELECT k, v FROM STREAM f")
    shop.table("shown", "SELECT k, max(v) AS v FROM orders GROUP BY k", refresh="incremental")
    (folder / "1.csv").write_text("1,1\n2,2\n")
    shop.load("orders", "1.csv")
    shop.derive("shown", **versions(shop))
    shop.feed("f", "csv", "k BIGINT, v STRING")
    shop.load("orders", "1.csv", filled=True, full=True)
    result = shop.derive("shown", **versions(shop))
    assert (result.strategy, result.code) == ("full", "parent-redefined")
    assert shop.rows("shown") == expected(shop)


def test_a_plan_is_made_anew_over_a_parent_that_was_put_back(shop, monkeypatch):
    """Its columns may be others, at the version at which they were looked at."""
    shop.feed("f", "csv", "k BIGINT, v BIGINT")
    shop.table("orders", "SELECT k, v FROM STREAM f")
    shop.table("shown", "SELECT k, max(v) AS v FROM orders GROUP BY k", refresh="incremental")
    asked = []

    def asked_for(*given):
        asked.append(given)
        return plan_of(*given)

    monkeypatch.setattr("freshline.spark.views.planned.plan_of", asked_for)

    def come(v: int) -> str:
        shop.come("orders", pa.table({"k": [1], "v": [v]}))
        jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
        code = shop.derive("shown", **versions(shop)).code
        assert shop.rows("shown") == expected(shop)
        return str(code)

    come(3)
    come(4)
    assert len(asked) == 1
    log = Path(shop.path("orders")) / "_delta_log"
    for file in log.glob(f"*{1:020d}.*"):
        file.unlink()
    assert come(2) == "parent-went-back"
    come(5)
    assert len(asked) == 2
