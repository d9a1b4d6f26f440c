"""An audit of a view that a fault made wrong: found, kept, rebuilt, and right from then on."""

from __future__ import annotations

import json
import random
from datetime import timedelta

import deltalake
import pytest

from freshline.core.errors import FreshlineError
from freshline.executor.distrust import (
    distrusted,
    distrusted_views,
    is_rebuilt,
    trust_again,
    trust_when_rebuilt,
)
from freshline.failpoints import armed
from tests.spark.arrivals import START, Arrivals

pytestmark = pytest.mark.spark

HOURLY = """SELECT date_trunc('HOUR', at) AS hour, count(*) AS n, sum(cents) AS cents
    FROM events GROUP BY 1"""


@pytest.fixture
def arrivals(shop):
    shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
    shop.table("events", "SELECT * FROM STREAM f", time_column="at")
    shop.table("hourly", HOURLY, refresh="incremental")
    return Arrivals(shop, random.Random(7))


def audit(shop, view):
    """What an idle track does; it makes no commit, so the next update has its number."""
    result = shop.executor.run(shop.request(view, upkeep="verify"))
    shop.numbers[view] -= 1
    return result


def update(arrivals):
    parents = {"events": arrivals.version("events")}
    return arrivals.shop.executor.run(arrivals.shop.request("hourly", parents=parents))


def late(cents):
    return [{"id": 1, "at": START + timedelta(minutes=50), "person": "ann", "cents": cents}]


def narrow(arrivals):
    """Some rows in the view, and an update of it that a fault makes wrong: its result."""
    arrivals.come("events", arrivals.rows(0, 40))
    update(arrivals)
    with armed("buckets.narrowed=wrong"):
        arrivals.come("events", late(5))
        return update(arrivals)


def test_a_narrowed_view_is_found_kept_rebuilt_and_stays_right(shop, arrivals):
    arrivals.come("events", arrivals.rows(0, 40))
    update(arrivals)
    right = audit(shop, "hourly")
    assert (right.strategy, right.code, right.reason) == (
        "verify", "right", "hourly version 0 equals its query",
    )  # fmt: skip
    assert distrusted(shop.project, "hourly") is None

    with armed("buckets.narrowed=wrong"):
        arrivals.come("events", late(5))
        assert update(arrivals).strategy == "bucket-recompute"
        found = audit(shop, "hourly")
        assert found.code == "wrong"
        wrong = distrusted(shop.project, "hourly")
        assert wrong is not None
        assert (wrong.version, wrong.strategy) == (1, "bucket-recompute")
        assert (wrong.missing, wrong.extra) == (1, 1)
        assert not is_rebuilt(shop.project, wrong)
        rebuilt = update(arrivals)
        assert (rebuilt.strategy, rebuilt.code) == ("full", "found-wrong")
        assert is_rebuilt(shop.project, wrong)
        arrivals.check("hourly")
        # The fault is still there, and nothing comes of it.
        arrivals.come("events", late(7))
        assert update(arrivals).code == "found-wrong"
        assert audit(shop, "hourly").code == "right"
        shop.restart()
        arrivals.come("events", late(9))
        assert update(arrivals).code == "found-wrong"

    folder = shop.project.own_folder / "evidence" / "hourly" / "1"
    facts = json.loads((folder / "found.json").read_text())
    assert facts["commit"]["parents"] == {"events": 1}
    assert facts["programs"].keys() == {"freshline", "spark"}
    assert (folder / "query.sql").read_text() == HOURLY
    assert "Aggregate" in (folder / "plan.txt").read_text()
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert sorted(row["times"] for row in rows) == [-1, 1]
    by_times = {row["times"]: row["row"] for row in rows}
    assert by_times[-1]["n"] == by_times[1]["n"] + 1

    assert trust_again(shop.project, "hourly")
    arrivals.come("events", late(11))
    assert update(arrivals).strategy == "bucket-recompute"
    assert audit(shop, "hourly").code == "right"


def test_a_view_that_is_trusted_before_its_rebuild_is_rebuilt_first(shop, arrivals):
    """An update from changes would go on from the wrong rows, and nothing would tell of them."""
    narrow(arrivals)
    assert audit(shop, "hourly").code == "wrong"
    wrong = distrusted(shop.project, "hourly")
    assert wrong is not None
    trust_when_rebuilt(shop.project, wrong)
    assert distrusted_views(shop.project)["hourly"].trusted
    arrivals.come("events", late(7))
    assert update(arrivals).code == "found-wrong"
    arrivals.check("hourly")
    assert distrusted_views(shop.project) == {}
    arrivals.come("events", late(9))
    assert update(arrivals).strategy == "bucket-recompute"
    assert not (shop.project.own_folder / "wrong" / "hourly.json").exists()
    assert audit(shop, "hourly").code == "right"


@pytest.mark.proof
def test_another_query_is_trusted(shop, arrivals):
    narrow(arrivals)
    audit(shop, "hourly")
    shop.table("hourly", HOURLY.replace("sum(cents)", "max(cents)"), refresh="incremental")
    assert update(arrivals).code == "definition-changed"
    arrivals.come("events", late(50))
    assert update(arrivals).strategy == "bucket-recompute"
    assert audit(shop, "hourly").code == "right"


def test_a_row_that_others_wrote_is_found_and_the_view_still_trusted(shop, arrivals):
    arrivals.come("events", arrivals.rows(0, 40))
    update(arrivals)
    path = shop.path("hourly")
    rows = deltalake.DeltaTable(path).to_pyarrow_table()
    deltalake.write_deltalake(path, rows.slice(0, 1), mode="append")
    found = audit(shop, "hourly")
    assert (found.code, found.reason) == (
        "wrong", "hourly version 1 is wrong: 0 rows missing, 1 row extra (strategy by others)",
    )  # fmt: skip
    assert distrusted(shop.project, "hourly") is None
    assert update(arrivals).code == "changed-by-others"
    assert audit(shop, "hourly").code == "right"


def test_an_optimize_of_others_does_not_take_the_blame(shop, arrivals):
    assert narrow(arrivals).strategy == "bucket-recompute"
    deltalake.DeltaTable(shop.path("hourly")).optimize.compact()
    deltalake.DeltaTable(shop.path("hourly")).vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False
    )
    found = audit(shop, "hourly")
    assert found.code == "wrong"
    assert found.reason.endswith("(strategy bucket-recompute)")
    assert distrusted(shop.project, "hourly") is not None


@pytest.mark.parametrize(
    "fault",
    [
        "audit.before_distrust=eio",
        pytest.param("audit.after_distrust=eio", marks=pytest.mark.proof),
    ],
)
def test_an_audit_that_fails_beside_its_finding_finds_it_again(shop, arrivals, fault):
    narrow(arrivals)
    with armed(fault), pytest.raises((OSError, FreshlineError)):
        audit(shop, "hourly")
    shop.numbers["hourly"] = 2  # the audit that failed made no commit either
    assert audit(shop, "hourly").code == "wrong"
    assert distrusted(shop.project, "hourly") is not None
    assert update(arrivals).code == "found-wrong"
    arrivals.check("hourly")
