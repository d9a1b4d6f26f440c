"""Variances over batches: count, mean and sum of squared deviations, merged by Chan's formula.

Sums of squares would lose all digits where the mean is large (mean 1e9, deviation 1: nothing
is left). Chan, Golub and LeVeque's pairwise update (1979) keeps them:

    n = n_a + n_b,  mean = mean_a + d n_b / n,  M2 = M2_a + M2_b + d^2 n_a n_b / n

with d = mean_b - mean_a. SQL has no such aggregate, so the states of a group are collected
and folded. A state of no rows is NULL, which collecting leaves out; so n is never zero.

Where all values are one, the mean is that value to the last digit, and M2 is 0: a sum divided by
its count need not be, and a query may ask whether a deviation is 0. So the mean is kept between
the least and the greatest value, and that of the first state is taken as it is. As in Spark, d is
divided before it is multiplied: of values near 10^152 the square would be infinite otherwise.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

VARIANCES = frozenset({"var_samp", "var_pop", "stddev_samp", "stddev_pop"})

_STATE = """CASE WHEN COUNT(x) > 0 THEN NAMED_STRUCT(
    'n', CAST(COUNT(x) AS DOUBLE),
    'mean', GREATEST(MIN(CAST(x AS DOUBLE)), LEAST(MAX(CAST(x AS DOUBLE)), AVG(CAST(x AS DOUBLE)))),
    'm2', VAR_POP(CAST(x AS DOUBLE)) * COUNT(x)) END"""
_FOLD = """AGGREGATE(COLLECT_LIST(s),
    NAMED_STRUCT('n', CAST(0 AS DOUBLE), 'mean', CAST(0 AS DOUBLE), 'm2', CAST(0 AS DOUBLE)),
    (a, b) -> NAMED_STRUCT(
        'n', a.n + b.n,
        'mean', CASE WHEN a.n = 0 THEN b.mean
            ELSE a.mean + (b.mean - a.mean) * b.n / (a.n + b.n) END,
        'm2', CASE WHEN a.n = 0 THEN b.m2 ELSE
            a.m2 + b.m2 + (b.mean - a.mean) * ((b.mean - a.mean) / (a.n + b.n)) * a.n * b.n END)
    {last})"""
_LAST = {
    "var_pop": "CASE WHEN r.n > 0 THEN r.m2 / r.n END",
    "var_samp": "CASE WHEN r.n > 1 THEN r.m2 / (r.n - 1) END",
    "stddev_pop": "CASE WHEN r.n > 0 THEN SQRT(r.m2 / r.n) END",
    "stddev_samp": "CASE WHEN r.n > 1 THEN SQRT(r.m2 / (r.n - 1)) END",
}


def moments_state(value: exp.Expr) -> exp.Expr:
    """The state of a batch: struct<n, mean, m2>, NULL where no value is there."""
    return _filled(_STATE, "x", value)


def moments_merge(column: exp.Expr) -> exp.Expr:
    """The state of all the states in ``column``."""
    return _filled(f"CASE WHEN COUNT(s) > 0 THEN {_FOLD.format(last='')} END", "s", column)


def moments_finish(name: str, column: exp.Expr) -> exp.Expr:
    """The variance or deviation called ``name`` over all the states in ``column``."""
    return _filled(_FOLD.format(last=f", r -> {_LAST[name]}"), "s", column)


def _filled(template: str, hole: str, value: exp.Expr) -> exp.Expr:
    tree = sqlglot.parse_one(template, dialect="spark")
    for column in list(tree.find_all(exp.Column)):
        if column.name == hole and not column.table:
            column.replace(value.copy())
    return tree
