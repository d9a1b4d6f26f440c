"""Why each of a table's latest updates ran when it did.

The journal keeps, with every update, the score that won, the best candidates that it was
chosen over, and when its work was released. What the tracks did in the meantime is in the
other updates' rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import NO_CHECK, NO_UPKEEP


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A candidate that could have been started instead, and its score in the policy's words."""

    table: str
    score: str


@dataclass(frozen=True, slots=True)
class ConcurrentUpdate:
    """An update that occupied a track while another one's work waited.

    Attributes:
        overlap_s: How long, of the time waited.
        finished_s: None where it goes on, or nobody saw its end.
    """

    table: str
    number: int
    track: int
    started_s: float
    finished_s: float | None
    overlap_s: float


@dataclass(frozen=True, slots=True)
class UpdateStory:
    """One update of the table, or one attempt of it.

    Attributes:
        state: running, done, failed, or lost (the process ended during it).
        released_s: When the oldest work in it arrived; None where nothing had to arrive.
        failed_s: When an attempt with that work had failed; None: it is the first.
        waited_s: From the later of the two to the start; None where nothing had to arrive.
        from_s, to_s: Freshness before and after.
        files: How many files it was given; None for a derived table.
        parents: The version of each table that it read.
        score: Why it was the best choice, in the policy's words.
        over: The best of the others at that moment.
        meanwhile: What ran while it waited, in order of start.
    """

    number: int
    attempt: int
    state: str
    track: int
    released_s: float | None
    started_s: float
    finished_s: float | None
    waited_s: float | None
    seconds: float | None
    expected_s: float
    from_s: float
    to_s: float
    files: int | None
    rows: int | None
    rejected_rows: int | None
    version: int | None
    full: bool
    strategy: str | None
    reason: str | None
    error: str | None
    parents: tuple[tuple[str, int], ...]
    score: str
    over: tuple[PassedOver, ...]
    meanwhile: tuple[ConcurrentUpdate, ...]
    failed_s: float | None = None


def story_of(journal: Journal, table: str, *, base: bool, last: int = 5) -> list[UpdateStory]:
    """The ``last`` updates of ``table``, oldest first.

    Args:
        journal: Any journal, of a running warehouse or not.
        table: Its name, as the project writes it.
        base: Whether it is a base table.
        last: How many.
    """
    rows = journal.rows(
        f"SELECT * FROM updates WHERE table_name=? AND {NO_CHECK} ORDER BY id DESC LIMIT ?",
        (table, last),
    )
    return [chapter_of(journal, row, base=base) for row in reversed(rows)]


def chapter_of(journal: Journal, row: Row, *, base: bool, meanwhile: bool = True) -> UpdateStory:
    """The chapter of one row of ``updates``; without ``meanwhile`` what ran is not looked up."""
    start_s = row["start_s"]
    # SQLite keeps an infinite release as it is: an update that was asked for without news.
    known = row["release_s"] is not None and row["release_s"] <= start_s
    release_s = row["release_s"] if known else None
    failed_s = None if release_s is None else _failed_s(journal, row, release_s)
    since_s = release_s if failed_s is None else failed_s
    return UpdateStory(
        number=row["number"],
        attempt=row["attempt"],
        state=row["state"],
        track=row["track"],
        released_s=release_s,
        started_s=start_s,
        finished_s=row["finish_s"],
        waited_s=None if since_s is None else start_s - since_s,
        seconds=row["seconds"],
        expected_s=row["expected_s"],
        from_s=row["from_s"],
        to_s=row["to_s"],
        files=row["files"] if base else None,
        rows=row["rows"],
        rejected_rows=row["rejected_rows"],
        version=row["version"],
        full=bool(row["full"]),
        strategy=row["strategy"],
        reason=row["reason"],
        error=row["error"],
        parents=tuple(sorted(json.loads(row["parents"] or "{}").items())),
        score=row["score"] or "",
        over=tuple(PassedOver(name, score) for name, score in json.loads(row["passed_over"])),
        meanwhile=() if since_s is None or not meanwhile else _meanwhile(journal, row, since_s),
        failed_s=failed_s,
    )


def _failed_s(journal: Journal, row: Row, release_s: float) -> float | None:
    """The end of the failed attempt before this one, which was no waiting; None: there is none."""
    before = journal.row(
        "SELECT number, state, start_s, finish_s FROM updates"
        f" WHERE table_name=? AND id<? AND {NO_UPKEEP} ORDER BY id DESC LIMIT 1",
        (row["table_name"], row["id"]),
    )
    if before is None or before["state"] != "failed" or before["start_s"] < release_s:
        return None
    if before["number"] != row["number"]:
        return None  # a backfill's
    ended_s: float | None = before["finish_s"]
    return ended_s if ended_s is not None and ended_s <= row["start_s"] else None


def _meanwhile(journal: Journal, row: Row, since_s: float) -> tuple[ConcurrentUpdate, ...]:
    """What was on the tracks from when its work waited to the start.

    A track runs one update at a time, so what ran at first is the last update that each track
    had started before it.
    """
    start_s = row["start_s"]
    # The sign keeps SQLite from walking through all ids below this one.
    found = journal.rows(
        "SELECT * FROM updates WHERE start_s>=? AND start_s<=? AND +id<? ORDER BY start_s",
        (since_s, start_s, row["id"]),
    )
    before = []
    for track in _tracks(journal, row["run"]):
        running = journal.row(
            "SELECT * FROM updates WHERE start_s<? AND track=? ORDER BY start_s DESC, id DESC"
            " LIMIT 1",
            (since_s, track),
        )
        if running is not None:
            before.append(running)
    told = []
    for other in sorted([*before, *found], key=lambda item: item["id"]):
        if other["finish_s"] is None and other["run"] != row["run"]:
            continue  # lost with its process; when it ended nobody knows
        end_s = start_s if other["finish_s"] is None else min(start_s, other["finish_s"])
        overlap_s = end_s - max(since_s, other["start_s"])
        if overlap_s > 0.0:
            told.append(
                ConcurrentUpdate(
                    other["table_name"],
                    other["number"],
                    other["track"],
                    other["start_s"],
                    other["finish_s"],
                    overlap_s,
                )
            )
    return tuple(told)


def _tracks(journal: Journal, run: int) -> list[int]:
    """The tracks of a run: what it was set up with, so that its updates need not be scanned."""
    row = journal.row("SELECT setting FROM runs WHERE id=?", (run,))
    setting = json.loads(row["setting"]) if row is not None and row["setting"] else {}
    tracks = setting.get("scheduler", {}).get("tracks")
    if tracks is not None:
        return list(range(int(tracks)))
    return [
        found["track"]
        for found in journal.rows("SELECT DISTINCT track FROM updates WHERE run=?", (run,))
    ]
