"""Audits: which view is verified next on an idle track, and whether its share of time allows it.

An audit computes a view's query again, which takes what a full update takes. So audits have an
account: it earns a share of the tracks' time, an audit starts when what it should take is there,
and what it took is paid. If it took longer, that is a debt, which later time pays off.

Law: up to any moment audits took at most share * tracks of the time since the start, apart from
what the last of them took beyond its estimate. A view whose turn it is waits until it can be
paid; no cheaper one overtakes it, so every view is verified sooner or later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from freshline.core.background.share import ShareAccount


@dataclass(frozen=True, slots=True)
class Candidate:
    """A view whose newest version was not verified yet.

    Attributes:
        table: Its name.
        order: Its place in the project.
        from_changes: Whether that version was made from its parents' changes.
        last_s: When a version of it was last verified; minus infinity: never.
        expected_s: What verifying it should take.
    """

    table: str
    order: int
    from_changes: bool
    last_s: float
    expected_s: float


class Audits:
    """The account of audits.

    Args:
        share: Part of the tracks' time, in [0, 1]; 0: no audits.
        tracks: How many tracks there are.
        start_s: The clock.
    """

    def __init__(self, share: float, tracks: int, start_s: float) -> None:
        self._account = ShareAccount(share, tracks)
        self._now_s = start_s

    def next(self, now_s: float, candidates: Iterable[Candidate]) -> Candidate | None:
        """The view to verify now; None: there is none, or its turn cannot be paid yet.

        Views made from changes come first, of these the one that went longest without an audit.
        """
        self._account.earn(now_s - self._now_s)
        self._now_s = now_s
        chosen = min(
            candidates,
            key=lambda each: (not each.from_changes, each.last_s, each.order),
            default=None,
        )
        if chosen is None or self._account.wait_s(chosen.expected_s) > 0.0:
            return None
        return chosen

    def ended(self, seconds: float) -> None:
        """An audit took so long, whatever came of it."""
        self._account.spent_s += seconds
