"""A syntax tree written as SQL that Spark shall run."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp, transforms
from sqlglot.generators.spark import SparkGenerator


class _Generator(SparkGenerator):
    """Leaves QUALIFY as it is, which Spark knows.

    sqlglot's own puts an output column's expression for each column of its name there, so that
    ``SELECT -a AS a .. QUALIFY rank() OVER (ORDER BY t.a) = 1`` is ordered by ``-t.a``.
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


def for_spark(tree: exp.Expr) -> str:
    """The tree as text."""
    return str(_Generator(dialect="spark").generate(tree))
