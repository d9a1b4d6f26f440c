"""How the views' trials ended, as the journal keeps it: one row for each view."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from freshline.executor.trials import Outcome, Trust, Verdict
from freshline.runtime.journal.store import Journal


@dataclass(frozen=True, slots=True)
class Tried:
    """The last trial of a view.

    Attributes:
        definition: The short name of its query then.
        trust: What was tried, and the outcome.
        at_s: When it ended, seconds since the epoch.
        seconds: What it took.
        compared: Versions that were compared with the query, by strategy.
        reason: Why it did not pass; "": it did.
        evidence: Folder that holds the case of a failure; "": there is none.
    """

    definition: str
    trust: Trust
    at_s: float
    seconds: float
    compared: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    evidence: str = ""

    @property
    def failed(self) -> bool:
        """Whether a strategy gave another result than the query."""
        return self.trust.outcome == "failed"


def note_trial(
    journal: Journal, table: str, definition: str, verdict: Verdict, now_s: float
) -> Tried:
    """Keep how a trial ended; the caller flushes."""
    tried = Tried(
        definition,
        Trust(verdict.key, verdict.outcome),
        now_s,
        verdict.seconds,
        verdict.compared,
        verdict.reason,
        verdict.evidence,
    )
    journal.put(
        "trials",
        {"table_name": table},
        definition=definition,
        tried=verdict.key,
        outcome=verdict.outcome,
        at_s=now_s,
        seconds=verdict.seconds,
        compared=json.dumps(dict(verdict.compared)),
        reason=verdict.reason,
        evidence=verdict.evidence,
    )
    return tried


def read_trials(journal: Journal) -> Mapping[str, Tried]:
    """By view, of those that were tried."""
    rows = journal.rows_if_there("SELECT * FROM trials")
    return {
        row["table_name"]: Tried(
            row["definition"],
            Trust(row["tried"], cast("Outcome", row["outcome"])),
            row["at_s"],
            row["seconds"],
            json.loads(row["compared"]),
            row["reason"],
            row["evidence"],
        )
        for row in rows
    }
