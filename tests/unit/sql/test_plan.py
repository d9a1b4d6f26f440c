"""Every way to maintain a view is looked for by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from freshline.sql.plan import FAULT, view_plan
from freshline.sql.query.records import Buckets, Reason
from tests.support.view_cases import HOURLY, SOURCES
from tests.unit.sql.plan_texts import plan_texts


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


def test_a_fault_before_all_analyses_costs_one_view_its_ways_and_no_more(monkeypatch):
    def broken(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("freshline.sql.plan.normalise", broken)
    plan = view_plan(HOURLY, SOURCES, decompose=decomposed)
    for way in (plan.appends, plan.buckets, plan.merge):
        assert isinstance(way, Reason)
        assert way.code == FAULT


@pytest.mark.parametrize(
    "call", ["strpos(usr, 'a')", "`To_Days`(ts)", "safe_divide(id, 2)", "list(id)"]
)
def test_a_function_that_sqlglot_knows_and_spark_has_not_is_somebodys_own(call):
    plan = view_plan(f"SELECT ts, {call} AS x FROM orders", SOURCES, decompose=decomposed)
    for way in (plan.appends, plan.buckets, plan.merge):
        assert isinstance(way, Reason)
        assert way.code == "UNKNOWN_FUNCTION"


def test_names_that_are_not_called_and_words_of_sparks_grammar_are_no_functions():
    query = """SELECT /*+ broadcast(b) */ ts, try_cast(usr AS INT) AS strpos,
        timestampadd(HOUR, 1, ts) AS later, (usr) AS quantile FROM orders"""
    assert view_plan(query, SOURCES, decompose=decomposed).appends == "joint"


def test_a_plan_is_the_same_in_every_process():
    """A view is tried again and computed in full once where its plan is another one."""
    printed = subprocess.run(
        [sys.executable, "-m", "tests.unit.sql.plan_texts"],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(printed.stdout) == plan_texts()


def decomposed(*_: object) -> Reason:
    return Reason("KEEPS_ROWS", "not asked for here")
