"""How long an answer is kept, so that readers cost the scheduler little, however many there are.

Answers are computed in the process of the warehouse. Each question takes at most a twentieth of a
core, and all of them together at most a sixteenth: with fifty pages open on fifty tables every
answer is a few seconds old, and the warehouse does not notice.
"""

from __future__ import annotations

ONE_SHARE = 1 / 20
"""Of a core, for one question that is asked all the time."""

ALL_SHARE = 1 / 16
"""Of a core, for all questions together."""

ASKED_S = 30.0
"""A question that nobody asked for so long costs nothing."""


def kept_s(cost_s: float, others_s: float) -> float:
    """For how long at least an answer is kept.

    Where every question is computed no sooner than that, each costs ``cost_s`` in a time of at
    least ``sum of all costs / ALL_SHARE``, so all together take no more than their share.

    Args:
        cost_s: Seconds of the processor that computing it took.
        others_s: What computing the answers to all other questions took, of those that are asked.
    """
    return max(cost_s / ONE_SHARE, (cost_s + others_s) / ALL_SHARE)
