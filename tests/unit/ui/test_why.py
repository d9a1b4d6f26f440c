"""Why a table was, or was not, being updated: as ``story`` says it."""

from __future__ import annotations

import json

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.render.story import told
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.story import story_of
from tests.support.shop import Shop, made_project


@pytest.fixture
def shop(tmp_path):
    tables = {"orders": (), "big": ("orders",), "small": ("orders",)}
    shop = Shop(made_project(tmp_path, tables, SchedulerSettings(tracks=1)))
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    return shop


def test_why_of_a_chosen_update_equals_the_story(shop, serve):
    journal = Journal(journal_path(shop.project), create=False)
    (row,) = journal.rows("SELECT * FROM updates WHERE table_name='small'")
    (chapter,) = story_of(journal, "small", base=False)
    journal.close()
    middle_s = (row["start_s"] + row["finish_s"]) / 2
    with serve(shop.project) as ask:
        found = ask(f"/v1/tables/small/why?at={middle_s!r}").json
        assert found["state"] == "running"
        assert found["update"]["told"] == told("small", chapter).splitlines()
        assert [each["table"] for each in found["update"]["passed_over"]] == [
            each.table for each in chapter.over
        ]
        assert ask(f"/v1/updates/{row['id']}").json["told"] == found["update"]["told"]


def test_why_of_a_table_that_waits_names_what_was_chosen(shop, serve):
    journal = Journal(journal_path(shop.project), create=False)
    first, second = sorted(
        journal.rows("SELECT * FROM updates WHERE table_name<>'orders'"),
        key=lambda row: row["start_s"],
    )
    journal.close()
    at_s = (second["release_s"] + second["start_s"]) / 2
    with serve(shop.project) as ask:
        found = ask(f"/v1/tables/{second['table_name']}/why?at={at_s!r}").json
    assert found["state"] == "waiting"
    assert found["update"]["number"] == second["number"]
    assert found["decisions"][0]["table"] == first["table_name"]
    assert found["decisions"][0]["this"]


def test_why_of_a_table_with_nothing_to_do_says_so(shop, serve):
    with serve(shop.project) as ask:
        found = ask("/v1/tables/big/why").json
    assert found["state"] == "idle"
    assert found["told"][0] == "There was nothing to load: orders had brought nothing new."


def test_why_of_a_paused_table_says_since_when(shop, serve):
    with serve(shop.project) as ask:
        from freshline.runtime.requests.client import ask as command

        command(shop.project, "pause", ["big"])
        found = ask("/v1/tables/big/why").json
    assert found["state"] == "paused"
    assert found["told"][0].startswith("It was paused at ")


def test_a_pause_that_was_refused_is_none(shop, serve):
    journal = Journal(journal_path(shop.project), create=False)
    journal.write(
        "INSERT INTO requests (at_s, kind, table_name, answered_s, answer)"
        " VALUES (1.0, 'pause', 'big', 1.0, ?)",
        (json.dumps({"ok": False, "message": "a run is just stopping"}),),
    )
    journal.close()
    with serve(shop.project) as ask:
        assert ask("/v1/tables/big/why").json["state"] == "idle"


def test_an_attempt_that_failed_is_no_waiting_and_is_not_chosen_over_itself(shop, serve):
    now_s = 1_900_000_000.0
    journal = Journal(journal_path(shop.project), create=False)
    for table, start_s, finish_s, state, over in (
        ("big", 50.0, 26.0, "failed", []),
        ("small", 20.0, 15.0, "done", [["big", "index 2.0"]]),
    ):
        journal.write(
            "INSERT INTO updates (run, table_name, number, attempt, track, release_s, start_s,"
            " finish_s, from_s, to_s, state, score, passed_over)"
            " VALUES (1,?,9,1,0,?,?,?,1.0,2.0,?,'index 3.0',?)",
            (table, now_s - 60.0, now_s - start_s, now_s - finish_s, state, json.dumps(over)),
        )
    journal.write(
        "UPDATE tables SET since_s=?, failures=1, retry_s=? WHERE name='big'",
        (now_s - 60.0, now_s + 9.0),
    )
    journal.close()
    with serve(shop.project, clock=lambda: now_s) as ask:
        found = ask("/v1/tables/big/why").json
    assert found["state"] == "waiting"
    assert [each["table"] for each in found["decisions"]] == ["small"]
    assert found["told"] == [
        "Its work had been there since 17:45:40 UTC.",
        "An update of it failed at 17:46:14, after 24 s; it waited again from then on, for 26 s.",
        "No track was running an update.",
        "At 17:46:20 small was chosen over it: index 3.0, against index 2.0.",
        "It is tried again from 17:46:49 on.",
    ]
