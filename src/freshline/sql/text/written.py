"""A syntax tree written as SQL that Spark shall run."""

from __future__ import annotations

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


def for_spark(tree: exp.Expr) -> str:
    """The tree as text."""
    return str(_Generator(dialect="spark").generate(tree))
