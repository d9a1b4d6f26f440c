"""What a table's staleness is made of adds up, at every moment and over every window."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.ui.reads.blame import Attempt, blame


def test_an_update_is_divided_into_source_waiting_and_work():
    # Data of 100 arrives at 110, is started at 130 and committed at 150; before it F was 40.
    attempt = Attempt(release_s=110.0, start_s=130.0, finish_s=150.0, to_s=100.0, done=True)
    found = blame(40.0, [attempt], 100.0, 200.0)
    assert found.seconds == 100.0
    # 60 s of what had arrived by 110 were the table's own until 150: 20 s waiting, 20 s at work.
    assert (found.waiting_s, found.working_s) == (12.0, 12.0)
    assert found.staleness_s == pytest.approx((50.0 * 85.0 + 50.0 * 75.0) / 100.0)


def test_a_failed_attempt_is_work_that_makes_nothing_fresher():
    failed = Attempt(10.0, 10.0, 20.0, 8.0, done=False)
    done = Attempt(10.0, 20.0, 30.0, 8.0, done=True)
    found = blame(0.0, [failed, done], 0.0, 30.0)
    assert found.working_s == pytest.approx(8.0 * 20.0 / 30.0)
    assert found.waiting_s == 0.0


def test_before_the_first_data_there_is_no_staleness():
    first = Attempt(5.0, 10.0, 20.0, 4.0, done=True)
    found = blame(None, [first], 0.0, 40.0)
    assert found.seconds == 20.0
    assert found.staleness_s == pytest.approx(26.0)
    assert blame(None, [], 0.0, 10.0) == blame(None, [], 5.0, 5.0)


@st.composite
def _histories(draw):
    fresh = draw(st.none() | st.floats(-50.0, 0.0))
    attempts = []
    at_s, to_s = 0.0, -10.0
    for _ in range(draw(st.integers(0, 8))):
        release_s = at_s + draw(st.floats(0.0, 20.0))
        to_s = min(release_s, to_s + draw(st.floats(0.0, 30.0)))
        start_s = release_s + draw(st.floats(0.0, 20.0))
        finish_s = start_s + draw(st.floats(0.001, 20.0))
        attempts.append(Attempt(release_s, start_s, finish_s, to_s, done=draw(st.booleans())))
        at_s = finish_s
    return fresh, attempts


@given(_histories(), st.floats(0.0, 100.0), st.floats(0.1, 200.0))
def test_the_parts_add_up_to_the_mean_staleness(history, from_s, length_s):
    fresh, attempts = history
    to_s = from_s + length_s
    found = blame(fresh, attempts, from_s, to_s)
    assert min(found.waiting_s, found.working_s) >= 0.0
    # The mean staleness, from the freshness alone.
    corners = sorted(
        {from_s, to_s, *(each.finish_s for each in attempts if from_s < each.finish_s < to_s)}
    )
    area, seconds = 0.0, 0.0
    for begin_s, end_s in itertools.pairwise(corners):
        known = [each.to_s for each in attempts if each.done and each.finish_s <= begin_s]
        known += [] if fresh is None else [fresh]
        if known:
            area += ((begin_s + end_s) / 2.0 - max(known)) * (end_s - begin_s)
            seconds += end_s - begin_s
    assert found.seconds == pytest.approx(seconds)
    assert found.staleness_s * found.seconds == pytest.approx(area, abs=1e-6)
