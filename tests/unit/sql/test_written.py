"""Trees that are put together are written with the brackets that they need."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from freshline.sql.text.written import for_spark

A, B, C = (exp.column(name) for name in "abc")
BINARY = (
    exp.Or, exp.And, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.GTE, exp.BitwiseOr,
    exp.BitwiseXor, exp.BitwiseAnd, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Like,
)  # fmt: skip

values = st.recursive(
    st.sampled_from("abc").map(exp.column),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(BINARY), inner, inner).map(
            lambda made: made[0](this=made[1], expression=made[2])
        ),
        inner.map(lambda x: exp.Not(this=x)),
        inner.map(lambda x: exp.Neg(this=x)),
        inner.map(lambda x: exp.Is(this=x, expression=exp.null())),
        st.builds(lambda x, y: exp.In(this=x, expressions=[y]), inner, inner),
        st.builds(lambda x, y, z: exp.Between(this=x, low=y, high=z), inner, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip


def shape(tree: exp.Expr) -> object:
    """Operators and columns, without brackets; of AND and OR all operands together."""
    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        return tree.name
    for both in (exp.And, exp.Or):
        if isinstance(tree, both):
            return both.__name__, *(shape(each) for each in _operands(tree, both))
    kind = exp.Div if isinstance(tree, exp.Div) else type(tree)
    return kind.__name__, *(shape(each) for each in tree.iter_expressions())


def _operands(tree: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    tree = tree.unnest()
    if not isinstance(tree, kind):
        return [tree]
    return [each for side in ("this", "expression") for each in _operands(tree.args[side], kind)]


@given(values)
def test_what_is_written_is_read_as_it_was_meant(tree):
    wanted = shape(tree)
    text = for_spark(tree)
    assert shape(tree) == wanted, "the tree itself is not changed"
    assert shape(sqlglot.parse_one(text, dialect="spark")) == wanted


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (exp.Is(this=exp.Or(this=A, expression=B), expression=exp.null()), "(a OR b) IS NULL"),
        (exp.Not(this=exp.Is(this=exp.Not(this=A), expression=exp.null())), "NOT (NOT a) IS NULL"),
        (exp.Mul(this=exp.Add(this=A, expression=B), expression=C), "(a + b) * c"),
        (exp.Sub(this=A, expression=exp.Sub(this=B, expression=C)), "a - (b - c)"),
        (exp.Sub(this=exp.Sub(this=A, expression=B), expression=C), "a - b - c"),
        (exp.And(this=exp.And(this=A, expression=B), expression=C), "a AND b AND c"),
        (exp.Bracket(this=exp.DPipe(this=A, expression=B), expressions=[C]), "(a || b)[c]"),
    ],
)
def test_brackets_stand_where_they_are_needed_alone(tree, text):
    assert for_spark(tree) == text
