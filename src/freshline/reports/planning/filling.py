"""Filling batches backwards from the deadline: Function 1 of the paper, corrected.

It moves back by a batch's cost, not by the whole gap before it (C1), clamps the last batch to
what the window holds, and stops where not one tuple fits (C2).
"""

from __future__ import annotations

from bisect import bisect_right

from freshline.reports.costs import TOLERANCE_S
from freshline.reports.planning.model import Window


def fill(window: Window) -> list[int] | None:
    """Sizes of the greedy plan with the fewest batches, in the order of the window.

    Under an affine cost with no negative overhead this is exact, and no plan is cheaper: the
    last k batches covering the tuples after ``j`` cost the same however they are cut, so the
    longest reach at every step leaves the most to choose from. The number of batches assumed
    for the final aggregation is raised to what the filling needed (Algorithm 1's loop); as more
    batches leave less time, no number in between would do.

    Returns:
        None: at some gap not one tuple fits.
    """
    arrivals_s = window.indexed_arrivals_s()
    sizes = range(1, window.tuples + 1)
    assumed = 1
    while True:
        found = _fill(window, arrivals_s, sizes, assumed)
        if found is None or len(found) <= assumed:
            return found
        assumed = len(found)


def _fill(window: Window, arrivals_s: list[float], sizes: range, assumed: int) -> list[int] | None:
    """Fill backwards, the final aggregation being that of ``assumed`` batches."""
    time_s = window.deadline_s - window.final(assumed)
    left = window.tuples
    result: list[int] = []
    while left > 0:
        gap_s = time_s - arrivals_s[left] + TOLERANCE_S
        tuples = bisect_right(sizes, gap_s, 0, left, key=window.cost)
        if tuples == 0:
            return None
        result.append(tuples)
        time_s -= window.cost(tuples)
        left -= tuples
    result.reverse()
    return result
