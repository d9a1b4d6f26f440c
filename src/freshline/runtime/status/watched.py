"""What a run's oversight has written into the journal, for ``freshline status``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freshline.runtime.journal.store import Journal, Row


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """One feed.

    Attributes:
        name: Of the feed.
        last_s: When its last file came; None before the first.
        period_s: How often one is due, given or learned; None: not known yet.
        jitter_s: How much later than that one may come.
        silent_since_s: Since when nothing has come, while it is out.
        came_back_s: When its last outage ended.
        error: What of it could not be listed or cannot be loaded; None: nothing.
    """

    name: str
    last_s: float | None
    period_s: float | None
    jitter_s: float | None
    silent_since_s: float | None
    came_back_s: float | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a table catches up.

    Attributes:
        since_s: When it began.
        backlog_s: How far its freshness is behind what has arrived, seconds of feed time.
        first_s, fresh_s: When it will be fresh again, as computed first and as revised last;
            None: not at what updates cost.
        waits: It waits for capacity.
        bound_s: When it is fresh at the latest, by Theorem 4; None: nothing bounds it.
    """

    since_s: float
    backlog_s: float
    first_s: float | None
    fresh_s: float | None
    waits: bool
    bound_s: float | None


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """One table, as the last run's oversight saw it.

    Attributes:
        mode: Under aus: normal, waiting, recovery or caught up; else None.
        recovery: While it catches up.
        bounds_s: Bound on tardiness, response and staleness; empty where nothing is promised.
        worst_s: The largest of each that was seen.
        violations: How often a bound was exceeded in this run, by reason; None where nothing
            is promised.
        last_violation: The newest of them in words.
        newest_s: Where the newest was loaded first: up to where its newest data reaches, while
            older data is still to come; else None.
    """

    mode: str | None = None
    recovery: Recovery | None = None
    bounds_s: Mapping[str, float | None] = field(default_factory=dict)
    worst_s: Mapping[str, float] = field(default_factory=dict)
    violations: Mapping[str, int] | None = None
    last_violation: str | None = None
    newest_s: float | None = None


NOTHING_WATCHED = WatchedTable()


@dataclass(frozen=True, slots=True)
class Misfit:
    """A partition into tracks that no longer fits what updates cost; an older one is in force.

    Attributes:
        partition: Its name.
        since_s: Since when.
        what: What it would need.
    """

    partition: str
    since_s: float
    what: str


def read_misfit(journal: Journal) -> Misfit | None:
    """That of the last run; None where there is none, and in a journal of an earlier version."""
    rows = journal.rows_if_there("SELECT partition, since_s, what FROM misfits")
    return Misfit(*rows[0]) if rows else None


def read_feeds(journal: Journal) -> tuple[FeedStatus, ...]:
    """Every feed that a run has listened to; none in a journal of an earlier version."""
    rows = journal.rows_if_there(
        "SELECT name, last_s, period_s, jitter_s, silent_since_s, came_back_s, error FROM feeds"
        " ORDER BY name"
    )
    return tuple(
        FeedStatus(
            row["name"], row["last_s"], row["period_s"], row["jitter_s"], row["silent_since_s"],
            row["came_back_s"], row["error"],
        )
        for row in rows
    )  # fmt: skip


def read_gaps(journal: Journal, until_s: float, most: int) -> dict[str, list[tuple[float, float]]]:
    """Silences that have ended, by feed, the newest first: from the last file to the next one.

    Args:
        journal: Of any version; in an earlier one there are none.
        until_s: Later ones are left out.
        most: Of each feed.
    """
    rows = journal.rows_if_there("SELECT feed, from_s, to_s FROM gaps ORDER BY id DESC")
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        of_feed = found.setdefault(row["feed"], [])
        if row["to_s"] <= until_s and len(of_feed) < most:
            of_feed.append((row["from_s"], row["to_s"]))
    return found


def read_watched(journal: Journal) -> dict[str, WatchedTable]:
    """Every table that the last run has watched."""
    rows = journal.rows_if_there("SELECT * FROM watched")
    return {row["name"]: _table(row) for row in rows}


def _table(row: Row) -> WatchedTable:
    recovery = None
    if row["since_s"] is not None:
        recovery = Recovery(
            row["since_s"], row["backlog_s"], row["first_s"], row["fresh_s"], bool(row["waits"]),
            row["bound_s"],
        )  # fmt: skip
    return WatchedTable(
        row["mode"],
        recovery,
        _loaded(row["bounds"]) or {},
        _loaded(row["worst"]) or {},
        _loaded(row["violations"]),
        row["last_violation"],
        row["newest_s"],
    )


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
