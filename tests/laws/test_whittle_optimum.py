"""Whittle against the best schedule of small machines, found by dynamic programming."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.common.optimum import Small, optimum
from experiments.common.small import rate_of
from freshline.core.assembly import PolicySettings

CUT = 0.995
"""What is measured may begin and end within a rhythm of turns, which hides less than this."""

POLICIES = ("whittle", "max-benefit", "fifo", "edf-p")


def test_one_table_that_keeps_up():
    """A file every 10 s is in 1 s later: 1 s old when it comes, 11 s when the next one does."""
    found = optimum([Small(1, 1, 0, 10, 0)], most_files=3)
    assert (found.rate, found.most_files) == (6.0, 1)


def test_one_table_that_loads_every_second_file():
    """Two files in an update of 20 s: from 20 s to 40 s old, whatever the start-up."""
    assert optimum([Small(1, 20, 0, 10, 0)], most_files=9).rate == 30.0
    assert optimum([Small(3, 10, 5, 10, 0)], most_files=9).rate == 3 * 30.0


def test_waiting_for_a_dear_file_can_be_best():
    """Updates of 9 s: one of the cheap table at 5 s keeps the dear table's file of 10 s waiting."""
    tables = [Small(9, 1, 0, 10, 0), Small(1, 9, 0, 30, 5)]
    waiting, eager = (optimum(tables, most_files=9, idles=idles) for idles in (True, False))
    assert waiting.rate < eager.rate


@st.composite
def machines(draw):
    """Two or three tables, flat or in a chain, that one track can serve."""
    count = draw(st.integers(2, 3))
    derived = draw(st.booleans())
    return [
        Small(
            draw(st.sampled_from([1, 3, 9])),
            draw(st.integers(1, 6)),
            draw(st.integers(0, 1)),
            6,
            0 if derived else draw(st.integers(0, 5)),
            (place - 1,) if derived and place else (),
        )
        for place in range(count)
    ]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(machines())
def test_no_policy_is_better_than_the_optimum(tables):
    most = 12
    best, eager = (optimum(tables, most_files=most, idles=idles) for idles in (True, False))
    assert best.rate <= eager.rate
    if best.most_files < most:
        for name in POLICIES:
            rate = rate_of(tables, PolicySettings(name), 100)
            assert rate >= best.rate * CUT


@pytest.mark.parametrize(
    ("priority", "mean", "worst"), [(1, 1.005, 1.03), (3, 1.012, 1.045), (9, 1.024, 1.075)]
)
def test_whittle_is_near_the_best_schedule_of_two_tables(priority, mean, worst):
    """In the mean over start-ups, slopes and costs; feeds a few seconds apart, files of 4 s.

    The key alone is 1.013, 1.017 and 1.026 times the optimum in the mean.
    """
    ratios = []
    for starts in ((20, 20), (30, 10), (10, 30)):
        for each in ((0, 0), (0, 1), (1, 0), (1, 1)):
            pairs = zip((1, priority), starts, each, (0, 2), strict=True)
            tables = [
                Small(weight, start, slope, 4, phase) for weight, start, slope, phase in pairs
            ]
            best = optimum(tables, most_files=60, idles=False)
            if best.most_files < 60:
                ratios.append(rate_of(tables, PolicySettings("whittle"), 200) / best.rate)
    assert len(ratios) > 6
    assert fmean(ratios) <= mean
    assert max(ratios) <= worst
