"""However many questions are asked all the time, together they take no more than their share."""

from __future__ import annotations

import heapq

from hypothesis import given
from hypothesis import strategies as st

from freshline.ui.pace import SHARE, kept_s

HORIZON_S = 300.0


@given(st.lists(st.floats(0.01, 0.5), min_size=1, max_size=60))
def test_all_questions_take_at_most_their_share_beyond_the_first_answers(costs_s):
    """Each is asked again in the very moment in which its answer is too old."""
    waiting = [(0.0, number) for number in range(len(costs_s))]
    known_s = [0.0] * len(costs_s)
    used_s = [0.0] * len(costs_s)
    while waiting[0][0] < HORIZON_S:
        at_s, number = heapq.heappop(waiting)
        others_s = sum(known_s) - known_s[number]
        known_s[number] = costs_s[number]
        used_s[number] += costs_s[number]
        heapq.heappush(waiting, (at_s + kept_s(costs_s[number], others_s), number))
    first_s = 3 * sum(costs_s)  # twice before all costs are known, and once when time begins
    assert sum(used_s) <= HORIZON_S * SHARE + first_s


def test_a_page_alone_is_not_kept_waiting():
    assert kept_s(0.01, 0.02) < 1.0
