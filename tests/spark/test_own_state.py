"""Views that are their own state: no second table, one commit, and never a wrong row."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import PlatformError
from freshline.spark.engine import in_driver
from freshline.spark.views import bucket, derived, groups, whole
from freshline.spark.views.incremental import Parent
from freshline.spark.views.timesets import TimeSet
from freshline.sql.costs import Costs, Sizes
from tests.spark.arrivals import START, Arrivals, arrivals_in

pytestmark = pytest.mark.spark

PEOPLE = """SELECT person, count(*) AS n, sum(cents) AS cents, min(at) AS first, max(id) AS last
    FROM events GROUP BY person"""
HOURLY = """SELECT date_trunc('HOUR', at) AS hour, count(cents) AS n, sum(cents * 0.5) AS half
    FROM events GROUP BY 1"""
MEANS = """SELECT avg(x) AS mean, person, count(x) AS n, sum(x) AS x FROM
    (SELECT person, CAST(cents AS DOUBLE) AS x FROM events) GROUP BY person"""
BYTES = """SELECT CAST(unhex(person) AS STRING) AS text, count(*) AS n FROM
    (SELECT cents, explode(array('C3', 'FF', 'EFBFBD', person)) AS person FROM events
    WHERE person IS NULL OR person RLIKE '^[0-9A-F]*$') GROUP BY 1"""
ALL = "SELECT count(*) AS n, max(cents) AS most FROM events"
MET = """SELECT e.person, count(*) AS n, sum(v.cents) AS cents FROM events e
    JOIN visits v ON e.person = v.person GROUP BY e.person"""
VIEWS = {"people": PEOPLE, "hourly": HOURLY, "means": MEANS, "everything": ALL, "met": MET}


@pytest.fixture
def arrivals(shop) -> Arrivals:
    return arrivals_in(shop, 7)


def begin(shop, arrivals: Arrivals, *names: str) -> None:
    """Views by name, built over some rows."""
    for name in names:
        shop.table(name, VIEWS[name], refresh="incremental")
    arrivals.come("events", arrivals.rows(0, 40))
    arrivals.come("visits", arrivals.rows(0, 10))
    for name in names:
        assert arrivals.update(name).code == "first-build"


def _whole(_: pytest.MonkeyPatch) -> None:
    """Small views are written as a whole."""


def _named(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(whole, "WHOLE_BYTES", 0)


def _joined(patch: pytest.MonkeyPatch) -> None:
    _named(patch)
    patch.setattr(groups, "MOST_NAMED", 1)


def _cached(patch: pytest.MonkeyPatch) -> None:
    _joined(patch)
    patch.setattr(in_driver, "MOST_ROWS", 0)


def test_new_rows_are_merged_into_the_view_itself(shop, arrivals, monkeypatch):
    begin(shop, arrivals, *VIEWS)
    costs = Costs()
    for _ in range(3):
        costs.note("bucket-recompute", Sizes(1, 1), 30.0)
        costs.note("bucket-merge", Sizes(1, 1), 0.3)
    shop.executor._updates["hourly"]._costs = costs
    ways = {
        _whole: tuple(VIEWS),
        _named: ("people", "hourly", "met"),
        _joined: ("people", "met"),
        _cached: ("people",),
    }
    for hour, (way, names) in enumerate(ways.items(), start=1):
        arrivals.come("events", arrivals.rows(hour, 20))
        if way is not _joined:
            arrivals.come("visits", arrivals.rows(hour, 10))
        with monkeypatch.context() as patch:
            way(patch)
            for name in names:
                before = arrivals.version(name)
                result = arrivals.update(name)
                assert (result.strategy.split("-")[1], result.code) == ("merge", "merges")
                assert result.version == before + 1
                assert "state" not in arrivals.facts(name)
    assert not Path(shop.project.own_path, "state").exists()
    # One row more: the change feed tells one row before and after.
    arrivals.come("events", [{"id": 10**6, "at": None, "person": "o'hara", "cents": 5}])
    arrivals.update("people")
    assert arrivals.facts("people")["changes"] == 2


def test_rows_of_buckets_that_the_log_did_not_tell_are_not_merged(shop, arrivals, monkeypatch):
    begin(shop, arrivals, "hourly")
    costs = Costs()
    for _ in range(3):
        costs.note("bucket-recompute", Sizes(1, 1), 30.0)
        costs.note("bucket-merge", Sizes(1, 1), 0.3)
    shop.executor._updates["hourly"]._costs = costs
    _named(monkeypatch)
    told = bucket.logged_buckets
    for hour, (keeps, code) in enumerate(((2, "merges"), (1, "log-untrue")), start=1):

        def narrowed(*given: Any, keeps: int = keeps) -> tuple[TimeSet, list[Parent]]:
            times, unknown = told(*given)
            assert (len(times.intervals), unknown) == (2, [])
            return TimeSet(times.intervals[:keeps], times.null), unknown

        at = START + timedelta(hours=hour)
        for later in (timedelta(minutes=1), timedelta(hours=5)):
            row = {"id": 10**6, "at": at + later, "person": "ann", "cents": 5}
            arrivals.come("events", [row])
        with monkeypatch.context() as patch:
            patch.setattr("freshline.spark.views.own_state.logged_buckets", narrowed)
            assert arrivals.update("hourly").code == code
        assert "outside" not in arrivals.facts("hourly")


@pytest.mark.parametrize("way", [_named, pytest.param(_cached, marks=pytest.mark.proof)])
def test_texts_that_are_no_utf8_are_groups_of_their_own(shop, arrivals, monkeypatch, way):
    """In Python two of them are one text, and neither is that text in Spark."""
    way(monkeypatch)
    shop.table("bytes", BYTES, refresh="incremental")
    shop.table("means", BYTES.replace("count(*)", "avg(cents)"), refresh="incremental")
    begin(shop, arrivals)
    for name in ("bytes", "means"):
        arrivals.update(name)
    for texts in (("C3",), ("C3", "FF", "EFBFBD")):
        row = {"id": 1, "at": None, "cents": 5}
        arrivals.come("events", [row | {"person": digits} for digits in texts])
        for name in ("bytes", "means"):
            assert arrivals.update(name).strategy == "group-merge"


def test_groups_that_lost_rows_are_computed_again_and_merging_goes_on(shop, arrivals):
    begin(shop, arrivals, "people", "everything")
    arrivals.go("events", "id % 3 = 0 OR person = 'ann'")
    told = [arrivals.update(name) for name in ("people", "everything")]
    assert [each.strategy for each in told] == ["group-recompute", "full"]
    arrivals.come("events", arrivals.rows(2, 10))
    told = [arrivals.update(name) for name in ("people", "everything")]
    assert [each.strategy for each in told] == ["group-merge"] * 2


def _deletes(path: str) -> None:
    deltalake.DeltaTable(path).delete("person = 'bob'")


def _updates(path: str) -> None:
    deltalake.DeltaTable(path).update({"n": "n + 1"})


def _appends(path: str) -> None:
    table = deltalake.DeltaTable(path).to_pyarrow_table()
    deltalake.write_deltalake(path, table.slice(0, 1), mode="append")


def _restores(path: str) -> None:
    deltalake.DeltaTable(path).restore(0)


def test_what_others_did_to_the_view_is_not_merged_into(shop, arrivals, monkeypatch):
    begin(shop, arrivals, "people")
    for hour, by_hand in enumerate((_deletes, _updates, _appends, _restores), start=1):
        by_hand(shop.path("people"))
        arrivals.come("events", arrivals.rows(hour, 10))
        result = arrivals.update("people")
        assert (result.strategy, result.code) == ("full", "changed-by-others"), by_hand.__name__
        if by_hand is _updates:
            _named(monkeypatch)
    arrivals.come("events", arrivals.rows(5, 10))
    assert arrivals.update("people").strategy == "group-merge"


@pytest.mark.parametrize("way", [pytest.param(_whole, marks=pytest.mark.proof), _named])
def test_what_others_did_while_an_update_ran_is_noticed(shop, arrivals, monkeypatch, way):
    """A row of a group that the update has nothing to do with, just before its commit."""
    way(monkeypatch)
    begin(shop, arrivals, "people")
    stranger = pa.table(
        {
            **{name: pa.array([1], pa.int64()) for name in ("n", "cents", "last")},
            "person": pa.array(["stranger"]),
            "first": pa.array([None], pa.timestamp("us", "UTC")),
        }
    )

    def meanwhile(name: str) -> None:
        if name == "derived.before_commit":
            patch.undo()
            deltalake.write_deltalake(shop.path("people"), stranger, mode="append")

    arrivals.come("events", [{"id": 10**6, "at": None, "person": "ann", "cents": 5}])
    parents = {"events": arrivals.version("events")}
    with monkeypatch.context() as patch:
        patch.setattr(derived, "failpoint", meanwhile)
        with suppress(PlatformError):  # where Delta sees it
            shop.executor.run(shop.request("people", parents=parents))
    arrivals.come("events", arrivals.rows(2, 10))
    result = arrivals.update("people")
    assert (result.strategy, result.code) == ("full", "changed-by-others")


def test_a_state_that_an_older_version_kept_beside_the_view_is_left(shop, arrivals, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("freshline.spark.views.plans.shows_state", lambda *_: False)
        begin(shop, arrivals, "people")
        for hour in (1, 2):
            arrivals.come("events", arrivals.rows(hour, 10))
            arrivals.update("people")
        assert arrivals.facts("people")["state"]["versions"] == {"partial_1": 1}
    shop.restart()
    for code in ("other-version", "merges"):
        arrivals.come("events", arrivals.rows(3, 10))
        assert arrivals.update("people").code == code
        assert "state" not in arrivals.facts("people")


NOT_THEIR_OWN = {
    "a filter on groups": "SELECT person, count(*) AS n FROM events GROUP BY person HAVING n > 1",
    "a limit": "SELECT person, count(*) AS n FROM events GROUP BY person ORDER BY person LIMIT 2",
    "a hidden key": "SELECT count(*) AS n FROM events GROUP BY person",
    "a changed key": "SELECT upper(person) AS p, count(*) AS n FROM events GROUP BY person",
    "a hidden sum": "SELECT person, avg(cents) AS mean FROM events GROUP BY person",
    "a changed sum": "SELECT person, sum(cents) + 1 AS s FROM events GROUP BY person",
    "another type": "SELECT person, CAST(count(*) AS INT) AS n FROM events GROUP BY person",
    "sets of groups": "SELECT person, id, count(*) AS n FROM events GROUP BY CUBE (person, id)",
    "groups of groups": """SELECT n, count(*) AS people FROM
        (SELECT person, count(*) AS n FROM events GROUP BY person) GROUP BY n""",
    "a join": """SELECT e.person, e.n, v.m FROM
        (SELECT person, count(*) AS n FROM events GROUP BY person) e JOIN
        (SELECT person, count(*) AS m FROM visits GROUP BY person) v ON e.person = v.person""",
}


def test_only_a_view_that_shows_all_of_its_state_is_its_own(shop, arrivals):
    begin(shop, arrivals)
    names = {f"v{number}": query for number, query in enumerate(NOT_THEIR_OWN.values())}
    for name, query in {**names, **VIEWS}.items():
        shop.table(name, query, refresh="incremental")
    for name in names:
        plan, _ = planned(shop, arrivals, name)
        assert plan.merge.own_state is None, NOT_THEIR_OWN[list(NOT_THEIR_OWN)[int(name[1:])]]
    told = {name: planned(shop, arrivals, name)[0].merge.own_state for name in VIEWS}
    assert told == {
        "people": {"k0": "person", "s0": "n", "s1": "cents", "s2": "first", "s3": "last"},
        "hourly": {"k0": "hour", "s0": "n", "s1": "half"},
        "means": {"k0": "person", "s0": "x", "s1": "n"},
        "everything": {"s0": "n", "s1": "most"},
        "met": {"k0": "person", "s0": "n", "s1": "cents"},
    }


def planned(shop, arrivals: Arrivals, view: str):
    table = shop.project.table(view)
    parents = {name: arrivals.version(name) for name in table.parents}
    updates = derived.DerivedUpdates(shop.project, table)
    return updates.plan_and_key(shop.session.newSession(), shop.request(view, parents=parents))
