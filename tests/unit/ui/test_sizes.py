"""500 tables and 50,000 updates: no answer is large, and none looks at more than its window."""

from __future__ import annotations

import sqlite3
from urllib.parse import quote, urlencode

import pytest
from starlette.requests import Request

from freshline.project.load import load_project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.answers import MOST_BYTES
from freshline.ui.reading import Reader
from freshline.ui.views import VIEWS
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


def request(said):
    return Request(
        {
            "type": "http",
            "headers": [],
            "path_params": {"name": "view_7", "id": "25000"},
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


@pytest.mark.parametrize("path", ["/v1/status", "/v1/ui/tables"])
def test_pages_of_tables_have_each_table_once(large, serve, path):
    names = []
    with serve(large, clock=lambda: NOW_S) as ask:
        while path:
            found = ask(path).json
            names += [each["name"] for each in found["tables"]]
            path = found["next"]
    assert sorted(names) == sorted(table.name for table in large.tables)


def test_a_filter_counts_what_it_shows(large, serve):
    with serve(large, clock=lambda: NOW_S) as ask:
        counts = ask("/v1/ui/tables").json["counts"]
        for state, count in counts.items():
            assert len(ask(f"/v1/ui/tables?state={state}").json["tables"]) == count


def test_no_query_reads_the_whole_table_of_updates(large, monkeypatch):
    """What each view asks is explained by SQLite: updates are found by an index, never scanned."""
    asked: list[tuple[str, tuple]] = []

    def rows(self, sql, values=()):
        asked.append((sql, tuple(values)))
        return self._db.execute(sql, values).fetchall()

    def row(self, sql, values=()):
        asked.append((sql, tuple(values)))
        return self._db.execute(sql, values).fetchone()

    monkeypatch.setattr(Journal, "rows", rows)
    monkeypatch.setattr(Journal, "row", row)

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
        sql: plan for sql, plan in plans.items() if "SCAN updates" in plan and "LIMIT 1" not in sql
    }
    assert scans == {}
