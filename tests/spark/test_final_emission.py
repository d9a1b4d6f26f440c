"""`freshline.emit` = `final`: a bucket is shown when it is complete, then once, or corrected."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import UserError
from freshline.sql.query.records import Buckets, Reads, ViewPlan
from freshline.sql.query.zone import HOUR_US
from tests.spark.arrivals import START, Arrivals
from tests.spark.test_incremental_updates import BY_HOUR, HOURLY, NO, arrivals, view
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

__all__ = ["arrivals", "view"]


def row(at: datetime | None, cents: int = 1) -> dict[str, object]:
    return {"id": 1, "at": at, "person": "ann", "cents": cents}


def hours(count: float) -> datetime:
    return START + timedelta(hours=count)


def shown(arrivals: Arrivals) -> list[float]:
    """Hours since the start of the buckets that the view has."""
    found = [each["hour"] for each in arrivals.shop.rows("hourly")]
    return sorted((hour - START) / timedelta(hours=1) for hour in found)


def test_a_bucket_appears_when_its_hour_is_over(arrivals, view):
    view("hourly", HOURLY, ViewPlan("joint", BY_HOUR, NO), emit="final")

    def step(*rows: dict[str, object], fresh: datetime) -> tuple[str, int, list[float]]:
        arrivals.come("events", rows, fresh.timestamp())
        result = arrivals.update("hourly")
        return result.strategy, arrivals.facts("hourly")["corrected"], shown(arrivals)

    first = [row(hours(0)), row(hours(0.5)), row(hours(1)), row(hours(1.2))]
    # The last microsecond of the first hour is not there yet.
    assert step(*first, fresh=hours(1) - timedelta(microseconds=2)) == ("full", 0, [])
    assert step(fresh=hours(1) - timedelta(microseconds=1)) == ("bucket-recompute", 0, [0.0])
    assert step(row(hours(5)), fresh=hours(1.5)) == ("bucket-recompute", 0, [0.0])
    assert step(row(hours(1.9)), fresh=hours(2)) == ("bucket-recompute", 0, [0.0, 1.0])
    before = arrivals.shop.rows("hourly")
    assert step(fresh=hours(2)) == ("bucket-recompute", 0, [0.0, 1.0])
    assert arrivals.shop.rows("hourly") == before
    # A late row corrects the hour that it belongs to.
    assert step(row(hours(0.1), 50), fresh=hours(2)) == ("bucket-recompute", 1, [0.0, 1.0])
    arrivals.update("hourly", full=True)
    assert shown(arrivals) == [0.0, 1.0]


def test_rows_without_a_bucket_are_shown_at_once(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), emit="final")
    for number in range(2):
        arrivals.come("events", [row(None), row(hours(3))], hours(1).timestamp())
        arrivals.update("hourly")
        assert [(each["hour"], each["n"]) for each in arrivals.shop.rows("hourly")] == [
            (None, number + 1)
        ]


PAID = """SELECT date_trunc('HOUR', at) AS hour, timestamp_seconds(cents) AS paid, count(*) AS n
    FROM events GROUP BY 1, 2"""


def test_no_row_is_missing_after_another_column_holds_the_buckets(arrivals, view):
    """As when somebody makes another column of the parent its `freshline.time`."""
    view("hourly", PAID, ViewPlan(NO, BY_HOUR, NO), emit="final")
    early, late = (round(hours(count).timestamp()) for count in (12, 30.5))
    rows = [row(hours(20.5), early), row(hours(17), early), row(hours(29.5), late)]
    arrivals.come("events", rows, hours(20).timestamp())
    arrivals.update("hourly")
    assert shown(arrivals) == [17]
    ten_us = 10 * HOUR_US  # in these rows the two times are no further apart
    plan = ViewPlan(NO, Buckets("paid", {"events": Reads("at", -ten_us, ten_us)}), NO)
    view("hourly", PAID, plan, emit="final")
    arrivals.come("events", [row(hours(38), round(hours(39).timestamp()))], hours(40).timestamp())
    found = arrivals.update("hourly")
    assert shown(arrivals) == [17, 20]
    assert (found.strategy, found.code) == ("full", "parent-redefined")
    arrivals.come("events", [], hours(41).timestamp())
    assert arrivals.update("hourly").strategy == "bucket-recompute"
    assert shown(arrivals) == [17, 20, 29]


def test_a_view_without_buckets_cannot_complete_them(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, NO, NO), emit="final")
    arrivals.come("events", [row(hours(0))])
    with pytest.raises(UserError) as raised:
        arrivals.update("hourly")
    assert raised.value.code == "no-buckets"
    assert raised.value.rule == "the test leaves it out (NONE)"


MATCHED = """SELECT e.id, e.at, v.id AS visit FROM events e LEFT JOIN visits v
    ON v.at BETWEEN e.at AND e.at + INTERVAL 1 HOUR"""
VISITED = """SELECT date_trunc('HOUR', at) AS hour, count(visit) AS n FROM matched GROUP BY 1"""


@pytest.mark.parametrize("emit", [pytest.param("early", marks=pytest.mark.proof), "final"])
def test_over_a_view_a_bucket_waits_for_what_the_view_waits_for(arrivals, shop, emit):
    shop.table("matched", MATCHED, refresh="incremental", emit=emit)
    shop.table("hourly", VISITED, refresh="incremental", emit="final")

    def step(fresh: datetime, visit: datetime | None = None) -> list[tuple[float, int]]:
        arrivals.come("events", [row(hours(0.5))] if not shown_at else [], fresh.timestamp())
        arrivals.come("visits", [row(visit)] if visit else [], fresh.timestamp())
        shown_at.append(fresh)
        run = shop.executor.run
        versions = {name: arrivals.version(name) for name in ("events", "visits")}
        to_s = fresh.timestamp()
        run(shop.request("matched", parents=versions, from_s=to_s, to_s=to_s))
        arrivals.update("hourly", from_s=to_s, to_s=to_s)
        assert arrivals.facts("hourly")["corrected"] == 0
        found = shop.rows("hourly")
        return [((each["hour"] - START) / timedelta(hours=1), each["n"]) for each in found]

    shown_at: list[datetime] = []
    assert step(hours(1)) == []
    # The click of an order of the first hour may come until the second hour is over.
    assert step(hours(1.9), visit=hours(1.4)) == []
    assert step(hours(2) - 2 * US) == []
    assert step(hours(2) - US) == [(0.0, 1)]
    assert step(hours(5)) == [(0.0, 1)]


def test_over_a_view_whose_rows_are_never_complete_nothing_can_be_final(arrivals, shop):
    shop.table("newest", "SELECT person, max(at) AS at FROM events GROUP BY person")
    query = "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM newest GROUP BY 1"
    shop.table("hourly", query, emit="final")
    arrivals.come("events", [row(hours(0))])
    shop.executor.run(shop.request("newest", parents={"events": arrivals.version("events")}))
    with pytest.raises(UserError) as raised:
        arrivals.update("hourly")
    assert raised.value.code == "no-buckets"
    assert "when the rows of newest are complete by at is unknown" in raised.value.rule


HOUR, US = timedelta(hours=1), timedelta(microseconds=1)


def times(arrivals: Arrivals, fresh: datetime) -> list[datetime | None]:
    """Event times of some rows: about the edge of what is complete, late, early, none at all."""
    chance = arrivals.chance
    edge = START + HOUR * ((fresh - START) // HOUR)
    made: list[datetime | None] = []
    for _ in range(chance.choice((0, 1, 2, 6))):
        at = edge + HOUR * chance.choice((-30, -3, -1, 0, 0, 0, 1, 4))
        at += chance.choice((-US, timedelta(), US, timedelta(minutes=chance.randrange(60))))
        made.append(chance.choice((None, at, at, at, at, at, at)))
    return made


def hour_of(at: datetime | None) -> datetime | None:
    return None if at is None else START + HOUR * ((at - START) // HOUR)


@pytest.mark.parametrize("seed", range(12 if WHOLE else 1))
@pytest.mark.timeout(600)
def test_whatever_comes_a_bucket_is_shown_complete_and_once_but_for_corrections(
    arrivals, view, seed
):
    """A plain account of hours beside the view: which are complete, and which were corrected."""
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), emit="final")
    arrivals.chance.seed(seed)
    chance, fresh, complete_until = arrivals.chance, hours(0.5), None
    corrections = 0
    shown_before: dict[datetime | None, tuple[int, int]] = {}
    rows: dict[int, tuple[datetime | None, int]] = {}
    written: defaultdict[datetime | None, list[int]] = defaultdict(list)
    for _ in range(14 if WHOLE else 9):
        touched = set()
        if rows and chance.random() < 0.25:  # a person takes rows away again
            digit = chance.randrange(5)
            gone = {number for number in rows if number % 5 == digit}
            touched |= {hour_of(rows.pop(number)[0]) for number in gone}
            arrivals.go("events", f"id % 5 = {digit}")
        come = []
        for at in times(arrivals, fresh):
            rows[arrivals.next_id] = at, chance.randrange(9)
            come.append(row(at, rows[arrivals.next_id][1]) | {"id": arrivals.next_id})
            touched.add(hour_of(at))
            arrivals.next_id += 1
        later = fresh + chance.choice((0 * US, US, HOUR / 2, HOUR - US, HOUR, 3 * HOUR))
        fresh = max(fresh, chance.choice((later, START + HOUR * ((later - START) // HOUR) - US)))
        arrivals.come("events", come, fresh.timestamp())
        result = arrivals.update("hourly")

        until = fresh - (HOUR - US)
        groups: defaultdict[datetime | None, list[int]] = defaultdict(list)
        for at, cents in rows.values():
            groups[hour_of(at)].append(cents)
        expected = {
            hour: (len(cents), sum(cents))
            for hour, cents in groups.items()
            if hour is None or hour <= until
        }
        found = arrivals.shop.rows("hourly")
        assert {each["hour"]: (each["n"], each["cents"]) for each in found} == expected
        assert len(found) == len(expected)
        corrected = 0
        if complete_until is not None:
            assert result.strategy == "bucket-recompute"
            late = {hour for hour in touched if hour is not None and hour <= complete_until}
            corrected = len(late & groups.keys())
        assert arrivals.facts("hourly")["corrected"] == corrected
        corrections += corrected
        for hour in expected.keys() | shown_before.keys():
            if expected.get(hour) != shown_before.get(hour):
                written[hour].append(result.version)
        shown_before, complete_until = expected, until
    # What its children are told: an hour once, and again only where rows came late or went.
    told: defaultdict[datetime | None, set[int]] = defaultdict(set)
    changes = deltalake.DeltaTable(arrivals.shop.path("hourly")).load_cdf(starting_version=0)
    for change in pa.table(changes.read_all()).to_pylist():
        told[change["hour"]].add(change["_commit_version"])
    assert {hour: sorted(versions) for hour, versions in told.items()} == written
    assert corrections, "no hour was corrected"
