"""``freshline guarantees`` of a project with a report: what it prints, and its object."""

from __future__ import annotations

import json

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.unit.cli.conftest import write_measured

REPORT = """\
CREATE MATERIALIZED VIEW times
  TBLPROPERTIES ('freshline.window' = '1 hour', 'freshline.deadline' = '2 minutes')
  AS SELECT n, count(*) AS times FROM orders GROUP BY n;
"""


@pytest.fixture
def measured(shop):
    """A journal in which every table was updated, and the report's batches took 2 s + 0.1 s a row.

    Orders brought 600 rows in the hour that was over at 7200 s.
    """
    (shop.root / "tables" / "times.sql").write_text(REPORT)
    journal = Journal(journal_path(shop.project), create=True)
    write_measured(journal, ("orders", "big", "small"), 60, alpha_s=0.02, beta=0.01)
    for number, to_s in enumerate((3700.0, 5000.0, 7199.0, 7200.0)):
        rows = 200 if to_s < 7200.0 else 0
        journal.write(
            "INSERT INTO updates (table_name, number, state, finish_s, to_s, rows, seconds,"
            " from_s, strategy) VALUES ('orders', ?, 'done', ?, ?, ?, 0.03, ?, 'append')",
            (number, to_s + 1.0, to_s, rows, to_s - 1.0),
        )
    for rows, seconds in ((100, 12.0), (1000, 102.0)):
        journal.write(
            "INSERT INTO report_batches (report, view, rows, seconds, final_s, batches)"
            " VALUES ('before', 'times', ?, ?, 5.0, 1)",
            (rows, seconds),
        )
    journal.close()


@pytest.mark.usefixtures("measured")
def test_tables_then_reports_then_what_it_assumes(freshline):
    done = freshline("guarantees")
    assert done.exit_code == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0].startswith("table update share period")
    assert [line.split()[0] for line in lines[1:4]] == ["orders", "big", "small"]
    assert lines[4:] == [
        "The tables keep 0.09 of 2 tracks busy.",
        "Under policy aus every bound holds as long as no update takes longer than",
        "'update' says and no feed brings more than its period promises.",
        "Reports are counted: they take what stands below and no more.",
        "1 track would be enough.",
        "report a window of rows batches takes share due after",
        "times 1 h 600 1 84 s 2.3 % 2 min",
        "Reports need 2.3 % of the last track, their margin included.",
        (
            "With what stands idle before their batches the updates lose 2.3 % of it, and 3 min at"
            " once at most."
        ),
        "'update' is the mean of what was recorded: about every second update takes longer.",
        "With --quantile 0.99 the bounds count with what all but one in a hundred kept.",
    ]


@pytest.mark.usefixtures("measured")
def test_the_object_has_keys_more(answer):
    found = answer("guarantees")
    assert (found["schedulable"], found["tracks"]) == (True, 2)
    (report,) = found["reports"]
    assert (report["name"], report["batches"], report["feasible"]) == ("times", 1, True)
    assert report["cost"] == pytest.approx(83.75)
    assert found["reports_utilisation"] == report["utilisation"] == pytest.approx(83.75 / 3600)
    assert found["reports_schedulable"] is True
    assert found["lent"] == {
        "share": pytest.approx((83.75 + 0.03) / 3600),
        "burst": pytest.approx((83.75 + 0.03) * (2 + 120 / 3600)),
    }


def test_with_json_what_is_wrong_is_an_object_too(freshline):
    done = freshline("guarantees", "--quantile", "2", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["code"] == "bad-option"


def test_of_a_wrong_scenario_nothing_is_on_standard_output(freshline, tmp_path):
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("tracks: many\n", "utf-8")
    for file in (wrong, tmp_path / "nowhere.yml"):
        done = freshline("guarantees", str(file), "--json")
        assert (done.exit_code, done.stdout) == (2, "")
