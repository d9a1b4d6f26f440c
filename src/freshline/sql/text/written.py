"""A syntax tree written as SQL that Spark shall run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sqlglot import exp, transforms
from sqlglot.generators.spark import SparkGenerator


class _Generator(SparkGenerator):
    """Leaves QUALIFY as it is, which Spark knows, and names a struct's fields without AS.

    sqlglot's own puts an output column's expression for each column of its name there, so that
    ``SELECT -a AS a .. QUALIFY rank() OVER (ORDER BY t.a) = 1`` is ordered by ``-t.a``.

    Spark takes two ``struct(t.c AS c)`` for different ones where the column has metadata (it is a
    CHAR(n), or has a comment), and refuses to group by the one and show the other.
    """

    TRANSFORMS: ClassVar = {
        **SparkGenerator.TRANSFORMS,
        exp.Select: transforms.preprocess(
            [
                transforms.eliminate_distinct_on,
                transforms.unnest_to_explode,
                transforms.any_to_exists,
            ]
        ),
    }

    def struct_sql(self, expression: exp.Struct) -> str:
        """NAMED_STRUCT('c', t.c) for STRUCT(t.c AS c)."""
        fields = expression.expressions
        if not fields or not all(isinstance(each, exp.PropertyEQ) for each in fields):
            return str(super().struct_sql(expression))
        named = [(exp.Literal.string(each.this.name), each.expression) for each in fields]
        return str(self.func("NAMED_STRUCT", *(part for pair in named for part in pair)))


_LEVELS: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In,
     exp.Between, exp.Like, exp.ILike),
    (exp.BitwiseOr,),
    (exp.BitwiseXor,),
    (exp.BitwiseAnd,),
    (exp.Add, exp.Sub, exp.DPipe),
    (exp.Mul, exp.Div, exp.Mod, exp.IntDiv),
    (exp.Neg, exp.BitwiseNot),
    (exp.Bracket, exp.Dot),
)  # fmt: skip
"""Operators, those that bind least first."""
_BINDING = {kind: level for level, kinds in enumerate(_LEVELS) for kind in kinds}
_COMPARING = _BINDING[exp.EQ]
_OPERANDS = ("this", "expression", "low", "high")


def for_spark(tree: exp.Expr) -> str:
    """The tree as text, with the brackets that it needs.

    A tree that was parsed has them. One that was put together may have an operator under another
    that binds more, as ``a OR b`` under IS.
    """
    if any(True for _ in _bare_operands(tree)):
        tree = tree.copy()
        for operand in list(_bare_operands(tree)):
            brackets = exp.Paren()
            operand.replace(brackets)
            brackets.set("this", operand)
    return str(_Generator(dialect="spark").generate(tree))


def _bare_operands(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Operators that would be read otherwise where they stand."""
    for node in tree.walk():
        level = _BINDING.get(type(node))
        if level is None:
            continue
        for key in _OPERANDS:
            operand = node.args.get(key)
            below = _BINDING.get(type(operand)) if isinstance(operand, exp.Expr) else None
            if operand is None or below is None or (key != "this" and type(node) in _LEVELS[-1]):
                continue
            is_right = key == "expression" and level > _COMPARING
            if below < level or (below == level and (is_right or level == _COMPARING)):
                yield operand
