"""Alerts sent and alerts still to be posted: in the journal, so restarts lose nothing.

A change and its event are written in one transaction. An event is deleted once it is delivered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from freshline.runtime.alerts.changes import Change, Key, Raised
from freshline.runtime.journal.store import Journal


@dataclass(frozen=True, slots=True)
class Posting:
    """An event that waits for its delivery."""

    number: int
    url: str
    body: str


class AlertStore:
    """The alerts of one journal, over a connection of its own; used by one thread.

    Args:
        journal: Open; every change is flushed at once.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def memory(self) -> dict[Key, Raised]:
        """What was raised or seen."""
        rows = self._journal.rows("SELECT url, kind, subject, since_s, seen_s, told_s FROM alerts")
        found = [Raised(*row) for row in rows]
        return {row.key: row for row in found}

    def note(self, changes: Iterable[Change], now_s: float) -> bool:
        """Keep changes and their events; whether they are written."""
        for change in changes:
            row = change.raised
            if change.ended:
                self._journal.write("DELETE FROM alerts WHERE url=? AND kind=? AND subject=?",
                                    row.key)  # fmt: skip
            else:
                self._journal.write(
                    "INSERT INTO alerts (url, kind, subject, since_s, seen_s, told_s)"
                    " VALUES (?,?,?,?,?,?) ON CONFLICT (url, kind, subject)"
                    " DO UPDATE SET told_s=excluded.told_s",
                    (*row.key, row.since_s, row.seen_s, row.told_s),
                )
            if change.event is not None:
                self._journal.write(
                    "INSERT INTO postings (url, event, at_s) VALUES (?,?,?)",
                    (row.url, json.dumps(change.event, ensure_ascii=False), now_s),
                )
        return self._journal.flush()

    def next_posting(self, url: str) -> Posting | None:
        """The oldest event that waits for a URL."""
        row = self._journal.row(
            "SELECT id, url, event FROM postings WHERE url=? ORDER BY id LIMIT 1", (url,)
        )
        return None if row is None else Posting(*row)

    def delivered(self, posting: Posting) -> bool:
        """An event is done with; whether that is written."""
        self._journal.write("DELETE FROM postings WHERE id=?", (posting.number,))
        return self._journal.flush()

    def forget_others(self, urls: Iterable[str]) -> None:
        """Drop what waits for URLs that the project no longer names."""
        kept = list(urls)
        marks = ",".join("?" * len(kept))
        self._journal.write(f"DELETE FROM postings WHERE url NOT IN ({marks})", kept)
        self._journal.flush()

    def close(self) -> None:
        """Write what is left, and close the connection."""
        self._journal.close()
