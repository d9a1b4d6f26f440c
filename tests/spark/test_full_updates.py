"""When a view is computed in full although its SQL allows better, and that this is said."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import cast

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from freshline.core.errors import UserError
from freshline.spark.engine import jvm
from freshline.spark.updates import SparkExecutor
from freshline.spark.views.derived import DerivedUpdates
from freshline.sql.costs import Costs, Sizes
from freshline.sql.query.records import ViewPlan
from tests.spark.arrivals import SCHEMA, START, Arrivals, arrivals_in
from tests.spark.conftest import Shop
from tests.spark.proof.support import UtcSessions
from tests.spark.test_incremental_updates import (
    BY_DAY,
    BY_HOUR,
    DAILY,
    HOURLY,
    NO,
    PEOPLE,
    PEOPLES_STATES,
    SIZES,
    arrivals,
    view,
)
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

__all__ = ["arrivals", "view"]

PLANS = {"hourly": ViewPlan(NO, BY_HOUR, NO)}


@pytest.fixture(scope="module")
def two_updates(spark, tmp_path_factory) -> Arrivals:
    """Two updates of a view, the second of them incremental."""
    shop = Shop(tmp_path_factory.mktemp("hourly"), spark, plans=dict(PLANS))
    made = arrivals_in(shop)
    shop.table("hourly", HOURLY, refresh="incremental")
    told = []
    for hour in (0, 1):
        made.come("events", made.rows(hour, 10))
        told.append(made.update("hourly").strategy)
    assert told == ["full", "bucket-recompute"]
    return made


@pytest.fixture
def hourly(arrivals: Arrivals, view, two_updates) -> Arrivals:
    """The same in a copy, as a new process finds it."""
    shutil.copytree(two_updates.shop.root, arrivals.shop.root, dirs_exist_ok=True)
    view("hourly", HOURLY, PLANS["hourly"])
    arrivals.shop.numbers |= two_updates.shop.numbers
    arrivals.chance.setstate(two_updates.chance.getstate())
    arrivals.next_id = two_updates.next_id
    return arrivals


def why(result) -> tuple[str, str]:
    return result.strategy, result.code


def test_because_it_was_asked_for_and_its_children_take_the_changes(hourly, view):
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO))
    assert why(hourly.update("daily")) == ("full", "first-build")
    assert why(hourly.update("hourly", full=True)) == ("full", "requested")
    assert hourly.facts("hourly")["reason"] == "requested"
    assert why(hourly.update("daily")) == ("bucket-recompute", "buckets")


def test_because_the_query_changed(hourly, view):
    view("hourly", HOURLY.replace("sum(cents)", "max(cents)"), ViewPlan(NO, BY_HOUR, NO))
    assert why(hourly.update("hourly")) == ("full", "definition-changed")


@pytest.mark.proof
def test_because_the_property_says_so(hourly, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), refresh="full")
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("full", "configured")


@pytest.mark.proof
def test_because_a_parent_is_read_at_an_older_version(hourly):
    assert why(hourly.shop.derive("hourly", events=0)) == ("full", "parent-went-back")
    hourly.check("hourly")


def test_because_a_parent_was_put_back_from_a_copy_and_went_on_past_its_version(hourly):
    """By its number alone the version that the view names is still there."""
    events = hourly.shop.path("events")
    copy = hourly.shop.root / "copy"
    shutil.copytree(events, copy)
    hourly.come("events", hourly.rows(2, 10))
    assert why(hourly.update("hourly")) == ("bucket-recompute", "buckets")
    pin = hourly.facts("hourly")["parents"]["events"]
    shutil.rmtree(events)
    copy.rename(events)
    for hour in (3, 4):
        hourly.come("events", hourly.rows(hour, 10))
    assert hourly.version("events") == pin + 1
    jvm.named(hourly.shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    assert why(hourly.update("hourly")) == ("full", "parent-went-back")
    hourly.come("events", hourly.rows(5, 10))
    assert why(hourly.update("hourly")) == ("bucket-recompute", "buckets")


def test_because_the_state_that_it_names_was_put_back_from_a_copy(arrivals, shop):
    query = "SELECT person, avg(cents) AS mean FROM events GROUP BY person"
    shop.table("mean", query, refresh="incremental")
    state, copy = Path(shop.project.own_path, "state"), shop.root / "copy"
    told = []
    for hour in range(5):
        if hour == 3:
            shutil.rmtree(state)
            copy.rename(state)
            jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
        arrivals.come("events", arrivals.rows(hour, 10))
        told.append(why(arrivals.update("mean")))
        if hour == 1:
            shutil.copytree(state, copy)
    assert told == [
        ("full", "first-build"),
        ("group-merge", "state-built"),
        ("group-merge", "merges"),
        ("full", "changes-gone"),
        ("group-merge", "state-built"),
    ]


@pytest.mark.proof
def test_because_a_parent_was_removed_and_made_anew_up_to_the_same_version(hourly, view):
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO))
    hourly.update("daily")
    pin = hourly.version("hourly")
    assert hourly.facts("daily")["parents"] == {"hourly": pin}
    shutil.rmtree(hourly.shop.path("hourly"))
    hourly.come("events", hourly.rows(2, 10))
    while hourly.update("hourly").version < pin:
        hourly.come("events", hourly.rows(3, 10))
    assert why(hourly.update("daily")) == ("full", "table-replaced")
    hourly.come("events", hourly.rows(4, 10))
    hourly.update("hourly")
    assert why(hourly.update("daily")) == ("bucket-recompute", "buckets")


@pytest.fixture
def rates(arrivals, shop):
    """A static table of rates, and adds a rate to it; the view ``rated`` joins it."""
    path = shop.root / "static/rates"
    query = "SELECT e.id, r.rate FROM events e JOIN delta.`static/rates` r ON e.person = r.person"

    def add(rate: int) -> None:
        rows = pa.table({"person": ["ann", "bob"], "rate": [rate, rate]})
        deltalake.write_deltalake(str(path), rows, mode="append")

    add(2)
    shop.table("rated", query, refresh="incremental")
    arrivals.come("events", arrivals.rows(0, 10))
    return add


def test_because_a_static_table_is_another_one_at_the_same_version(arrivals, shop, rates):
    assert why(arrivals.update("rated")) == ("full", "first-build")
    shutil.rmtree(shop.root / "static/rates")
    rates(3)
    assert why(arrivals.update("rated")) == ("full", "table-replaced")
    arrivals.come("events", arrivals.rows(1, 10))
    assert arrivals.update("rated").strategy == "append"


def test_because_a_static_table_was_put_back_from_a_copy_and_reached_its_version_again(
    arrivals, shop, rates
):
    path, copy = shop.root / "static/rates", shop.root / "copy"
    shutil.copytree(path, copy)
    rates(3)
    assert why(arrivals.update("rated")) == ("full", "first-build")
    shutil.rmtree(path)
    shutil.copytree(copy, path)
    rates(7)
    arrivals.come("events", arrivals.rows(1, 10))
    assert why(arrivals.update("rated")) == ("full", "table-replaced")
    assert {row["rate"] for row in shop.rows("rated")} == {2, 7}
    arrivals.come("events", arrivals.rows(2, 10))
    assert arrivals.update("rated").strategy == "append"


@pytest.mark.proof
def test_because_the_sessions_time_zone_changed(hourly, spark: SparkSession):
    shop = hourly.shop
    other = cast("SparkSession", UtcSessions(spark))
    shop._executor = SparkExecutor(shop.project, other, shop.plans)
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("full", "settings-changed")


def test_because_the_project_sets_something_else_for_sql(hourly):
    shop = hourly.shop

    def restarted(**configuration: str) -> None:
        names = {
            f"spark.sql.{name.replace('_', '.')}": each for name, each in configuration.items()
        }
        project = replace(shop.project, configuration=names)
        shop._executor = SparkExecutor(project, shop.session, shop.plans)

    restarted(shuffle_partitions="2", decimalOperations_allowPrecisionLoss="false")
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("full", "settings-changed")
    restarted(shuffle_partitions="3", decimalOperations_allowPrecisionLoss="false")
    hourly.come("events", hourly.rows(3, 5))
    assert why(hourly.update("hourly")) == ("bucket-recompute", "buckets")
    restarted(adaptive_enabled="true")
    hourly.come("events", hourly.rows(4, 5))
    assert why(hourly.update("hourly")) == ("full", "settings-changed")


def test_because_a_variable_in_its_query_has_another_value(shop, spark):
    folder = shop.feed("f", "json", "id BIGINT")
    shop.table("events", "SELECT id FROM STREAM f")
    shop.table("named", "SELECT id, '${spark.shop.who}' AS who FROM events", refresh="incremental")

    def step(number: int, who: str) -> tuple[str, str]:
        shop.session = session_in(spark, "UTC", {"spark.shop.who": who})
        shop.restart()
        (folder / f"{number}.json").write_text(json.dumps({"id": number}))
        return why(shop.derive("named", events=shop.load("events", f"{number}.json").version))

    assert [step(0, "ann"), step(1, "ann")][1] == ("append", "row-wise")
    assert step(2, "bob") == ("full", "settings-changed")
    assert shop.rows("named") == [{"id": each, "who": "bob"} for each in range(3)]


def test_because_somebody_else_wrote_into_it(hourly):
    row = pa.table({"hour": pa.array([None], pa.timestamp("us", "UTC")), "n": [7], "cents": [7]})
    deltalake.write_deltalake(hourly.shop.path("hourly"), row, mode="append")
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("full", "changed-by-others")


def test_compaction_is_no_change(hourly):
    for name in ("events", "hourly"):
        deltalake.DeltaTable(hourly.shop.path(name)).optimize.compact()
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("bucket-recompute", "buckets")


def test_because_vacuum_removed_what_was_added_since(hourly):
    for hour in (2, 3):
        hourly.come("events", hourly.rows(hour, 5))
    table = deltalake.DeltaTable(hourly.shop.path("events"))
    table.optimize.compact()
    removed = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert len(removed) == 4
    assert why(hourly.update("hourly")) == ("full", "changes-gone")


@pytest.mark.proof
def test_because_commits_were_cleaned_up(hourly):
    for hour in (2, 3):
        hourly.come("events", hourly.rows(hour, 5))
    table = deltalake.DeltaTable(hourly.shop.path("events"))
    table.create_checkpoint()
    for number in range(int(table.version())):
        Path(hourly.shop.path("events"), "_delta_log", f"{number:020d}.json").unlink()
    assert why(hourly.update("hourly")) == ("full", "changes-gone")


def test_because_a_parent_gained_a_column(hourly):
    for told in (("full", "parent-redefined"), ("bucket-recompute", "buckets")):
        row = pa.Table.from_pylist(hourly.rows(2, 1), SCHEMA)
        deltalake.write_deltalake(
            hourly.shop.path("events"),
            row.append_column("more", pa.array(["x"])),
            mode="append",
            schema_mode="merge",
        )
        assert why(hourly.update("hourly")) == told


def learned(arrivals: Arrivals, view: str, **seconds: float) -> None:
    """Let updates of a view have taken so long, by strategy."""
    costs = Costs()
    for name, each in seconds.items():
        for _ in range(3):
            costs.note(name.replace("_", "-"), Sizes(1_000, 1_000), each)
    updates = arrivals.shop.executor._updates[view]
    assert isinstance(updates, DerivedUpdates)
    updates._costs = costs


@pytest.mark.proof
def test_because_it_is_quicker(hourly, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), refresh="auto")
    learned(hourly, "hourly", bucket_recompute=0.4, full=0.6)
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("bucket-recompute", "buckets")
    learned(hourly, "hourly", bucket_recompute=30.0, full=0.1)
    hourly.come("events", hourly.rows(2, 5))
    result = hourly.update("hourly")
    assert why(result) == ("full", "cheaper")
    assert result.reason.startswith("computed in full, which is quicker: bucket-recompute should")
    facts = hourly.facts("hourly")
    assert facts["expected_s"]["full"] < 1.0 < facts["expected_s"]["bucket-recompute"]
    # The next process goes on with what this one learned; another query begins anew.
    hourly.shop.restart()
    hourly.come("events", hourly.rows(2, 5))
    assert why(hourly.update("hourly")) == ("full", "cheaper")
    assert hourly.facts("hourly")["costs"]["learned"] == facts["costs"]["learned"]
    view("hourly", HOURLY.replace("sum(", "max("), ViewPlan(NO, BY_HOUR, NO), refresh="auto")
    hourly.update("hourly")
    assert hourly.facts("hourly")["costs"]["learned"] == {}


@pytest.mark.proof
def test_nothing_is_learned_in_a_cold_process(hourly, view, monkeypatch):
    assert hourly.facts("hourly")["costs"]["learned"] == {}
    monkeypatch.setattr("freshline.spark.updates._COLD_UPDATES", 1)
    hourly.shop.restart()
    for hour in (2, 3, 4):
        hourly.come("events", hourly.rows(hour, 5))
        hourly.update("hourly")
    ((name, (_, _, samples)),) = hourly.facts("hourly")["costs"]["learned"].items()
    assert (name, samples) == ("bucket-recompute", 1)  # the second; the third is under way


@pytest.mark.proof
def test_a_state_is_left_and_built_again_as_costs_change(arrivals, view):
    view("people", PEOPLE, ViewPlan(NO, NO, PEOPLES_STATES), refresh="auto")
    told = []
    cheap, dear = {"group_merge": 0.1, "full": 5.0}, {"group_merge": 5.0, "full": 0.1}
    for number, seconds in enumerate([cheap, cheap, cheap, dear, dear, cheap, cheap, dear]):
        arrivals.come("events", arrivals.rows(number, 10))
        learned(arrivals, "people", build=5.1, **seconds)
        told.append(why(arrivals.update("people")))
    built, merged = ("group-merge", "state-built"), ("group-merge", "merges")
    quicker = ("full", "cheaper")
    assert told == [
        ("full", "first-build"), built, merged, quicker, quicker, built, merged, quicker,
    ]  # fmt: skip
    assert "state" not in arrivals.facts("people")


@pytest.mark.parametrize("partitions", [(), pytest.param(("hour",), marks=pytest.mark.proof)])
def test_views_over_one_that_is_overwritten_hear_of_what_differs_alone(arrivals, view, partitions):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), refresh="auto", partitioned_by=partitions)
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO))
    arrivals.come("events", [row | {"at": START} for row in arrivals.rows(0, 5)])
    arrivals.come(
        "events", [row | {"at": START + timedelta(days=2)} for row in arrivals.rows(0, 5)]
    )
    for name in ("hourly", "daily"):
        arrivals.update(name)
    arrivals.come(
        "events", [row | {"at": START + timedelta(days=2)} for row in arrivals.rows(0, 5)]
    )
    learned(arrivals, "hourly", bucket_recompute=5.0, full=0.1)
    result = arrivals.update("hourly")
    assert (*why(result), result.rows) == ("full", "cheaper", 2)
    daily = arrivals.update("daily")
    # One of the two hours, before and after.
    assert (*why(daily), daily.read_rows, daily.rows) == ("bucket-recompute", "buckets", 2, 1)


@pytest.mark.proof
def test_who_is_always_made_anew_is_not_told_what_differs(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), refresh="auto")
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO), refresh="auto")
    told = []
    for hour in range(7):
        arrivals.come("events", arrivals.rows(hour, 5))
        learned(arrivals, "hourly", bucket_recompute=5.0, full=0.1)
        arrivals.update("hourly")
        told.append("changes" in arrivals.facts("hourly"))
        learned(arrivals, "daily", bucket_recompute=5.0, full=0.1)
        arrivals.update("daily")
    assert told == [False, True, True, True, True, False, False]


def test_who_can_only_be_made_anew_is_never_told_what_differs(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), refresh="auto")
    view("sizes", SIZES, ViewPlan(NO, NO, NO))
    for hour in range(2):
        arrivals.come("events", arrivals.rows(hour, 5))
        learned(arrivals, "hourly", bucket_recompute=5.0, full=0.1)
        arrivals.update("hourly")
    assert why(arrivals.update("sizes")) == ("full", "first-build")
    assert arrivals.facts("hourly")["strategy"] == "full"
    assert "changes" not in arrivals.facts("hourly")


@pytest.mark.proof
def test_rows_of_others_are_made_good_where_the_log_tells_nothing(hourly, monkeypatch):
    def nothing(*_: object) -> None:
        """As of a log that is not on this machine."""

    monkeypatch.setattr("freshline.spark.commits.others.logged_changes", nothing)
    path = hourly.shop.path("hourly")
    deltalake.DeltaTable(path).delete()
    assert hourly.shop.rows("hourly") == []
    hourly.come("events", hourly.rows(2, 1))
    assert why(hourly.update("hourly")) == ("full", "changed-by-others")


@pytest.mark.proof
def test_a_static_table_whose_columns_change_their_type(arrivals, shop):
    def rates(kind: pa.DataType, rate: object) -> None:
        rows = pa.table({"person": ["ann", "bob"], "rate": pa.array([rate, rate], kind)})
        deltalake.write_deltalake(
            str(shop.root / "static/rates"), rows, mode="overwrite", schema_mode="overwrite"
        )

    rates(pa.int64(), 2)
    shop.table(
        "worth",
        "SELECT e.person, sum(e.cents * r.rate) AS worth FROM events e"
        " JOIN delta.`static/rates` r ON e.person = r.person GROUP BY e.person",
        refresh="incremental",
    )
    told = []
    for number in range(6):
        if number == 3:
            rates(pa.decimal128(5, 2), Decimal("1.25"))
        arrivals.come(
            "events", [{**row, "person": "ann", "cents": 5} for row in arrivals.rows(number, 5)]
        )
        told.append(why(arrivals.update("worth")))
    first, merged = ("full", "first-build"), ("group-merge", "merges")
    assert told == [first, merged, merged, ("full", "static-changed"), merged, merged]


def test_because_a_state_would_hold_what_the_query_leaves_out(arrivals, shop):
    """Only rows of people whose name is a number stay, and the cast is of those alone."""
    shop.table(
        "most",
        "SELECT max(e.cents) AS most FROM events e WHERE NOT EXISTS"
        " (SELECT 1 FROM events o WHERE e.cents < o.cents) GROUP BY CAST(e.person AS INT) IS NULL",
        refresh="incremental",
    )
    told, shown = [], []
    for number in range(3):
        dear = {"person": "7", "cents": 1_000_000 + number}
        first, *others = arrivals.rows(number, 5)
        arrivals.come(
            "events", [{**first, **dear}, *({**row, "person": "ann", "cents": 5} for row in others)]
        )
        told.append(why(arrivals.update("most")))
        shown.append([row["most"] for row in shop.rows("most")])
    assert told == [("full", "first-build"), *[("full", "changes-failed")] * 2]
    assert shown == [[1_000_000], [1_000_001], [1_000_002]]


def test_a_strict_view_over_a_static_table_without_versions_is_refused(arrivals, shop):
    folder = shop.root / "static/cities"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"person": ["ann"], "city": ["Ulm"]}), folder / "all.parquet")
    query = (
        "SELECT e.id, c.city FROM events e JOIN parquet.`static/cities` c ON e.person = c.person"
    )
    shop.table("homes", query, refresh="incremental_strict")
    arrivals.come("events", arrivals.rows(0, 5))
    with pytest.raises(UserError) as raised:
        arrivals.update("homes")
    assert (raised.value.code, raised.value.rule) == ("not-incremental", "static-unversioned")


def test_a_death_between_state_and_view_is_harmless(arrivals, view, monkeypatch):
    view("people", PEOPLE, ViewPlan(NO, NO, PEOPLES_STATES))
    for hour in range(3):
        arrivals.come("events", arrivals.rows(hour, 10))
        arrivals.update("people")
    named = arrivals.facts("people")["state"]["versions"]
    for name in ("state.before_data", "state.before_commit", "state.after_commit"):

        def die(passed: str, name: str = name) -> None:
            if passed == name:
                raise OSError(28, "No space left on device")

        arrivals.come("events", arrivals.rows(4, 10))
        with monkeypatch.context() as patched:
            patched.setattr("freshline.spark.views.state.failpoint", die)
            with pytest.raises(OSError, match="No space"):
                arrivals.update("people")
    assert arrivals.facts("people")["state"]["versions"] == named
    result = arrivals.update("people")
    assert why(result) == ("group-merge", "merges")
    assert arrivals.facts("people")["state"]["versions"] == {"p": named["p"] + 2}
    arrivals.come("events", arrivals.rows(5, 10))
    assert why(arrivals.update("people")) == ("group-merge", "merges")
