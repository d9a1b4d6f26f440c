"""Each table's staleness over a window in a few numbers, from one pass over the journal's index."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.ui.reads.updates import behind_id, commit_after, commit_before, first_id
from freshline.ui.reads.window import Window

PARTS = 24
LATEST = 5
_BEFORE = 200
"""So many of the updates before a window are looked at for those that ended in it."""
_MOST = 20_000
"""Updates that are looked at: where there are more, the line begins with these."""


@dataclass(frozen=True, slots=True)
class Known:
    """How a table stands now.

    Attributes:
        fresh_s: How fresh it is.
        lag_s: Its target; None: it has none.
        updated_s: When it was updated last; None: nobody knows. One that was not updated since a
            window began was as fresh in it.
    """

    fresh_s: float | None
    lag_s: float | None
    updated_s: float | None


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
    known: Mapping[str, Known],
    window: Window,
    now_s: float,
) -> dict[str, Spark]:
    """The lines of all tables.

    Args:
        journal: To read.
        known: How each table that has data stands now, by name.
        window: What to show.
        now_s: Now: nothing is shown behind it.
    """
    first = first_id(journal, window.from_s)
    behind = behind_id(journal, window.to_s, now_s)
    # What began before the window and ended in it says how fresh its table was before.
    rows = journal.each(
        "SELECT id, table_name, number, state, finish_s, from_s, to_s, seconds, strategy FROM"
        f" updates WHERE id>=? AND id<? AND {NO_UPKEEP} AND state IN ('done','failed') ORDER BY id",
        (max(first - _BEFORE, behind - _MOST), behind),
    )
    end_s = min(window.to_s, now_s)
    drawn = {name: _Drawn(each.lag_s, window, end_s) for name, each in known.items()}
    for update, name, number, state, finish_s, from_s, to_s, seconds, strategy in rows:
        table = drawn.get(name)
        if table is None:
            continue
        if update < first:
            if state == "done" and finish_s > window.from_s:
                table.advanced(number, finish_s, from_s, to_s)
            continue
        table.executor_s += seconds or 0.0
        if state == "done":
            table.last.append((number, "ok", strategy))
            table.advanced(number, finish_s, from_s, to_s)
        else:
            table.last.append((number, "failed", None))
    for name, each in known.items():
        if drawn[name].is_begun or each.updated_s is None or each.updated_s <= window.from_s:
            drawn[name].stood(each.fresh_s)
        else:  # updated since the window began, by none that was read
            least = max(first, behind - _MOST)
            _stood_then(drawn[name], journal, name, least, window, now_s)
    return {name: each.ended() for name, each in drawn.items()}


def _stood_then(
    table: _Drawn, journal: Journal, name: str, least: int, window: Window, now_s: float
) -> None:
    """How fresh a table was in a window, by the updates around it: before ``least``, or behind."""
    before = commit_before(journal, name, least)
    if before is not None and before["finish_s"] <= window.from_s:
        table.stood(before["to_s"])
    elif before is not None:
        table.advanced(before["number"], before["finish_s"], before["from_s"], before["to_s"])
    else:
        following = commit_after(journal, name, window.to_s, now_s)
        if following is not None and following["number"] > 1:
            table.stood(following["from_s"])


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

    @property
    def is_begun(self) -> bool:
        """Whether a committed update was read."""
        return self._at_s is not None

    def advanced(self, number: int, finish_s: float, from_s: float, to_s: float) -> None:
        """A committed update."""
        if self._at_s is None:
            # The first of all began with no data, and no table was fresher than its time.
            self._begun_s = finish_s if number == 1 else max(self._from_s, from_s)
            self._at_s, self._fresh_s = self._begun_s, to_s if number == 1 else from_s
        self._until(finish_s)
        if self._fresh_s is None or to_s > self._fresh_s:
            self._fresh_s = to_s

    def stood(self, fresh_s: float | None) -> None:
        """So fresh when the window began, where no update says it."""
        if self._at_s is None and fresh_s is not None:
            self._at_s, self._fresh_s = self._from_s, fresh_s

    def ended(self) -> Spark:
        """The line up to its end."""
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
            stale_s = max(0.0, min(until_s, ends_s) - fresh_s)
            before_s = line[part]
            if before_s is None or stale_s > before_s:
                line[part] = stale_s
            part += 1
        self._at_s = until_s
