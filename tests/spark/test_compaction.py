"""Compaction and VACUUM on Spark and Delta: fewer files, the same rows, and nobody notices."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from pathlib import Path

import deltalake
import pytest

from freshline.core.errors import PlatformError
from freshline.delta import retention, small_files
from freshline.delta.changelog import logged_changes
from freshline.delta.loaded import folded
from freshline.delta.log import last_commit, oldest_version, same_rows
from freshline.delta.small_files import files_of
from freshline.failpoints import armed
from freshline.project.model import MaintenanceSettings
from freshline.spark.engine import jvm
from freshline.spark.upkeep import compaction
from freshline.spark.upkeep.vacuum import vacuum
from tests.spark.conftest import MIDNIGHT_S, Shop

pytestmark = pytest.mark.spark

DAY_S = 86_400.0


@pytest.fixture(autouse=True)
def _three_files_are_many(monkeypatch):
    monkeypatch.setattr(small_files, "MOST_FILES", 3)


@pytest.fixture(scope="module")
def three_files(spark, tmp_path_factory):
    """Orders of three files, an hour each."""
    shop = Shop(tmp_path_factory.mktemp("three"), spark)
    shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, price BIGINT")
    shop.table("orders", "SELECT * FROM STREAM f", time_column="at")
    for hour in range(3):
        brought(shop, hour)
    return shop


def brought(shop, hour):
    (shop.root / "feed" / "f" / f"{hour}.csv").write_text(
        f"{hour},2026-01-01T{hour:02d}:00:00Z,{hour}\n{hour + 100},2026-01-01T00:30:00Z,1\n"
    )
    return shop.load("orders", f"{hour}.csv").version


@pytest.fixture
def orders(shop, three_files):
    """The same in a copy, and a function that brings the next file."""
    shop.begin_as(three_files)
    return lambda hour: brought(shop, hour)


def newest(path):
    commit = last_commit(path)
    assert commit is not None
    return commit


def upkeep(shop, table, kind="compact"):
    request = shop.request(table, upkeep=kind, definition="")
    if kind == "vacuum":
        shop.numbers[table] -= 1  # it makes no commit
    return shop.executor.run(request)


def test_small_files_become_one_and_no_row_changes(shop, orders, spark):
    before = shop.rows("orders")
    metadata = newest(shop.path("orders")).metadata
    done = upkeep(shop, "orders")
    assert (done.strategy, done.code, done.rows, done.version) == ("compact", "small-files", 0, 3)
    assert done.reason.startswith("3 small files were put together, 0.0 MB")
    assert len(files_of(shop.path("orders"))) == 1
    assert shop.rows("orders") == before
    commit = newest(shop.path("orders"))
    assert commit.update == 4
    assert {key: commit.metadata[key] for key in ("strategy", "rows", "files", "from", "to")} == {
        "strategy": "compact", "rows": 0, "files": [], "from": metadata["to"], "to": metadata["to"],
    }  # fmt: skip
    assert commit.metadata["rewritten"]["rows"] == 6
    assert deltalake.DeltaTable(shop.path("orders")).history(1)[0]["operation"] == "OPTIMIZE"
    # Nobody who reads changes sees any.
    assert not logged_changes(shop.path("orders"), 2, 3)
    feed = spark.read.format("delta").option("readChangeFeed", "true")
    changes = feed.option("startingVersion", 3).load(shop.path("orders"))
    assert changes.count() == 0
    assert same_rows(shop.path("orders"), 2, 3)
    assert not same_rows(shop.path("orders"), 1, 3)


def test_one_that_is_given_up_leaves_the_table_to_its_next_update(shop, orders, monkeypatch):
    before, version = shop.rows("orders"), newest(shop.path("orders")).version
    request = shop.request("orders", upkeep="compact", definition="")
    ended = threading.Event()
    executor = shop.executor  # the property makes one, and two threads would make two

    def give_up_until_it_ends():
        while not ended.wait(0.001):
            executor.give_up("orders", request.number)

    def hangs(name):
        """A job of milliseconds may have ended whenever somebody gives it up; this one has not."""
        if name == "compact.after_data":
            sleep = "reflect('java.lang.Thread', 'sleep', id + 900000)"
            shop.session.range(1).selectExpr(sleep).collect()

    giving_up = threading.Thread(target=give_up_until_it_ends)
    giving_up.start()
    try:
        with monkeypatch.context() as patched:
            patched.setattr(compaction, "failpoint", hangs)
            with pytest.raises(PlatformError, match="cancelled"):
                executor.run(request)
    finally:
        ended.set()
        giving_up.join()
    assert (shop.rows("orders"), newest(shop.path("orders")).version) == (before, version)
    shop.numbers["orders"] -= 1  # the next update has this number, and its jobs this name
    assert orders(3) == version + 1
    assert len(shop.rows("orders")) == 8


@pytest.mark.proof
def test_done_again_it_is_the_same_commit_and_the_next_update_goes_on(shop, orders):
    upkeep(shop, "orders")
    shop.numbers["orders"] -= 1
    shop.restart()
    assert upkeep(shop, "orders").repeated
    assert orders(3) == 4
    assert len(shop.rows("orders")) == 8


def test_partitions_are_merged_each_for_itself(shop):
    folder = shop.feed("f", "csv", "id BIGINT, day STRING")
    shop.table("days", "SELECT * FROM STREAM f", partitioned_by=("day",))
    for number in range(3):
        (folder / f"{number}.csv").write_text(f"{number},a b\n{number},c%d\n{number + 10},\n")
        shop.load("days", f"{number}.csv")
    before = shop.rows("days")
    upkeep(shop, "days")
    files = files_of(shop.path("days"))
    assert len({file.partition for file in files}) == len(files) == 3
    assert shop.rows("days") == before


def test_what_somebody_else_wrote_is_not_hidden_under_a_commit_of_ours(shop, orders):
    table = deltalake.DeltaTable(shop.path("orders"))
    deltalake.write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")
    with pytest.raises(PlatformError, match="written by somebody else"):
        upkeep(shop, "orders")


def test_views_go_on_incrementally_over_compactions_of_their_parent_and_of_themselves(shop, orders):
    shop.table("twice", "SELECT id, price * 2 AS twice FROM orders")
    query = "SELECT date_trunc('HOUR', at) AS h, sum(price) AS s FROM orders GROUP BY 1"
    shop.table("hourly", query, refresh="incremental")
    for version in range(3):
        shop.derive("twice", orders=version)
    shop.derive("hourly", orders=2)
    for view, files in (("twice", 1), ("hourly", 1)):
        before = newest(shop.path(view)).metadata
        upkeep(shop, view)
        assert len(files_of(shop.path(view))) == files
        carried = newest(shop.path(view)).metadata
        for key in ("parents", "settings", "definition", "to"):
            assert carried[key] == before[key], key
    upkeep(shop, "orders")
    version = orders(3)
    for view, strategy in (("twice", "append"), ("hourly", "bucket-recompute")):
        done = shop.derive(view, orders=version)
        assert (done.strategy, done.read_rows) == (strategy, 2)
    rows = shop.rows("orders")
    assert sorted((row["id"], row["twice"]) for row in shop.rows("twice")) == sorted(
        (row["id"], row["price"] * 2) for row in rows
    )
    sums: dict[object, int] = {}
    for row in rows:
        hour = row["at"].replace(minute=0)
        sums[hour] = sums.get(hour, 0) + row["price"]
    assert {row["h"]: row["s"] for row in shop.rows("hourly")} == sums


@pytest.mark.proof
def test_readers_see_no_change_while_it_happens(shop, orders):
    before = shop.rows("orders")
    for point in ("compact.before_data", "compact.after_data", "compact.before_commit"):
        with armed(f"{point}=eio"), pytest.raises(OSError, match="Input/output"):
            upkeep(shop, "orders")
        shop.numbers["orders"] -= 1
        assert shop.rows("orders") == before
        assert len(files_of(shop.path("orders"))) == 3
    with armed("compact.after_commit=eio"), pytest.raises(OSError, match="Input/output"):
        upkeep(shop, "orders")
    assert shop.rows("orders") == before
    assert len(files_of(shop.path("orders"))) == 1


def test_vacuum_keeps_what_a_slow_child_needs_and_the_child_goes_on_incrementally(
    shop, orders, monkeypatch
):
    monkeypatch.setattr(retention, "_MARGIN_S", 0.0)
    upkeep(shop, "orders")  # version 3: the first three files are in no newer one
    query = "SELECT date_trunc('HOUR', at) AS hour, sum(price) AS s FROM orders GROUP BY 1"
    shop.table("slow", query, refresh="incremental")
    shop.derive("slow", orders=3)
    orders(3)
    orders(4)
    upkeep(shop, "orders")
    files = Path(shop.path("orders"))
    assert len(list(files.glob("*.parquet"))) == 7
    later_s = time.time() + 2 * DAY_S
    # The child needs more than Delta could then still tell from garbage: all is kept.
    assert _vacuumed(shop, "orders", later_s + 7 * DAY_S).code == "needed"
    with armed("vacuum.before=eio"), pytest.raises(OSError, match="Input/output"):
        _vacuumed(shop, "orders", later_s)
    assert len(list(files.glob("*.parquet"))) == 7
    with armed("vacuum.after=eio"), pytest.raises(OSError, match="Input/output"):
        _vacuumed(shop, "orders", later_s)
    # Two days later, with a retention of one: what version 3 has, and what came after, stays.
    done = _vacuumed(shop, "orders", later_s)
    assert (done.strategy, done.code, done.version) == ("vacuum", "retention", 6)
    assert len(list(files.glob("*.parquet"))) == 4
    derived = shop.derive("slow", orders=6)
    assert (derived.strategy, derived.read_rows) == ("bucket-recompute", 4)
    # Now nobody needs the small files; VACUUM itself has made no version.
    _vacuumed(shop, "orders", later_s)
    assert len(list(files.glob("*.parquet"))) == 1
    assert len(shop.rows("orders")) == 10
    assert deltalake.DeltaTable(shop.path("orders")).version() == 6


@pytest.mark.proof
def test_a_view_forgets_commits_that_nobody_needs_and_goes_on(shop, orders):
    shop.table("twice", "SELECT id, price * 2 AS twice FROM orders")
    shop.derive("twice", orders=0)
    shop.derive("twice", orders=1)
    log = jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog.forTable")(
        jvm.java_session(shop.session), shop.path("twice")
    )
    log.checkpoint()
    folder = Path(shop.path("twice")) / "_delta_log"
    for file in folder.iterdir():
        os.utime(file, (MIDNIGHT_S - 300 * DAY_S,) * 2)
    shop.derive("twice", orders=2)
    log.checkpoint()
    _vacuumed(shop, "twice", time.time())
    oldest = oldest_version(shop.path("twice"))
    assert oldest is not None
    assert oldest > 0
    before = len(shop.rows("twice"))
    version = orders(3)
    assert shop.derive("twice", orders=version).strategy == "append"
    assert len(shop.rows("twice")) == before + 2 == 8


def test_a_base_table_forgets_commits_once_what_they_loaded_is_folded(shop, orders):
    log = jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog.forTable")(
        jvm.java_session(shop.session), shop.path("orders")
    )
    log.checkpoint()
    for file in (Path(shop.path("orders")) / "_delta_log").iterdir():
        os.utime(file, (MIDNIGHT_S - 300 * DAY_S,) * 2)
    orders(3)
    log.checkpoint()
    with armed("fold.before=eio"), pytest.raises(OSError, match="Input/output"):
        _vacuumed(shop, "orders", time.time())
    assert oldest_version(shop.path("orders")) == 0
    _vacuumed(shop, "orders", time.time())
    oldest = oldest_version(shop.path("orders"))
    assert oldest is not None
    assert oldest > 0
    found = folded(shop.project, "orders")
    assert found is not None
    assert sorted(found.names) == [f"{hour}.csv" for hour in range(4)]
    orders(4)
    assert len(shop.rows("orders")) == 10


def _vacuumed(shop, table, now_s):
    settings = MaintenanceSettings(retention_s=DAY_S)
    project = dataclasses.replace(shop.project, maintenance=settings)
    session = shop.session.newSession()
    return vacuum(session, project, project.table(table), clock=lambda: now_s)
