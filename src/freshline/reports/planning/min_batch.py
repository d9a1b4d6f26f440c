"""The smallest batch worth running while other reports may need the track.

Source: Chandrasekaran and Sudarshan, sections 4.1 and 4.2; rules C10.
"""

from __future__ import annotations

from freshline.reports.costs import TOLERANCE_S, CostModel, FinalCost, in_batches_s


def min_batch_tuples(
    cost: CostModel,
    final: FinalCost,
    tuples: int,
    *,
    groups: int,
    slack_factor: float,
    max_batch_time_s: float | None,
) -> int:
    """The smallest x that keeps three conditions, or as many of them as can be kept.

    Everything in batches of x costs at most ``1 + slack_factor`` times one batch (the paper
    prints ``slack_factor`` times), a batch of x at most ``max_batch_time_s``, and x is at least
    twice the groups, so that a partial is much smaller than its input. If no x keeps all three,
    the groups are dropped first, then the factor (the largest x within the time), then the time.

    Returns:
        A size from 1 to ``tuples``; 0 for no tuples.
    """
    longest = longest_batch_tuples(cost, tuples, max_batch_time_s)
    budget_s = (1 + slack_factor) * cost(tuples) + TOLERANCE_S
    smallest: int | None = None
    for size in range(1, longest + 1):
        if smallest is not None and size < 2 * groups:
            continue
        if in_batches_s(cost, final, tuples, size) <= budget_s:
            if size >= 2 * groups:
                return size
            smallest = smallest or size
    if smallest is not None:
        return smallest
    return longest or tuples


def longest_batch_tuples(cost: CostModel, tuples: int, max_batch_time_s: float | None) -> int:
    """The largest batch of at most ``tuples`` within ``max_batch_time_s``; 0: not even one."""
    if max_batch_time_s is None or cost(tuples) <= max_batch_time_s + TOLERANCE_S:
        return tuples
    low, high = 0, tuples  # low fits, high does not
    while high - low > 1:
        middle = (low + high) // 2
        if cost(middle) <= max_batch_time_s + TOLERANCE_S:
            low = middle
        else:
            high = middle
    return low
