"""A law: every aggregate that Spark knows, in every form it has, is merged rightly or refused.

The functions are those of Spark's own list. Values come again within a batch and across batches,
NULL among them, since that is where DISTINCT and FILTER decide.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from freshline.spark.views.verify import typer, verify
from freshline.sql.query.records import Decomposition, Source
from freshline.sql.states.decompose import decompose
from freshline.sql.text.functions import AGGREGATES
from tests.spark.same_rows import assert_same_rows
from tests.support.share import share

pytestmark = pytest.mark.spark

_COLUMNS = {
    "id": "bigint", "g": "string", "i": "int", "d": "double", "m": "decimal(9,2)",
    "s": "string", "b": "boolean",
}  # fmt: skip
_ARGUMENTS = ("i", "m", "d", "s", "b", "i > 1", "i % 2, b", "s, id", "d, 0.4", "i, 0.25", "i, d")
_UNTIED = ("s, id", "struct(i, d), id", "d, named_struct('b', b, 'id', id)")
"""With these no two values have the same place in the order."""

_FORMS = (
    "{name}({arguments})",
    "{name}(DISTINCT {arguments})",
    "{name}({arguments}) FILTER (WHERE b)",
    "{name}(DISTINCT {arguments}) FILTER (WHERE i <> 3)",
)
_SHAPES = (
    "SELECT g, {call} AS x FROM facts GROUP BY g",
    "SELECT {call} AS x, count(*) AS n FROM facts",
    "SELECT g FROM facts GROUP BY g HAVING CAST({call} AS STRING) > '0'",
)
_BATCHES = 3
_BY_ORDER = {"any_value", "first", "first_value", "last", "last_value"}


def rows(batch: int) -> pa.Table:
    """Twenty rows of a few values; the second batch is empty."""
    chance = random.Random(batch)
    made = [
        {
            "id": 100 * batch + number,
            "g": chance.choice(("a", "b", None)),
            "i": chance.choice((None, 0, 1, 3, 7)),
            "d": chance.choice((None, 0.0, -1.5, 2.25)),
            "m": chance.choice((None, Decimal("0.10"), Decimal("-7.25"))),
            "s": chance.choice((None, "7", "07", "-1")),
            "b": chance.choice((None, True, False)),
        }
        for number in range(0 if batch == 1 else 20)
    ]
    kinds = (pa.int64(), pa.string(), pa.int32(), pa.float64(), pa.decimal128(9, 2), pa.string())
    fields = zip(_COLUMNS, (*kinds, pa.bool_()), strict=True)
    return pa.Table.from_pylist(made, pa.schema(list(fields)))


@pytest.fixture(scope="module")
def facts(spark: SparkSession) -> SparkSession:
    """A session with the rows of each batch, and of all, as views."""
    session = spark.newSession()
    batches = [session.createDataFrame(rows(batch)) for batch in range(_BATCHES)]
    for batch, frame in enumerate(batches):
        frame.createOrReplaceTempView(f"facts_{batch}")
    reduce(DataFrame.unionAll, batches).createOrReplaceTempView("facts_all")
    see(session, "all")
    return session


def see(session: SparkSession, which: object) -> None:
    session.table(f"facts_{which}").createOrReplaceTempView("facts")


def forms(name: str) -> Iterator[str]:
    """Every call of a function, whether or not it has such arguments."""
    chosen = {"count": ("*", *_ARGUMENTS), "max_by": _UNTIED, "min_by": _UNTIED}
    for arguments in chosen.get(name, _ARGUMENTS):
        for form in _FORMS:
            yield form.format(name=name, arguments=arguments)


def merged(session: SparkSession, cut: Decomposition) -> DataFrame:
    """The final query over the states of every batch, put together."""
    for partial in cut.partials:
        states = []
        for batch in range(_BATCHES):
            see(session, batch)
            states.append(session.sql(partial.query))
        reduce(DataFrame.unionAll, states).createOrReplaceTempView(partial.name)
        session.sql(partial.combine).createOrReplaceTempView(partial.name)
    see(session, "all")
    return session.sql(cut.final)


@pytest.mark.parametrize("name", share(sorted(AGGREGATES - _BY_ORDER), part=90, always=["bit_xor"]))
def test_every_form_of_an_aggregate_is_merged_rightly_or_refused(facts, name):
    sources = [Source("facts", _COLUMNS)]
    for shape in _SHAPES:
        for call in forms(name):
            query = shape.format(call=call)
            try:
                expected = facts.sql(query).collect()
            except (PySparkException, Py4JJavaError):
                continue
            cut = decompose(query, sources, typer(facts))
            if isinstance(cut, Decomposition) and verify(facts, query, cut) is None:
                assert_same_rows(expected, merged(facts, cut).collect())
