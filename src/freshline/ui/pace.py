"""How long an answer is kept, so that readers cost the scheduler little, however many there are.

Answers are computed and sent in the process of the warehouse, and all of them together take at most
a thirty-second of a core: with fifty pages open on fifty tables every answer is some seconds old,
and the warehouse does not notice. An asker is told how long its answer stays the newest, and does
not ask before.
"""

from __future__ import annotations

SHARE = 1 / 32
"""Of a core, for all questions together."""

SENT_S = 0.0006
"""Seconds of the processor that it takes to answer one request with what is there."""

ASKED_S = 30.0
"""A question that nobody asked for so long costs nothing."""


def kept_s(cost_s: float, others_s: float) -> float:
    """For how long at least an answer is kept.

    Where every question is computed no sooner than that, each costs ``cost_s`` in a time of at
    least ``sum of all costs / SHARE``, so all together take no more than their share.

    Args:
        cost_s: Seconds of the processor that it took to compute it, and to send it to everybody.
        others_s: What the answers to all other questions took, of those that are asked.
    """
    return (cost_s + others_s) / SHARE
