"""How far an input may still fall behind, told from how far it did."""

from __future__ import annotations

import pytest

from freshline.reports.lag_watch import LagWatch


def watched(*lags_s: float, step_s: float = 10.0) -> LagWatch:
    """A lag every ten seconds, from 0 on."""
    watch = LagWatch(step_s)
    for number, lag_s in enumerate(lags_s):
        watch.observe(10.0 * number, lag_s)
    return watch


def test_nothing_is_feared_of_what_was_not_watched() -> None:
    assert LagWatch(10.0).may_rise_s(5.0, 3.0, 100.0) == 0.0
    assert watched(4.0).may_rise_s(9.0, 8.0, 100.0) == 0.0


def test_an_even_rise_goes_on() -> None:
    watch = watched(0.0, 1.0, 2.0, 3.0, 4.0)
    assert watch.may_rise_s(40.0, 4.0, 20.0) == 2.0
    assert watch.may_rise_s(40.0, 4.0, 80.0) == 8.0  # watched for 40 s only: in proportion


def test_the_largest_rise_of_any_stretch_counts_though_it_was_made_up() -> None:
    watch = watched(0.0, 0.0, 7.0, 7.0, 0.0, 0.0)
    assert watch.may_rise_s(50.0, 0.0, 10.0) == 7.0
    assert watch.may_rise_s(50.0, 0.0, 50.0) == 7.0


def test_an_input_that_only_gains_may_not_fall_behind() -> None:
    assert watched(0.0, -2.0, -4.0).may_rise_s(20.0, -4.0, 100.0) == 0.0


def test_a_rise_since_the_last_look_counts_at_once() -> None:
    assert watched(1.0, 1.0).may_rise_s(19.0, 6.0, 5.0) == 5.0


@pytest.mark.parametrize("ahead_s", [0.0, 3.0])
def test_no_stretch_is_shorter_than_a_step(ahead_s: float) -> None:
    assert watched(0.0, 2.0, 4.0).may_rise_s(20.0, 4.0, ahead_s) == 2.0
