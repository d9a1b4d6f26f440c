"""What a window shows of updates that began before it, of tables untouched in it, of odd clocks."""

from __future__ import annotations

from typing import Any

import pytest

from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.reads import sparks
from tests.support.shop import made_project

NOW_S = 1_790_000_000.0
HOUR_S = 3600.0


def written(project: Project, updates: list[dict[str, Any]], **tables: float) -> None:
    """A journal of one run with such updates; ``tables`` are their freshness, in hours ago."""
    journal = Journal(journal_path(project), create=True)
    journal.write(
        "INSERT INTO runs (id, started_s, stopped_s) VALUES (1,?,?)", (NOW_S - 99 * HOUR_S, NOW_S)
    )
    for values in updates:
        row: dict[str, Any] = {
            "run": 1, "attempt": 1, "track": 0, "expected_s": 1.0, "state": "done", "number": 2,
            "strategy": "append", "passed_over": "[]", "seconds": 1.0, "rows": 1,
            "rejected_rows": 0, "reason": "", "version": 1, **values,
        }  # fmt: skip
        for name in ("start_s", "finish_s", "from_s", "to_s"):
            row[name] = None if row[name] is None else NOW_S - row[name] * HOUR_S
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        journal.write(f"INSERT INTO updates ({names}) VALUES ({marks})", tuple(row.values()))
    for name, hours in tables.items():
        journal.put("tables", {"name": name}, freshness_s=NOW_S - hours * HOUR_S, version=1)
    assert journal.flush()
    journal.close()


def update(
    table: str, start: float, finish: float | None, begin: float, end: float, **more: Any
) -> dict[str, Any]:
    """An update: when it started and ended, from and to which freshness, in hours ago."""
    times = {"start_s": start, "finish_s": finish, "from_s": begin, "to_s": end}
    return {"table_name": table, **times, **more}


def window(begin: float, end: float) -> str:
    return f"from={NOW_S - begin * HOUR_S!r}&to={NOW_S - end * HOUR_S!r}"


@pytest.fixture
def project(tmp_path):
    lags = {"orders": 2 * HOUR_S}
    return made_project(tmp_path, {"orders": (), "others": ()}, lags=lags)


@pytest.mark.parametrize(
    ("updates", "line", "kept"),
    [
        # As fresh as the last update before the window had made it, whatever came since.
        ([(9, 8.9, 12, 9), (1, 0.9, 9, 1)], (4 * HOUR_S, 5 * HOUR_S), 0.0),
        # The first one in the journal came after the window: it says how fresh the table was.
        ([(1, 0.9, 9, 1)], (4 * HOUR_S, 5 * HOUR_S), 0.0),
        # One that began before the window and ended in its middle.
        ([(7, 4.5, 12, 7), (1, 0.9, 7, 1)], (7.5 * HOUR_S, 3 * HOUR_S), 0.0),
        ([(7, 4.5, 12, 4.6), (1, 0.9, 7, 1)], (7.5 * HOUR_S, 0.6 * HOUR_S), 0.5),
    ],
)
def test_a_table_that_was_not_updated_in_a_past_window(project, serve, updates, line, kept):
    written(project, [update("orders", *each) for each in updates], orders=1)
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask(f"/v1/ui/tables?{window(5, 4)}").json["tables"]
        steps = ask(f"/v1/tables/orders/staleness?{window(5, 4)}").json
    orders = next(each for each in found if each["name"] == "orders")
    first, last = orders["line"][11], orders["line"][-1]
    assert (first, last) == pytest.approx(line, abs=HOUR_S / 2 + 1)
    assert orders["kept"] == kept
    assert steps["blame"]["staleness_s"] > 0.0


def test_a_table_whose_last_update_is_before_all_that_are_read(project, serve, monkeypatch):
    """A window has more updates than are looked at: its own is not passed over for an older one."""
    monkeypatch.setattr(sparks, "_MOST", 10)
    others = [update("others", 3 - n * 0.1, 2.95 - n * 0.1, 9, 3) for n in range(20)]
    own = [update("orders", 9, 8.9, 12, 9), update("orders", 4, 3.9, 9, 4)]
    written(project, [*own, *others], orders=4, others=3)
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask(f"/v1/ui/tables?{window(5, 0)}").json["tables"]
    orders = next(each for each in found if each["name"] == "orders")
    assert orders["line"][-1] == 4 * HOUR_S


def test_no_staleness_is_negative_where_the_first_commit_came_later(project, serve):
    written(project, [update("orders", 1, 0.9, 1, 1, number=1)], orders=1)
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask(f"/v1/ui/tables?{window(5, 4)}").json["tables"]
        steps = ask(f"/v1/tables/orders/staleness?{window(5, 4)}").json
    orders = next(each for each in found if each["name"] == "orders")
    assert (set(orders["line"]), orders["kept"]) == ({None}, None)
    assert steps["fresh_to_s"] is None


def test_a_table_whose_updates_are_lost_is_as_fresh_as_it_was(project, serve):
    written(project, [], orders=3)
    with serve(project, clock=lambda: NOW_S) as ask:
        steps = ask("/v1/tables/orders/staleness?last=3600").json
    assert steps["fresh_to_s"] == NOW_S - 3 * HOUR_S
    assert steps["blame"]["staleness_s"] == pytest.approx(2.5 * HOUR_S)


@pytest.mark.parametrize("finish", [0.05, None])
def test_an_update_that_is_longer_than_the_window_has_its_track_busy(project, serve, finish):
    """While many others ran on another track."""
    long = update("orders", 1.0, finish, 9, 1, state="done" if finish else "running")
    others = [
        update("others", 0.9 - n * 0.002, 0.9 - n * 0.002 - 0.001, 9, 9, track=1)
        for n in range(400)
    ]
    written(project, [long, *others], orders=1)
    journal = Journal(journal_path(project), create=False)
    journal.write("UPDATE runs SET stopped_s=NULL", ())
    journal.close()
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask("/v1/tracks?last=900").json
    shown = {found["tables"][each[2]] for each in found["updates"]}
    if finish is None:  # it is lost: no run goes on
        assert shown == {"others"}
        return
    assert shown == {"orders", "others"}
    assert found["busy"]["0"] > found["busy"]["1"] > 0.0


def test_what_came_after_a_clock_was_put_back_is_shown(project, serve):
    """It was two hours ahead until a moment ago."""
    ahead = [update("orders", -1.9 + n * 0.1, -1.95 + n * 0.1, 3, 2) for n in range(5)]
    since = [update("orders", 0.02, 0.01, 2, 0.02, number=9)]
    written(project, [*ahead[::-1], *since], orders=0.02)
    with serve(project, clock=lambda: NOW_S) as ask:
        told = ask("/v1/tables/orders/updates?last=3600").json["updates"]
        tracks = ask("/v1/tracks?last=3600").json
        why = ask("/v1/tables/orders/why").json
        line = ask("/v1/ui/tables?last=3600").json["tables"][0]["line"]
    assert told[0]["number"] == 9
    assert 9 in [each[3] for each in tracks["updates"]]
    assert tracks["busy"]["0"] > 0.0
    assert why["state"] == "idle"
    assert min(each for each in line if each is not None) >= 0


def test_a_search_is_by_a_part_of_the_name_in_any_case(project, serve):
    written(project, [], orders=1, others=1)
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask("/v1/ui/tables?q=RDER").json
    assert ([each["name"] for each in found["tables"]], found["total"]) == (["orders"], 2)
