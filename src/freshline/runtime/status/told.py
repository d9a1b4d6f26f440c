"""Alerts that were sent or are still to be delivered, from the journal alone."""

from __future__ import annotations

from dataclasses import dataclass

from freshline.runtime.journal.store import Journal


@dataclass(frozen=True, slots=True)
class AlertStatus:
    """The alerts of a warehouse.

    Attributes:
        told: Kind and subject of what was told and is not over, with when it was told.
        undelivered: Events that no receiver has accepted yet.
        oldest_s: When the oldest of them was made; None: there is none.
    """

    told: tuple[tuple[str, str, float], ...] = ()
    undelivered: int = 0
    oldest_s: float | None = None


NOTHING_TOLD = AlertStatus()


def read_alerts(journal: Journal) -> AlertStatus:
    """The alerts; none in a journal of an earlier version."""
    told = journal.rows_if_there(
        "SELECT kind, subject, min(told_s) FROM alerts WHERE told_s IS NOT NULL"
        " GROUP BY kind, subject ORDER BY 3, 1, 2"
    )
    left = journal.rows_if_there("SELECT count(*), min(at_s) FROM postings")
    count, oldest_s = left[0] if left else (0, None)
    return AlertStatus(tuple((row[0], row[1], row[2]) for row in told), count, oldest_s)
