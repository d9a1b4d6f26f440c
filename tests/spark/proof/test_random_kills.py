"""SIGKILL at random moments while files arrive, twenty times."""

from __future__ import annotations

import random
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta

import pytest

from freshline.runtime.journal.paths import journal_path
from tests.spark.proof.equality import DUCKDB, Checker
from tests.spark.proof.shop import START, Shop, file_name
from tests.spark.proof.support import Child, run_here

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1800)]

KILLS = 20
FILE_EVERY_S = 0.5


def produce(shop: Shop, until: threading.Event) -> None:
    """Write files for both feeds, late ones among them, until told to stop."""
    number = 0
    while not until.wait(FILE_EVERY_S):
        number += 1
        at = START + timedelta(hours=number / 10 - shop.chance.choice([0, 0, 0, 2, 30]))
        if number % 2:
            shop.orders(file_name("orders", at, number, ".csv"), at, 10, number % 3)
        else:
            shop.visits(file_name("visits", at, number, ".parquet"), at, 6)


def test_random_kills_lose_nothing_and_double_nothing(tmp_path, spark):
    shop = Shop(tmp_path, ("hourly", "daily", "visitors"), master="local[2]")
    chance = random.Random(20)
    enough = threading.Event()
    producer = threading.Thread(target=produce, args=(shop, enough))
    producer.start()
    try:
        for _ in range(KILLS):
            with Child(shop) as child:
                child.wait_until_ready()
                # Some commits further, however busy the machine is, and some moments more.
                child.wait_for_commits(chance.randint(0, 3))
                with pytest.raises(TimeoutError):  # it must not end by itself
                    child.ended_within(chance.uniform(0.0, 1.0))
                # A process may die alone or with its JVM; alone, the JVM lives on for a
                # moment while the next warehouse starts.
                child.kill(group=chance.random() < 0.5)
    finally:
        enough.set()
        producer.join()
    run_here(shop, spark)
    checker = Checker(shop, spark)
    checker.check(by=(DUCKDB,))
    with closing(sqlite3.connect(journal_path(shop.project))) as journal:
        (cut_off,) = journal.execute("SELECT count(*) FROM updates WHERE state='lost'").fetchone()
    assert cut_off >= KILLS / 4, "most kills came when nothing was going on"
