"""Which states do not merge without ANSI mode: those whose sums can overflow to NULL."""

from __future__ import annotations

import pytest

from freshline.spark.views.plans import overflow
from freshline.sql.query.records import Decomposition, Partial, Reason

STATE = Partial("p", ("k0",), "SELECT k0, s0 FROM t", "SELECT k0, sum(s0) AS s0 FROM p GROUP BY k0")
MERGES = Decomposition((STATE,), "SELECT k0, s0 FROM p")


@pytest.mark.parametrize(
    ("key", "value", "lost"),
    [
        ("string", "decimal(38,6)", True),
        ("string", "decimal(38,0)", True),
        ("string", "decimal(37,6)", False),
        ("decimal(38,6)", "bigint", False),
        ("string", "double", False),
    ],
)
def test_a_sum_of_as_many_digits_as_there_are(key, value, lost):
    found = overflow(MERGES, lambda _: [("k0", key), ("s0", value)])
    assert (found is not None and found.code) == (lost and "OVERFLOW")


def test_what_does_not_merge_keeps_its_reason():
    assert overflow(Reason("AGGREGATE", "no rule"), lambda _: []) is None
