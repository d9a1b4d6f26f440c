"""What updates cost, learned from what they took."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.cost import LearnedCost


def learned(samples: list[tuple[float, float]], alpha_s: float = 1.0, beta: float = 0.0):
    cost = LearnedCost(alpha_s, beta)
    for amount_s, seconds in samples:
        cost.learn(amount_s, seconds)
    return cost


def test_until_something_is_learned_the_guess_stands():
    cost = LearnedCost(2.0, 0.5)
    assert (cost.expected_s(4.0), cost.samples) == (4.0, 0)
    cost = learned([(4.0, 4.0)], 2.0, 0.5)
    assert [cost.alpha_s, cost.beta] == pytest.approx([2.0, 0.5])


def test_two_like_updates_do_not_make_ten_times_the_data_ten_times_as_dear():
    # Both slow, beside others in a cold JVM; the line through them begins below 0.
    cost = learned([(2.0, 1.62), (3.0, 2.87)])
    assert 1.5 < cost.expected_s(2.5) < 2.6
    assert cost.expected_s(30.0) < 4.0 * cost.expected_s(3.0)


def test_an_exact_line_is_found():
    few = [(4.0, 3.0), (8.0, 4.0), (16.0, 6.0), (2.0, 2.5)]
    cost = learned(few, alpha_s=1.0)
    assert cost.expected_s(40.0) == pytest.approx(12.0, rel=0.4)
    cost = learned(few * 12, alpha_s=1.0)
    assert cost.expected_s(40.0) == pytest.approx(12.0, rel=0.02)
    assert cost.alpha_s == pytest.approx(2.0, rel=0.05)


def test_one_backlog_tells_what_more_data_costs():
    dice = random.Random(5)
    usual = [(dice.uniform(9.0, 11.0), dice.uniform(0.8, 1.2)) for _ in range(30)]
    assert learned(usual).expected_s(600.0) < 8.0
    assert learned([*usual, (600.0, 30.0)]).expected_s(600.0) == pytest.approx(30.0, rel=0.15)


def test_noise_without_a_slope_shows_hardly_any():
    for seed in range(20):
        dice = random.Random(seed)
        cost = learned([(dice.uniform(8.0, 12.0), dice.uniform(0.5, 1.5)) for _ in range(40)])
        # At four times the usual data the line through the noise can be far off.
        assert cost.expected_s(40.0) < 2.5


def test_the_mean_follows_a_machine_that_becomes_slower():
    cost = learned([(10.0, 1.0)] * 50 + [(10.0, 3.0)] * 25)
    assert cost.expected_s(10.0) == pytest.approx(3.0, rel=0.1)
    assert cost.beta == 0.0


def test_what_a_former_run_learned_is_the_guess():
    cost = LearnedCost(1.0, 0.0)
    cost.alpha_s, cost.beta = 3.0, 0.2  # restored
    for _ in range(30):
        cost.learn(10.0, 5.0)
    assert [cost.alpha_s, cost.beta] == pytest.approx([3.0, 0.2])


def test_errors_are_kept_beside():
    cost = learned([(1.0, 1.0), (1.0, 2.0)])
    assert cost.statistics().samples == 2
    assert cost.bias_ratio == cost.error_ratio == pytest.approx(0.5)


@given(
    st.floats(0.0, 100.0),
    st.floats(0.0, 10.0),
    st.lists(st.tuples(st.floats(0.0, 1e6), st.floats(0.0, 1e5)), max_size=60),
)
def test_costs_are_never_negative_and_more_data_is_never_cheaper(alpha_s, beta, samples):
    cost = learned(samples, alpha_s, beta)
    assert 0.0 <= cost.alpha_s < float("inf")
    assert 0.0 <= cost.beta < float("inf")
    if samples:  # within what was seen and guessed, about
        most_s = max(seconds for _, seconds in samples)
        guess_s = alpha_s + beta * samples[0][0]
        assert cost.expected_s(0.0) <= 1.01 * (most_s + guess_s) + 1e-9
