"""A wall clock that is set while a warehouse runs: time goes on, and VACUUM waits."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freshline.runtime.health.clock_jumps import DISTRUST_S, JUMP_S, ClockJumps
from freshline.runtime.health.steady_clock import SteadyClock
from freshline.runtime.upkeep import maintenance
from tests.support.shop import LiveRun, made_shop

DAY_S = 86_400.0
START_S = 1_800_000_000.0


class Clocks:
    """The wall clock and one that nobody sets."""

    def __init__(self) -> None:
        self.wall_s = START_S
        self.elapsed_s = 50.0

    def wall(self) -> float:
        return self.wall_s

    def elapsed(self) -> float:
        return self.elapsed_s

    def go_on(self, seconds: float) -> None:
        self.wall_s += seconds
        self.elapsed_s += seconds


def test_time_follows_the_wall_clock_and_goes_on_at_half_speed_where_that_was_set_back():
    clocks = Clocks()
    steady = SteadyClock(clocks.wall, clocks.elapsed)
    seen = [steady()]
    for set_s in (0.0, 8 * DAY_S, -8 * DAY_S, 0.0):
        clocks.wall_s += set_s
        clocks.go_on(10.0)
        seen.append(steady())
    clocks.go_on(16 * DAY_S)
    seen.append(steady())
    clocks.go_on(10.0)
    seen.append(steady())
    ahead_s = START_S + 8 * DAY_S
    assert seen == [
        START_S,
        START_S + 10.0,
        ahead_s + 20.0,
        ahead_s + 25.0,
        ahead_s + 30.0,
        clocks.wall_s - 10.0,
        clocks.wall_s,
    ]


@example([(-1.0, 1.0)])  # set back by as much as has passed
@given(st.lists(st.tuples(st.floats(-1e7, 1e7), st.floats(0.0, 1e5)), max_size=30))
def test_time_never_goes_back_and_no_delay_takes_longer_than_twice(steps):
    clocks = Clocks()
    steady = SteadyClock(clocks.wall, clocks.elapsed)
    before_s = steady()
    for set_s, passed_s in steps:
        clocks.wall_s += set_s
        clocks.go_on(passed_s)
        now_s = steady()
        assert now_s >= clocks.wall_s
        assert now_s - before_s >= passed_s / 2 - 1e-6
        before_s = now_s


def test_a_jump_forward_is_doubted_for_a_week_and_one_back_or_a_correction_is_not():
    clocks = Clocks()
    jumps = ClockJumps(clocks.wall, clocks.elapsed)
    clocks.go_on(30 * DAY_S)
    assert (jumps.look(), jumps.doubtful) == (0.0, False)
    clocks.wall_s += JUMP_S - 1.0
    assert (jumps.look(), jumps.doubtful) == (0.0, False)
    clocks.wall_s -= DAY_S
    assert (jumps.look(), jumps.doubtful) == (-DAY_S, False)
    clocks.wall_s += JUMP_S
    assert (jumps.look(), jumps.doubtful) == (JUMP_S, True)
    clocks.wall_s -= JUMP_S
    assert (jumps.look(), jumps.doubtful) == (-JUMP_S, True)
    clocks.go_on(DISTRUST_S - 1.0)
    assert (jumps.look(), jumps.doubtful) == (0.0, True)
    clocks.go_on(1.0)
    assert (jumps.look(), jumps.doubtful) == (0.0, False)


@pytest.mark.parametrize("set_s", [0.0, 8 * DAY_S])
def test_nothing_is_vacuumed_once_the_clock_has_jumped(tmp_path, monkeypatch, set_s):
    clocks = Clocks()
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    shop.file("orders", 2, [2])
    later_s = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later_s

    def jumps_that_see_the_clock_set():
        jumps = ClockJumps(clocks.wall, clocks.elapsed)
        clocks.wall_s += set_s
        return jumps

    monkeypatch.setattr(maintenance, "ClockJumps", jumps_that_see_the_clock_set)
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == [1, 2]
    vacuums = [each for each in shop.executor.requests if each.upkeep == "vacuum"]
    told = [line for line in shop.recorder.lines if "the clock was set" in line]
    assert (len(vacuums), told) == ((0, [f"notice {_FORWARD}"]) if set_s else (1, []))


def test_a_first_run_by_a_clock_that_was_ahead_puts_off_no_vacuum(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    now_s = time.time()
    for days in (9_000.0, 0.0, 1.5):
        shop.clock = partial(float, now_s + days * DAY_S)
        shop.run_until_idle()
    assert [each.upkeep for each in shop.executor.requests if each.upkeep] == ["vacuum"]


_FORWARD = (
    "the clock was set forward by 8 d: no table is vacuumed for a week, or until the next start;"
    " check the clock before it"
)


def test_a_retry_that_was_planned_while_the_clock_was_ahead_comes_all_the_same(
    tmp_path, monkeypatch
):
    set_s = [0.0]
    shop = made_shop(tmp_path, {"orders": ()})
    shop.clock = SteadyClock(lambda: time.time() + set_s[0])
    shop.file("orders", 1, [1])
    shop.executor.failing["orders"] = "not yet"
    run = shop.executor.run

    def setting_the_clock(request):
        set_s[0] = 0.0 if set_s[0] else 8 * DAY_S
        if len(shop.executor.requests) == 2:
            shop.executor.failing.clear()
        return run(request)

    monkeypatch.setattr(shop.executor, "run", setting_the_clock)
    with LiveRun(shop):
        shop.recorder.wait_for("done orders")
    assert shop.executor.numbers("orders") == [1]
    assert len(shop.executor.requests) >= 3
