"""Staleness S = now - F of each table: current, mean, largest, and its integral.

Golab et al. 2011, 2.3. F changes only when an update finishes, so S is a saw-tooth: its
integral is summed up trapezoid by trapezoid at each change, and nothing is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshline.core.model import Table


@dataclass(frozen=True, slots=True)
class Staleness:
    """One table's staleness up to ``now_s``.

    Attributes:
        current_s: now - F.
        max_s: The largest so far.
        integral_s2: Its integral over time since the table's data was first known.
    """

    current_s: float
    max_s: float
    integral_s2: float


def settle(table: Table, now_s: float) -> None:
    """Add the trapezoid since the last change; to be called before F or the floor changes."""
    floor_s = table.floor_s  # as `complete_s`, without its call
    current_s = now_s - (table.freshness_s if floor_s is None else floor_s)
    past_s = now_s - table.area_since_s
    table.staleness_area_s2 += (current_s - 0.5 * past_s) * past_s
    if current_s > table.max_staleness_s:  # noqa: PLR1730 - a call costs three times as much
        table.max_staleness_s = current_s
    table.area_since_s = now_s


def staleness_of(table: Table, now_s: float) -> Staleness | None:
    """Staleness at ``now_s``; None while nothing is known of the table's data."""
    if not table.known:
        return None
    current_s = now_s - table.complete_s
    past_s = now_s - table.area_since_s
    return Staleness(
        current_s,
        max(table.max_staleness_s, current_s),
        table.staleness_area_s2 + (current_s - 0.5 * past_s) * past_s,
    )
