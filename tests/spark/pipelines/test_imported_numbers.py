"""Numbers of Snowflake: what the imported SQL computes in Spark is what Snowflake's rules say."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from freshline.importing.snowflake.script import EXACT_DECIMALS, read_snowflake
from tests.spark.conftest import Shop
from tests.spark.pipelines import snowflake_numbers as law
from tests.spark.pipelines.snowflake_numbers import TYPES, Made, Row, quotient_scale, rounded
from tests.spark.views.proving import session_in
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

AT_ONCE = 120
ZERO = Fraction(0)
TABLE = ", ".join(f"{name} {type_}" for name, (type_, _, _) in TYPES.items())
MADE = "create dynamic table v{} target_lag = '1 hour' warehouse = w as {};\n"


SCHEMA = pa.schema(
    [("k", pa.decimal128(38, 0))]
    + [(name, pa.decimal128(size, scale)) for name, (_, size, scale) in TYPES.items()]
)


def arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([{**row, "k": Decimal(row["k"])} for row in rows], SCHEMA)


class Imported:
    """Queries of Snowflake over one table, run in Spark as a project of theirs would be."""

    def __init__(self, spark: SparkSession, folder: Path, rows: Sequence[Row]) -> None:
        self.session, self.folder = spark.newSession(), folder
        frame = self.session.createDataFrame(arrow(rows))
        frame.createOrReplaceTempView("t")

    def run(self, *queries: str) -> Iterator[list[tuple[Any, ...]]]:
        script = self.folder / "script.sql"
        made = [MADE.format(at, query) for at, query in enumerate(queries)]
        script.write_text(f"create table t (k int, {TABLE});\n{''.join(made)}")
        found = read_snowflake(script)
        for name, value in found.configuration.items():
            self.session.conf.set(name, value)
        items = [item for item in found.items if item.role == "table"]
        for item in items:
            assert item.refusal is None, (item.refusal, item.key)
            assert item.changed == ()
            yield [tuple(row) for row in self.session.sql(str(item.query)).collect()]


def differences(imported: Imported, rows: Sequence[Row], made: Sequence[Made]) -> list[str]:
    """Where a value is another one than it should be."""
    wrong = []
    groups = [made[at : at + AT_ONCE] for at in range(0, len(made), AT_ONCE)]
    texts = [
        f"select k, {', '.join(f'{each.text} as c{at}' for at, each in enumerate(group))} from t"
        for group in groups
    ]
    for group, found in zip(groups, imported.run(*texts), strict=True):
        by_key = {int(row[0]): row[1:] for row in found}
        assert len(by_key) == len(rows)
        for at, each in enumerate(group):
            for row in rows:
                is_, should = by_key[row["k"]][at], each.of(row)
                if is_ is not None and each.scale is not None:
                    is_ = Fraction(is_)
                if is_ != should:
                    wrong.append(f"{each.text}: {is_} and not {should} of {row}")
                    break
    return wrong


def test_every_operator_with_every_pair_of_types(spark: SparkSession, tmp_path: Path) -> None:
    rows = law.rows(random.Random(5), 12)
    assert (
        differences(Imported(spark, tmp_path, rows), rows, law.pairs()[:: 1 if WHOLE else 2]) == []
    )


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.proof)])
def test_expressions_of_several_operators(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = law.rows(chance, 12)
    made = [
        make(chance, depth)
        for depth in (1, 2, 2, 3)
        for make in (law.number, law.number, law.condition)
        for _ in range(15)
    ]
    assert differences(Imported(spark, tmp_path, rows), rows, made) == []


def values(rows: Sequence[Row], name: str) -> list[Fraction]:
    return [Fraction(row[name]) for row in rows if row[name] is not None]


def test_rows_that_come_together(spark: SparkSession, tmp_path: Path) -> None:
    """Unions, joins, subqueries and aggregates of every pair of types."""
    rows = law.rows(random.Random(3), 9)
    names = list(TYPES)
    pairs = [(one, other) for one in ("n0", "n2") for other in names if other > one]
    pairs = pairs[:: 1 if WHOLE else 2]
    queries: list[str] = []
    expected: list[list[Fraction | None]] = []
    for one, other in pairs:
        left, right = values(rows, one), values(rows, other)
        queries += [
            f"select {one} v from t union all select {other} from t",
            f"select {one} v from t intersect select {other} from t where {other} is not null",
            f"select a.{one} v from t a join t b on a.{one} = b.{other}",
            f"select {one} v from t where {one} in (select {other} from t)",
        ]
        expected += [
            [*sorted(left + right), *[None] * (2 * len(rows) - len(left + right))],
            [*sorted(set(left) & set(right))],
            [*sorted(x for x in left for y in right if x == y)],
            [*sorted(x for x in left if x in right)],
        ]
    for name in names:
        own = values(rows, name)
        scale = quotient_scale(TYPES[name][2])
        for kind, of in (("", own), ("distinct ", list(set(own)))):
            queries += [f"select avg({kind}{name}) v from t", f"select sum({kind}{name}) v from t"]
            expected += [[rounded(sum(of, ZERO) / len(of), scale)], [sum(of, ZERO)]]
        queries.append(f"select avg({name}) over () v from t where k = 1")
        first = [Fraction(row[name]) for row in rows if row["k"] == 1 and row[name] is not None]
        expected.append([first[0] if first else None])
        queries.append(f"select sum({name}) / count(*) v from t")
        expected.append([rounded(sum(own, ZERO) / len(rows), scale)])
    imported = Imported(spark, tmp_path, rows)
    for query, found, should in zip(queries, imported.run(*queries), expected, strict=True):
        told = [None if row[0] is None else Fraction(row[0]) for row in found]
        assert sorted(told, key=_in_order) == should, query


def _in_order(value: Fraction | None) -> tuple[bool, Fraction]:
    return value is None, value or ZERO


VIEWS = {
    "sums": "select n5, sum(n2 * i) s, avg(n2) a, avg(i) b, sum(i) / count(*) q, avg(n8 * n8) p"
    " from t group by n5",
    "total": "select avg(w10) a, avg(n13) b, avg(case when n2 > i then 1 else 0 end) share,"
    " sum(coalesce(n2, i)) s from t",
    "bigger": "select k, n2, i, n2 / i as r from t where n2 > i and i <> 0",
    "apart": "select k, n2 - i d, n8 * n8 p from t where n2 <> n2::int",
}


def test_views_that_are_maintained_from_changes_compute_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Under the settings of the imported project, and not in full because of them."""
    script = tmp_path / "script.sql"
    made = [MADE.format(f"_{name}", query) for name, query in VIEWS.items()]
    script.write_text(f"create table t (k int, {TABLE});\n{''.join(made)}")
    found = read_snowflake(script)
    assert found.configuration == EXACT_DECIMALS
    shop = Shop(tmp_path / "shop", session_in(spark, "Europe/Berlin", found.configuration))
    schema = next(item.schema for item in found.items if item.key == "t")
    folder = shop.feed("t_feed", "parquet", schema)
    shop.table("t", "SELECT * FROM STREAM t_feed")
    for item in found.items:
        if item.role == "table":
            shop.table(item.key, str(item.query), refresh="incremental")
    assert not shop.plan().errors
    told = set()
    chance = random.Random(11)
    for step in range(3 if WHOLE else 2):
        pq.write_table(arrow(law.rows(chance, 30)), folder / f"{step}.parquet")
        version = shop.load("t", f"{step}.parquet").version
        session = shop.session.newSession()
        session.read.format("delta").load(shop.path("t")).createOrReplaceTempView("t")
        for name in VIEWS:
            done = shop.derive(f"v_{name}", t=version)
            told.add((name, done.strategy, done.code))
            query = shop.project.table(f"v_{name}").query
            expected = session.sql(query).toArrow().to_pylist()
            assert shop.rows(f"v_{name}") == sorted(expected, key=repr), (name, step)
    assert {name for name, strategy, _ in told if strategy != "full"} == set(VIEWS), told
