"""How well a table's target was kept in the last day, and what its updates cost.

Each table's newest rows are read by the index, so ``status`` stays a matter of milliseconds
however long the journal is.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshline.core.objective.compliance import Compliance
from freshline.runtime.journal.store import Journal

WINDOW_S = 86_400.0
"""A day."""

_MOST_ROWS = 500
"""Updates looked at; of a table with more of them a day, the window is as long as these took."""


@dataclass(frozen=True, slots=True)
class TargetCompliance:
    """The account of a table's last day.

    Attributes:
        within: Share of the time within the target; None without a target or a version.
        executor_s: Seconds of the updates that ended, failed ones too.
        window_s: How long the window is: a day, or since there is a version, or shorter where
            there were too many updates to look at.
    """

    within: float | None
    executor_s: float
    window_s: float


def lately(journal: Journal, table: str, lag_s: float | None, now_s: float) -> TargetCompliance:
    """What the journal says of ``table`` up to ``now_s``; ``lag_s`` is its target."""
    rows = journal.rows(
        "SELECT number, start_s, finish_s, from_s, to_s, seconds, state FROM updates"
        " WHERE table_name=? AND state IN ('done', 'failed') ORDER BY id DESC LIMIT ?",
        (table, _MOST_ROWS),
    )
    begun_s = now_s - WINDOW_S
    if len(rows) == _MOST_ROWS:
        begun_s = max(begun_s, rows[-1]["finish_s"])
    kept = Compliance(lag_s)
    for row in reversed(rows):
        done = row["state"] == "done"
        if row["finish_s"] <= begun_s:
            if done:
                kept.begin(begun_s, row["to_s"])
            continue
        if done and kept.since_s is None and row["number"] > 1:
            kept.begin(begun_s, row["from_s"])
        kept.finished(row["finish_s"], row["seconds"] or 0.0, row["to_s"] if done else 0.0)
        if done and kept.since_s is None:
            kept.begin(row["finish_s"], row["to_s"])
    window_s = 0.0 if kept.since_s is None else max(0.0, now_s - kept.begun_s)
    return TargetCompliance(kept.share(now_s), kept.executor_s, window_s)
