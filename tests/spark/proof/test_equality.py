"""A view equals its query: every version, whatever the feeds bring."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.requests.handler import carry_out_offline
from tests.spark.proof.equality import DUCKDB, SPARK, Checker
from tests.spark.proof.shop import START, USUAL, Shop, file_name
from tests.spark.proof.support import run_here, running_here
from tests.support.share import WHOLE

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

FILES = 40 if WHOLE else 10
VIEWS = USUAL if WHOLE else ("hourly", "daily", "near", "regions", "visitors", "busy")


def feed_files(shop: Shop, seed: int) -> list[list]:
    """Files for both feeds as callables, in the steps in which they are released."""
    chance = random.Random(seed)
    makers = []
    for number in range(FILES):
        # Mostly forward, some hours or days late, and so out of order.
        hour = number - chance.choice([0, 0, 0, 1, 5, 30])
        at = START + timedelta(hours=hour)
        kind = chance.choice(["orders", "orders", "visits", "visits", "empty", "same name"])
        makers.append((kind, at, number, chance.randint(1, 20), chance.choice([0, 0, 1, 3])))
    steps = []
    while makers:
        size = chance.randint(3, 8)
        steps.append(makers[:size])
        del makers[:size]
    return steps


def release(
    shop: Shop, kind: str, at: datetime, number: int, rows: int, misfits: int, loaded: list[str]
) -> None:
    csv, parquet = (
        file_name("orders", at, number, ".csv"), file_name("visits", at, number, ".parquet")
    )  # fmt: skip
    match kind:
        case "orders":
            shop.orders(csv, at, rows, misfits)
        case "visits":
            shop.visits(parquet, at, rows)
        case "empty":
            shop.orders(csv, at, 0)
            shop.visits(parquet, at, 0)
        case "same name":
            # In another folder it is another file; in the same one it is loaded already.
            shop.orders(f"again/{csv}", at, rows, misfits)
            shop.visits(f"again/{parquet}", at, rows)
            if loaded:
                shop.orders(loaded[-1], at, rows, misfits, counts=False)


def test_every_version_of_every_table_equals_its_query(tmp_path, spark):
    shop = Shop(tmp_path, VIEWS, seed=7)
    checker = Checker(shop, spark)
    steps = feed_files(shop, seed=11)
    broken = {}
    for step, files in enumerate(steps):
        loaded = sorted(shop.written["orders"])
        for kind, at, number, rows, misfits in files:
            release(shop, kind, at, number, rows, misfits, loaded)
        if step in (0, 1):
            at = START + timedelta(hours=step)
            name = shop.garbage("visits", file_name("visits", at, 900 + step, ".parquet"))
            broken[name] = at
            shop.garbage("visits", f"{name}.tmp")
            shop.garbage("visits", f"_{name}")
        run_here(shop, spark)
        checker.check_base("orders")
    with running_here(shop, spark) as seen:
        for number in range(100, 112 if WHOLE else 108):
            at = START + timedelta(hours=number - 80)
            release(shop, ("orders", "visits")[number % 2], at, number, 10, 1, [])
            if number % 4 == 0:
                seen.wait_for("hourly", seen.done.count("hourly") + 1)
    for name, at in broken.items():
        assert all(name not in commit.metadata["files"] for commit in checker.commits("visits"))
        shop.visits(name, at, 5)
    journal = Journal(journal_path(shop.project), create=False)
    assert "2 files" in carry_out_offline(journal, "retry", "visits", 0.0)["message"]
    journal.close()
    run_here(shop, spark)
    checker.check(by=(SPARK, DUCKDB) if WHOLE else (DUCKDB,))
    versions = {table: len(checker.commits(table)) for table in ("orders", "hourly", "busy")}
    assert min(versions.values()) >= len(steps), versions
