"""Each table's staleness over a window in a few numbers, from one pass over the journal's index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from freshline.core.objective.compliance import Compliance
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.ui.reads.updates import first_id
from freshline.ui.reads.window import Window

PARTS = 24
_MOST = 20_000
"""Updates that are looked at: where there are more, the line begins with these."""


@dataclass(slots=True)
class Spark:
    """One table over a window.

    Attributes:
        line: The largest staleness in each part of the window, in whole seconds; None: no data.
        kept: Share of the time within the target; None: no target or no data.
        executor_s: Seconds of its updates.
        last: Its updates: number, and ``ok`` or ``failed``.
    """

    line: list[int | None]
    kept: float | None = None
    executor_s: float = 0.0
    last: list[list[int | str]] = field(default_factory=list)


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
    rows = journal.rows(
        "SELECT table_name, number, state, finish_s, from_s, to_s, seconds FROM updates"
        f" WHERE id>=? AND id<? AND {NO_UPKEEP}"
        " AND state IN ('done','failed') ORDER BY id DESC LIMIT ?",
        (first, behind, _MOST),
    )
    by_table: dict[str, list[tuple[int, str, float, float, float, float]]] = {}
    for name, number, state, finish_s, from_s, to_s, seconds in reversed(rows):
        by_table.setdefault(name, []).append(
            (number, state, finish_s, from_s, to_s, seconds or 0.0)
        )
    end_s = min(window.to_s, now_s)
    return {
        name: _spark(by_table.get(name, []), fresh_s, lag_s, window, end_s)
        for name, (fresh_s, lag_s) in known.items()
    }


def _spark(
    updates: list[tuple[int, str, float, float, float, float]],
    fresh_s: float | None,
    lag_s: float | None,
    window: Window,
    end_s: float,
) -> Spark:
    width_s = (window.to_s - window.from_s) / PARTS
    spark = Spark([None] * PARTS)
    kept = Compliance(lag_s)
    done = [each for each in updates if each[1] == "done"]
    fresh: float | None = fresh_s
    at_s = window.from_s
    if done:
        # The first update of all began with no data.
        fresh = done[0][3] if done[0][0] > 1 else None
    if fresh is not None:
        kept.begin(at_s, fresh)

    def shown(until_s: float) -> None:
        """The stretch from ``at_s``: staleness is largest at the end of each part."""
        if fresh is None or until_s <= at_s:
            return
        part = int((at_s - window.from_s) / width_s)
        while part < PARTS and window.from_s + part * width_s < until_s:
            stale_s = min(until_s, window.from_s + (part + 1) * width_s) - fresh
            spark.line[part] = max(spark.line[part] or 0, round(stale_s))
            part += 1

    for number, state, finish_s, _, to_s, seconds in updates:
        spark.executor_s += seconds
        spark.last.append([number, "ok" if state == "done" else "failed"])
        shown(min(finish_s, end_s))
        at_s = max(at_s, finish_s)
        if state == "done":
            kept.finished(finish_s, seconds, to_s)
            if kept.since_s is None:
                kept.begin(finish_s, to_s)
            fresh = to_s if fresh is None else max(fresh, to_s)
    shown(end_s)
    share = kept.share(end_s)
    spark.kept = None if share is None else round(share, 4)
    spark.executor_s = round(spark.executor_s, 1)
    return spark
