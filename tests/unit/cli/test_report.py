"""``freshline report`` where no warehouse runs: what is asked is kept until one does."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from freshline import texts
from freshline.runtime.journal import store
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.reports.store import GIVEN_UP, WantedReport, note, note_wanted
from freshline.runtime.requests.client import opened_journal
from tests.support.shop import LiveRun
from tests.support.terminal import END, at_a_terminal

QUERY = "SELECT n, count(*) AS times FROM orders GROUP BY n;\n"
WINDOW = ("--window", "2100-01-01..2100-01-02", "--deadline", "06:00 UTC")


@pytest.fixture
def query(tmp_path):
    file = tmp_path / "often.sql"
    file.write_text(QUERY)
    return str(file)


def test_submitted_listed_planned_and_withdrawn(freshline, answer, query):
    done = freshline("report", "submit", query, *WINDOW)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "often: window until 2100-01-02 00:00:00 UTC, deadline 2100-01-02 06:00:00 UTC",
        "batch 1: 2100-01-02 05:59:52 UTC, about all rows, 3.8 s",
        "final: 3.8 s; cost 7.6 s in all, slack 6 h",
        "often is submitted; no warehouse is running, so the next `freshline run` makes it",
    ]
    (listed,) = answer("report", "list")["reports"]
    assert (listed["name"], listed["state"], listed["deadline"]) == (
        "often", "asked", "2100-01-02T06:00:00.000000Z",
    )  # fmt: skip
    planned = answer("report", "plan", "often")["report"]
    assert (planned["feasible"], len(planned["plan"])) == (True, 1)
    again = freshline("report", "submit", query, *WINDOW)
    assert (again.exit_code, "still to be made" in again.stderr) == (2, True)
    assert freshline("report", "withdraw", "often").stdout == "often is withdrawn\n"
    for action in ("withdraw", "plan"):
        done = freshline("report", action, "often")
        assert (done.exit_code, "[report-ended] report often is withdrawn" in done.stderr) == (
            2,
            True,
        )
    assert answer("report", "list")["reports"][0]["state"] == "withdrawn"


@pytest.mark.parametrize("left", ["orders", "small"])
def test_a_report_that_would_replace_a_table_which_left_the_project_is_not_taken(
    freshline, shop, query, left
):
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    storage = shop.root / "warehouse"
    (storage / left).rename(storage / "old")
    done = freshline("report", "submit", query, "--name", "old", *WINDOW)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"[duplicate-name] {query}:1: a table that is no report's, at ")
    assert f", at {storage / 'old'}, is in the place of report old; " in done.stderr
    assert done.stderr.endswith("with --name, or move that table away.\n")


def test_a_deadline_that_no_plan_meets_needs_a_yes(freshline, answer, query):
    line = ("report", "submit", query, "--window", "2026-01-01..2026-01-02", "--deadline", "1 hour")
    done = freshline(*line, "--json")
    error = json.loads(done.stdout or done.stderr)
    assert (done.exit_code, "the earliest that one can meet is" in json.dumps(error)) == (2, True)
    refused = freshline(*line)
    assert (refused.exit_code, "[deadline-too-early]" in refused.stderr) == (2, True)
    assert answer("report", "list")["reports"] == []
    assert answer(*line, "--yes")["report"]["feasible"] is False


@pytest.mark.parametrize(
    ("typed", "last", "reports"),
    [
        ("n\n", "often is not submitted", []),
        ("\n", "often is not submitted", []),
        (END, "often is not submitted", []),
        ("what\ny\n", "so the next `freshline run` makes it", ["often"]),
    ],
)
def test_at_a_terminal_a_deadline_that_no_plan_meets_is_asked_about(
    shop, answer, query, typed, last, reports
):
    line = ("report", "submit", query, "--window", "2026-01-01..2026-01-02", "--deadline", "1 hour")
    status, screen = at_a_terminal(shop.root, *line, question="anyway?", answer=typed)
    assert status == 0
    assert screen.startswith("no plan meets the deadline 2026-01-02 01:00:00 UTC; the earliest")
    assert screen.rstrip().endswith(last)
    assert [each["name"] for each in answer("report", "list")["reports"]] == reports


SOON = ("--window", "2100-01-01..2100-01-02", "--deadline", "10 seconds")
"""Time for one report, which takes 7.6 s as long as nothing is measured, and not for two."""


def test_reports_that_fit_alone_and_not_together_are_told_before_they_are_accepted(
    freshline, answer, query
):
    assert answer("report", "submit", query, *SOON)["report"]["feasible"] is True
    alone = answer("report", "plan", "often")["report"]
    assert (alone["slack_s"], alone["planned_with"]) == (pytest.approx(2.4, abs=0.2), [])

    asked = ("report", "submit", query, "--name", "again", *SOON)
    refused = freshline(*asked)
    assert refused.exit_code == 2
    told = refused.stderr.replace("\n", " ")
    assert "[deadline-crowded]" in told
    assert "planned together with often there is no time for it" in told
    assert "the earliest deadline that fits is 2100-01-02 00:00:15 UTC" in told
    fits = freshline(*asked[:-1], "16 seconds")
    assert fits.exit_code == 0, fits.stderr
    assert freshline("report", "withdraw", "again").exit_code == 0

    accepted = answer(*asked, "--yes")["report"]
    assert (accepted["crowded"], accepted["planned_with"]) == (True, ["often"])
    assert list(accepted["late_s"].values()) == [pytest.approx(5.2, abs=0.3)]
    plans = [answer("report", "plan", name)["report"] for name in ("often", "again")]
    assert [each["crowded"] for each in plans] == [True, True]
    assert sorted(each["feasible"] for each in plans) == [False, True]
    assert min(each["slack_s"] for each in plans) == pytest.approx(-5.2, abs=0.3)


def test_a_view_that_no_run_has_seen_is_planned_from_the_project(shop, freshline, answer):
    (shop.root / "tables" / "daily.sql").write_text(
        "CREATE MATERIALIZED VIEW daily TBLPROPERTIES ('freshline.window' = '1 day',"
        " 'freshline.deadline' = '1 hour') AS SELECT count(*) AS n FROM orders;\n"
    )
    planned = answer("report", "plan", "daily")["report"]
    assert (planned["state"], planned["feasible"], len(planned["plan"])) == ("expected", True, 1)
    assert planned["name"].startswith("daily@")
    assert answer("report", "list")["reports"] == []
    assert "known reports: daily" in freshline("report", "plan", "nobody").stderr
    for action in ("plan", "withdraw"):
        done = freshline("report", action, "Dayly")
        assert (done.exit_code, "[unknown-report]" in done.stderr) == (2, True)
        assert "Did you mean daily?" in done.stderr
    done = freshline("report", "withdraw", "daily")
    assert (done.exit_code, "[report-ended] report daily@" in done.stderr) == (2, True)
    told = done.stderr.replace("\n", " ")
    assert "is begun by no run yet; only a report that a run has begun, or that was" in told

    window = WantedReport("daily@1970-01-01", "daily", None, None, 0.0, 86400.0, 90000.0)
    with closing(opened_journal(shop.project, create=True)) as journal:
        note_wanted(journal, window, GIVEN_UP, 90001.0)
    assert freshline("report", "withdraw", "daily").stdout == "daily@1970-01-01 is withdrawn\n"
    assert "is withdrawn; only what is still" in freshline("report", "withdraw", "daily").stderr
    for command in ("story", "pause", "refresh", "explain"):
        done = freshline(command, "DAILY")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith("[a-report] daily is a report, and no table")


def test_square_brackets_in_an_error_are_no_markup(shop, freshline):
    window = WantedReport("daily@1970-01-01", "daily", None, None, 0.0, 86400.0, 90000.0)
    told = "no file [/data/a] for n[i], :warning: [red]"
    with closing(opened_journal(shop.project, create=True)) as journal:
        note_wanted(journal, window, GIVEN_UP, 90001.0)
        note(journal, window.name, error=told)
    for command in (("report", "list"), ("status",)):
        done = freshline(*command)
        assert (done.exit_code, told in done.stdout) == (0, True), done.stderr


def test_beside_a_running_warehouse_the_journal_is_neither_made_nor_moved(
    shop, freshline, answer, query, monkeypatch
):
    with LiveRun(shop):
        shop.recorder.wait_for("ready")

        def is_damaged(*_):
            raise AssertionError("a run has this journal open")

        monkeypatch.setattr(store, "is_damaged", is_damaged)
        monkeypatch.setattr(store, "private_folder", is_damaged)
        submitted = freshline("report", "submit", query, *WINDOW)
        assert submitted.exit_code == 0, submitted.stderr
        assert [each["name"] for each in answer("report", "list")["reports"]] == ["often"]
        assert answer("report", "plan", "often")["report"]["name"] == "often"
        assert freshline("report", "withdraw", "often").exit_code == 0


def test_a_damaged_journal_is_moved_aside_with_a_word_and_not_by_a_look(shop, freshline, query):
    path = journal_path(shop.project)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no journal" * 1000)
    for look in (("list",), ("plan", "often")):
        assert "[journal] cannot open the journal" in freshline("report", *look).stderr
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    done = freshline("report", "withdraw", "often")
    assert "the journal was damaged: it is kept as " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("report", "sumbit", "x.sql"), "bad-option"),
        (("report", "plan"), "bad-option"),
        (("report", "list", "often"), "bad-option"),
        (("report", "plan", "nobody"), "unknown-report"),
        (("report", "submit", "gone.sql", *WINDOW), "no-file"),
        (("report", "plan", "sales", "--deadline", "1 h"), "unknown-option"),
        (("report", "list", "--name", "sales"), "unknown-option"),
        (("report", "withdraw", "sales", "--window", "2100-01-01..2100-01-02"), "unknown-option"),
        (("report", "submit", "QUERY"), "bad-option"),
        (("report", "submit", "QUERY", "--name", "orders", *WINDOW), "duplicate-name"),
        (("report", "submit", "QUERY", "--window", "2100", "--deadline", "1 h"), "bad-option"),
        (
            ("report", "submit", "QUERY", "--window", "2101-01-01..2100-01-01", "--deadline", "1h"),
            "empty-range",
        ),
        (
            ("report", "submit", "QUERY", "--window", "2100-01-01..2100-01-02", "--deadline", "x"),
            "bad-option",
        ),
        (
            ("report", "submit", "QUERY", "--window", "2100-01-01..9999-12-31T23:59", *WINDOW[2:]),
            "bad-option",
        ),
    ],
)
def test_what_is_wrong_is_said(freshline, query, arguments, code):
    done = freshline(*(query if each == "QUERY" else each for each in arguments))
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr


def test_a_query_that_never_ends_is_not_read_for_ever(freshline, monkeypatch):
    monkeypatch.setattr(texts, "MOST_CHARACTERS", 1000)
    done = freshline("report", "submit", "/dev/zero", "--name", "zeros", *WINDOW)
    assert done.exit_code == 2
    assert "[no-file] /dev/zero cannot be read: it has more than 1,000 characters" in done.stderr
