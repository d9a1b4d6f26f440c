"""Trials in the wall-clock driver: who is tried, when, and what people see of it."""

from __future__ import annotations

import dataclasses
import time
from contextlib import closing

import pytest

from freshline.executor.trials import Difference, Trust, Verdict
from freshline.project.definition import definition_of
from freshline.project.model import Program
from freshline.render.status import remarks
from freshline.render.strategies import strategies_record
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.replay import replay
from freshline.runtime.status.status import read_status
from freshline.runtime.status.trusted import objection
from freshline.runtime.upkeep import trials
from tests.support.shop import LiveRun, eventually, made_shop

TABLES = {"orders": (), "v": ("orders",), "w": ("v",)}
FAILED = Verdict(
    "failed", {"append": 1}, 2, 0.5,
    reason="after step 1 append gave another result than the query",
    difference=Difference("append", "row-wise", 1, ((1,),), ()),
    evidence="/somewhere/trial-v",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path):
    found = made_shop(tmp_path, TABLES, trials=True)
    quiet = dataclasses.replace(found.project.maintenance, compact=False, vacuum=False, audit=0.0)
    found.project = dataclasses.replace(found.project, maintenance=quiet)
    return found


def fill(shop, minute):
    shop.file("orders", minute, [minute])
    shop.run_until_idle()


def tried(shop):
    return [each.table for each in shop.executor.requests if each.upkeep == "try"]


def trusts(shop, table):
    """What each update of a table was told of its trial."""
    return [
        each.trust for each in shop.executor.requests if each.table == table and not each.upkeep
    ]


def key(shop, table):
    """By which the executor of these tests knows a trial."""
    return definition_of(shop.project.table(table))


def test_views_are_tried_once_they_are_built_before_an_idle_run_ends(shop):
    fill(shop, 1)
    assert sorted(tried(shop)) == ["v", "w"]
    assert trusts(shop, "orders") == [None]
    assert trusts(shop, "v") == [Trust()]
    fill(shop, 2)
    assert len(tried(shop)) == 2
    assert trusts(shop, "v")[1] == Trust(key(shop, "v"), "passed")
    status = read_status(shop.project, time.time())
    assert [table.last_update.strategy for table in status.tables if table.last_update] == [
        "append", "full", "full",
    ]  # fmt: skip
    assert (status.trials["v"].trust.outcome, status.trials["v"].compared) == (
        "passed",
        {"append": 4},
    )
    assert remarks(status) == []
    shop.check_views()
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        assert replay(journal).mismatches == ()


def test_an_idle_run_begins_no_trial_once_its_trials_took_their_time(shop, monkeypatch):
    monkeypatch.setattr(trials, "IDLE_RUN_S", 1e-9)
    fill(shop, 1)
    assert tried(shop) == ["v"]
    assert [line for line in shop.recorder.lines if "trials used" in line] == [
        (
            "notice trials used the 0 s that a run until idle gives them; a later run tries these,"
            " which are computed in full until then: w"
        )
    ]
    shop.run_until_idle()
    assert tried(shop) == ["v", "w"]
    fill(shop, 2)
    assert [trusts(shop, name)[-1].outcome for name in ("v", "w")] == ["passed", "passed"]


def test_nothing_is_tried_where_it_is_turned_off(shop):
    off = dataclasses.replace(shop.project.maintenance, trials=False)
    shop.project = dataclasses.replace(shop.project, maintenance=off)
    fill(shop, 1)
    assert tried(shop) == []
    assert trusts(shop, "v") == [None]


@pytest.mark.parametrize("always", [{"refresh": "full"}, {"programs": (Program("f"),)}])
def test_a_view_that_is_always_computed_in_full_is_not_tried(shop, always):
    tables = [
        dataclasses.replace(table, **always) if table.name == "v" else table
        for table in shop.project.tables
    ]
    shop.project = dataclasses.replace(shop.project, tables=tuple(tables))
    fill(shop, 1)
    assert tried(shop) == ["w"]


def test_explain_knows_what_the_journal_says_of_a_trial(shop):
    view = shop.project.table("v")
    assert objection(shop.project, view) is None  # it was never built
    shop.executor.verdicts["w"] = FAILED
    fill(shop, 1)
    assert objection(shop.project, view) is None
    assert objection(shop.project, shop.project.table("w")) == "trial-failed"
    other = dataclasses.replace(view, query="SELECT n + 1 AS n FROM orders")
    assert objection(shop.project, other) == "untried"
    off = dataclasses.replace(shop.project.maintenance, trials=False)
    assert objection(dataclasses.replace(shop.project, maintenance=off), other) is None
    for file in shop.project.own_folder.glob("journal*"):
        file.unlink()
    assert objection(shop.project, view) == "untried"


def test_a_failure_is_told_by_notice_and_status_and_remembered(shop):
    shop.executor.verdicts["v"] = FAILED
    fill(shop, 1)
    told = "after step 1 append gave another result than the query"
    (notice,) = [line for line in shop.recorder.lines if "trial failed" in line]
    assert notice == (
        f"notice v is computed in full: its trial failed: {told};"
        " the case is kept in /somewhere/trial-v"
    )
    fill(shop, 2)
    assert trusts(shop, "v")[1] == Trust(key(shop, "v"), "failed")
    assert sorted(tried(shop)) == ["v", "w"]
    status = read_status(shop.project, time.time())
    assert f"v: computed in full, since its trial failed: {told};" in "\n".join(remarks(status))
    record = strategies_record(status, "v")["trial"]
    assert (record["outcome"], record["reason"], record["evidence"]) == (
        "failed",
        told,
        "/somewhere/trial-v",
    )


def test_another_query_is_tried_again(shop):
    fill(shop, 1)
    tables = [
        dataclasses.replace(table, query=f"{table.query} WHERE true")
        if table.name == "v"
        else table
        for table in shop.project.tables
    ]
    shop.project = dataclasses.replace(shop.project, tables=tuple(tables))
    shop.executor.project = shop.project
    shop.run_until_idle()
    assert sorted(tried(shop)) == ["v", "v", "w"]


def test_a_view_that_an_update_calls_untried_is_tried_again(shop):
    fill(shop, 1)
    shop.executor.codes["v"] = "untried"  # as where its parents' columns changed
    fill(shop, 2)
    assert sorted(tried(shop)) == ["v", "v", "w"]


def test_a_deleted_journal_costs_another_trial_and_nothing_else(shop):
    fill(shop, 1)
    for file in shop.project.own_folder.glob("journal*"):
        file.unlink()
    fill(shop, 2)
    assert sorted(tried(shop)) == ["v", "v", "w", "w"]
    shop.check_views()


def test_a_trial_that_cannot_be_carried_out_is_asked_for_after_the_next_update(shop):
    shop.executor.failing_upkeep = "no disk"
    fill(shop, 1)
    assert sorted(tried(shop)) == ["v", "w"]
    shop.executor.failing_upkeep = ""
    with LiveRun(shop):
        shop.file("orders", 2, [2])
        eventually(lambda: len(tried(shop)) >= 4)
    assert {"passed"} == {
        trial.trust.outcome for trial in read_status(shop.project, time.time()).trials.values()
    }
    shop.check_views()
