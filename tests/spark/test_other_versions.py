"""Views that another version of freshline has made: nothing is added to what it did wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from freshline.executor.trials import Trust
from freshline.executor.verified import SKIPPED, WRONG, VersionCheck
from freshline.spark.verification.versions import Verifier
from freshline.sql.query.records import ViewPlan
from tests.spark.arrivals import START, Arrivals, arrivals_in
from tests.spark.conftest import Shop
from tests.spark.test_incremental_updates import BY_HOUR, HOURLY, NO
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

RIGHT_PLAN = ViewPlan(NO, BY_HOUR, NO)
WRONG_PLAN = ViewPlan("joint", NO, NO)
"""New rows of an hour become another row of it."""


@pytest.fixture(scope="module")
def wrong_view(spark, tmp_path_factory) -> Arrivals:
    """A view that a wrong plan has appended to: it shows an hour twice."""
    shop = Shop(tmp_path_factory.mktemp("wrong"), spark, plans={"hourly": WRONG_PLAN})
    made = arrivals_in(shop)
    shop.table("hourly", HOURLY, refresh="incremental")
    come(made, 0)
    assert made.update("hourly").strategy == "full"
    come(made, 0)
    request = shop.request("hourly", parents={"events": made.version("events")})
    assert shop.executor.run(request).strategy == "append"
    assert len(shop.rows("hourly")) == 2
    return made


@pytest.fixture
def arrivals(shop: Shop, wrong_view: Arrivals) -> Arrivals:
    """The same in a copy, of a version that has the right plan."""
    shop.begin_as(wrong_view.shop)
    shop.plans["hourly"] = RIGHT_PLAN
    shop.restart()
    return replace(wrong_view, shop=shop, chance=random.Random(12))


def come(arrivals: Arrivals, hour: int) -> None:
    """Rows of one hour."""
    at = START + timedelta(hours=hour)
    arrivals.come("events", [row | {"at": at} for row in arrivals.rows(hour, 3)])


def ways(arrivals: Arrivals) -> Iterator[str]:
    """What two updates were made by, of hours in which nothing was wrong; both are compared."""
    for hour in (5, 6):
        come(arrivals, hour)
        result = arrivals.update("hourly")
        yield result.code if result.strategy == "full" else result.strategy


def test_what_another_plan_made_from_changes_is_computed_in_full_once(arrivals):
    assert list(ways(arrivals)) == ["other-version", "bucket-recompute"]


def test_an_update_in_full_for_want_of_a_trial_is_enough(arrivals):
    come(arrivals, 5)
    assert arrivals.update("hourly", trust=Trust("another key", "passed")).code == "untried"
    assert list(ways(arrivals)) == ["bucket-recompute", "bucket-recompute"]


def say_no_plan(arrivals: Arrivals, view: str) -> None:
    """The view's newest commit is one of a version that did not say the plan."""
    log = Path(arrivals.shop.path(view)) / "_delta_log" / f"{arrivals.version(view):020}.json"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for line in lines:
        if "commitInfo" in line:
            facts = json.loads(line["commitInfo"]["userMetadata"])
            del facts["plan"]
            line["commitInfo"]["userMetadata"] = json.dumps(facts)
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_so_is_what_a_version_made_that_did_not_say_its_plan(arrivals):
    say_no_plan(arrivals, "hourly")
    assert list(ways(arrivals)) == ["other-version", "bucket-recompute"]


def test_what_was_computed_in_full_is_gone_on_from(shop, arrivals):
    request = shop.request("hourly", parents={"events": arrivals.version("events")}, full=True)
    assert shop.executor.run(request).code == "requested"
    shop.plans["hourly"] = replace(RIGHT_PLAN, notes=("in other words",))
    shop.restart()
    assert list(ways(arrivals)) == ["bucket-recompute", "bucket-recompute"]


def test_a_plan_in_other_words_is_the_same_plan(shop, arrivals):
    assert list(ways(arrivals)) == ["other-version", "bucket-recompute"]
    no = replace(NO, message="in other words")
    shop.plans["hourly"] = replace(RIGHT_PLAN, appends=no, notes=("a note",))
    shop.restart()
    assert list(ways(arrivals)) == ["bucket-recompute", "bucket-recompute"]


def test_no_version_is_said_to_be_wrong_by_a_setting_that_its_commit_did_not_say(shop, spark):
    setting = {"spark.sql.decimalOperations.allowPrecisionLoss": "false"}
    made = arrivals_in(shop)
    wide = "CAST(cents AS DECIMAL(38, 10))"
    shop.table("squares", f"SELECT id, {wide} * {wide} AS square FROM events")
    shop.session = session_in(spark, "UTC", setting)
    come(made, 0)
    parents = {"events": made.version("events")}
    shop.executor.run(shop.request("squares", parents=parents))
    project = replace(shop.project, configuration=setting)

    def verified() -> VersionCheck:
        session = session_in(spark, "UTC", setting)
        return Verifier(project).check(session, project.table("squares"), 0)

    assert verified().outcome == WRONG
    say_no_plan(made, "squares")
    assert verified().outcome == SKIPPED
