"""Each table's staleness over a window in a few numbers, from one pass over the journal's index."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.ui.reads.updates import first_id
from freshline.ui.reads.window import Window

PARTS = 24
LATEST = 5
_MOST = 20_000
"""Updates that are looked at: where there are more, the line begins with these."""


@dataclass(slots=True)
class Spark:
    """One table over a window.

    Attributes:
        line: The largest staleness in each part of the window, in whole seconds; None: no data.
        kept: Share of the time within the target; None: no target or no data.
        executor_s: Seconds of its updates.
        last: Its latest updates, at most five: number, ``ok`` or ``failed``, strategy (None: it
            failed).
    """

    line: list[int | None]
    kept: float | None = None
    executor_s: float = 0.0
    last: list[tuple[int, str, str | None]] = field(default_factory=list)


def sparks(
    journal: Journal,
    known: Mapping[str, tuple[float | None, float | None]],
    window: Window,
    now_s: float,
) -> dict[str, Spark]:
    """The lines of all tables.

    Args:
        journal: To read.
        known: Freshness and target of each table that has data, by name; a table that is not
            updated in the window stands as it stands now.
        window: What to show.
        now_s: Now: nothing is shown behind it.
    """
    first, behind = first_id(journal, window.from_s), first_id(journal, window.to_s)
    rows = journal.each(
        "SELECT table_name, number, state, finish_s, from_s, to_s, seconds, strategy FROM updates"
        f" WHERE id>=? AND id<? AND {NO_UPKEEP} AND state IN ('done','failed') ORDER BY id",
        (max(first, behind - _MOST), behind),
    )
    end_s = min(window.to_s, now_s)
    drawn = {name: _Drawn(lag_s, window, end_s) for name, (_, lag_s) in known.items()}
    for name, number, state, finish_s, from_s, to_s, seconds, strategy in rows:
        table = drawn.get(name)
        if table is None:
            continue
        table.executor_s += seconds or 0.0
        if state == "done":
            table.last.append((number, "ok", strategy))
            table.advanced(number, finish_s, from_s, to_s)
        else:
            table.last.append((number, "failed", None))
    return {name: drawn[name].ended(fresh_s) for name, (fresh_s, _) in known.items()}


class _Drawn:
    """One table's line while its updates are read: a few operations each, for there are many."""

    __slots__ = (
        "_at_s", "_begun_s", "_beyond_s", "_end_s", "_fresh_s", "_from_s", "_lag_s", "_line",
        "_width_s", "executor_s", "last",
    )  # fmt: skip

    def __init__(self, lag_s: float | None, window: Window, end_s: float) -> None:
        self.executor_s = 0.0
        self.last: deque[tuple[int, str, str | None]] = deque(maxlen=LATEST)
        self._line: list[float | None] = [None] * PARTS
        self._from_s, self._end_s = window.from_s, end_s
        self._width_s = (window.to_s - window.from_s) / PARTS
        self._lag_s = math.inf if lag_s is None else lag_s
        self._fresh_s: float | None = None
        self._at_s: float | None = None
        """Up to when the line is drawn; None: no data, or nothing was read yet."""
        self._begun_s = window.from_s
        self._beyond_s = 0.0

    def advanced(self, number: int, finish_s: float, from_s: float, to_s: float) -> None:
        """A committed update."""
        if self._at_s is None:
            # The first of all began with no data, and no table was fresher than its time.
            self._begun_s = finish_s if number == 1 else max(self._from_s, from_s)
            self._at_s, self._fresh_s = self._begun_s, to_s if number == 1 else from_s
        self._until(finish_s)
        if self._fresh_s is None or to_s > self._fresh_s:
            self._fresh_s = to_s

    def ended(self, fresh_s: float | None) -> Spark:
        """The line up to its end; a table without updates has been as fresh as it is now."""
        if self._at_s is None and fresh_s is not None:
            self._at_s, self._fresh_s = self._from_s, fresh_s
        kept = None
        if self._at_s is not None:
            self._until(self._end_s)
            past_s = self._end_s - self._begun_s
            if self._lag_s != math.inf and past_s > 0.0:
                kept = round(1.0 - self._beyond_s / past_s, 4)
        line = [None if each is None else round(each) for each in self._line]
        return Spark(line, kept, round(self.executor_s, 1), list(self.last))

    def _until(self, until_s: float) -> None:
        """Staleness grows up to ``until_s``: it is largest at the end of each part."""
        at_s, fresh_s = self._at_s, self._fresh_s
        assert at_s is not None
        assert fresh_s is not None
        until_s = min(until_s, self._end_s)
        if until_s <= at_s:
            return
        late_s = fresh_s + self._lag_s
        if until_s > late_s:
            self._beyond_s += until_s - (max(at_s, late_s))
        line, from_s, width_s = self._line, self._from_s, self._width_s
        part = int((at_s - from_s) / width_s)
        while part < PARTS and (begun_s := from_s + part * width_s) < until_s:
            ends_s = begun_s + width_s
            stale_s = (min(until_s, ends_s)) - fresh_s
            before_s = line[part]
            if before_s is None or stale_s > before_s:
                line[part] = stale_s
            part += 1
        self._at_s = until_s
