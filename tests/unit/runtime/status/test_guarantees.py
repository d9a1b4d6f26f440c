"""What is promised of a project: quantiles of its journal, targets, and changes against a run.

The journals are written by the runtime's own classes, as a run writes them.
"""

from __future__ import annotations

import dataclasses
import os

import pytest

from freshline.cli.commands.guarantees import costs_in_words
from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import Place, UserError
from freshline.core.events import FileArrived, UpdateFinished
from freshline.executor.records import UpdateResult
from freshline.project.lags import target_lags
from freshline.project.model import Project
from freshline.runtime.assembly import scheduler_for, specs_for
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.status.guarantees import project_guarantees
from freshline.runtime.status.measured import measured, nearest_rank
from freshline.runtime.status.targets import check_against_running, unkept_targets
from tests.support.shop import made_project


def ran(project: Project, seconds_of: dict[str, list[float]]) -> Project:
    """``project`` after a run in which updates of one period took the seconds given."""
    journal = Journal(journal_path(project), create=True)
    ledger = Ledger(journal)
    specs = specs_for(project, journal)
    core = scheduler_for(project, specs, 0.0)
    setting = {
        "start_s": 0.0,
        "scheduler": dataclasses.asdict(project.scheduler),
        "specs": [dataclasses.asdict(spec) for spec in specs],
        "targets": target_lags(project),
    }
    ledger.begin_run(os.getpid(), 0.0, setting)
    for table in project.tables:
        ledger.table_declared(table.name, table.kind, "", None, None)
    now_s = 0.0
    for step in range(max(len(seconds) for seconds in seconds_of.values())):
        now_s += 1000.0
        waiting = []
        for table in project.tables:
            if table.kind == "base":
                stamp = 10.0 * (step + 1)
                waiting += core.handle(now_s, [FileArrived(table.name, stamp, f"f{step}")])
        while waiting:
            command = waiting.pop(0)
            seconds = seconds_of[command.table][step]
            now_s += seconds
            waiting += _done(core, ledger, command, seconds, now_s)
    for state in core.tables:
        ledger.table_state(state, now_s)
    journal.close()
    return project


def _done(core, ledger, command, seconds, now_s):
    ledger.update_started(command, 1, now_s - seconds, 1)
    result = UpdateResult(command.number, 1, 0, seconds, "append", "", False, {}, False)
    ledger.update_finished(command, result, seconds, now_s)
    return core.handle(now_s, [UpdateFinished(command.table, command.number, seconds)])


def with_periods(project: Project, **periods: float | None) -> Project:
    """The same with the periods of some feeds changed."""
    feeds = {
        name: dataclasses.replace(
            feed, period_s=periods.get(name.removesuffix("_feed"), feed.period_s)
        )
        for name, feed in project.feeds.items()
    }
    return dataclasses.replace(project, feeds=feeds)


def one_table(root, *, lags=None, period_s=10.0, tracks=1) -> Project:
    project = made_project(root, {"a": ()}, SchedulerSettings(tracks=tracks), lags=lags)
    return with_periods(project, a=period_s)


def test_nearest_rank_takes_a_value_that_was_seen():
    values = [float(n) for n in range(1, 101)]
    assert [nearest_rank(values, q) for q in (0.01, 0.5, 0.99, 0.999)] == [1.0, 50.0, 99.0, 100.0]
    assert nearest_rank([7.0], 0.5) == 7.0


def test_the_quantile_is_of_the_recorded_updates_over_the_learned_line(tmp_path):
    # 2 s each, every tenth 4 s.
    project = ran(one_table(tmp_path), {"a": [4.0 if n % 10 == 4 else 2.0 for n in range(100)]})
    mean = project_guarantees(project)
    high = project_guarantees(project, quantile=0.99)
    (e_mean,) = [item.share.execution_s for item in mean.assessment.guarantees]
    (e_high,) = [item.share.execution_s for item in high.assessment.guarantees]
    assert 2.0 < e_mean < 2.5
    assert e_high == pytest.approx(4.0, rel=0.01)
    assert project_guarantees(project, quantile=0.5).assessment.guarantees[0].share.execution_s == (
        pytest.approx(e_mean)
    )
    record = high.record()
    assert record["quantile"] == 0.99
    assert record["tables"]["a"]["mean"] == pytest.approx(e_mean)
    assert record["tables"]["a"]["updates"] == 100
    assert (
        record["tables"]["a"]["staleness_bound"] > mean.record()["tables"]["a"]["staleness_bound"]
    )


def test_updates_that_loaded_everything_again_do_not_count(tmp_path):
    project = ran(one_table(tmp_path), {"a": [2.0] * 20})
    journal = Journal(journal_path(project), create=False)
    journal.write("UPDATE updates SET seconds=500, full=1 WHERE number=7")
    journal.close()
    found = measured(project, quantile=0.99)
    assert found.updates["a"] == 19
    assert found.factor["a"] == pytest.approx(1.0, rel=0.01)


def test_backfills_from_which_nothing_is_learned_do_not_count(tmp_path):
    project = ran(one_table(tmp_path), {"a": [2.0] * 20})
    journal = Journal(journal_path(project), create=False)
    journal.write("UPDATE updates SET seconds=500, strategy='backfill', from_s=to_s WHERE number=7")
    journal.close()
    found = measured(project, quantile=0.99)
    assert found.updates["a"] == 19
    assert found.factor["a"] == pytest.approx(1.0, rel=0.01)


def test_nothing_is_promised_of_tables_that_never_ran(tmp_path):
    with pytest.raises(UserError, match="no update was measured yet of a"):
        project_guarantees(one_table(tmp_path))


def test_few_updates_are_said_to_be_few():
    assert costs_in_words(0.99, {"a": 99, "b": 500})[-1] == (
        "With so few it is the longest of them, and says little about the next."
    )
    assert costs_in_words(0.99, {"a": 100})[-1] == (
        "the bounds. Table a has the fewest recorded: 100 updates."
    )


# ---- targets ----


def test_a_target_below_its_bound_is_named_with_both(tmp_path):
    project = ran(one_table(tmp_path, lags={"a": 20.0}), {"a": [2.0] * 30})
    # Theorem 1 with one table: Y = e = 2; A = Theta + p + p = 12 + 10 + 10.
    assessment = project_guarantees(project).assessment
    (unkept,) = unkept_targets(project, assessment)
    assert unkept.text() == (
        "table a asks for a target_lag of 20 s; no more than 32 s can be promised"
    )
    assert str(unkept.error()) == (
        "[target-not-kept] tables.sql:1: table a asks for a target_lag of 20 s; no more than 32 s"
        " can be promised; a target_lag is at least the table's bound on staleness. Ask for less,"
        " add tracks, or see `freshline guarantees`."
    )
    asked = dataclasses.replace(project.tables[0], target_lag_s=40.0)
    assert unkept_targets(dataclasses.replace(project, tables=(asked,)), assessment) == []


# ---- against what runs ----


def two(root) -> Project:
    project = made_project(root, {"a": (), "b": ()}, SchedulerSettings(tracks=1), lags={"a": 40.0})
    return ran(with_periods(project, a=10.0, b=100.0), {"a": [2.0] * 30, "b": [4.0] * 30})


def test_a_change_that_keeps_every_bound_passes(tmp_path):
    project = two(tmp_path)
    assert check_against_running(project) == []
    assert check_against_running(with_periods(project, b=200.0)) == []


def test_a_shorter_period_that_breaks_anothers_bound_is_refused_naming_both(tmp_path):
    project = two(tmp_path)
    with pytest.raises(UserError) as error:
        check_against_running(with_periods(project, b=4.0))
    assert error.value.code == "breaks-target"
    assert error.value.what == (
        "table b, as the project has it now, would break the target_lag of table a: 40 s asked"
        " for, 34 s promised today, then nothing could be promised"
    )


def learned(root, lag_s: float, period_s: float) -> Project:
    """After a run that began with the guess of 60 s for a's feed, and has learned its period."""
    project = made_project(root, {"a": ()}, SchedulerSettings(tracks=1), lags={"a": lag_s})
    project = ran(with_periods(project, a=None), {"a": [2.0] * 30})
    journal = Journal(journal_path(project), create=False)
    journal.write("UPDATE tables SET period_s=? WHERE name='a'", (period_s,))
    journal.close()
    return project


def test_what_runs_is_judged_with_the_periods_that_it_learned(tmp_path):
    assert check_against_running(learned(tmp_path, 1000.0, 600.0)) == []


def test_a_change_that_breaks_a_bound_of_a_learned_period_is_refused(tmp_path):
    learned(tmp_path, 60.0, 5.0)  # 17 s are promised today; with the first guess it were 182 s
    more = made_project(tmp_path, {"a": (), "b": ()}, SchedulerSettings(tracks=1), lags={"a": 60.0})
    with pytest.raises(UserError) as error:
        check_against_running(with_periods(more, a=None, b=2.1))  # 2/5 + 2/2.1 of one track
    assert error.value.code == "breaks-target"


def test_a_new_table_is_taken_to_cost_what_its_kind_does(tmp_path):
    project = two(tmp_path)
    more = made_project(
        tmp_path, {"a": (), "b": (), "c": ()}, SchedulerSettings(tracks=1), lags={"a": 40.0}
    )
    calm = with_periods(more, a=10.0, b=100.0, c=1000.0)
    assert check_against_running(calm) == [
        "table c was never updated: it is taken to cost what the 2 known of its kind do on average"
    ]
    added = dataclasses.replace(calm.tables[2], place=Place("tables/new.sql", 7))
    busy = with_periods(calm, c=3.0)
    busy = dataclasses.replace(busy, tables=(*busy.tables[:2], added))
    with pytest.raises(UserError, match="table c, as the project has it now") as error:
        check_against_running(busy)
    assert error.value.where == Place("tables/new.sql", 7)
    assert [table.name for table in project.tables] == ["a", "b"]


def test_fewer_tracks_are_named_as_what_breaks_it(tmp_path):
    project = made_project(
        tmp_path, {"a": (), "b": ()}, SchedulerSettings(tracks=2), lags={"a": 45.0}
    )
    project = ran(with_periods(project, a=10.0, b=10.0), {"a": [6.0] * 30, "b": [6.0] * 30})
    with pytest.raises(UserError, match="the scheduler's settings, as the project has it now"):
        check_against_running(dataclasses.replace(project, scheduler=SchedulerSettings(tracks=1)))


def test_without_a_recorded_run_there_is_nothing_to_compare_with(tmp_path):
    with pytest.raises(UserError, match="there is no run to compare the project with"):
        check_against_running(one_table(tmp_path))
