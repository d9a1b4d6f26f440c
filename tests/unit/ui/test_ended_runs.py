"""Runs that have ended: what was lost with one, and one that is shown beside later ones."""

from __future__ import annotations

import time

import pytest

from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.reading import journal_shown
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_end_s
from freshline.runtime.status.story import story_of
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.window import AskedWindow
from freshline.ui.views import overview, staleness, tracks, updates, why

HALF_AN_HOUR_S = 1800.0


def shown(project, end_s):
    """What the page has of run 1: its window is the hour before its end."""
    reader = Reader(project, lambda: end_s, run=1)
    window = AskedWindow(None, None)
    try:
        lines = overview.answer(reader, overview.DEFAULT)["tables"]
        drawn = tracks.answer(reader, window)
        told = updates.answer(reader, ("orders", window, 10**18, 0))
        steps = staleness.answer(reader, ("orders", window))
        reason = why.answer(reader, ("orders", None))
        return {
            "last": {each["name"]: each["last"] for each in lines},
            "executor_s": {each["name"]: each["executor_s"] for each in lines},
            "tracks": [each[0] for each in drawn["updates"]],
            "busy": drawn["busy"],
            "updates": [each["number"] for each in told["updates"]],
            "steps": [each[0] for each in steps["steps"]],
            "blame": steps["blame"],
            "why": (reason["state"], reason["told"]),
        }
    finally:
        reader.close()


def test_a_recorded_run_is_shown_without_what_later_runs_did(shop):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    end_s = recorded_end_s(shop.project, 1)
    before = shown(shop.project, end_s)
    assert before["tracks"]
    for minute in (3, 4):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    assert shown(shop.project, end_s) == before


@pytest.fixture
def killed(shop):
    """The process died half an hour ago, in the middle of an update of ``big``; none runs now."""
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    died_s = time.time()
    journal = Journal(journal_path(shop.project), create=False)
    ((run,),) = journal.rows("SELECT max(id) FROM runs")
    ((fresh_s,),) = journal.rows("SELECT freshness_s FROM tables WHERE name='big'")
    journal.write("UPDATE runs SET stopped_s=NULL WHERE id=?", (run,))
    journal.write(
        "INSERT INTO updates (run, table_name, number, attempt, track, release_s, start_s,"
        " from_s, to_s, expected_s, state, score, passed_over, parents)"
        " VALUES (?,'big',2,1,0,?,?,?,?,1.0,'running','index 3.0','[]','{}')",
        (run, died_s, died_s, fresh_s, died_s),
    )
    assert journal.flush()
    journal.close()
    return shop, died_s + HALF_AN_HOUR_S


def last_of_big(project):
    with journal_shown(project) as journal:
        assert journal is not None
        return story_of(journal, "big", base=False)[-1]


def test_after_a_kill_no_update_runs(killed, serve):
    shop, now_s = killed
    with serve(shop.project, clock=lambda: now_s) as ask:
        assert ask("/v1/ui/tables").json["run"]["running"] is False
        drawn = ask("/v1/tracks?last=3600").json["updates"]
        assert [each for each in drawn if each[6] == "running"] == []
        assert ask("/v1/tables/big/why").json["state"] != "running"
        told = ask("/v1/tables/big/updates").json["updates"]
        assert (told[0]["state"], told[0]["finished"]) == ("lost", None)
        blame = ask("/v1/tables/big/staleness?last=1800").json["blame"]
        assert blame["working_s"] < 60.0


def test_the_story_of_an_update_that_was_killed_says_that_it_is_lost(killed):
    shop, _ = killed
    newest = last_of_big(shop.project)
    assert (newest.state, newest.error) == ("lost", "the process ended during it")
    # Looking at it wrote nothing: the next start notes it.
    assert shop.journal_rows("SELECT state FROM updates ORDER BY id DESC LIMIT 1") == [
        {"state": "running"}
    ]


def test_what_runs_is_shown_as_running_while_its_process_lives(killed):
    shop, _ = killed
    with WarehouseLock(own_folder(shop.project)):
        assert last_of_big(shop.project).state == "running"
