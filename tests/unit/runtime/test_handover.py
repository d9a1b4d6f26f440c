"""What a run leaves for a successor on another host when it ends by itself."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from freshline.runtime import handover
from freshline.runtime.handover import Handover, inherit
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.reports.store import WantedReport, note_wanted, read_reports
from freshline.runtime.requests.backfills import note_backfill
from freshline.runtime.requests.handler import carry_out_offline
from tests.support.shop import LiveRun, eventually, made_shop


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A shop whose storage counts as one that is elsewhere."""
    shop = made_shop(tmp_path, {"orders": ()})
    monkeypatch.setattr(handover, "_is_remote", lambda _: True)
    monkeypatch.setattr(handover, "arrow_store", lambda path: (LocalFileSystem(), path))
    return shop


def test_what_was_asked_just_before_a_stop_is_left_to_the_successor(shop):
    document = Path(shop.project.own_path) / "handover.json"
    with LiveRun(shop):
        shop.recorder.wait_for("ready")
        eventually(document.exists)
        assert shop.ask("pause", "orders")["ok"]
    assert json.loads(document.read_text())["tables"]["orders"]["paused"] == 1


@pytest.fixture
def left(shop, tmp_path):
    """Have a leader of epoch 5, which began at 100.0, leave what its journal says."""

    def left(say) -> None:
        theirs = Journal(tmp_path / "theirs.db", create=True)
        Ledger(theirs).begin_run(1, 100.0, {"epoch": 5})
        say(theirs)
        theirs.flush()
        Path(shop.project.own_path).mkdir(parents=True)
        Handover(shop.project, theirs, 5, lambda: None).finish()
        theirs.close()

    return left


@pytest.fixture
def ours(tmp_path):
    """The journal of a host that leads next."""
    journal = Journal(tmp_path / "ours.db", create=True)
    yield journal
    journal.close()


def test_what_was_accepted_is_not_asked_again(shop, left, ours):
    left(
        lambda theirs: theirs.put(
            "tables", {"name": "orders"}, accepted_version=7, feed_path="elsewhere"
        )
    )
    assert inherit(shop.project, ours, 6)
    (row,) = ours.rows("SELECT accepted_version, feed_path FROM tables")
    assert tuple(row) == (7, "elsewhere")


def test_what_was_accepted_here_since_stands(shop, left, ours):
    left(lambda theirs: theirs.put("tables", {"name": "orders"}, paused=0))
    ours.put("tables", {"name": "orders"}, accepted_version=8, feed_path="here")
    ours.flush()
    assert inherit(shop.project, ours, 6)
    (row,) = ours.rows("SELECT accepted_version, feed_path FROM tables")
    assert tuple(row) == (8, "here")


def asked_report(journal, name, now_s, query="SELECT n FROM orders", state="asked"):
    note_wanted(journal, WantedReport(name, name, query, "q.sql", 1.0, 2.0, 3.0, 4), state, now_s)
    journal.flush()


def test_reports_that_were_submitted_and_not_made_yet_are_made(shop, left, ours):
    def say(theirs):
        asked_report(theirs, "sums", 120.0, state="live")
        asked_report(theirs, "again", 130.0)
        asked_report(theirs, "made", 110.0, state="done")
        asked_report(theirs, "of a view", 110.0, query=None, state="live")

    left(say)
    asked_report(ours, "made", 50.0)  # by the last leader, or withdrawn
    asked_report(ours, "again", 50.0, state="done")
    asked_report(ours, "here since", 140.0)
    assert inherit(shop.project, ours, 6)
    found = {each.wanted.name: each for each in read_reports(ours)}
    assert {name: each.state for name, each in found.items()} == {
        "sums": "live", "again": "asked", "here since": "asked",
    }  # fmt: skip
    query = "SELECT n FROM orders"
    assert found["sums"].wanted == WantedReport("sums", "sums", query, "q.sql", 1.0, 2.0, 3.0, 4)
    assert (found["sums"].asked_s, found["again"].asked_s) == (120.0, 130.0)


def test_a_document_of_a_former_version_says_nothing_of_reports(shop, left, ours):
    left(lambda theirs: theirs.put("tables", {"name": "orders"}, paused=1))
    document = Path(shop.project.own_path) / "handover.json"
    told = json.loads(document.read_text())
    del told["reports"]
    document.write_text(json.dumps(told))
    asked_report(ours, "sums", 50.0)
    assert inherit(shop.project, ours, 6)
    assert [each.wanted.name for each in read_reports(ours)] == ["sums"]
    assert ours.rows("SELECT paused FROM tables")[0]["paused"] == 1


@pytest.mark.parametrize("asked_s", [50.0, 150.0])
def test_what_was_asked_here_since_the_last_leader_began_is_not_taken_for_done(
    shop, tmp_path, asked_s
):
    theirs = Journal(tmp_path / "theirs.db", create=True)
    Ledger(theirs).begin_run(1, 100.0, {"epoch": 5})
    theirs.put("tables", {"name": "orders"}, paused=0)
    theirs.flush()
    document = Path(shop.project.own_path) / "handover.json"
    document.parent.mkdir(parents=True)
    Handover(shop.project, theirs, 5, lambda: None).finish()
    theirs.close()
    ours = Journal(tmp_path / "ours.db", create=True)
    note_backfill(ours, "orders", 1.0, 2.0, asked_s)
    carry_out_offline(ours, "pause", "orders", asked_s)
    assert inherit(shop.project, ours, 6)
    stands = asked_s > 100.0
    assert bool(ours.rows("SELECT 1 FROM backfills WHERE state='waiting'")) == stands
    assert ours.rows("SELECT paused FROM tables")[0]["paused"] == stands
    ours.close()


def test_a_store_that_does_not_answer_holds_up_no_end(shop, tmp_path, monkeypatch):
    journal = Journal(tmp_path / "journal.db", create=True)
    monkeypatch.setattr(handover, "_LAST_S", 0.1)
    hangs = Handover(shop.project, journal, 1, lambda: time.sleep(3.0))
    began_s = time.monotonic()
    hangs.step()
    hangs.finish()
    assert time.monotonic() - began_s < 2.0
    journal.close()


def test_a_pause_that_the_last_leader_left_unanswered_does_not_undo_a_later_resume_here(
    shop, left, ours
):
    left(lambda theirs: theirs.ask(110.0, "pause", "orders"))
    carry_out_offline(ours, "resume", "orders", 150.0)
    assert inherit(shop.project, ours, 6)
    assert ours.rows("SELECT 1 FROM requests WHERE answered_s IS NULL") == []


def test_a_pause_that_the_last_leader_left_unanswered_is_carried_out_here(shop, left, ours):
    left(lambda theirs: theirs.ask(160.0, "pause", "orders"))
    carry_out_offline(ours, "resume", "orders", 150.0)
    assert inherit(shop.project, ours, 6)
    (row,) = ours.rows("SELECT kind, at_s FROM requests WHERE answered_s IS NULL")
    assert tuple(row) == ("pause", 160.0)
