"""Every way to maintain a view is looked for by itself."""

from __future__ import annotations

from freshline.sql.plan import FAULT, view_plan
from freshline.sql.query.records import Buckets, Reason
from tests.support.view_cases import HOURLY, SOURCES


def test_a_fault_of_one_analysis_leaves_the_other_ways(caplog):
    def broken(*_: object) -> Reason:
        raise KeyError("ts")

    plan = view_plan(HOURLY, SOURCES, decompose=broken)
    assert isinstance(plan.buckets, Buckets)
    assert isinstance(plan.merge, Reason)
    assert plan.merge == Reason(
        FAULT,
        "the analysis itself failed (KeyError('ts')), which is a fault of freshline: please report"
        " the query",
    )
    assert "in broken" in caplog.text
