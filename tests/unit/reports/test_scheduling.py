"""Whole runs on small inputs: every rule of the contract that no given example shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freshline.core.errors import InternalError
from freshline.reports.auto_slack import choose_slack_factor
from freshline.reports.costs import FinalCost, LinearCost
from freshline.reports.events import (
    BatchFinished,
    InputKind,
    Reached,
    Report,
    ReportDone,
    StartBatch,
    Submitted,
    TuplesArrived,
)
from freshline.reports.planning.min_batch import min_batch_tuples
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.reports.virtual_run import ReportInput, VirtualRun

POLICY = ReportPolicy(name="edf", slack_factor=0.5, max_batch_time_s=None)


def report(name: str = "a", tuples: int = 10, **changes: Any) -> Report:
    made = Report(
        name=name,
        start_s=0.0,
        end_s=10.0,
        deadline_s=50.0,
        predicted_s=tuple(10.0 * number / tuples for number in range(1, tuples + 1)),
        cost=LinearCost(0.5, 1.0),
        final=FinalCost(0.25, 0.0),
    )
    return replace(made, **changes)


def given(
    made: Report, *actual_s: float, submit_s: float = 0.0, remove_s: float | None = None
) -> ReportInput:
    return ReportInput(made, submit_s, remove_s, actual_s or made.predicted_s)


def run(*inputs: ReportInput, policy: ReportPolicy = POLICY, tracks: int = 1) -> VirtualRun:
    scheduler = ReportScheduler(policy, tracks=tracks, choose_slack_factor=choose_slack_factor)
    done = VirtualRun(scheduler, inputs)
    done.run()
    return done


def lines(done: VirtualRun) -> list[str]:
    return [
        f"{b.start_s:g}-{b.end_s:g} {b.report} {b.tuples}{' final' if b.final else ''}"
        for b in done.batches
    ]


def test_a_batch_starts_when_its_min_batch_is_there_and_the_final_follows_the_last() -> None:
    assert lines(run(given(report()))) == ["4-7 a 4", "8-11 a 4", "11-13.75 a 2 final"]


def test_what_finals_take_of_the_track_is_planned_for_reports_that_are_due_together() -> None:
    final = FinalCost(0.0, 5.0, of_one=True)
    due: dict[str, Any] = {"deadline_s": 40.0, "cost": LinearCost(0.1, 1.0), "final": final}
    joint = ReportPolicy("joint", slack_factor=None, max_batch_time_s=None)
    done = run(*(given(report(name, **due)) for name in "abc"), policy=joint)
    # Each works off its ten tuples in 2 s and combines them in 5: back to back until 40.
    assert [(batch.start_s, batch.end_s) for batch in done.batches] == [
        (19.0, 26.0), (26.0, 33.0), (33.0, 40.0),
    ]  # fmt: skip


def test_a_stream_that_lags_is_served_when_the_prediction_has_passed() -> None:
    slow = report(input_kind=InputKind.RATE_VARIES)
    actual_s = tuple(second + 3.0 for second in slow.predicted_s)
    literal = run(given(slow, *actual_s), policy=replace(POLICY, reanchor=False))
    assert lines(literal) == [
        "4-5.5 a 1",
        "5.5-7 a 1",
        "7-9 a 2",
        "9-11 a 2",
        "11-13 a 2",
        "13-16.5 a 2 final",
    ]
    anchored = run(given(slow, *actual_s))
    assert lines(anchored) == ["7-10 a 4", "11-14 a 4", "14-16.75 a 2 final"]


def test_a_total_that_differs_is_estimated_and_the_final_waits_for_the_close() -> None:
    fewer = report(input_kind=InputKind.TOTAL_VARIES)
    done = run(given(fewer, 1.0, 2.0, 3.0, 4.0))
    assert lines(done) == ["4-7 a 4"]
    assert done.outcomes["a"].finish_s == 10.0
    more = run(given(fewer, *(number * 0.5 for number in range(1, 21))))
    assert sum(batch.tuples for batch in more.batches) == 20
    assert [batch.final for batch in more.batches] == [False] * (len(more.batches) - 1) + [True]


def test_a_final_without_tuples_runs_when_the_close_finds_everything_worked_off() -> None:
    fewer = report(input_kind=InputKind.TOTAL_VARIES)
    done = run(given(fewer, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0))
    assert lines(done) == ["2-5 a 4", "5-8 a 4", "10-10.5 a 0 final"]
    assert (done.outcomes["a"].batches, done.outcomes["a"].cost_s) == (2, 6.5)


def test_how_far_the_streams_are_tells_a_lag_from_a_smaller_total() -> None:
    half = report(tuples=100, end_s=100.0, input_kind=InputKind.TOTAL_VARIES, deadline_s=150.0)
    half = replace(half, predicted_s=tuple(float(second) for second in range(1, 101)))
    there = [TuplesArrived("a", 25, 50.0)]

    def planned(*told: Reached) -> tuple[int, float]:
        scheduler = ReportScheduler(replace(POLICY, name="joint"))
        scheduler.step(50.0, [Submitted(half, 0), *there, *told])
        live = scheduler.live["a"]
        return live.total(50.0), live.expected_s(50.0, live.lag_by_now_s(50.0))[-1]

    assert planned() == (50, 100.0)  # by the time: half as many
    assert planned(Reached("a", 25, 25.0)) == (100, 125.0)  # as many, 25 s later
    assert planned(Reached("a", 50, 0.0)) == (25 + round(50 * 35 / 60), 100.0)  # fewer, in time
    # Nothing since 30: the next is overdue once updates should have been there.
    assert planned(Reached("a", 25, 0.0, grain_s=10.0)) == (100, 114.0)
    assert planned(Reached("a", 25, 0.0, grain_s=30.0)) == (100, 100.0)


def test_a_report_withdrawn_during_its_batch_pays_for_it_and_never_finishes() -> None:
    done = run(given(report(), remove_s=5.0))
    assert lines(done) == ["4-7 a 4"]
    outcome = done.outcomes["a"]
    assert (outcome.finish_s, outcome.batches, outcome.cost_s) == (None, 1, 3.0)


def test_a_report_without_input_is_complete_at_the_end_of_its_window() -> None:
    done = run(given(report(predicted_s=())))
    assert (lines(done), done.outcomes["a"].finish_s) == ([], 10.0)


def test_a_report_submitted_late_finds_its_input_there() -> None:
    assert lines(run(given(report(), submit_s=20.0))) == [
        "20-23 a 4",
        "23-26 a 4",
        "26-28.75 a 2 final",
    ]


def test_round_robin_goes_on_after_the_one_served_last() -> None:
    inputs = [given(report(name), submit_s=10.0) for name in "abc"]
    done = run(*inputs, policy=replace(POLICY, name="rr"))
    assert [batch.report for batch in done.batches] == list("abcabcabc")


def test_two_tracks_serve_two_reports_but_never_one_report_twice_at_once() -> None:
    inputs = [given(report(name), submit_s=10.0) for name in "ab"]
    done = run(*inputs, tracks=2)
    assert [(batch.report, batch.track, batch.start_s) for batch in done.batches] == [
        ("a", 0, 10.0),
        ("b", 1, 10.0),
        ("a", 0, 13.0),
        ("b", 1, 13.0),
        ("a", 0, 16.0),
        ("b", 1, 16.0),
    ]


def test_without_a_min_batch_every_tuple_is_served_as_it_comes() -> None:
    done = run(given(report(tuples=3)), policy=replace(POLICY, min_batch=False))
    assert [batch.tuples for batch in done.batches] == [1, 1, 1]


def test_the_joint_plan_waits_as_long_as_the_deadline_allows() -> None:
    policy = replace(POLICY, name="joint")
    assert lines(run(given(report()), policy=policy)) == ["44-50 a 10 final"]
    tight = run(given(report(deadline_s=13.5)), policy=policy)
    assert len(tight.batches) == 2
    assert tight.outcomes["a"].finish_s == pytest.approx(13.5, abs=1e-6)


def test_the_joint_plan_follows_a_lag() -> None:
    late = report(input_kind=InputKind.RATE_VARIES, deadline_s=21.0)
    done = run(
        given(late, *(second + 4.0 for second in late.predicted_s)),
        policy=replace(POLICY, name="joint"),
    )
    assert done.outcomes["a"].finish_s is not None
    assert done.outcomes["a"].finish_s <= 21.0 + 1e-6
    assert len(done.batches) == 1


def test_the_joint_plan_ends_early_by_what_the_lag_may_still_grow() -> None:
    slower = report(
        input_kind=InputKind.RATE_VARIES, tuples=100, deadline_s=16.0, cost=LinearCost(0.05, 0.5)
    )
    # The last tuple comes at 11: a plan by the lag last observed would begin too late for it.
    done = run(
        given(slower, *(1.1 * at_s for at_s in slower.predicted_s)),
        policy=replace(POLICY, name="joint"),
    )
    finish_s = done.outcomes["a"].finish_s
    assert finish_s is not None
    assert 11.0 < finish_s < 16.0 - 0.05  # at least the least guard before the deadline


def test_the_joint_plan_goes_on_with_what_is_there_when_the_input_falls_silent() -> None:
    stopped = report(input_kind=InputKind.RATE_VARIES, deadline_s=16.0)
    arrivals_s = (*stopped.predicted_s[:8], 14.0, 14.0)  # silent from 8 to 14
    done = run(given(stopped, *arrivals_s), policy=replace(POLICY, name="joint"))
    assert [batch.tuples for batch in done.batches] == [8, 2]
    assert done.batches[0].end_s <= 14.0
    assert done.outcomes["a"].finish_s == pytest.approx(14.0 + 2.0 + 0.5)


@pytest.mark.parametrize(
    ("groups", "factor", "limit_s", "size"),
    [
        (1, 0.5, None, 4),  # 1 + 0.5 * 10 = 6, at most 9: three batches and 0.75
        (3, 0.5, None, 6),  # twice the groups
        (6, 0.5, None, 4),  # no size is twice the groups: dropped
        (1, 0.0, 3.0, 4),  # the factor needs one batch, which is too long: the longest
        (1, 0.5, 1.0, 10),  # not even one tuple is short enough
    ],
)
def test_the_min_batch(groups: int, factor: float, limit_s: float | None, size: int) -> None:
    made = report()
    assert (
        min_batch_tuples(
            made.cost, made.final, 10, groups=groups, slack_factor=factor, max_batch_time_s=limit_s
        )
        == size
    )


def test_the_scheduler_is_driven_by_events_alone() -> None:
    scheduler = ReportScheduler(POLICY)
    assert scheduler.step(0.0, [Submitted(report(), 0)]) == []
    with pytest.raises(InternalError, match="ran-back"):
        scheduler.step(-1.0)
    with pytest.raises(InternalError, match="no batch of a report runs on track 0"):
        scheduler.step(1.0, [BatchFinished(0)])
    with pytest.raises(InternalError, match="'a' is known already"):
        scheduler.step(1.0, [Submitted(report(), 0)])


def test_a_batch_that_takes_longer_than_its_model_only_delays() -> None:
    scheduler = ReportScheduler(POLICY)
    assert scheduler.step(10.0, [Submitted(report(predicted_s=(1.0,)), 0)]) == []

    assert scheduler.step(11.0, [TuplesArrived("a", 1, 1.0)]) == [StartBatch("a", 0, 1, True, 1.5)]
    assert scheduler.step(99.0, [BatchFinished(0)]) == [ReportDone("a")]
