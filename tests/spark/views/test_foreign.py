"""Queries that were wrong once, through the real thing; each commit against Spark's own answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from freshline.sql.query.records import Source
from freshline.sql.strategy import strategy
from tests.spark.conftest import Shop
from tests.spark.views.arrivals import table
from tests.spark.views.by_hand import statements
from tests.spark.views.foreign import CLICKS, FOREIGN, ORDERS, TIERS, USERS
from tests.spark.views.lie_in_wait import Trap
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.share import share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

START = datetime(2024, 2, 29, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def orders(first: int, count: int) -> pa.Table:
    """Every user's orders, their times 7 minutes apart, a third of them an hour late."""
    rows = []
    for at in range(first, first + count):
        ts = START + 7 * at * MINUTE - (at % 3 == 1) * 60 * MINUTE
        rows.append(
            {
                "id": at,
                "ts": None if at % 17 == 5 else ts,
                "shipped": ts + 20 * MINUTE if at % 4 else None,
                "usr": None if at % 13 == 7 else at * at % 5,
                "amount": None if at % 11 == 3 else at % 5,
                "price": Decimal(at * 7919 + 1).scaleb(-18) * 10 ** (at % 9),
            }
        )
    return table(ORDERS, rows)


def clicks(first: int, count: int) -> pa.Table:
    rows = [
        {
            "id": at,
            "ts": None if at % 19 == 4 else START + (7 * at - 25) * MINUTE,
            "usr": None if at % 7 == 3 else 2 + at % 4,
            "n": at % 3,
        }
        for at in range(first, first + count)
    ]
    return table(CLICKS, rows)


def fixed(source: Source, column: str, rows: dict[int, str]) -> pa.Table:
    return table(source, [{"usr": usr, column: value} for usr, value in rows.items()])


BY_HAND = statements("""
    DELETE FROM {orders} WHERE id % 6 = 1;
    UPDATE {orders} SET usr = usr + 1, ts = ts + INTERVAL 1 HOUR WHERE id % 7 = 2;
    DELETE FROM {clicks} WHERE id % 5 = 2;
""")


@pytest.fixture(scope="module")
def foreign(spark, tmp_path_factory):
    proving = Proving(Shop(tmp_path_factory.mktemp("foreign"), session_in(spark, "UTC")))
    shop = proving.shop
    shop.delta("static/users", fixed(USERS, "name", {0: "o", 1: "i", 4: "iv", 9: "ix"}))
    shop.delta("static/tiers", fixed(TIERS, "tier", {1: "gold", 3: "tin", 5: "lead"}))
    for source in (ORDERS, CLICKS):
        proving.feed(source)
    for trap in FOREIGN:
        proving.view(trap.name, over_statics(trap.query, ["users", "tiers"]))
    proving.plan()
    return proving


def way(proving: Proving, trap: Trap) -> str:
    plan = proving.shop.plans[trap.name]
    return strategy(proving.shop.project.table(trap.name), plan).name.split("-")[-1]


def test_each_has_the_strategy_that_is_right(foreign):
    found = {trap.name: way(foreign, trap) for trap in FOREIGN}
    # Views with buckets as well as a state are recomputed until that was slow.
    either = {name for name in found if foreign.merges(name)}
    wanted = {trap.name: trap.way for trap in FOREIGN}
    assert {
        name: wanted[name] if name in either and found[name] == "recompute" else found[name]
        for name in found
    } == wanted


@pytest.mark.proof
def test_every_version_equals_its_query(foreign):
    views = [trap.name for trap in share(FOREIGN, part=1)]
    foreign.arrive("orders", orders(0, 16))
    foreign.arrive("clicks", clicks(0, 9))
    foreign.step(views)
    for view in views:
        foreign.dear(view, "bucket-recompute")
    foreign.arrive("orders", orders(16, 12))  # rows of one parent alone
    foreign.step(views)
    foreign.arrive("clicks", clicks(9, 9))
    foreign.step(views)
    foreign.by_hand(*BY_HAND)
    foreign.arrive("clicks", clicks(18, 6))
    foreign.step(views)


ENDS = {
    "by_time": """SELECT CASE WHEN id >= 0 THEN shipped END AS at, count(*) AS n FROM orders
        GROUP BY 1""",
    "by_wall": """SELECT CAST(CASE WHEN id >= 0 THEN shipped END AS TIMESTAMP_NTZ) AS at,
        count(*) AS n FROM orders GROUP BY 1""",
    "by_day": """SELECT CAST(CASE WHEN id >= 0 THEN shipped END AS DATE) AS at, count(*) AS n
        FROM orders GROUP BY 1""",
    "by_two": """SELECT CASE WHEN id >= 0 THEN shipped END AS at, usr, count(*) AS n FROM orders
        GROUP BY 1, 2""",
    "by_hour": "SELECT date_trunc('hour', shipped) AS h, count(*) AS n FROM orders GROUP BY 1",
}


def differences(proving: Proving, view: str) -> list[str]:
    """Rows that the view has and its query has not, or the other way round, as text.

    Spark tells them, since Python has no year 10000 and no year 0.
    """
    session = proving.shop.session.newSession()
    for name in ("orders", view):
        path = proving.shop.path(name)
        session.sql(f"SELECT * FROM delta.`{path}`").createOrReplaceTempView(name)
    query, rows = ENDS[view], f"SELECT * FROM {view}"
    found = session.sql(
        f"SELECT to_json(struct(*)) FROM (({query}) EXCEPT ALL ({rows})) UNION ALL "
        f"SELECT to_json(struct(*)) FROM (({rows}) EXCEPT ALL ({query}))"
    )
    return [row[0] for row in found.collect()]


@pytest.mark.proof
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_groups_at_the_ends_of_time(spark, tmp_path, zone):
    proving = Proving(Shop(tmp_path, session_in(spark, zone)))
    proving.feed(ORDERS)
    for name, query in ENDS.items():
        proving.view(name, query)
    proving.plan()

    def updated() -> dict[str, list[str]]:
        for view in ENDS:
            proving.update(view, judged=False)
        return {view: differences(proving, view) for view in ENDS}

    right: dict[str, list[str]] = {view: [] for view in ENDS}
    proving.arrive("orders", table(ORDERS, [{"id": 0, "usr": 1, "ts": START, "shipped": START}]))
    assert updated() == right
    ends = ("TIMESTAMP'9999-12-31 23:59:59'", "TIMESTAMP'0001-01-01 00:00:00'", "NULL")
    for _ in range(2):
        for end in ends:
            proving.by_hand(
                f"INSERT INTO {{orders}} (id, usr, ts, shipped) VALUES (1, 2, NULL, {end})"
            )
        assert updated() == right
    proving.by_hand("UPDATE {orders} SET usr = 3 WHERE year(shipped) > 5000")
    assert updated() == right
    proving.by_hand("DELETE FROM {orders} WHERE year(shipped) < 5")
    assert updated() == right
    ways = {view: {name for name, _ in told} for view, told in proving.told.items()}
    assert ways.pop("by_hour") == {"full", "bucket-recompute"}
    assert set(map(frozenset, ways.values())) == {
        frozenset({"full", "group-merge", "group-recompute"})
    }
