"""Nexmark's queries as views: each commit equals its query, also of late and rewritten rows."""

from __future__ import annotations

import pytest

from freshline.delta.log import last_commit
from freshline.sql.strategy import strategy
from tests.spark.conftest import Shop
from tests.spark.generated.running import difference
from tests.spark.nexmark.auctions import QUERIES, SIDE, STREAMS, arrivals, table
from tests.spark.views.judges import SparkJudge, stored
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

BY_HAND = (
    "DELETE FROM {bid} WHERE auction % 5 = 3",
    "UPDATE {auction} SET expires = expires + INTERVAL 30 SECONDS WHERE category = 11",
    "UPDATE {bid} SET price = price + 1000 WHERE bidder % 4 = 1",
)
EVENTS, STEPS = (150, 6) if WHOLE else (60, 3)
PROVED = [each.name for each in share(QUERIES, part=8, first=1)]

STRATEGIES = {
    "append": {"q0", "q1", "q2", "q3", "q13", "q14", "q20", "q21", "q22"},
}
"""What analysis must allow at the least."""


@pytest.fixture(scope="module")
def nexmark(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nexmark")
    proving = Proving(Shop(folder, session_in(spark, "Europe/Berlin")))
    side = [{"key": key, "value": f"side {key}"} for key in range(4)]
    proving.shop.delta("static/side", table(SIDE, side))
    for name, columns in STREAMS.items():
        proving.shop.feed(
            f"{name}_feed", "parquet", ", ".join(f"{c} {k}" for c, k in columns.items())
        )
        proving.shop.table(name, f"SELECT * FROM STREAM {name}_feed", time_column="at")
    for each in QUERIES:
        proving.view(each.name, over_statics(each.sql, ["side"]))
    proving.plan()
    return proving


def test_what_is_row_by_row_and_what_joins_rows_is_appended(nexmark):
    table_of = nexmark.shop.project.table
    found = {name: strategy(table_of(name), plan).name for name, plan in nexmark.shop.plans.items()}
    appended = {name for name, way in found.items() if way == "append"}
    assert appended == STRATEGIES["append"]


def test_every_commit_equals_its_query(nexmark):
    shop, judge = nexmark.shop, SparkJudge(nexmark.shop.session)
    side = {"side": (f"{shop.root}/static/side", 0)}
    texts = {each.name: each.sql for each in QUERIES}
    wrong = {}
    for step in range(STEPS):
        for name, rows in arrivals(step, 20, EVENTS).items():
            if (step, name) != (1, "person"):
                nexmark.arrive(name, rows)
        if step >= 2:
            nexmark.by_hand(BY_HAND[step % len(BY_HAND)])
        for name in PROVED:
            parents = {each: nexmark.version(each) for each in shop.project.table(name).parents}
            result = shop.executor.run(shop.request(name, parents=parents))
            commit = last_commit(shop.path(name))
            assert commit is not None
            recorded = commit.metadata["parents"]
            pins = {each: (shop.path(each), int(recorded[each])) for each in parents}
            expected = judge.rows(texts[name], {**pins, **side})
            told = difference(stored(shop.path(name), commit.version), expected)
            if told:
                wrong[name, step, result.strategy] = told
    assert wrong == {}
