"""For how much of a window a warehouse ran."""

from __future__ import annotations

from freshline.runtime.journal.store import Journal, Row
from freshline.ui.reads.updates import first_id

_MOST_RUNS = 1000
"""So many are looked at: a warehouse that is restarted more often in a window is hardly running."""


def ran_s(journal: Journal, from_s: float, to_s: float, alive: int | None) -> float:
    """Seconds between two moments in which a run went on.

    Args:
        journal: To read.
        from_s, to_s: The moments.
        alive: The run that goes on; None: none does.
    """
    total_s, behind_s = 0.0, to_s
    for row in journal.rows(
        "SELECT id, started_s, stopped_s FROM runs WHERE started_s<? ORDER BY id DESC LIMIT ?",
        (to_s, _MOST_RUNS),
    ):
        end_s = to_s if row["id"] == alive else _end_s(journal, row, behind_s)
        total_s += max(0.0, min(end_s, behind_s) - max(row["started_s"], from_s))
        behind_s = row["started_s"]
        if behind_s <= from_s:
            break
    return total_s


def _end_s(journal: Journal, run: Row, behind_s: float) -> float:
    """When a run ended; one that was killed says so by the last update that it noted."""
    if run["stopped_s"] is not None:
        return float(run["stopped_s"])
    last = journal.row(
        "SELECT run, start_s, finish_s FROM updates WHERE id<? ORDER BY id DESC LIMIT 1",
        (first_id(journal, behind_s),),
    )
    if last is None or last["run"] != run["id"]:
        return float(run["started_s"])
    return float(last["start_s"] if last["finish_s"] is None else last["finish_s"])
