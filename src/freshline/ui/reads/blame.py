"""What a table's staleness consists of: its source, waiting for a track, its own work.

At a moment t a table is fresh to F, and what has arrived for it would make it fresh to E. Of its
staleness t - F the part t - E is its source's (a feed that is late, a parent that is stale), and
E - F its own: it would be gone if updates took no time and started at once. That part counts as
work while an update of the table runs, and as waiting otherwise. The three add up to the staleness
at every moment, hence over every window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """An update, or one that is still to start.

    Attributes:
        release_s: When its work had arrived; None: when it started.
        start_s, finish_s: None: not yet.
        to_s: How fresh it makes the table.
        done: Whether it was committed.
    """

    release_s: float | None
    start_s: float | None
    finish_s: float | None
    to_s: float
    done: bool


@dataclass(frozen=True, slots=True)
class Blame:
    """Means over the time in which the table had data, in seconds.

    Attributes:
        seconds: How long that was within the window.
    """

    seconds: float
    source_s: float
    waiting_s: float
    working_s: float

    @property
    def staleness_s(self) -> float:
        """The mean staleness."""
        return self.source_s + self.waiting_s + self.working_s


def blame(fresh_s: float | None, attempts: Iterable[Attempt], from_s: float, to_s: float) -> Blame:
    """Divide the staleness between ``from_s`` and ``to_s``.

    Args:
        fresh_s: How fresh the table is before the first of the attempts; None: it has no data.
        attempts: In any order.
        from_s, to_s: The window, seconds since the epoch.
    """
    # (moment, order at that moment, change of running updates, new F, new E)
    changes: list[tuple[float, int, int, float | None, float | None]] = []
    for each in attempts:
        begun_s = each.start_s if each.release_s is None else each.release_s
        if begun_s is not None:
            changes.append((begun_s, 1, 0, None, each.to_s))
        if each.start_s is not None:
            changes.append((each.start_s, 2, 1, None, each.to_s))
        if each.finish_s is not None:
            changes.append((each.finish_s, 0, -1, each.to_s if each.done else None, None))
    changes.sort(key=lambda change: change[:3])
    at_s, running = from_s, 0
    known_s, fresh = fresh_s, fresh_s
    seconds = source = waiting = working = 0.0
    for moment_s, _, more, new_fresh, new_known in [*changes, (to_s, 3, 0, None, None)]:
        end_s = min(moment_s, to_s)
        if end_s > at_s:
            if fresh is not None:
                length_s = end_s - at_s
                known = min(max(known_s if known_s is not None else fresh, fresh), at_s)
                known = max(known, fresh)
                own = (known - fresh) * length_s
                seconds += length_s
                source += ((at_s + end_s) / 2.0 - known) * length_s
                if running > 0:
                    working += own
                else:
                    waiting += own
            at_s = end_s
        running += more
        if new_fresh is not None:
            fresh = new_fresh if fresh is None else max(fresh, new_fresh)
        if new_known is not None:
            known_s = new_known if known_s is None else max(known_s, new_known)
    if not seconds:
        return Blame(0.0, 0.0, 0.0, 0.0)
    return Blame(seconds, source / seconds, waiting / seconds, working / seconds)
