"""SQL that lies in wait, through the real thing: feeds, updates, commits, and two judges.

Clocks change while the rows come: an hour in Berlin, half an hour on Lord Howe Island.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from freshline.sql.query.records import Buckets, Keys
from freshline.sql.strategy import strategy
from tests.spark.conftest import Shop
from tests.spark.views.arrivals import edge, table
from tests.spark.views.by_hand import statements
from tests.spark.views.in_duckdb import in_duckdb
from tests.spark.views.lie_in_wait import ANYWHERE, CLOCKS, PART, SALE, SHOP, Trap
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

STARTS = {
    "UTC": datetime(2024, 2, 29, tzinfo=UTC),
    # 03:00 becomes 02:00 at 01:00 UTC; the 25 hours of that day began at 22:00.
    "Europe/Berlin": datetime(2024, 10, 27, 0, tzinfo=UTC),
    # 02:00 becomes 02:30 at 15:30 UTC; a day of 23.5 hours.
    "Australia/Lord_Howe": datetime(2024, 10, 5, 15, tzinfo=UTC),
}
SHOPS = ("a", "b", "it's", "back\\slash", "A", "a ", "${spark.app.name}", None)


def sales(chance: random.Random, count: int, start: datetime, first_id: int) -> pa.Table:
    rows = []
    for number in range(count):
        at = edge(chance, start, late=chance.random() < 0.3)
        rows.append(
            {
                "id": first_id + number,
                "at": chance.choice([None, *[at] * 12]),
                "wall": chance.choice([None, *[at.replace(tzinfo=None)] * 12]),
                "day": chance.choice([None, *[at.date()] * 12]),
                "shop": chance.choice(SHOPS),
                "amount": chance.choice([None, Decimal(chance.randrange(-900, 90_000)) / 100]),
                "rate": Decimal(chance.randrange(1, 99_999)) / 100_000,
                "weight": chance.choice([None, chance.randrange(100) / 8]),
                "pieces": chance.choice([None, 1, 2, 3, 4]),
                "sum": chance.choice([None, 0, 1, 2]),
                "hour": at.replace(minute=0, second=0, microsecond=0),
                "flag": chance.choice([None, True, False]),
            }
        )
    return table(SALE, rows)


def parts(chance: random.Random, count: int, start: datetime, ids: range) -> pa.Table:
    rows = [
        {
            "id": chance.choice([None, *[chance.choice(ids)] * 9]),
            "at": chance.choice([None, *[edge(chance, start, chance.random() < 0.3)] * 9]),
            "kind": chance.choice(["x", "y", None]),
            "price": chance.choice([None, Decimal(chance.randrange(99_999)) / 1000]),
            "n": chance.choice([None, 1, 2, 3]),
        }
        for _ in range(count)
    ]
    return table(PART, rows)


def warehouse(spark, folder, traps, zone) -> Proving:
    proving = Proving(Shop(folder, session_in(spark, zone)), duckdb_zone=zone)
    shops = [("a", "Ulm", 1), ("b", None, 2), ("it's", "Bonn", 3), ("none", "Rom", 4)]
    rows = [dict(zip(SHOP.columns, row, strict=True)) for row in shops]
    proving.shop.delta("static/shop", table(SHOP, rows))
    for source in (SALE, PART):
        proving.feed(source)
    for trap in traps:
        query = over_statics(trap.query, ["shop"])
        proving.view(trap.name, query, duckdb=in_duckdb(trap, zone))
    proving.plan()
    return proving


def planned(proving: Proving, traps: tuple[Trap, ...]) -> dict[str, str]:
    """The strategies that analysis finds; merge where it is one of two."""
    told = {}
    for trap in traps:
        plan = proving.shop.plans[trap.name]
        way = strategy(proving.shop.project.table(trap.name), plan).name.split("-")[-1]
        told[trap.name] = "merge" if way == "recompute" and proving.merges(trap.name) else way
    return told


def prove(proving: Proving, traps: tuple[Trap, ...], start: datetime) -> None:
    """Rows come and are changed by hand; every commit is judged, every strategy told."""
    chance = random.Random(str(start))
    expected = {trap.name: ["full"] for trap in traps}
    ways = {trap.name: trap.way for trap in traps}
    merging = [view for view, way in ways.items() if way == "merge"]

    def come(step: int, count: int) -> None:
        proving.arrive("sale", sales(chance, count, start + step * HOUR, 100 * step))
        ids = range(100 * step + count)
        proving.arrive("part", parts(chance, count, start + step * HOUR, ids))

    def updated(views: list[str], way: Callable[[str], str]) -> None:
        proving.step(views)
        for view in views:
            expected[view].append(way(view))

    def cheap_to_merge() -> None:
        for view in merging:
            proving.dear(view, "bucket-recompute")

    def taken_back(view: str) -> str:
        plan = proving.shop.plans[view]
        apart = isinstance(plan.buckets, Buckets) or isinstance(plan.keys, Keys)
        return "recompute" if apart or proving.tells_groups(view) else "full"

    come(0, 24)
    proving.step(list(ways))
    cheap_to_merge()
    come(1, 16)
    updated([view for view, way in ways.items() if way != "recompute"], ways.__getitem__)
    come(2, 10)
    updated(merging, ways.__getitem__)
    proving.by_hand(*BY_HAND)
    come(3, 8)
    telling = [view for view in merging if taken_back(view) == "recompute"]
    recomputed = [view for view, way in ways.items() if way == "recompute"]
    updated(list(ways) if WHOLE else [*telling[:2], *recomputed], taken_back)
    if WHOLE:
        cheap_to_merge()
        come(4, 8)
        updated([view for view, way in ways.items() if way != "full"], ways.__getitem__)
    assert {
        view: [re.sub("^(bucket|group|key)-", "", name) for name, _ in told]
        for view, told in proving.told.items()
    } == expected


HOUR = timedelta(hours=1)
BY_HAND = statements("""
    DELETE FROM {sale} WHERE id % 5 = 1;
    UPDATE {sale} SET shop = nullif(coalesce(shop, 'A'), 'b'), at = at + INTERVAL 1 HOUR,
        day = date_add(day, 1), wall = wall - INTERVAL 30 MINUTES, pieces = 5 - pieces,
        flag = NOT flag WHERE id % 7 = 2;
    MERGE INTO {part} p USING (SELECT id, max(at) AS at FROM {sale} GROUP BY id) s
        ON p.id = s.id AND p.n > 1
        WHEN MATCHED AND p.kind IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET at = s.at, price = p.price + 1, kind = nullif(p.kind, 'y')
        WHEN NOT MATCHED AND s.id % 10 = 3 THEN INSERT (id, at, n) VALUES (s.id, s.at, 9);
""")


def test_there_are_enough_of_them():
    assert len({trap.name for trap in (*ANYWHERE, *CLOCKS)}) == len(ANYWHERE) + len(CLOCKS)
    assert len(ANYWHERE) + len(CLOCKS) >= 60
    assert date(2024, 10, 27).weekday() == 6, "clocks change on Sundays"


@pytest.fixture(scope="module")
def anywhere(spark, tmp_path_factory):
    return warehouse(spark, tmp_path_factory.mktemp("traps"), ANYWHERE, "UTC")


def test_each_of_them_has_the_strategy_that_is_right(anywhere):
    assert planned(anywhere, ANYWHERE) == {trap.name: trap.way for trap in ANYWHERE}


def test_sql_that_lies_in_wait(anywhere):
    prove(anywhere, tuple(share(ANYWHERE, part=20)), STARTS["UTC"])


@pytest.mark.parametrize(
    ("zone", "first"),
    [
        ("Europe/Berlin", 0),
        pytest.param("Australia/Lord_Howe", 1, marks=pytest.mark.proof),
    ],
)
def test_clocks_that_change(spark, tmp_path, zone, first):
    doubled = [trap for trap in CLOCKS if trap.name == "an_instant_made_a_wall_clock"]
    proved = tuple(share(CLOCKS, part=4, first=first, always=doubled))
    # Zones differ in the bounds, not in the strategies.
    traps = CLOCKS if WHOLE or not first else proved
    proving = warehouse(spark, tmp_path, traps, zone)
    assert planned(proving, traps) == {trap.name: trap.way for trap in traps}
    prove(proving, proved, STARTS[zone])
