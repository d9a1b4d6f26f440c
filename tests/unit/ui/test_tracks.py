"""How busy the tracks were while a warehouse ran, however long the window is."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.reads.reading import Reader
from tests.support.shop import made_project

NOW_S = 1_790_000_000.0


def written(project, runs, updates):
    """A journal of such runs (start, end) and updates (run, start, end), ago; None: not noted."""
    journal = Journal(journal_path(project), create=True)
    for number, (start, end) in enumerate(runs, start=1):
        stopped_s = None if end is None else NOW_S - end
        journal.write(
            "INSERT INTO runs (id, started_s, stopped_s) VALUES (?,?,?)",
            (number, NOW_S - start, stopped_s),
        )
    for run, start, end in updates:
        journal.write(
            "INSERT INTO updates (run, table_name, number, attempt, track, start_s, finish_s,"
            " from_s, to_s, expected_s, state, passed_over)"
            " VALUES (?,'orders',1,1,0,?,?,0.0,1.0,1.0,?,'[]')",
            (run, NOW_S - start, None if end is None else NOW_S - end, "running"),
        )
    journal.close()


@pytest.mark.parametrize(
    ("runs", "updates", "alive", "ran_s", "busy"),
    [
        # A run of the last minute: what was before it does not count as idle.
        ([(60.0, None)], [(1, 45.0, 15.0)], True, 60.0, 0.5),
        # What runs now is busy, too.
        ([(60.0, None)], [(1, 30.0, None)], True, 60.0, 0.5),
        # Two runs, the first before the window began.
        ([(5000.0, 3540.0), (60.0, 20.0)], [(2, 60.0, 30.0)], False, 100.0, 0.3),
        # One that was killed went on to its last update; what it was at is lost.
        ([(1000.0, None), (100.0, 0.0)], [(1, 990.0, 900.0), (2, 60.0, 50.0)], False, 200.0, 0.5),
        ([(1000.0, None)], [(1, 900.0, 850.0), (1, 840.0, None)], False, 160.0, 0.3125),
        # None at all.
        ([], [], False, 0.0, None),
    ],
)
def test_only_the_time_of_runs_counts(
    tmp_path, serve, monkeypatch, runs, updates, alive, ran_s, busy
):
    project = made_project(tmp_path, {"orders": ()})
    written(project, runs, updates)
    asked = Reader.run_now
    monkeypatch.setattr(
        Reader, "run_now", lambda self: dataclasses.replace(asked(self), running=alive)
    )
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask("/v1/tracks?last=3600").json
    assert found["ran_s"] == ran_s
    assert found["busy"] == ({} if busy is None else {"0": busy})


def test_a_table_that_the_project_no_longer_has_is_named_as_dropped(tmp_path, serve):
    written(made_project(tmp_path, {"orders": ()}), [(60.0, None)], [(1, 45.0, 15.0)])
    project = made_project(tmp_path, {"others": ()})
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask("/v1/tracks?last=3600").json
        update = ask(f"/v1/updates/{found['updates'][0][0]}").json
    assert (found["tables"], found["dropped"]) == (["orders"], ["orders"])
    assert (update["table"], update["dropped"]) == ("orders", True)
