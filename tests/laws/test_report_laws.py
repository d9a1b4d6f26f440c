"""Laws of report plans and runs: no plan beats the exact one; every run keeps the invariants."""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.reports.arrivals import ConstantRate
from freshline.reports.auto_slack import choose_slack_factor
from freshline.reports.costs import CostModel, FinalCost, LinearCost, PiecewiseCost
from freshline.reports.events import Command, Event, InputKind, Report, StartBatch
from freshline.reports.planning import exact
from freshline.reports.planning.model import Infeasible, Objective, Plan, Window
from freshline.reports.planning.planner import plan_window
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.reports.virtual_run import ReportInput, VirtualRun
from tests.support.examples import THOROUGH, examples

GRID = 16
"""Times are multiples of 1/16, so that sums are exact and ties are ties."""


def compositions(tuples: int) -> Iterator[list[int]]:
    for cuts in itertools.product((False, True), repeat=tuples - 1):
        sizes = [1]
        for cut in cuts:
            if cut:
                sizes.append(1)
            else:
                sizes[-1] += 1
        yield sizes


def random_cost(rng: random.Random, tuples: int) -> CostModel:
    kind = rng.choice(("linear", "concave", "convex", "any"))
    if kind == "linear":
        return LinearCost(rng.randrange(20) / GRID, rng.randrange(40) / GRID)
    steps = [rng.randrange(24) / GRID for _ in range(tuples)]
    if kind != "any":
        steps.sort(reverse=kind == "concave")
    first = rng.randrange(30) / GRID
    seconds = [first, *(first + total for total in itertools.accumulate(steps))]
    if rng.random() < 0.3:  # few points, starting late: the first line is prolonged
        places = sorted(rng.sample(range(1, tuples + 1), 2)) if tuples > 1 else [0, 1]
        return PiecewiseCost(tuple((float(at), seconds[at]) for at in places))
    return PiecewiseCost(tuple((float(at), value) for at, value in enumerate(seconds)))


def random_window(rng: random.Random) -> Window:
    tuples = rng.randint(1, 9)
    end_s = rng.randint(1, 12 * GRID) / GRID
    if rng.random() < 0.3:
        arrivals_s = [end_s * number / tuples for number in range(1, tuples + 1)]
    elif rng.random() < 0.5:  # bursts
        bursts = [rng.randint(1, int(end_s * GRID)) / GRID for _ in range(2)]
        arrivals_s = sorted(rng.choice(bursts) for _ in range(tuples))
    else:
        arrivals_s = sorted(rng.randint(1, int(end_s * GRID)) / GRID for _ in range(tuples))
    of_one = rng.random() < 0.3
    final = FinalCost(rng.choice((0, 0, 1, 4)) / GRID, rng.choice((0, 4)) / GRID, of_one)
    cost = random_cost(rng, tuples)
    spare_s = rng.random() * 1.2 * (cost(tuples) + 0.5)
    deadline_s = end_s + round(spare_s * GRID) / GRID
    return Window(0.0, end_s, arrivals_s, deadline_s, cost, final)


def feasible(window: Window, sizes: Sequence[int]) -> bool:
    """Back to back before the deadline, does every batch find its tuples there?"""
    start_s = window.deadline_s - window.final(len(sizes))
    left = window.tuples
    for size in reversed(sizes):
        start_s -= window.cost(size)
        needs_s = window.arrivals_s[left - 1] if left < window.tuples else window.end_s
        if start_s < needs_s - 1e-9:
            return False
        left -= size
    return True


def done_s(window: Window, sizes: Sequence[int]) -> float:
    """When the final aggregation ends if every batch starts as early as it can."""
    now_s, taken = -math.inf, 0
    for size in sizes:
        taken += size
        there_s = window.arrivals_s[taken - 1] if taken < window.tuples else window.end_s
        now_s = max(now_s, there_s) + window.cost(size)
    return now_s + window.final(len(sizes))


def total_s(window: Window, sizes: Iterable[int]) -> float:
    sizes = list(sizes)
    return sum(map(window.cost, sizes)) + window.final(len(sizes))


def test_no_composition_beats_the_exact_plan() -> None:
    rng, rounds = random.Random(7), 3000 if THOROUGH else 1200
    seen = {"plan": 0, "infeasible": 0, "several": 0}
    for _ in range(rounds):
        window = random_window(rng)
        every = list(compositions(window.tuples))
        good = [sizes for sizes in every if feasible(window, sizes)]
        goals: tuple[Objective, ...] = ("batches", "cost")
        for objective in goals:
            plan = plan_window(window, objective=objective)
            if isinstance(plan, Infeasible):
                assert good == []
                earliest_s = min(done_s(window, sizes) for sizes in every)
                assert math.isclose(plan.earliest_deadline_s, earliest_s, abs_tol=1e-9)
                seen["infeasible"] += 1
                continue
            sizes = [batch.tuples for batch in plan.batches]
            assert feasible(window, sizes)
            assert sum(sizes) == window.tuples
            assert math.isclose(plan.cost_s, total_s(window, sizes), abs_tol=1e-9)
            if objective == "batches":
                fewest = min(len(other) for other in good)
                assert len(sizes) == fewest
                good_s = min(total_s(window, other) for other in good if len(other) == fewest)
            else:
                good_s = min(total_s(window, other) for other in good)
                cheapest = [each for each in good if total_s(window, each) <= good_s + 1e-9]
                assert len(sizes) == min(map(len, cheapest))
            assert plan.cost_s <= good_s + 1e-9
            seen["plan"] += 1
            seen["several"] += len(sizes) > 2
    assert min(seen.values()) > rounds // 15, seen  # every kind was really met


TODAY = (
    # What came out: sizes 1, 1, 1, 1, 1, 2 and 0; and a single batch of no tuples.
    ("cost", 1.7e9, 5.9, [0.9, 0.9, 1.7, 2.8, 2.9, 2.9, 3.5, 5.6], 6.8,
     [0.0, 0.2, 0.5, 0.9, 1.6, 2.6, 3.7, 4.9, 6.1000000000000005], FinalCost(0.1, 0.0)),
    ("batches", 1.7e9 + 0.123, 1.2, [0.2, 0.4, 0.5, 0.5, 0.6, 0.7, 0.8, 1.1], 9.6,
     [1.6, 2.8, 4.0, 5.1, 6.1, 7.0, 7.8, 8.3, 8.4], FinalCost(0.5, 0.0)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "by_s", "end_s", "arrivals_s", "deadline_s", "seconds", "final"), TODAY
)
def test_a_plan_is_whole_at_times_like_todays(
    objective: Objective,
    by_s: float,
    end_s: float,
    arrivals_s: list[float],
    deadline_s: float,
    seconds: list[float],
    final: FinalCost,
) -> None:
    """A float of seconds since 1970 is exact to 2.4e-7 only; the solvers' tolerance is smaller."""
    window = Window(
        by_s,
        by_s + end_s,
        [by_s + each for each in arrivals_s],
        by_s + deadline_s,
        PiecewiseCost(tuple((float(at), value) for at, value in enumerate(seconds))),
        final,
    )
    plan = plan_window(window, objective=objective)
    if isinstance(plan, Plan):  # both deadlines are met to the last digit, or just missed
        assert sum(batch.tuples for batch in plan.batches) == window.tuples
        assert all(batch.tuples > 0 for batch in plan.batches)


def test_the_sweep_is_exact_under_a_linear_cost_and_feasible_under_any() -> None:
    rng = random.Random(11)
    for _ in range(1500):
        window = random_window(rng)
        exact = plan_window(window)
        sweep = plan_window(window, solver="sweep")
        assert isinstance(exact, Plan) == isinstance(sweep, Plan)
        if isinstance(exact, Plan) and isinstance(sweep, Plan):
            assert feasible(window, [batch.tuples for batch in sweep.batches])
            assert len(sweep.batches) >= len(exact.batches)
            if isinstance(window.cost, LinearCost):
                assert len(sweep.batches) == len(exact.batches)
                assert math.isclose(sweep.cost_s, exact.cost_s, abs_tol=1e-9)


def test_the_milp_agrees_on_the_number_of_batches() -> None:
    rng = random.Random(13)
    several = 0
    for _ in range(120):
        end_s = float(rng.randint(2, 20))
        rate = rng.choice((0.5, 1.0, 2.0))
        cost = LinearCost(rng.randrange(1, 16) / GRID / rate, rng.randrange(8) / GRID)
        spare_s = rng.randrange(1, 60) / GRID
        arrivals_s = ConstantRate(rate).times_s(0.0, end_s)
        final = FinalCost(rng.choice((0, 1)) / GRID, 0.0)
        window = Window(0.0, end_s, arrivals_s, end_s + spare_s, cost, final)
        exact, milp = plan_window(window), plan_window(window, solver="milp")
        assert isinstance(exact, Plan) == isinstance(milp, Plan)
        if isinstance(exact, Plan) and isinstance(milp, Plan):
            assert len(milp.batches) == len(exact.batches)
            assert math.isclose(milp.cost_s, exact.cost_s, abs_tol=1e-9)
            several += len(milp.batches) > 1
    assert several > 20


def test_many_tuples_and_many_pieces_agree_with_the_affine_shortcut() -> None:
    """The recursion and the filling are two programs; on a linear cost they must agree."""
    rng = random.Random(17)
    for _ in range(20):
        per_tuple, overhead = rng.uniform(0.01, 0.3), rng.uniform(0.0, 2.0)
        arrivals_s = sorted(rng.uniform(0.001, 100.0) for _ in range(300))
        deadline_s = 100.0 + rng.uniform(1.0, 40.0)
        final = FinalCost(0.05, 0.1)
        linear = LinearCost(per_tuple, overhead)
        bent = PiecewiseCost(tuple((float(at), linear(at)) for at in (1, 50, 120, 300)))
        plans = [
            plan_window(Window(0.0, 100.0, arrivals_s, deadline_s, cost, final))
            for cost in (linear, bent)
        ]
        kinds = {type(plan) for plan in plans}
        assert len(kinds) == 1
        first, second = plans
        if isinstance(first, Plan) and isinstance(second, Plan):
            assert len(first.batches) == len(second.batches)
            assert math.isclose(first.cost_s, second.cost_s, abs_tol=1e-6)


def test_the_cheapest_plan_is_the_same_whichever_way_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most often the relaxed plan is in time and is taken; the search through all numbers of
    batches must find one as cheap, in as few. Windows too large for all compositions.
    """
    rng = random.Random(23)
    windows = [larger_window(rng) for _ in range(400)]
    short = [plan_window(window, objective="cost") for window in windows]
    taken = 0
    find = exact._Search._fewest_of_cheapest
    for window in windows:
        search = exact._Search(window)
        taken += find(search, search._relaxed()) is not None
    monkeypatch.setattr(exact._Search, "_fewest_of_cheapest", lambda *_: None)
    several = 0
    for window, plan in zip(windows, short, strict=True):
        other = plan_window(window, objective="cost")
        if isinstance(plan, Infeasible) or isinstance(other, Infeasible):
            assert plan == other
            continue
        assert math.isclose(plan.cost_s, other.cost_s, abs_tol=2e-9)
        assert len(plan.batches) == len(other.batches)
        assert feasible(window, [batch.tuples for batch in plan.batches])
        several += len(plan.batches) > 2
    assert 50 < taken < 390, taken  # both ways were gone
    assert several > 50, several


def larger_window(rng: random.Random) -> Window:
    """Some dozens of tuples under a cost of a few lines, often nothing for the smallest sizes."""
    tuples = rng.choice((20, 45, 90))
    arrivals_s = sorted(rng.uniform(0.001, 100.0) for _ in range(tuples))
    if rng.random() < 0.3:
        bursts = [rng.uniform(1.0, 100.0) for _ in range(3)]
        arrivals_s = sorted(rng.choice(bursts) for _ in range(tuples))
    lines = rng.randint(1, 6)
    slopes = [rng.uniform(0.0, 120.0 / tuples) for _ in range(lines)]
    if rng.random() < 0.7:
        slopes.sort()
    at, seconds = float(rng.randrange(1 + tuples // 4)), rng.choice((0.0, rng.uniform(0.0, 8.0)))
    points = [(at, seconds)]
    for slope in slopes:
        width = rng.randint(1, tuples // 2)
        at, seconds = at + width, seconds + slope * width
        points.append((at, seconds))
    cost = PiecewiseCost(tuple(points))
    final = FinalCost(rng.choice((0.0, 0.0, rng.uniform(0.0, 2.0))), rng.choice((0.0, 1.0)))
    spare_s = rng.random() ** 2 * (cost(tuples) + 10.0)
    return Window(0.0, 100.0, arrivals_s, 100.0 + spare_s, cost, final)


class Recorder(ReportScheduler):
    """Keeps every step, so that it can be replayed."""

    def step(self, now_s: float, events: Iterable[Event] = ()) -> list[Command]:
        happened = list(events)
        commands = super().step(now_s, happened)
        self.__dict__.setdefault("steps", []).append((now_s, happened, commands))
        return commands


@st.composite
def inputs(draw: st.DrawFn) -> list[ReportInput]:
    result: list[ReportInput] = []
    for number in range(draw(st.integers(1, 4))):
        start_s = float(draw(st.integers(0, 20)))
        end_s = start_s + draw(st.integers(1, 60))
        tuples = draw(st.integers(0, 40))
        predicted_s = tuple(
            start_s + (end_s - start_s) * at / tuples for at in range(1, tuples + 1)
        )
        kind = draw(st.sampled_from(list(InputKind)))
        actual_s = predicted_s
        if kind is not InputKind.KNOWN:
            count = tuples if kind is InputKind.RATE_VARIES else draw(st.integers(0, 50))
            offsets = st.floats(0.01, (end_s - start_s) * 1.5)
            actual_s = tuple(sorted(start_s + draw(offsets) for _ in range(count)))
        report = Report(
            name=f"r{number}",
            start_s=start_s,
            end_s=end_s,
            deadline_s=end_s + draw(st.floats(0.5, 60)),
            predicted_s=predicted_s,
            cost=LinearCost(draw(st.floats(0.01, 0.5)), draw(st.floats(0.05, 3))),
            final=FinalCost(draw(st.sampled_from((0.0, 0.1))), draw(st.sampled_from((0.0, 0.3)))),
            groups=draw(st.integers(0, 4)),
            input_kind=kind,
        )
        submit_s = start_s + draw(st.sampled_from((0.0, 0.0, 7.5, 70.0)))
        remove_s = draw(st.sampled_from((None, None, None, submit_s + 13.3)))
        result.append(ReportInput(report, submit_s, remove_s, actual_s))
    return result


policies = st.builds(
    ReportPolicy,
    name=st.sampled_from(("llf", "edf", "sjf", "rr", "joint")),
    slack_factor=st.sampled_from((0.1, 0.5, 1.0, None)),
    max_batch_time_s=st.sampled_from((None, 4.0, 0.01)),
    min_batch=st.booleans(),
    reanchor=st.booleans(),
    margin=st.sampled_from((1.0, 1.2)),
)


class UnevenRun(VirtualRun):
    """Batches take what their model says times one of some factors, in turn."""

    def _carry_out(self, now_s: float, commands: list[Command]) -> None:
        factors: Sequence[float] = self.scheduler.__dict__["factors"]
        uneven = [
            replace(each, expected_s=each.expected_s * factors[len(self.batches) % len(factors)])
            if isinstance(each, StartBatch)
            else each
            for each in commands
        ]
        super()._carry_out(now_s, uneven)


@examples(30)
@given(
    inputs(),
    policies,
    st.integers(1, 3),
    st.lists(st.sampled_from((0.3, 1.0, 1.2, 2.5)), min_size=1, max_size=3),
)
def test_every_run_keeps_the_invariants_and_replays(
    given_inputs: list[ReportInput], policy: ReportPolicy, tracks: int, factors: list[float]
) -> None:
    """However long batches take: the same events give the same orders, and so the same batches."""
    recorder = Recorder(policy, tracks=tracks, choose_slack_factor=choose_slack_factor)
    recorder.__dict__["factors"] = factors
    run = UnevenRun(recorder, given_inputs)
    outcomes = run.run()

    for track in range(tracks):
        on_track = [batch for batch in run.batches if batch.track == track]
        for before, after in itertools.pairwise(on_track):
            assert before.end_s <= after.start_s
    for item in given_inputs:
        name = item.report.name
        batches = [batch for batch in run.batches if batch.report == name]
        taken = 0
        for before, after in itertools.pairwise(batches):
            assert before.end_s <= after.start_s
        for batch in batches:
            taken += batch.tuples
            assert batch.start_s >= item.submit_s
            assert taken <= bisect_right(item.arrivals_s, batch.start_s)
        finish_s = outcomes[name].finish_s
        if finish_s is None:
            assert item.remove_s is not None
            assert all(batch.start_s <= item.remove_s for batch in batches)
        else:
            assert taken == len(item.arrivals_s)
            finals = [batch for batch in batches if batch.final]
            if finals:
                assert finals == batches[-1:]
                assert finish_s == finals[0].end_s
            else:
                assert len(batches) <= 1
                assert finish_s >= item.close_s
    assert recorder.live == {}

    replay = ReportScheduler(policy, tracks=tracks, choose_slack_factor=choose_slack_factor)
    for now_s, events, commands in recorder.__dict__["steps"]:
        assert replay.step(now_s, events) == commands
