"""A fault of the second reading leaves one view in full; it ends no analysis."""

from __future__ import annotations

from typing import Any, cast

import pytest

from freshline.spark.views import readings
from freshline.sql.query.records import Reason, ViewPlan

APPEND = ViewPlan("joint", Reason("X", "x"), Reason("X", "x"))


@pytest.mark.parametrize(
    "fault", [TypeError("'NoneType' object is not iterable"), KeyError("exprId"), RecursionError()]
)
def test_a_plan_of_an_unknown_shape_is_not_confirmed(monkeypatch, fault):
    def fails(*_):
        raise fault

    monkeypatch.setattr(readings, "spark_plan", fails)
    plan = readings.confirmed(cast("Any", None), "SELECT 1", [], APPEND)
    for claim in (plan.appends, plan.buckets, plan.merge):
        assert isinstance(claim, Reason)
        assert claim.code == "readings-differ"
        assert repr(fault) in claim.message
