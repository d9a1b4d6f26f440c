"""When the next file of a feed is expected.

Golab et al. 2011, 3.1, need the expected releases of tables that have nothing to load; the
paper does not say where they come from. Rule G10: the next date of the feed's
calendar after now, or, for a feed without one, the last arrival plus a number of periods.
"""

from __future__ import annotations

from math import floor

from freshline.core.model import Table


def date_s(phase_s: float, period_s: float, number: int) -> float:
    """Due date of file ``number`` = 1, 2, ...: phase + (number - 1) * period."""
    return phase_s + (number - 1) * period_s


def next_date_s(table: Table, now_s: float) -> float | None:
    """The first date after ``now_s`` at which a file of a base table's feed is expected.

    None where nothing is known yet: no calendar, and no file so far or no period.
    """
    period_s = table.period_s
    if period_s <= 0.0:
        return None
    phase_s = table.spec.phase_s
    first = 1
    if phase_s is None:
        if table.last_arrival_s is None:
            return None
        # The arrival itself is file 1; the next is at least one period later.
        phase_s, first = table.last_arrival_s, 2
    number = max(first, floor((now_s - phase_s) / period_s) + 1)
    # The quotient may be off by one; the dates themselves decide.
    while date_s(phase_s, period_s, number) <= now_s:
        number += 1
    while number > first and date_s(phase_s, period_s, number - 1) > now_s:
        number -= 1
    return date_s(phase_s, period_s, number)
