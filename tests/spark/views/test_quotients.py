"""Merged averages of decimals against Spark's own, digit by digit."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from sqlglot import exp

from freshline.sql.states.quotients import exact_quotient

pytestmark = pytest.mark.spark

TYPES = [
    (38, 18),
    (38, 20),
    (12, 2),
    (9, 3),
    (20, 0),
    (33, 4),
    (28, 14),
    (38, 2),
    (36, 20),
    (18, 18),
]
GROUPS = 60


def quotient(type_: str) -> str:
    count = exp.func("nullif", exp.column("c"), exp.Literal.number(0))
    return exact_quotient(exp.column("s"), count, type_).sql(dialect="spark")


@pytest.mark.parametrize("loses", ["true", pytest.param("false", marks=pytest.mark.proof)])
def test_the_quotient_is_the_average_of_every_type(spark, loses):
    spark = spark.newSession()
    spark.conf.set("spark.sql.decimalOperations.allowPrecisionLoss", loses)
    chance = random.Random(8)
    for precision, scale in TYPES:
        whole = min(precision - scale, 31 - scale if precision > 33 else precision)
        rows = [
            {"g": group, "v": Decimal(chance.randrange(-limit, limit)).scaleb(-scale)}
            for group in range(GROUPS)
            for limit in [10 ** (scale + chance.choice([whole, min(3, whole), 0]))]
            for _ in range(chance.choice([1, 2, 3, 6, 7, 9, 11, 13, 17, 99]))
        ]
        rows += [{"g": GROUPS, "v": None}]
        schema = pa.schema([("g", pa.int32()), ("v", pa.decimal128(precision, scale))])
        values = spark.createDataFrame(pa.Table.from_pylist(rows, schema))
        sums = values.groupBy("g").agg({"v": "avg", "*": "count"}).selectExpr("g", "`avg(v)` AS a")
        type_ = sums.schema["a"].dataType.simpleString()
        both = values.groupBy("g").agg({"v": "sum"}).withColumnRenamed("sum(v)", "s")
        counts = values.where("v IS NOT NULL").groupBy("g").count()
        found = (
            sums.join(both, "g")
            .join(counts.withColumnRenamed("count", "c"), "g", "left")
            .selectExpr("g", "a", f"{quotient(type_)} AS q")
        )
        assert found.schema["q"].dataType.simpleString() == type_
        wrong = [tuple(row) for row in found.where("NOT a <=> q").collect()]
        assert wrong == [], (precision, scale)
        assert found.count() == GROUPS + 1


def test_ties_are_rounded_away_from_zero_and_only_they(spark):
    sums = ["0.01", "0.99", "1.00", "1.01", "2.99", "-1.00", "-0.99", "-1.01", "12345678901.01"]
    counts = [2_000_000, 2_000_001, 1_999_999, 99_999_999_999, 3]
    pairs = ", ".join(f"({total}BD, {count}L)" for total in sums for count in counts)
    rows = spark.sql(
        f"SELECT s, c, {quotient('decimal(16,6)')} AS q FROM "
        f"(SELECT CAST(s AS DECIMAL(22,2)) AS s, c FROM VALUES {pairs} AS t(s, c))"
    ).collect()
    with localcontext(prec=80):
        wanted = [(row.s / row.c).quantize(Decimal("1.000000"), ROUND_HALF_UP) for row in rows]
    assert [row.q for row in rows] == wanted
    assert len(rows) == len(sums) * len(counts)
