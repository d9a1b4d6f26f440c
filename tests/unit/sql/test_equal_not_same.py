"""States group equal values as one: where a query tells these apart, it is not cut into states.

0.0 and -0.0 are equal and have two texts; so are two maps with their entries in another order.
Every shape of a query whose final part computes of a state's keys, with expressions that tell
equal values apart, and with those that do not.
"""

from __future__ import annotations

import re

import pytest
import sqlglot

from freshline.sql.query.records import Decomposition, Reason, Source
from freshline.sql.states.decompose import decompose

SALE = Source("sale", {"shop": "string", "weight": "double", "pieces": "int"})
PART = Source("part", {"shop": "string", "kind": "string"})
SHOP = Source("shop", {"shop": "string", "city": "string"}, static=True)

SHAPES = {
    "group of an outer join": "SELECT {} AS x, count(*) AS n FROM part p LEFT JOIN sale s ON"
    " p.shop = s.shop GROUP BY 1",
    "group beside a static table": "SELECT {} AS x, count(*) AS n FROM shop p LEFT JOIN sale s ON"
    " p.shop = s.shop GROUP BY 1",
    "rows that count once": "SELECT DISTINCT {} AS x, p.kind FROM part p LEFT JOIN sale s ON"
    " p.shop = s.shop",
    "aggregate over a join": "SELECT p.n, max({}) AS x FROM sale s JOIN (SELECT shop, count(*) AS n"
    " FROM part GROUP BY shop) p ON p.shop = s.shop GROUP BY p.n",
    "condition that asks all rows": "SELECT count(*) AS x FROM sale s WHERE struct({}, 1) <"
    " (SELECT struct(count(*), 1) FROM part)",
}
TELLS = (
    *("concat(s.weight, p.n)", "CAST(s.weight AS STRING)", "hash(s.weight)", "s.weight || 'x'"),
    *("to_json(struct(s.weight))", "coalesce(s.weight, p.n)", "coalesce(s.weight, '-')"),
    *("CASE WHEN p.n > 1 THEN s.weight ELSE 'none' END", "s.weight LIKE '-%'"),
    *("s.weight IN ('-0.0', p.n)", "concat(s.weight + 1, p.n)", "format_number(s.weight, 1)"),
)
DO_NOT = (
    *("s.weight", "s.weight * 2 + p.n", "coalesce(s.weight, 0)", "s.weight > p.n"),
    *("CASE WHEN s.weight > p.n THEN 1 ELSE 0 END", "CAST(s.weight AS INT) + p.n"),
    *("abs(s.weight)", "nullif(s.weight, 0)", "s.weight IN (1, 2)"),
)

_IS_KEY = re.compile(r"weight`?( \+ 1)? AS k\d")

_COUNTED = "(SELECT shop, count(*) AS n FROM part GROUP BY shop)"
_LATER = "p ON p.shop = s.shop GROUP BY p.n"
_ZEROS = "concat(max(coalesce(s.weight, 0)), 'x') AS x"
OF_RESULTS = (
    f"SELECT p.n, CAST(max(s.weight * p.n) AS STRING) AS x FROM sale s JOIN {_COUNTED} {_LATER}",
    f"SELECT p.kind, {_ZEROS} FROM part p LEFT JOIN sale s USING (shop) GROUP BY p.kind",
    f"SELECT p.n, CAST(median(s.weight * p.n) AS STRING) AS x FROM sale s JOIN {_COUNTED} {_LATER}",
)
"""Queries that tell equal values apart in an aggregate's result, itself one value of a key."""

OF_PERCENTILES = (
    "SELECT shop, CAST(median(weight) AS STRING) AS x FROM sale GROUP BY shop",
    "SELECT CAST(m AS STRING) FROM (SELECT median(weight) AS m FROM sale GROUP BY shop)",
    "SELECT hash(percentile(weight, 0.5)) AS x, count(DISTINCT pieces) FROM sale GROUP BY shop",
    "SELECT shop FROM sale GROUP BY shop HAVING median(weight) LIKE '-%'",
    "SELECT percentile(weight, array(0.1, 0.9)) FILTER (WHERE pieces > 1) AS x FROM sale",
)


def cut(shape: str, expression: str, type_: str) -> Decomposition | Reason:
    """The shape with the expression, where the weight has the type."""
    column = {"condition that asks all rows": "(SELECT count(*) FROM part)"}.get(shape, "p.shop")
    query = SHAPES[shape]
    return cut_query(
        query.format(expression if "p.n" in query else expression.replace("p.n", column)), type_
    )


def cut_query(query: str, type_: str) -> Decomposition | Reason:
    """The query, where the weight has the type."""

    def typer(query: str) -> list[tuple[str, str]]:
        items = sqlglot.parse_one(query, dialect="spark").expressions
        return [
            (item.alias_or_name, type_ if "weight" in item.sql().lower() else "string")
            for item in items
        ]

    return decompose(query, [SALE, PART, SHOP], typer, keeps_rows=True)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("expression", TELLS)
@pytest.mark.parametrize("type_", ["double", "float", "map<string,int>", "struct<a:double>"])
def test_what_tells_equal_values_apart_is_not_computed_of_groups(shape, expression, type_):
    found = cut(shape, expression, type_)
    if isinstance(found, Decomposition):  # a batch computes it of its rows, before they are groups
        assert not [each for each in found.partials if _IS_KEY.search(each.query)]
    else:
        assert found.code == "EQUAL_NOT_SAME"


@pytest.mark.parametrize("shape", [each for each in SHAPES if each != "rows that count once"])
@pytest.mark.parametrize("expression", DO_NOT)
def test_what_is_the_same_of_equal_values_merges(shape, expression):
    assert isinstance(cut(shape, expression, "double"), Decomposition)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("expression", TELLS)
def test_values_that_are_the_same_where_they_are_equal_merge(shape, expression):
    assert isinstance(cut(shape, expression, "string"), Decomposition)


@pytest.mark.parametrize("query", OF_RESULTS)
def test_what_tells_results_apart_is_not_computed_of_groups(query):
    found = cut_query(query, "double")
    assert isinstance(found, Reason)
    assert found.code == "EQUAL_NOT_SAME"
    assert isinstance(cut_query(query, "int"), Decomposition)


@pytest.mark.parametrize("query", OF_PERCENTILES)
def test_a_percentile_keeps_the_sign_of_a_zero(query):
    found = cut_query(query, "double")
    assert isinstance(found, Decomposition)
    (state,) = [each for each in found.partials if "weight" in each.query]
    kept = sqlglot.parse_one(state.query, dialect="spark").expressions
    (sign,) = [each.alias for each in kept if each.sql().endswith(f"= '-0.0' AS {each.alias}")]
    assert sign in state.keys
    assert f".{sign}, -(" in found.final


@pytest.mark.parametrize(
    "shown", ["max({})", "max({}) + 1 AS x", "CASE WHEN max({}) > 1 THEN 1 END AS x", "p.kind"]
)
@pytest.mark.parametrize("having", ["", " HAVING max(coalesce(s.weight, 0)) > 2"])
def test_results_that_nothing_tells_apart_merge(shown, having):
    query = (
        f"SELECT p.kind, {shown.format('coalesce(s.weight, 0)')} FROM part p LEFT JOIN sale s ON"
        f" p.shop = s.shop GROUP BY p.kind{having} ORDER BY max(coalesce(s.weight, 0))"
    )
    assert isinstance(cut_query(query, "double"), Decomposition)
