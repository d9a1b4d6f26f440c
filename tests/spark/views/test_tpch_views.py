"""All of TPC-H as views over orders and lineitem that arrive as feeds: each commit is right.

Batches hold orders without their lines and lines of earlier orders, so rows meet across them;
one batch has no orders at all. Then orders and lines are deleted and changed by hand, and after
that some come again.
"""

from __future__ import annotations

import deltalake
import duckdb
import pytest

from freshline.sql.query.records import Decomposition
from freshline.sql.strategy import strategy
from tests.spark.conftest import Shop
from tests.spark.views.by_hand import statements
from tests.spark.views.document import assert_up_to_date, tpch_section
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.share import WHOLE, share
from tests.support.tpch import WITHOUT_STREAM, generate, tpch_query, tpch_sources

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

SCALE = 0.001
NAMES = [f"q{number:02}" for number in range(1, 23)]
BY_HAND = statements("""
    DELETE FROM {orders} WHERE o_orderkey % 41 = 1;
    UPDATE {lineitem} SET l_quantity = l_quantity + 1, l_shipdate = date_add(l_shipdate, 40)
        WHERE l_orderkey % 37 = 2;
    MERGE INTO {orders} o USING (
        SELECT l_orderkey, max(l_shipdate) AS last FROM {lineitem} GROUP BY l_orderkey) l
        ON o.o_orderkey = l.l_orderkey AND o.o_orderkey % 43 = 6
        WHEN MATCHED AND o.o_orderstatus = 'O' THEN DELETE
        WHEN MATCHED THEN UPDATE SET o_orderdate = l.last, o_custkey = o_custkey % 7 + 1,
            o_orderpriority = '1-URGENT';
""")
REWRITTEN = {
    "q01": ("group-recompute", "groups"),
    "q03": ("full", "parent-rewrote"),
    "q12": ("group-recompute", "groups"),
    "q13": ("full", "parent-rewrote"),
}
"""What that means to a view: whether its rows tell which groups they are of."""

PROVED = share(NAMES, part=len(NAMES), first=NAMES.index("q12"), always=("q13",))
EMPTY = {"q02", "q05", "q07", "q11", "q18", "q20", "q21"}
"""Queries that find nothing in so few rows."""

SOURCES = tpch_sources(batch_keys=False)
STATICS = [source.name for source in SOURCES if source.static]
BATCHES = {
    "orders": (
        "o_orderkey % 5 < 3",
        "o_orderkey % 5 = 3",
        "FALSE",
        "o_orderkey % 5 = 4",
        "o_orderkey % 41 = 1",
    ),
    "lineitem": (
        "l_orderkey % 5 < 2",
        "l_orderkey % 5 IN (2, 4)",
        "l_orderkey % 5 = 3 AND l_linenumber < 3",
        "l_orderkey % 5 = 3 AND l_linenumber >= 3",
        "l_orderkey % 83 = 2",
    ),
}


@pytest.fixture(scope="module")
def tpch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, SCALE)
    with duckdb.connect(config={"threads": 1}) as database:
        for source in SOURCES:
            database.execute(f"CREATE VIEW {source.name} AS FROM '{folder}/{source.name}.parquet'")
        yield database


def warehouse(spark, folder) -> Proving:
    """The queries as views, planned, before a row has come; static tables are empty."""
    proving = Proving(Shop(folder, session_in(spark, "UTC")))
    for source in SOURCES:
        if source.static:
            columns = ", ".join(f"{name} {kind}" for name, kind in source.columns.items())
            path = f"{folder}/static/{source.name}"
            spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta")
        else:
            proving.feed(source)
    for name in NAMES:
        query = tpch_query(name)
        proving.view(name, over_statics(query, STATICS), duckdb=query)
    proving.plan()
    return proving


@pytest.fixture(scope="module")
def proving(spark, tpch, tmp_path_factory):
    proving = warehouse(spark, tmp_path_factory.mktemp("warehouse"))
    for name in STATICS:
        proving.shop.delta(f"static/{name}", tpch.sql(f"FROM {name}").to_arrow_table())
    return proving


def come(proving, tpch, number):
    for name, batches in BATCHES.items():
        rows = tpch.sql(f"FROM {name} WHERE {batches[number]}").to_arrow_table()
        proving.arrive(name, rows)


def test_every_query_that_reads_a_stream_is_maintained_from_states(proving):
    told = {}
    for name in NAMES:
        way = strategy(proving.shop.project.table(name), proving.shop.plans[name])
        told[name] = way.name if way.name != "full" else way.code
    expected = dict.fromkeys(NAMES, "group-merge") | dict.fromkeys(WITHOUT_STREAM, "no-parents")
    assert told == expected
    plans = [proving.shop.plans[name].merge for name in NAMES]
    assert {plan.linearity for plan in plans if isinstance(plan, Decomposition)} == {
        "each",
        "joint",
    }


def test_every_commit_equals_its_query(proving, tpch):
    streaming = [name for name in PROVED if name not in WITHOUT_STREAM]
    come(proving, tpch, 0)
    proving.step(PROVED)
    for number in (1, 2):
        come(proving, tpch, number)
        proving.step(streaming)
    for name in streaming:
        # Batch 2 has no orders, so nothing to write for who reads orders alone.
        news = "lineitem" in proving.shop.project.table(name).parents
        assert proving.told[name] == [
            ("full", "first-build"),
            ("group-merge", proving.first_merge(name)),
            ("group-merge", proving.merged(name) if news else "merges"),
        ], name
    filled = [name for name in PROVED if deltalake.DeltaTable(proving.shop.path(name)).count()]
    assert set(PROVED) - set(filled) <= EMPTY


def test_the_docs_have_the_table(proving):
    assert_up_to_date(tpch_section(proving.shop.plans))


def test_what_people_change_is_taken_back_and_what_comes_then_is_merged(proving, tpch):
    streaming = [name for name in PROVED if name not in WITHOUT_STREAM]
    views = [name for name in streaming if WHOLE or name in REWRITTEN]
    proving.by_hand(*BY_HAND)
    come(proving, tpch, 3)
    proving.step(views)
    come(proving, tpch, 4)
    proving.step(views)
    for name in views:
        tells = proving.tells_groups(name)
        rewritten = ("group-recompute", "groups") if tells else ("full", "parent-rewrote")
        assert rewritten == REWRITTEN.get(name, rewritten), name
        merged = ("group-merge", "merges" if tells else proving.first_merge(name))
        assert proving.told[name][3:] == [rewritten, merged], name
