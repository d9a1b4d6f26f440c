"""Decompositions run by Spark: equal to the query at once, and guarded against sqlglot."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import duckdb
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from freshline.spark.engine.jvm import java_frame
from freshline.spark.views import verify as verifying
from freshline.spark.views.verify import same_plan, typer, verify
from freshline.sql.query.records import Decomposition, Source
from freshline.sql.states.decompose import decompose
from tests.spark.aggregate_queries import AGGREGATES
from tests.spark.same_rows import assert_same_rows
from tests.support.share import share
from tests.support.tpch import generate, tpch_names, tpch_query, tpch_sources

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
    assert_same_rows(expected, merged.collect())
    return cut


@pytest.mark.parametrize("name", share(tpch_names(), part=12))
def test_tpch_merged_equals_at_once(tpch: Batches, name: str) -> None:
    _check(tpch, tpch_query(name))


@pytest.mark.parametrize("name", share(list(AGGREGATES), part=12, always=["empty_sets"]))
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


def test_a_join_by_which_spark_asks_for_existence_is_known_again(tpch: Batches) -> None:
    """Planned twice, one text has two plans to Spark (TPC-DS 10, 35 and 45)."""
    query = """SELECT count(*) FROM customer c, nation n WHERE c.c_nationkey = n.n_nationkey AND
        (EXISTS (SELECT * FROM orders WHERE o_custkey = c.c_custkey AND o_totalprice > {price})
        OR n.n_name IN (SELECT r_name FROM region))"""
    assert same_plan(tpch.spark, query.format(price=1))
    one, other = (tpch.spark.sql(query.format(price=price)) for price in (1, 2))
    assert not verifying._alike(*(java_frame(each).queryExecution() for each in (one, other)))


def test_structs_of_columns_with_metadata_are_one_key(spark: SparkSession) -> None:
    """Written with AS they are two to Spark, and the query of the states would fail."""
    session = spark.newSession()
    column = StructField("c", StringType(), metadata={"comment": "filled up"})
    session.createDataFrame([("a",)], StructType([column])).createOrReplaceTempView("held")
    query = "SELECT {0} AS s, count(*) AS n FROM held GROUP BY {0}"
    with pytest.raises(AnalysisException):
        session.sql(query.format("struct(held.c AS c)"))
    plain = query.format("struct(c)")
    cut = decompose(plain, [Source("held", {"c": "string"})], typer(session))
    assert isinstance(cut, Decomposition)
    assert verify(session, plain, cut) is None


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
