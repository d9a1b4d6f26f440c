"""What the core's tables are made of: the project, and what former runs learned."""

from __future__ import annotations

from pathlib import Path

from freshline.runtime.assembly import FIRST_COST_S, specs_for
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.report_play import report_project


def test_learned_costs_are_there_before_the_first_instant(tmp_path: Path) -> None:
    """A partition is laid over them when the scheduler is made."""
    project = report_project(tmp_path)
    journal = Journal(journal_path(project), create=True)
    (unknown,) = specs_for(project, journal)
    assert (unknown.alpha_s, unknown.beta) == (FIRST_COST_S, 0.0)
    journal.write(
        "INSERT INTO tables (name, kind, alpha_s, beta) VALUES ('orders','base',70.0,0.5)"
    )
    journal.flush()
    (learned,) = specs_for(project, journal)
    assert (learned.alpha_s, learned.beta) == (70.0, 0.5)
    journal.close()
