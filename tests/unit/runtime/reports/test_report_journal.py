"""What the journal keeps of reports that have ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshline.runtime.journal.store import Journal
from freshline.runtime.reports import store as report_journal
from freshline.runtime.reports.store import (
    KEPT_WINDOWS,
    WantedReport,
    forget_old,
    measured,
    note,
    note_batch,
    note_wanted,
    read_reports,
)


def test_a_journal_of_before_gets_the_columns_that_came_since(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    before = Journal(path, create=True)
    note_wanted(before, window("sales", 1), "done", 1.0)
    before.write("ALTER TABLE reports DROP COLUMN complete")
    before.flush()
    (found,) = read_reports(before)
    assert found.complete is None
    before.close()
    journal = Journal(path, create=True)
    note(journal, "sales@1", complete=0)
    journal.flush()
    (found,) = read_reports(journal)
    assert found.complete is False
    journal.close()


def window(view: str, number: int) -> WantedReport:
    return WantedReport(f"{view}@{number}", view, None, None, number, number + 1.0, number + 2.0)


def test_the_newest_ended_windows_of_each_view_stay_and_every_open_one(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db", create=True)
    for view in ("sales", "returns"):
        for number in range(KEPT_WINDOWS + 3):
            wanted = window(view, number)
            note_wanted(journal, wanted, "live", number)
            if (view, number) != ("sales", 1):
                note(journal, wanted.name, state="done")
    journal.flush()
    forget_old(journal)
    journal.flush()
    kept = {each.wanted.name for each in read_reports(journal)}
    gone = {"sales@0", "sales@2", "returns@0", "returns@1", "returns@2"}
    assert len(kept) == 2 * KEPT_WINDOWS + 1
    assert not kept & gone
    assert "sales@1" in kept  # not made yet, however old


def test_the_newest_batches_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_journal, "KEPT_BATCHES", 2)
    journal = Journal(tmp_path / "journal.db", create=True)
    for number in range(1, 4):
        note_batch(
            journal, window("sales", 0), start_s=0.0, rows=number, seconds=1.0, final_s=0.0,
            expected_s=1.0, batches=number, error=None,
        )  # fmt: skip
    journal.flush()
    forget_old(journal)
    journal.flush()
    assert measured(journal, "sales").batches == ((2, 1.0), (3, 1.0))


def test_a_query_that_a_probe_found_to_run_once_is_known_to(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.db", create=True)
    wanted = window("sales", 0)
    note_wanted(journal, wanted, "live", 0.0)
    journal.flush()
    assert not measured(journal, "sales").once
    note(journal, wanted.name, code="ORDER_DEPENDENT")  # its batches are still none
    journal.flush()
    assert measured(journal, "sales").once
    later = window("sales", 1)
    note_wanted(journal, later, "live", 1.0)
    note(journal, later.name, batches=2)  # another query, which is cut
    journal.flush()
    assert not measured(journal, "sales").once
