"""Trials on real Spark: a right plan passes, a wrong one fails and leaves its case behind."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.delta.log import last_commit
from freshline.executor.trials import Trust
from freshline.project.load import load_project
from freshline.spark.analysis import analyse
from freshline.spark.trials.runner import try_view, try_views
from freshline.spark.trials.tables import Tables
from freshline.spark.views import bucket, changes, group
from freshline.spark.views.partials import rows_of_changes
from freshline.sql.query.records import Buckets, Decomposition, Keys, Reads, ViewPlan
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

ORDERS = "at TIMESTAMP, id BIGINT, usr STRING, amount INT"
HOURLY = "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM orders GROUP BY 1"
HOUR_US = 3_600_000_000
BUDGET_S = 20.0 if WHOLE else 0.0
"""For a right plan, which is tried to the end of it; with none, in the fewest steps."""
PATIENCE_S = 300.0
"""For a wrong plan, whose trial ends when it is found out."""


@pytest.fixture
def tried(shop, monkeypatch, tmp_path):
    """Tries a view of this query, by another plan than its own where one is given."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for name in ("orders", "clicks"):
        shop.feed(f"{name}_feed", "csv", ORDERS)
        shop.table(name, f"SELECT * FROM STREAM {name}_feed")

    def run(query, change=None, **more):
        shop.table("v", query, **more)
        analysis = analyse(shop.project, shop.session)
        assert analysis.errors == []
        table, plan = shop.project.table("v"), analysis.plans["v"]
        if change is not None:
            plan = change(plan)
        parents = {name: analysis.schemas[name] for name in table.parents}
        budget_s = BUDGET_S if change is None else PATIENCE_S
        found = try_view(shop.session, shop.project, table, parents, plan, budget_s=budget_s)
        assert list(temporary.iterdir()) == []
        return found

    return run


def test_every_strategy_of_a_view_is_compared_with_its_query(tried):
    found = tried(
        "SELECT o.usr, count(*) AS n, sum(o.amount) AS s FROM orders o WHERE o.amount > 3"
        " GROUP BY o.usr"
    )
    assert (found.outcome, found.reason, found.evidence) == ("passed", "", "")
    assert found.compared["group-merge"] >= 1
    assert found.compared["group-recompute"] >= 1
    assert found.steps >= 4


def test_buckets_that_the_log_tells_are_compared_for_two_parents(tried, monkeypatch):
    told = bucket.logged_buckets

    def of_the_last_parent(increment, buckets):
        touched, unknown = told(increment, buckets)
        if not unknown:
            last = dataclasses.replace(increment, parents=increment.parents[-1:])
            touched, _ = told(last, buckets)
        return touched, unknown

    monkeypatch.setattr(bucket, "logged_buckets", of_the_last_parent)
    found = tried(
        "SELECT coalesce(o.at, c.at) AS at, o.id, c.id AS click FROM orders o FULL JOIN clicks c"
        " ON o.at = c.at AND o.usr = c.usr",
        lambda plan: plan,
    )
    assert (found.outcome, found.steps, found.difference.strategy) == (
        "failed",
        6,
        "bucket-recompute",
    )


def test_appended_rows_are_compared(tried):
    found = tried("SELECT id, amount * 2 AS twice FROM orders WHERE amount > 3")
    assert found.outcome == "passed"
    assert found.compared["append"] >= 2


UNCLICKED = "SELECT o.usr, o.id FROM orders o LEFT ANTI JOIN clicks c ON c.usr = o.usr"


def test_keys_are_compared(tried):
    found = tried(UNCLICKED)
    assert (found.outcome, found.reason) == ("passed", "")
    assert found.compared["key-recompute"] >= 3


def test_keys_of_another_column_are_caught(tried):
    def other(plan: ViewPlan) -> ViewPlan:
        assert plan.keys == Keys(("usr",), {"orders": ("usr",), "clicks": ("usr",)})
        # Rows of orders by themselves would do; what a click takes away is not looked for.
        return dataclasses.replace(plan, keys=Keys(("id",), {"orders": ("id",), "clicks": ("id",)}))

    found = tried(UNCLICKED, other)
    assert found.outcome == "failed"
    assert found.difference is not None
    assert found.difference.strategy == "key-recompute"


def narrowed(plan: ViewPlan) -> ViewPlan:
    """Buckets that miss what the last microsecond of an interval touches."""
    assert isinstance(plan.buckets, Buckets)
    reads = {
        name: Reads(each.column, each.lo_us + 1 if each.lo_us < 0 else each.lo_us, each.hi_us)
        for name, each in plan.buckets.reads.items()
    }
    assert reads != plan.buckets.reads
    return dataclasses.replace(plan, buckets=Buckets(plan.buckets.column, reads))


def test_a_bound_that_is_a_microsecond_short_is_caught_and_kept(tried, shop):
    query = """SELECT o.id, c.id AS click, o.at FROM orders o JOIN clicks c
        ON c.at >= o.at - INTERVAL 10 MINUTES AND c.at <= o.at"""
    found = tried(query, narrowed)
    assert found.outcome == "failed"
    assert found.difference is not None
    assert found.difference.strategy == "bucket-recompute"
    assert found.difference.missing or found.difference.extra
    case = json.loads((Path(found.evidence) / "case.json").read_text())
    assert (case["view"], case["query"], case["strategy"]) == ("v", query, "bucket-recompute")
    assert Path(found.evidence).parent == Path(shop.project.own_path) / "evidence"
    assert set(case["tables"]) == {"orders", "clicks"}
    assert len(case["missing"]) == len(found.difference.missing)
    inserted = sum(each.get("rows", 0) for each in case["history"])
    assert inserted > 24
    sent = load_project(Path(found.evidence), Path(found.evidence))
    assert [table.name for table in sent.tables] == ["orders", "clicks", "v"]
    files = Path(found.evidence).glob("feed/*/*.parquet")
    assert sum(pq.read_metadata(file).num_rows for file in files) == inserted
    assert analyse(sent, shop.session).errors == []


def tried_again(shop, folder):
    """What ``validate --try`` does in a folder that was kept."""
    sent = load_project(folder, folder)
    found = analyse(sent, shop.session)
    assert found.errors == []
    return try_views(shop.session, sent, found, budget_s=0.0)["v"]


@pytest.mark.proof
def test_a_case_that_was_kept_fails_again_at_the_same_step(tried, shop, tmp_path, monkeypatch):
    """With its deletion, which shows the fault, and with a copy of the static table."""
    shop.delta("people", pa.table({"usr": ["a", "b"], "name": ["Ann", "Bob"]}))
    query = """SELECT p.name, o.usr, count(*) AS n, sum(o.amount) AS s FROM orders o
        LEFT JOIN delta.`people` p ON o.usr = p.usr GROUP BY 1, 2"""
    with monkeypatch.context() as patched:
        patched.setattr(group, "rows_of_changes", lambda *given: rows_of_changes(*given).limit(0))
        found = tried(query)
        assert (found.outcome, found.steps) == ("failed", 4)
        folder = tmp_path / "sent"
        shutil.move(found.evidence, folder)
        shutil.rmtree(shop.root / "people")
        again = tried_again(shop, folder)
    assert (again.outcome, again.steps, again.reason) == ("failed", 4, found.reason)
    assert tried_again(shop, folder).outcome == "passed"
    case = json.loads((folder / "case.json").read_text())
    assert [each["step"] for each in case["history"] if "delete" in each] == [3]


def test_rows_that_move_from_key_to_key_are_missed(tried, monkeypatch):
    """Not only rows that come and go: what they were before an update is a change as well."""
    feed = changes.Changes._feed
    monkeypatch.setattr(
        changes.Changes, "_feed", lambda each: feed(each).where("_change_type <> 'update_preimage'")
    )
    found = tried(
        "SELECT usr, id FROM orders QUALIFY row_number() OVER (PARTITION BY usr ORDER BY id DESC,"
        " amount) = 1"
    )
    assert (found.outcome, found.steps) == ("failed", 4)
    assert found.difference is not None
    assert found.difference.strategy == "key-recompute"
    assert '"set"' in Path(found.evidence, "case.json").read_text()


def without_sum(plan: ViewPlan) -> ViewPlan:
    """States that are put together by taking the largest."""
    assert isinstance(plan.merge, Decomposition)
    (partial,) = plan.merge.partials
    wrong = dataclasses.replace(partial, combine=partial.combine.replace("SUM(", "MAX("))
    assert wrong != partial
    return dataclasses.replace(plan, merge=dataclasses.replace(plan.merge, partials=(wrong,)))


@pytest.mark.proof
def test_states_put_together_wrongly_are_caught(tried):
    found = tried("SELECT usr, count(*) AS n FROM orders GROUP BY usr", without_sum)
    assert found.outcome == "failed"
    assert found.difference is not None
    assert found.difference.strategy == "group-merge"


@pytest.mark.proof
def test_a_query_that_casts_its_texts_is_tried_on_texts_that_can_be_cast(tried):
    found = tried("SELECT CAST(usr AS INT) AS u, count(*) AS n FROM orders GROUP BY 1")
    assert found.outcome == "passed"
    assert found.compared["group-merge"] >= 1


def test_a_query_that_fails_on_everything_is_undecided(tried):
    found = tried("SELECT id, CAST(raise_error('never') AS STRING) AS e FROM orders")
    assert (found.outcome, found.evidence) == ("undecided", "")
    assert "never" in found.reason


def test_a_result_that_depends_on_the_order_of_rows_is_no_failure(tried):
    found = tried(
        "SELECT usr, id FROM (SELECT usr, id, date_trunc('HOUR', at) AS hour, row_number() OVER"
        " (PARTITION BY date_trunc('HOUR', at) ORDER BY amount) AS place FROM orders)"
        " WHERE place = 1"
    )
    assert found.outcome in ("passed", "not-needed")


def test_what_is_computed_in_full_is_not_tried(tried):
    assert tried(HOURLY, refresh="full").outcome == "not-needed"
    assert tried("SELECT id FROM orders WHERE at < current_timestamp()").steps == 0


def test_copies_stand_for_static_tables(tried, shop):
    shop.delta("static/users", pa.table({"usr": ["real"], "name": ["not read"]}))
    found = tried("SELECT o.id, u.name FROM orders o JOIN delta.`static/users` u USING (usr)")
    assert found.outcome == "passed"
    assert found.compared["append"] >= 1
    assert len(shop.session.read.format("delta").load(str(shop.root / "static/users")).head(9)) == 1


def test_all_views_of_a_project_are_tried(shop, tried):
    tried("SELECT id FROM orders")
    shop.table("w", "SELECT id + 1 AS next FROM v")
    # A count is never NULL for analysis; the table that keeps it takes NULL.
    shop.table("counted", "SELECT id, count(*) AS n, array(count(*)) AS ns FROM v GROUP BY id")
    shop.table("over", "SELECT id, n + 1 AS more, ns FROM counted")
    analysis = analyse(shop.project, shop.session)
    found = try_views(shop.session, shop.project, analysis, budget_s=0.0)
    assert {name: verdict.outcome for name, verdict in found.items()} == {
        "v": "passed",
        "w": "passed",
        "counted": "passed",
        "over": "passed",
    }


# ---- in a running warehouse ----


@pytest.fixture
def loaded(shop):
    """A view over a base table that has rows, and the next update of both."""
    folder = shop.feed("orders_feed", "csv", ORDERS)
    shop.table("orders", "SELECT * FROM STREAM orders_feed")
    shop.table("v", "SELECT id, amount + 1 AS more FROM orders", refresh="incremental")

    def load(number, trust, **more):
        (folder / f"{number}.csv").write_text(f"2026-01-01T00:00:00Z,{number},a,{number}\n")
        version = shop.load("orders", f"{number}.csv").version
        return shop.executor.run(
            shop.request("v", parents={"orders": version}, trust=trust, **more)
        )

    return load


def trial(shop, version):
    """The trial of the view, as a running warehouse asks for it."""
    request = shop.request("v", parents={"orders": version}, upkeep="try")
    shop.numbers["v"] -= 1
    found = shop.executor.run(request)
    assert (found.strategy, found.code) == ("try", found.verdict.outcome)
    return found.verdict


def test_until_its_trial_has_passed_a_view_is_computed_in_full(shop, loaded):
    assert loaded(1, Trust()).code == "first-build"
    untried = loaded(2, Trust())
    assert (untried.strategy, untried.code) == ("full", "untried")
    assert untried.reason == (
        "computed in full: its strategies are still to be tried on generated inputs"
    )
    verdict = trial(shop, 1)
    assert (verdict.outcome, len(verdict.key)) == ("passed", 16)
    assert verdict.compared["append"] >= 1
    shop.restart()  # what a trial is known by does not depend on the process
    assert loaded(3, Trust(verdict.key, "passed")).strategy == "append"
    failed = loaded(4, Trust(verdict.key, "failed"))
    assert (failed.strategy, failed.code) == ("full", "trial-failed")
    commit = last_commit(shop.path("v"))
    assert commit is not None
    assert commit.metadata["reason"] == "trial-failed"
    assert loaded(5, Trust("of another query", "passed")).code == "untried"
    assert loaded(6, None).strategy == "append"  # trials are turned off
    assert [row["id"] for row in shop.rows("v")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.proof
def test_other_columns_of_a_parent_are_another_trial(shop, loaded):
    loaded(1, Trust())
    before = trial(shop, 0).key
    shop.table("orders", "SELECT *, 'x' AS extra FROM STREAM orders_feed")
    loaded(2, Trust(before, "passed"))
    assert trial(shop, 1).key != before


@pytest.mark.proof
def test_a_view_partitioned_by_texts_is_tried_on_rows_that_it_can_hold(tried):
    query = "SELECT usr, count(*) AS n FROM orders GROUP BY usr"
    found = tried(query, partitioned_by=("usr",))
    assert (found.outcome, found.reason) == ("passed", "")
    assert found.compared["group-merge"] >= 1


def test_a_table_that_lost_all_rows_can_have_times_within_a_struct(spark, tmp_path):
    schema = spark.createDataFrame([], "at STRUCT<start: TIMESTAMP, end: TIMESTAMP>").schema
    tables = Tables(spark, tmp_path, {"windows": schema})
    tables.insert("windows", [{"at": {"start": None, "end": None}}])
    deltalake.DeltaTable(tables.path("windows")).delete()
    assert tables.frame("windows").collect() == []


def test_a_trial_that_failed_has_failed_also_where_its_case_cannot_be_kept(tried, shop):
    own = Path(shop.project.own_path)
    own.mkdir(parents=True)
    (own / "evidence").write_text("a file where the folder should be")
    found = tried("SELECT usr, count(*) AS n FROM orders GROUP BY usr", without_sum)
    assert (found.outcome, found.evidence) == ("failed", "")
