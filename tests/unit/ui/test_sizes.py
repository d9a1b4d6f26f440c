"""500 tables and 50,000 updates: no answer is large, and none looks at more than its window."""

from __future__ import annotations

import dataclasses
import sqlite3
from urllib.parse import quote, urlencode

import pytest
from starlette.requests import Request

from freshline.project.load import load_project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.answers import MOST_BYTES
from freshline.ui.reads.reading import Reader
from freshline.ui.views import VIEWS, overview
from tests.unit.ui.journals import write_journal, write_project

NOW_S = 1_790_000_000.0
DAY_S = 86_400.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    root = tmp_path_factory.mktemp("large")
    project = write_project(root, 500)
    write_journal(project, 50_000, NOW_S)
    return load_project(root, root, analyse=False)


def request(said, name="view_7", update="25000"):
    return Request(
        {
            "type": "http",
            "headers": [],
            "path_params": {"name": name, "id": update},
            "query_string": urlencode(said).encode(),
        }
    )


def paths(name):
    table = f"/v1/tables/{quote(name)}"
    for window in ("", f"from={NOW_S - 20 * DAY_S:.0f}", f"from={NOW_S - 600:.0f}&to={NOW_S:.0f}"):
        for path in (f"{table}/updates", f"{table}/staleness", "/v1/tracks", "/v1/ui/tables"):
            yield f"{path}?{window}"
    yield from (
        "/v1/status", table, f"{table}/why", f"{table}/why?at={NOW_S - 300}", "/v1/updates/25000",
        "/v1/graph", f"/v1/graph?around={name}&depth=50", "/v1/ui/feeds", "/v1/ui/reports",
        "/v1/ui/guarantees", "/v1/ui/session",
    )  # fmt: skip


def test_every_answer_is_under_200_kb(large, serve):
    with serve(large, clock=lambda: NOW_S) as ask:
        for name in ("base_3", "view_399"):
            for path in paths(name):
                reply = ask(path)
                assert reply.status == 200, (path, reply.body)
                assert len(reply.body) <= MOST_BYTES, path


def test_what_no_view_foresees_is_cut_and_said(tmp_path, serve):
    project = write_project(tmp_path, 6)
    write_journal(project, 300, NOW_S)
    odd = dataclasses.replace(
        project.tables[-1], query=f"SELECT '{'ä' * 300_000}'", comment="c" * 9
    )
    project = dataclasses.replace(project, tables=(*project.tables[:-1], odd))
    journal = Journal(journal_path(project), create=False)
    for number in range(3_000):
        journal.write(
            "INSERT INTO files (table_name, name, state, reason)"
            " VALUES ('base_0',?,'quarantined',?)",
            (f"{number}-{'n' * 150}", "r" * 150),
        )
    journal.write("UPDATE tables SET error=?, failures=1, retry_s=1", ("e" * 250_000,))
    journal.close()
    with serve(project, clock=lambda: NOW_S) as ask:
        for name in ("base_0", odd.name):
            for path in paths(name):
                reply = ask(path)
                assert reply.status in (200, 404), (path, reply.body)  # no update has that number
                assert len(reply.body) <= MOST_BYTES, path
        assert "quarantined" in ask("/v1/tables/base_0").json["cut"]
        shown = ask(f"/v1/tables/{odd.name}").json
        assert shown["definition"]["comment"] == "c" * 9
        names, path = [], "/v1/status"
        while path:
            found = ask(path).json
            names += [each["name"] for each in found["tables"]]
            path = found["next"]
        assert sorted(names) == sorted(table.name for table in project.tables)


@pytest.mark.parametrize("path", ["/v1/status", "/v1/ui/tables"])
def test_pages_of_tables_have_each_table_once(large, serve, path):
    names = []
    with serve(large, clock=lambda: NOW_S) as ask:
        while path:
            found = ask(path).json
            names += [each["name"] for each in found["tables"]]
            path = found["next"]
    assert sorted(names) == sorted(table.name for table in large.tables)


@pytest.mark.parametrize(
    ("window", "began_s"), [("last=600", NOW_S - 600.0), (f"from={NOW_S - 60.5!r}", NOW_S - 60.5)]
)
def test_the_following_page_is_of_the_same_window(tmp_path, serve, monkeypatch, window, began_s):
    project = write_project(tmp_path, 12)
    write_journal(project, 50, NOW_S)
    monkeypatch.setattr(overview, "MOST_BYTES", 6_000)
    with serve(project, clock=lambda: NOW_S) as ask:
        following = ask(f"/v1/ui/tables?{window}").json["next"]
        assert ask(following).json["from_s"] == began_s


def test_a_filter_counts_what_it_shows(large, serve):
    with serve(large, clock=lambda: NOW_S) as ask:
        counts = ask("/v1/ui/tables").json["counts"]
        for state, count in counts.items():
            assert len(ask(f"/v1/ui/tables?state={state}").json["tables"]) == count


def test_an_answer_reads_no_more_where_the_journal_is_ten_times_longer(tmp_path_factory):
    """Steps of SQLite's machine, counted: what grows with the journal would take ten times more.

    Both journals are longer than the day of which targets kept are told.
    """
    steps: list[dict[tuple[str, str], int]] = []
    for updates in (4_700, 47_000):
        root = tmp_path_factory.mktemp("long")
        project = write_project(root, 2)
        write_journal(project, updates, NOW_S)
        steps.append(dict(steps_of_views(project)))
    short, long = steps
    assert set(short) == set(long)
    grown = {key: (short[key], long[key]) for key in short if long[key] > 1.5 * short[key] + 200}
    assert grown == {}
    assert sum(short.values()) > 1_000


def steps_of_views(project):
    """Of each view and window: steps that its queries take."""
    counted = [0]
    opened = Journal.__init__

    def opening(self, *given, **named):
        opened(self, *given, **named)

        def step():
            counted[0] += 1

        self._db.set_progress_handler(step, 1)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Journal, "__init__", opening)
        for path, view in VIEWS.items():
            for said in (
                {},
                {"from": str(NOW_S - 60), "to": str(NOW_S)},
                {"at": str(NOW_S - 60)},
            ):
                reader = Reader(project, lambda: NOW_S)
                counted[0] = 0
                asked = request(said | ({"last": "60"} if not said else {}), "view_0", "1500")
                view.answer(reader, view.asked(reader, asked))
                reader.close()
                yield (path, str(sorted(said))), counted[0]


def test_no_query_reads_the_whole_table_of_updates(large, monkeypatch):
    """What each view asks is explained by SQLite: updates are found by an index, never scanned."""
    asked: list[tuple[str, tuple]] = []

    def read(self, sql, values=()):
        asked.append((sql, tuple(values)))
        return self._db.execute(sql, values)

    monkeypatch.setattr(Journal, "_read", read)

    for path, view in VIEWS.items():
        for said in ({}, {"from": str(NOW_S - 600), "to": str(NOW_S)}, {"at": str(NOW_S - 60)}):
            reader = Reader(large, lambda: NOW_S)
            view.answer(reader, view.asked(reader, request(said)))
            reader.close()
            assert path
    database = sqlite3.connect(journal_path(large))
    plans = {}
    for sql, values in asked:
        if "updates" in sql and not sql.startswith("PRAGMA"):
            plan = database.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
            plans[sql] = " ".join(str(each[-1]) for each in plan)
    database.close()
    assert len(plans) > 8
    scans = {
        sql: plan for sql, plan in plans.items() if "SCAN updates" in plan and " LIMIT " not in sql
    }
    assert scans == {}
