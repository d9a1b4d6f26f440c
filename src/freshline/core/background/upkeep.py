"""Upkeep: work on a table that changes none of its rows (compaction, VACUUM, an audit).

It is for tracks that nobody needs. One starts only while nothing waits, nothing was asked for
and no background work is wanted or runs; one at a time, so that of several tracks all but one
stay free for whatever comes. What runs cannot be stopped, so each is short: whoever offers it
bounds its bytes.

A compaction commits a version with the rows of the one before. No child has news by it, and a
view that has read one of the two has read the other.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf

from freshline.core.commands import StartUpdate
from freshline.core.events import UpdateFinished
from freshline.core.model import Running, Table

COMPACT = "compact"
VACUUM = "vacuum"
VERIFY = "verify"
TRY = "try"
"""A trial of a view's strategies. It is no upkeep to the scheduler: it gets a share of its own."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Upkeep that would pay.

    Attributes:
        table: Of which.
        kind: compact, vacuum or verify.
        number: The table's update number when it was looked at; after another update it is
            to be looked at again.
        expected_s: What it should take.
    """

    table: Table
    kind: str
    number: int
    expected_s: float


class Upkeep:
    """What was offered and has not started, in order, and whether one runs."""

    def __init__(self) -> None:
        self._offers: deque[Offer] = deque()
        self.running = False

    @property
    def busy(self) -> bool:
        """Whether one runs, or waits and no update has overtaken it."""
        return self.running or any(each.number == each.table.number for each in self._offers)

    def offer(self, offer: Offer) -> None:
        """One more; a second one of a kind for a table takes the first one's place."""
        same = (offer.table, offer.kind)
        self._offers = deque(each for each in self._offers if (each.table, each.kind) != same)
        self._offers.append(offer)

    def take(self, now_s: float, until_s: float = inf) -> Offer | None:
        """The first that can start and should end in time; what was overtaken is forgotten."""
        if self.running:
            return None
        self._offers = deque(each for each in self._offers if each.number == each.table.number)
        for offer in self._offers:
            table = offer.table
            if not (
                table.running is not None
                or table.version is None
                or table.paused
                or table.asked
                or table.deferred_until_s > now_s
                or now_s + offer.expected_s > until_s
            ):
                self._offers.remove(offer)
                self.running = True
                return offer
        return None


def upkeep_started(
    offer: Offer, track: int, now_s: float, score: str = "nothing waits"
) -> StartUpdate:
    """Make ``offer``'s table run it; F, what is pending and the policy's state stay."""
    table = offer.table
    at_s = table.complete_s
    command = StartUpdate(
        table.name,
        table.number + 1,
        track,
        now_s,
        at_s,
        at_s,
        offer.expected_s,
        (),
        tuple(sorted((table.pins or {}).items())) if table.sources else (),
        score=score,
        upkeep=offer.kind,
    )
    running = Running(command, now_s, 0.0, 0.0, ())
    running.background = True
    running.to_s = table.freshness_s
    table.running = running
    table.next_to_s = table.freshness_s
    table.stamp += 1
    table.key = None
    return command


def upkeep_finished(table: Table, running: Running, event: UpdateFinished) -> None:
    """A compaction's version has the rows of the one before; other upkeep makes none."""
    if event.version is None or running.command.upkeep != COMPACT:
        return
    table.number = running.command.number
    before = table.version
    if before is not None:
        first, last = table.same_rows or (before, before)
        table.same_rows = (first if last == before else before, event.version)
    table.version = event.version
