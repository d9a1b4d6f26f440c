"""Decompositions run by Spark: equal to the query at once, and guarded against sqlglot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession

from freshline.spark.verify import same_plan, typer, verify
from freshline.sql.decompose import decompose
from freshline.sql.maintenance import Decomposition, Source
from tests.unit.sql.tpch import generate, tpch_names, tpch_query, tpch_sources

pytestmark = pytest.mark.spark
SCALE = 0.001
BATCHES = 3  # the second is empty
SOURCES = tpch_sources(batch_keys=True)
STREAMS = [source for source in SOURCES if not source.static]


class Batches:
    """TPC-H's tables in a session of their own; streams whole or a batch at a time."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark.newSession()
        self.folder = folder
        for source in SOURCES:
            if source.static:
                self._view(source, f"{source.name}.parquet")
        self.whole()

    def whole(self) -> None:
        for source in STREAMS:
            self._view(source, f"{source.name}.parquet")

    def batch(self, number: int) -> None:
        for source in STREAMS:
            self._view(source, f"{source.name}_{number}.parquet")

    def _view(self, source: Source, file: str) -> None:
        frame = self.spark.read.parquet(str(self.folder / file))
        frame.createOrReplaceTempView(source.name)

    def merged(self, cut: Decomposition) -> DataFrame:
        """The final query over the states of every batch, put together; not computed yet.

        That states survive being written is the business of the tests of views and reports.
        """
        for partial in cut.partials:
            states = []
            for number in range(BATCHES):
                self.batch(number)
                states.append(self.spark.sql(partial.query))
            every = reduce(DataFrame.unionAll, states)
            every.createOrReplaceTempView(partial.name)
            combined = self.spark.sql(partial.combine)
            assert combined.schema.simpleString() == every.schema.simpleString()
            combined.createOrReplaceTempView(partial.name)
        final = self.spark.sql(cut.final)
        self.whole()
        return final


@pytest.fixture(scope="module")
def tpch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Batches:
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, SCALE)
    with duckdb.connect() as database:
        for source in STREAMS:
            (key,) = source.batch_key
            whole = folder / f"{source.name}.parquet"
            for number, holds in enumerate([f"{key} % 7 < 3", "FALSE", f"{key} % 7 >= 3"]):
                part = folder / f"{source.name}_{number}.parquet"
                database.execute(f"COPY (FROM '{whole}' WHERE {holds}) TO '{part}'")
    return Batches(spark, folder)


def _check(tpch: Batches, query: str) -> Decomposition:
    cut = decompose(query, SOURCES, typer(tpch.spark))
    assert isinstance(cut, Decomposition), cut
    assert verify(tpch.spark, query, cut) is None
    at_once = tpch.spark.sql(query)
    expected = at_once.collect()
    merged = tpch.merged(cut)
    assert merged.schema.simpleString() == at_once.schema.simpleString()
    _assert_same(expected, merged.collect())
    return cut


def _assert_same(expected: Sequence[Any], found: Sequence[Any]) -> None:
    assert len(expected) == len(found)
    for one, other in zip(sorted(expected, key=_place), sorted(found, key=_place), strict=True):
        for value, same in zip(one, other, strict=True):
            if isinstance(value, float):
                assert math.isclose(value, same, rel_tol=1e-9, abs_tol=1e-12), (one, other)
            elif isinstance(value, list):
                assert sorted(map(str, value)) == sorted(map(str, same))
            else:
                assert value == same, (one, other)


def _place(row: Any) -> list[str]:
    numbers = (int, float, Decimal)
    return [
        f"{float(value):+.6e}" if isinstance(value, numbers) else "" if isinstance(value, list)
        else str(value) for value in row
    ]  # fmt: skip


@pytest.mark.parametrize("name", tpch_names())
def test_tpch_merged_equals_at_once(tpch: Batches, name: str) -> None:
    _check(tpch, tpch_query(name))


AGGREGATES = {
    "percentiles": "SELECT l_shipmode, median(l_quantity), percentile(l_quantity, 0.9), "
    "percentile(l_tax, array(0.1, 0.5)) FROM lineitem GROUP BY l_shipmode",
    "median_beside_sum": "SELECT median(o_totalprice), sum(o_totalprice), count(*) FROM orders",
    "variances": "SELECT l_shipmode, variance(l_quantity), stddev(l_extendedprice), "
    "var_pop(l_tax), stddev_pop(l_linenumber), std(l_linenumber) FROM lineitem "
    "GROUP BY ROLLUP(l_shipmode)",
    "variance_of_nothing": "SELECT var_samp(o_totalprice) FROM orders WHERE o_orderkey < 0",
    "collect_set": "SELECT l_returnflag, collect_set(l_shipmode), count(DISTINCT l_linenumber) "
    "FROM lineitem GROUP BY l_returnflag",
    "max_by": "SELECT o_orderpriority, max_by(o_orderkey, o_totalprice), min_by(o_comment, "
    "o_orderkey), max_by(struct(o_orderkey, o_orderdate), o_orderkey) FROM orders GROUP BY 1",
    "every": "SELECT every(l_tax > 0), some(l_tax > 0.07), any(l_tax > 1), bit_xor(l_linenumber), "
    "count_if(l_tax > 0.05) FROM lineitem",
    "wide_average": "SELECT avg(CAST(l_extendedprice AS DECIMAL(38, 10))), "
    "avg(CAST(l_quantity AS DECIMAL(20, 15)) / 7), avg(l_linenumber) FROM lineitem",
    "wide_ratio": "SELECT l_shipmode, 100 * sum(l_extendedprice * l_tax) / sum(l_extendedprice) "
    "FROM lineitem GROUP BY l_shipmode",
    "window": "SELECT window(CAST(o_orderdate AS TIMESTAMP), '30 days', '10 days') AS w, count(*), "
    "sum(o_totalprice) FROM orders GROUP BY window(CAST(o_orderdate AS TIMESTAMP), '30 days', "
    "'10 days')",
    "window_start": "SELECT window.start, count(*) FROM orders "
    "GROUP BY window(CAST(o_orderdate AS TIMESTAMP), '90 days')",
    "named_window": "SELECT o_orderstatus, rank() OVER w AS r FROM orders GROUP BY o_orderstatus "
    "WINDOW w AS (ORDER BY sum(o_totalprice))",
    "correlated_count": "SELECT c_custkey, (SELECT count(*) FROM orders "
    "WHERE o_custkey = c_custkey) AS n FROM customer",
    "several_levels": "SELECT max(n), min(s) FROM (SELECT o_custkey, count(*) AS n, "
    "sum(o_totalprice) AS s FROM orders GROUP BY o_custkey HAVING count(*) > 1)",
    "names": "SELECT count(*), sum(o_totalprice) + 1, max(O_OrderKey) FROM orders",
    "order_by_place": "SELECT o_orderpriority, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1",
    "empty_groups": "SELECT o_orderpriority, avg(o_totalprice) FROM orders WHERE o_orderkey < 0 "
    "GROUP BY o_orderpriority",
    "grouping_sets": "SELECT o_orderpriority, o_orderstatus, grouping_id(), avg(o_totalprice) "
    "FROM orders GROUP BY CUBE(o_orderpriority, o_orderstatus)",
    "two_distincts": "SELECT o_orderstatus, count(DISTINCT o_custkey), count(DISTINCT o_clerk), "
    "avg(o_totalprice) FROM orders GROUP BY o_orderstatus",
    "map_values": "SELECT explode(array(l_shipmode, l_returnflag)) AS e, count(*) FROM lineitem "
    "GROUP BY l_shipmode, l_returnflag",
    "lateral_view": "SELECT word, count(*) FROM orders LATERAL VIEW "
    "explode(split(o_orderpriority, '-')) words AS word GROUP BY word",
    "doubles": "SELECT l_shipmode, avg(CAST(l_tax AS DOUBLE)), sum(CAST(l_tax AS FLOAT)) "
    "FROM lineitem GROUP BY l_shipmode",
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_what_only_spark_can_tell(tpch: Batches, name: str) -> None:
    _check(tpch, AGGREGATES[name])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT listagg(o_orderpriority) FROM orders",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY o_totalprice) FROM orders",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY o_totalprice) FROM orders",
        "SELECT to_char(o_totalprice, '999999.99') AS c, count(*) FROM orders GROUP BY 1",
        "SELECT max_by(o_orderkey, o_totalprice, 3) FROM orders",
        "SELECT percentile(o_totalprice, 0.5, o_shippriority + 1) FROM orders",
        "SELECT count(*) FROM orders WHERE parse_json(o_comment) IS NULL",
    ],
)
def test_what_sqlglot_changes_is_not_trusted(tpch: Batches, query: str) -> None:
    tpch.spark.sql(query).schema  # noqa: B018 - Spark itself accepts it
    assert not same_plan(tpch.spark, query)
    fine = decompose("SELECT count(*) FROM orders", SOURCES, typer(tpch.spark))
    assert isinstance(fine, Decomposition)
    reason = verify(tpch.spark, query, fine)
    assert reason is not None
    assert reason.code == "ROUND_TRIP"


def test_a_final_query_of_another_type_is_not_trusted(tpch: Batches) -> None:
    query = "SELECT sum(o_totalprice) AS total FROM orders"
    cut = decompose(query, SOURCES, typer(tpch.spark))
    assert isinstance(cut, Decomposition)
    assert verify(tpch.spark, query, cut) is None
    wide = Decomposition(cut.partials, "SELECT sum(s0) AS total FROM partial_1")
    reason = verify(tpch.spark, query, wide)
    assert reason is not None
    assert reason.message == (
        "cut into states the query has other columns: total decimal(35,2) instead of total "
        "decimal(25,2)"
    )
