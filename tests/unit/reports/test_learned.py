"""Learned costs: what one, two and many measurements say, and what they never say."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from freshline.reports.costs import FinalCost, LinearCost, PiecewiseCost
from freshline.reports.learned import learned_cost, learned_final, scaled

FIRST = LinearCost(0.001, 2.0)
FIRST_FINAL = FinalCost(0.1, 1.0)
MEASURED = st.lists(st.tuples(st.integers(0, 10**7), st.floats(0.0, 1e4)), max_size=80)


def test_before_anything_was_measured() -> None:
    assert learned_cost([], FIRST) == FIRST
    assert learned_cost([(0, 3.0)], FIRST) == FIRST  # nothing costs nothing: it tells nothing
    assert learned_final([], FIRST_FINAL) == FIRST_FINAL


def test_one_measurement_is_halved_between_batch_and_tuples() -> None:
    assert learned_cost([(1000, 4.0)], FIRST) == LinearCost(0.002, 2.0)
    assert learned_final([(4, 2.4)], FIRST_FINAL) == FinalCost(0.1, 2.0)


def test_two_sizes_tell_a_line() -> None:
    assert learned_cost([(1000, 4.0), (100, 2.2)], FIRST) == PiecewiseCost(
        ((100.0, 2.2), (1000.0, 4.0))
    )
    final = learned_final([(2, 1.0), (4, 2.0)], FIRST_FINAL)
    assert (final.per_batch_s, final.overhead_s) == (0.5, 0.0)


def test_a_larger_batch_never_costs_less() -> None:
    assert learned_cost([(100, 5.0), (1000, 4.0)], FIRST) == PiecewiseCost(
        ((100.0, 5.0), (1000.0, 5.0))
    )


def test_the_newest_of_a_size_counts_most() -> None:
    cost = learned_cost([(100, 10.0)] * 10 + [(100, 2.0)] * 10, FIRST)
    assert 2.0 < cost(100) < 3.0


@given(MEASURED)
def test_learned_costs_are_what_planners_need(measured: list[tuple[int, float]]) -> None:
    cost, final = learned_cost(measured, FIRST), learned_final(measured, FIRST_FINAL)
    sizes = [0, 1, 2, 10, 99, 1000, 10**5, 10**7, 10**8]
    seconds = [cost(size) for size in sizes]
    assert seconds[0] == 0.0
    assert all(one <= other * (1 + 1e-9) for one, other in pairwise(seconds))
    assert 0.0 <= final(2) <= final(3)


@given(MEASURED, st.integers(1, 1000), st.integers(1, 1000))
def test_scaling_changes_the_unit_alone(
    measured: list[tuple[int, float]], rows: int, units: int
) -> None:
    cost = learned_cost(measured, FIRST)
    whole_s = cost(units * rows)
    assert abs(scaled(cost, rows)(units) - whole_s) <= 1e-6 * max(1.0, whole_s)
