"""Merged averages of decimals against Spark's own, digit by digit."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from sqlglot import exp

from freshline.sql.query.records import Source
from freshline.sql.states.quotients import exact_quotient
from tests.spark.views.proving import Proving

pytestmark = pytest.mark.spark

TYPES = [
    (38, 18),
    (38, 20),
    (12, 2),
    (9, 3),
    (11, 2),
    (11, 0),
    (10, 2),
    (5, 4),
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
            for _ in range(chance.choice([1, 2, 3, 6, 7, 9, 11, 13, 17, 99, 160]))
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


KINDS = {
    # digits, digits behind the point, values from and up to (without point), rows of a group
    "long values": (11, 2, 90_000_000_000, 99_999_999_999, (13, 17, 19, 23, 29)),
    "money": (10, 2, 100, 500_000, (160,)),
    "money that is owed": (10, 2, -500_000, -100, (160,)),
    "small numbers": (7, 2, 1, 9_999, (160,)),
}


def by_doubles(total: int, count: int, scale: int) -> Decimal:
    """As Spark's optimiser has it computed; Python's doubles and their texts are Java's."""
    unit = Decimal(1).scaleb(-(scale + 4))
    return Decimal(repr(total / count / 10.0**scale)).quantize(unit, ROUND_HALF_UP)


def exactly(total: int, count: int, scale: int) -> Decimal:
    with localcontext(prec=80):
        unit = Decimal(1).scaleb(-(scale + 4))
        return (Decimal(total).scaleb(-scale) / count).quantize(unit, ROUND_HALF_UP)


def telling(kind: str) -> pa.Table:
    """Twelve groups whose average differs by the way in which it is computed."""
    digits, scale, least, most, counts = KINDS[kind]
    chance = random.Random(kind)
    found: list[list[int]] = []
    while len(found) < 12:
        values = [chance.randrange(least, most) for _ in range(chance.choice(counts))]
        if by_doubles(sum(values), len(values), scale) != exactly(sum(values), len(values), scale):
            found.append(values)
    rows = [
        {"g": group, "v": Decimal(value).scaleb(-scale)}
        for group, values in enumerate(found)
        for value in values
    ]
    schema = pa.schema([("g", pa.int64()), ("v", pa.decimal128(digits, scale))])
    return pa.Table.from_pylist(rows, schema)


@pytest.mark.parametrize("kind", KINDS)
def test_an_average_of_short_decimals_is_merged_as_spark_computes_it(shop, kind):
    """Its optimiser computes it in doubles: exactly divided, the last digit is another one."""
    digits, scale, *_ = KINDS[kind]
    rows = telling(kind)
    proving = Proving(shop)
    proving.feed(Source("sales", {"g": "bigint", "v": f"decimal({digits},{scale})"}))
    proving.view("v_mean", "SELECT g, avg(v) AS a, count(*) AS n FROM sales GROUP BY g")
    proving.view("v_some", "SELECT g, count(*) AS n FROM sales GROUP BY g HAVING avg(v) < 2500.5")
    proving.plan()
    for part in range(3):
        proving.arrive("sales", rows.take(list(range(part, len(rows), 3))))
        proving.update("v_mean")
        proving.update("v_some")
    assert [proving.told[view][-1][0] for view in ("v_mean", "v_some")] == ["group-merge"] * 2


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
