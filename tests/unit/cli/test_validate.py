"""``freshline validate`` as far as it needs no Spark (tests/spark has the rest)."""

from __future__ import annotations

import json

import pytest

from freshline.cli.commands import validate as command
from freshline.executor.trials import Difference, Verdict
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from freshline.spark.analysis import Analysis
from tests.unit.cli.conftest import as_if_measured, write_measured


def test_text_lists_tables_in_order_with_strategy_and_reason(freshline):
    done = freshline("validate", "--no-spark")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "shop: 3 tables, 1 feed"
    assert lines[1] == "   1 orders  base     priority 1, reads orders_feed"
    assert lines[2] == "             append: new rows of its feed are added as they come"
    assert lines[3] == "   2 big     derived  priority 5, reads orders"
    assert lines[5] == "   3 small   derived  priority 1, reads big"
    assert lines[7:] == ["utilisation: not measured yet, of 2 tracks; runs measure it"]


@pytest.mark.parametrize("is_file", [False, True])
def test_a_feed_without_its_folder_is_noted(freshline, shop, is_file):
    """Its name may be misspelled; or a producer makes it with its first file."""
    folder = shop.root / "feed" / "orders"
    folder.rmdir()
    if is_file:
        folder.touch()
    done = freshline("validate", "--no-spark")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == (
        f"note: freshline.yml:8: {folder} of feed orders_feed"
        f" {'is no folder' if is_file else 'does not exist'}: nothing arrives from it"
    )


@pytest.mark.parametrize("learned", [False, True])
def test_a_policy_that_does_not_fit_the_tables_is_refused_as_by_a_run(freshline, shop, learned):
    if learned:
        shop.file("orders", 1, [1])
        shop.run_until_idle()
    path = shop.root / "freshline.yml"
    path.write_text(f"{path.read_text()}scheduler: {{tracks: 1, policy: group-and-run}}\n")
    done = freshline("validate", "--no-spark")
    assert done.exit_code == 2
    assert done.stderr.startswith("[too-few-tracks] group-and-run needs more tracks than it has")
    (told,) = json.loads(freshline("validate", "--no-spark", "--json").stdout)["errors"]
    assert told["code"] == "too-few-tracks"


def test_json_has_exactly_the_contracts_keys(answer):
    found = answer("validate", "--no-spark")
    assert set(found) == {"tables", "errors"}
    assert found["errors"] == []
    orders, big, _ = found["tables"]
    assert orders == {
        "name": "orders",
        "kind": "base",
        "file": "tables/shop.sql",
        "line": 1,
        "priority": 1.0,
        "sources": ["orders_feed"],
        "strategy": "append",
        "reason": "new rows of its feed are added as they come",
    }
    assert (big["line"], big["priority"], big["sources"]) == (4, 5.0, ["orders"])


def test_utilisation_is_what_the_runs_measured(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    lines = freshline("validate", "--no-spark").stdout.splitlines()
    (last,) = [line for line in lines if line.startswith("utilisation: ")]
    assert " of 2 tracks; by fewer than 5 updates so far: orders" in last
    assert float(last.split()[1]) > 0.0


def test_utilisation_is_that_of_the_periods_the_project_has_now(freshline, answer, shop):
    journal = Journal(journal_path(shop.project), create=True)
    write_measured(journal, ("orders", "big", "small"), 60, alpha_s=0.02, beta=0.01)
    journal.close()
    path = shop.root / "freshline.yml"
    path.write_text(path.read_text().replace("period: 1 second", "period: 10 seconds"))
    right = answer("guarantees")["utilisation"]
    assert right == pytest.approx(3 * (0.02 + 0.01 * 10.0) / 10.0)
    lines = freshline("validate", "--no-spark").stdout.splitlines()
    (told,) = [line for line in lines if line.startswith("utilisation: ")]
    assert float(told.split()[1]) == pytest.approx(right, rel=0.01)


def test_strict_judges_a_new_table_by_what_its_kind_costs(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    path = shop.root / "tables" / "shop.sql"
    path.write_text(
        path.read_text().replace("10 minutes", "1 second")
        + "CREATE MATERIALIZED VIEW more AS SELECT n FROM big;\n"
    )
    strict = freshline("validate", "--no-spark", "--strict")
    assert strict.exit_code == 2
    assert "[target-not-kept]" in strict.stderr
    assert "note: table more was never updated: it is taken to cost what the" in strict.stdout


def test_strict_says_where_it_could_judge_no_target(freshline, shop):
    strict = freshline("validate", "--no-spark", "--strict")
    assert strict.exit_code == 0  # of a fresh checkout
    told = "note: no target was judged: no update was measured yet"
    assert told in strict.stdout
    path = shop.root / "tables" / "shop.sql"
    path.write_text(path.read_text().replace(", 'freshline.target_lag' = '10 minutes'", ""))
    assert told not in freshline("validate", "--no-spark", "--strict").stdout


@pytest.mark.parametrize(("analysed", "said"), [(3, "every query"), (1, "1 of 3 queries")])
def test_it_says_how_many_queries_spark_analysed(freshline, monkeypatch, analysed, said):
    names = ("orders", "big", "small")[:analysed]
    found = Analysis(columns=dict.fromkeys(names, (("n", "BIGINT"),)))
    monkeypatch.setattr(command, "_analysed", lambda *_, **__: (found, {}))
    first = freshline("validate").stdout.splitlines()[0]
    assert first == f"shop: 3 tables, 1 feed, {said} analysed by Spark"


def test_beside_json_notes_are_told_on_standard_error(freshline, shop):
    path = shop.root / "tables" / "shop.sql"
    path.write_text(path.read_text().replace("FROM orders;", "FROM orders WHERE n > rand();"))
    done = freshline("validate", "--no-spark", "--json")
    assert done.exit_code == 0
    assert set(json.loads(done.stdout)) == {"tables", "errors"}
    (note,) = done.stderr.splitlines()
    assert note.startswith("note: tables/shop.sql:")
    assert "calls rand, which asks chance" in note


def test_every_error_is_told_at_once_and_exits_with_2(freshline, shop):
    (shop.root / "tables" / "shop.sql").write_text(
        "CREATE STREAMING TABLE orders AS SELECT n FROM STREAM order_feed;\n"
        "CREATE MATERIALIZED VIEW v\n"
        "  TBLPROPERTIES ('freshline.prioritee' = '1') AS SELECT n FROM nowhere;\n"
    )
    done = freshline("validate", "--no-spark", "--json")
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["tables"] == []
    assert [(each["file"], each["line"]) for each in found["errors"]] == [
        ("tables/shop.sql", 1),
        ("tables/shop.sql", 3),
        ("tables/shop.sql", 3),
    ]
    assert all(set(each) == {"code", "file", "line", "message", "next"} for each in found["errors"])
    assert len(done.stderr.splitlines()) == 3


def test_bounds_are_told_in_short_once_every_table_was_updated(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    as_if_measured(shop)
    lines = freshline("validate", "--no-spark").stdout.splitlines()
    (bounds,) = [line for line in lines if line.startswith("bounds: ")]
    assert bounds.startswith("bounds: stale by at most: orders ")
    assert bounds.endswith("as long as no update takes longer than its mean, under policy aus")


def test_a_target_that_cannot_be_kept_is_a_note_and_with_strict_an_error(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    as_if_measured(shop)
    path = shop.root / "tables" / "shop.sql"
    path.write_text(path.read_text().replace("10 minutes", "1 second"))
    lax = freshline("validate", "--no-spark")
    assert lax.exit_code == 0
    (note,) = [line for line in lax.stdout.splitlines() if line.startswith("note: ")]
    assert note.startswith("note: table big asks for a target_lag of 1.0 s; no more than ")
    as_json = freshline("validate", "--no-spark", "--json")
    assert as_json.stderr == f"{note}\n"
    strict = freshline("validate", "--no-spark", "--strict", "--json")
    assert strict.exit_code == 2
    (error,) = json.loads(strict.stdout)["errors"]
    assert (error["code"], error["file"], error["line"]) == (
        "target-not-kept", "tables/shop.sql", 4,
    )  # fmt: skip


def test_against_running_refuses_and_names_both_tables(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    as_if_measured(shop)
    assert freshline("validate", "--no-spark", "--against-running").exit_code == 0
    path = shop.root / "freshline.yml"
    path.write_text(path.read_text().replace("period: 1 second", "period: 1 ms"))
    done = freshline("validate", "--no-spark", "--against-running")
    assert done.exit_code == 2
    assert "table orders, as the project has it now, would break the target_lag of table big" in (
        done.stderr
    )


def test_a_refresh_of_some_tables_is_not_the_run_that_a_change_is_compared_with(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",))).run()
    as_if_measured(shop)
    path = shop.root / "freshline.yml"
    path.write_text(path.read_text().replace("period: 1 second", "period: 1 ms"))
    done = freshline("validate", "--no-spark", "--against-running")
    assert done.exit_code == 2
    assert "would break the target_lag of table big" in done.stderr


TRIALS = {
    "big": Verdict("passed", {"append": 3, "full": 1}, 4, 1.25),
    "small": Verdict(
        "failed", {"append": 1}, 2, 0.5,
        reason="after step 1 append gave another result than the query",
        difference=Difference("append", "row-wise", 1, ((1, None),), ()),
        evidence="/somewhere/evidence/trial-small",
    ),
}  # fmt: skip


@pytest.fixture
def tried(monkeypatch):
    """What Spark finds, without Spark."""

    def analysed(project, *, tries):
        analysis = Analysis()
        return analysis, TRIALS if tries else {}

    monkeypatch.setattr(command, "_analysed", analysed)


def test_a_trial_that_failed_exits_with_3_and_names_its_case(freshline, tried):
    done = freshline("validate", "--try")
    assert done.exit_code == 3
    assert done.stdout.splitlines()[-3:] == [
        "trial of big: passed 4 steps in 1.2 s (append 3, full 1)",
        "trial of small: failed: after step 1 append gave another result than the query",
        "  the case is kept in /somewhere/evidence/trial-small",
    ]
    assert freshline("validate").exit_code == 0


def test_a_heap_that_is_too_small_for_the_tables_is_noted(freshline, shop, tried):
    assert "heap" not in freshline("validate").stdout
    with (shop.root / "freshline.yml").open("a") as file:
        file.write("configuration: {spark.driver.memory: 32m}\n")
    (note,) = [line for line in freshline("validate").stdout.splitlines() if "heap" in line]
    assert note.startswith("note: a heap of 0.0312 GB for 3 tables: Spark keeps about 100 MB and")
    assert note.endswith("Set `spark.driver.memory` in `configuration:` to 1g or more.")


def test_trials_are_in_the_json_where_they_were_asked_for(freshline, tried):
    done = freshline("validate", "--try", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["trials"] == {
        "big": {
            "outcome": "passed",
            "compared": {"append": 3, "full": 1},
            "steps": 4,
            "seconds": 1.25,
            "reason": None,
            "evidence": None,
        },
        "small": {
            "outcome": "failed",
            "compared": {"append": 1},
            "steps": 2,
            "seconds": 0.5,
            "reason": "after step 1 append gave another result than the query",
            "evidence": "/somewhere/evidence/trial-small",
            "strategy": "append",
            "missing": [["1", "None"]],
            "extra": [],
        },
    }
    assert "trials" not in json.loads(freshline("validate", "--json").stdout)
