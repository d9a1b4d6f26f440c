"""Versions verified: what is right, what is wrong, and what cannot be told."""

from __future__ import annotations

import random
import shutil
from datetime import timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from freshline.delta.log import commits, last_commit
from freshline.executor.verified import RIGHT, SKIPPED, WRONG
from freshline.failpoints import armed
from freshline.runtime.lease.succession import fence_tables
from freshline.spark.feeds import reader
from freshline.spark.verification.versions import Verifier, versions_of
from tests.spark.arrivals import START, Arrivals
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark

HOURLY = """SELECT date_trunc('HOUR', at) AS hour, count(*) AS n, sum(cents) AS cents
    FROM events GROUP BY 1"""


@pytest.fixture
def arrivals(shop):
    found = Arrivals(shop, random.Random(7))
    shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
    shop.table("events", "SELECT * FROM STREAM f", time_column="at")
    found.come("events", found.rows(0, 40))
    return found


@pytest.fixture
def verify(shop, spark):
    """Verify versions of a table; the outcome of each."""

    def verify(name, wanted="all"):
        table = shop.project.table(name)
        found, skipped = versions_of(shop.project, table, wanted)
        checks = [
            Verifier(shop.project).check(spark.newSession(), table, version) for version in found
        ]
        outcomes = {check.version: check.outcome for check in checks}
        return outcomes | dict.fromkeys(skipped, SKIPPED), checks

    return verify


def filled(arrivals, view, steps=3):
    for hour in range(1, steps + 1):
        arrivals.come("events", arrivals.rows(hour, 20))
        arrivals.update(view)


def others_write(shop, table, row):
    """Somebody else appends a row to a table."""
    path = shop.path(table)
    schema = deltalake.DeltaTable(path).to_pyarrow_table().schema
    deltalake.write_deltalake(path, pa.Table.from_pylist([row], schema), mode="append")


def test_every_version_of_a_view_equals_its_query(shop, arrivals, verify):
    shop.table("hourly", HOURLY, refresh="incremental")
    filled(arrivals, "hourly")
    arrivals.update("hourly", full=True)
    strategies = [each.metadata["strategy"] for each in commits(shop.path("hourly"))]
    assert strategies[0] == strategies[-1] == "full"
    assert "full" not in strategies[1:-1]
    outcomes, checks = verify("hourly")
    assert outcomes == dict.fromkeys(range(4), RIGHT)
    assert [check.strategy for check in checks] == strategies
    assert verify("hourly", "newest")[0] == {3: RIGHT}
    assert verify("hourly", 2)[0] == {2: RIGHT, 3: RIGHT}


def test_a_view_whose_touched_buckets_were_narrowed_is_wrong(shop, arrivals, verify):
    shop.table("hourly", HOURLY, refresh="incremental")
    filled(arrivals, "hourly", 1)
    late = [{"id": 1, "at": START + timedelta(minutes=50), "person": "ann", "cents": 5}]
    arrivals.come("events", late)
    parents = {"events": arrivals.version("events")}
    shop.executor  # noqa: B018 - made before the failpoint is armed
    with armed("buckets.narrowed=wrong"):
        made = shop.executor.run(shop.request("hourly", parents=parents))
    assert made.strategy == "bucket-recompute"
    outcomes, checks = verify("hourly")
    assert outcomes == {0: RIGHT, 1: WRONG}
    difference = checks[-1].difference
    assert (difference.missing, difference.extra) == (1, 1)
    right, wrong = sorted(difference.rows, key=lambda each: each.times)
    assert right.row["hour"] == wrong.row["hour"]
    assert right.row["n"] == wrong.row["n"] + 1
    assert checks[-1].told() == (
        "hourly version 1 is wrong: 1 row missing, 1 row extra (strategy bucket-recompute)"
    )
    assert "HashAggregate" in checks[-1].plan or "Aggregate" in checks[-1].plan
    assert checks[-1].query == HOURLY


def test_what_others_wrote_into_a_view_is_wrong_until_its_next_update(shop, arrivals, verify):
    shop.table("hourly", HOURLY)
    filled(arrivals, "hourly", 1)
    others_write(shop, "hourly", {"hour": None, "n": 1, "cents": 1})
    outcomes, checks = verify("hourly")
    assert outcomes == {0: RIGHT, 1: WRONG}
    assert checks[-1].strategy == "by others"


def test_a_fence_takes_the_blame_for_nothing_that_others_did(shop, arrivals, verify):
    shop.table("hourly", HOURLY)
    filled(arrivals, "hourly", 1)
    others_write(shop, "hourly", {"hour": None, "n": 1, "cents": 1})
    fence_tables(shop.project, 2)
    outcomes, checks = verify("hourly", "newest")
    assert outcomes == {2: WRONG}
    assert checks[-1].strategy == "by others"


@pytest.mark.proof
def test_a_query_that_may_choose_is_not_called_wrong(shop, arrivals, verify, spark):
    query = "SELECT person, max_by(id, cents % 1) AS some FROM events GROUP BY person"
    shop.table("chosen", query)
    parents = {"events": arrivals.version("events")}
    shop.executor.run(shop.request("chosen", parents=parents))
    rows = shop.rows("chosen")
    path = shop.path("chosen")
    (outcome,) = verify("chosen")[0].values()
    assert outcome in (RIGHT, SKIPPED)
    # Another choice that is as right: somebody with the same person.
    events = shop.rows("events")
    person = rows[0]["person"]
    others = [row["id"] for row in events if row["person"] == person and row["cents"] is not None]
    other = next(each for each in others if each != rows[0]["some"])
    spark.sql(f"UPDATE delta.`{path}` SET some = {other} WHERE person <=> {person!r}")
    outcomes, checks = verify("chosen", "newest")
    assert outcomes == {1: SKIPPED}
    assert checks[0].reason == (
        "its query gives other rows over the same data when they come in another order"
    )


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT id, current_timestamp() AS now FROM events", "another value in every run"),
        ("SELECT id FROM events WHERE rand() < 0.5", "differs from run to run"),
        ("SELECT first(id) AS id, current_date() AS day FROM events", "another value in every run"),
    ],
)
def test_clock_and_chance_cannot_be_computed_again(shop, arrivals, verify, query, reason):
    shop.table("asks", query)
    shop.executor.run(shop.request("asks", parents={"events": 0}))
    outcomes, checks = verify("asks")
    assert outcomes == {0: SKIPPED}
    assert reason in checks[0].reason


@pytest.mark.parametrize(
    ("value", "then"),
    [
        ("to_timestamp_ltz('08:00')", "v - INTERVAL 1 DAY"),
        ("try_to_timestamp(if(id > 5, '10:00', '08:00'))", "v - INTERVAL 1 DAY"),
        ("coalesce(CAST(NULL AS TIMESTAMP), '08:00')", "v - INTERVAL 1 DAY"),
        ("TIMESTAMP 'today CET'", "v - INTERVAL 1 DAY"),
        ("user", "'service'"),
        ("this_year()", "v - 1"),
    ],
)
def test_what_another_day_or_user_has_made_is_not_called_wrong(
    spark, shop, arrivals, verify, value, then
):
    spark.sql("CREATE OR REPLACE FUNCTION this_year() RETURNS INT RETURN year(current_date())")
    shop.table("asks", f"SELECT id, {value} AS v FROM events")
    shop.executor.run(shop.request("asks", parents={"events": 0}))
    spark.sql(f"UPDATE delta.`{shop.path('asks')}` SET v = {then}")
    outcomes, checks = verify("asks", "newest")
    spark.sql("DROP FUNCTION this_year")
    assert outcomes == {1: SKIPPED}
    assert checks[0].reason.startswith("its query cannot be computed again: ")


def test_a_row_is_missed_though_the_text_of_a_time_has_a_date(shop, arrivals, verify):
    query = "SELECT id, to_timestamp(concat(CAST(at AS DATE), ' 08:00')) AS v FROM events"
    shop.table("opened", query)
    shop.executor.run(shop.request("opened", parents={"events": 0}))
    others_write(shop, "opened", {"id": 1, "v": START})
    assert verify("opened", "newest")[0] == {1: WRONG}


def test_a_version_of_an_earlier_query_or_over_what_is_gone_is_skipped(shop, arrivals, verify):
    shop.table("hourly", HOURLY)
    filled(arrivals, "hourly", 1)
    shop.table("hourly", HOURLY.replace("count(*)", "count(cents)"))
    arrivals.update("hourly")
    outcomes, checks = verify("hourly")
    assert outcomes == {0: SKIPPED, 1: RIGHT}
    assert checks[0].reason == "it was made by an earlier text of its query"
    shop.restart()
    Path(deltalake.DeltaTable(shop.path("events")).file_uris()[0]).unlink()
    outcomes, checks = verify("hourly", "newest")
    assert outcomes == {1: SKIPPED}
    assert checks[0].reason.startswith("what it was made of is gone: ")


@pytest.mark.proof
def test_a_static_table_is_read_at_the_version_that_the_commit_names(shop, arrivals, verify):
    names = pa.table({"person": ["ann", "bob"], "name": ["Ann", "Bob"]})
    shop.delta("names", names)
    query = "SELECT e.id, n.name FROM events e JOIN delta.`names` n USING (person)"
    shop.table("named", query)
    filled(arrivals, "named", 1)
    shop.delta("names", pa.table({"person": ["o'hara"], "name": ["O'Hara"]}))
    arrivals.update("named")
    assert verify("named")[0] == {0: RIGHT, 1: RIGHT}
    shutil.rmtree(shop.root / "names")
    shop.delta("names", names)
    shop.delta("names", names)
    outcomes, checks = verify("named", "newest")
    assert outcomes == {1: SKIPPED}
    assert checks[0].reason == "delta.names was dropped and created again since"


@pytest.mark.proof
def test_complete_buckets_alone_count_with_final_emission(shop, arrivals, verify):
    shop.table("final", HOURLY, emit="final", refresh="incremental")
    for hour in range(1, 4):
        arrivals.come("events", arrivals.rows(hour, 9), (START + timedelta(hours=hour)).timestamp())
        arrivals.update("final")
    last = last_commit(shop.path("final"))
    assert last is not None
    assert last.metadata["emitted_us"]
    assert verify("final")[0] == {0: RIGHT, 1: RIGHT, 2: RIGHT}


# ---- base tables ----


@pytest.fixture(scope="module")
def three_files(spark, tmp_path_factory):
    """What every test of a base table begins with."""
    shop = Shop(tmp_path_factory.mktemp("orders"), spark)
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, price DOUBLE")
    shop.table("orders", "SELECT id, at, price * 2 AS price FROM STREAM f", time_column="at")
    for hour in range(3):
        (folder / f"{hour}.csv").write_text(
            f"{hour},2026-01-01T{hour:02d}:00:00Z,{hour}.1\nno,number,here\n"
        )
        shop.load("orders", f"{hour}.csv")
    return shop


@pytest.fixture
def orders(shop, three_files):
    shop.begin_as(three_files)
    return shop.root / "feed" / "f"


def test_a_base_table_has_the_rows_of_the_files_that_its_commits_name(shop, orders, verify):
    assert verify("orders")[0] == {0: RIGHT, 1: RIGHT, 2: RIGHT}
    shop.load("orders", "1.csv", "2.csv", full=True)
    assert verify("orders", "newest")[0] == {3: RIGHT}
    shop.executor.run(shop.request("orders", upkeep="compact", definition=""))
    assert verify("orders", "newest")[0] == {4: RIGHT}
    assert len(shop.rows("orders")) == 2


def test_a_row_that_was_rejected_for_a_column_that_the_query_does_not_read_is_not_missed(
    shop, verify
):
    folder = shop.feed("f", "csv", "id BIGINT, price DOUBLE")
    shop.table("orders", "SELECT id FROM STREAM f")
    for number in range(2):
        (folder / f"{number}.csv").write_text(f"{number},1.5\n{number},dear\n")
        assert shop.load("orders", f"{number}.csv").rejected_rows == 1
    assert verify("orders")[0] == {0: RIGHT, 1: RIGHT}


def test_a_base_table_that_lost_a_row_of_its_files_is_wrong(shop, orders, verify, monkeypatch):
    # As a fault of ours would: a commit of ours that names a file and has not got its rows.
    (orders / "3.csv").write_text("3,2026-01-01T03:00:00Z,3.1\n")
    real = reader.FeedReader.read
    monkeypatch.setattr(
        reader.FeedReader, "read", lambda *arguments: real(*arguments).filter("false")
    )
    shop.restart()
    shop.load("orders", "3.csv")
    monkeypatch.setattr(reader.FeedReader, "read", real)
    outcomes, checks = verify("orders")
    assert outcomes == {0: RIGHT, 1: RIGHT, 2: RIGHT, 3: WRONG}
    (row,) = checks[-1].difference.rows
    assert (row.times, row.row["id"], row.row["price"]) == (-1, 3, 6.2)


@pytest.mark.parametrize("how", ["created again", "put back"])
def test_rows_loaded_with_a_static_table_that_is_another_one_now_are_not_called_wrong(
    shop, verify, tmp_path, how
):
    first, second = (pa.table({"k": [1, 2], "name": [name] * 2}) for name in ("then", "now"))
    shop.delta("names", first)
    folder = shop.feed("f", "csv", "k BIGINT")
    shop.table("named", "SELECT f.k, n.name FROM STREAM f JOIN delta.`names` n USING (k)")
    (folder / "1.csv").write_text("1\n")
    shutil.copytree(shop.root / "names", tmp_path / "copy")
    shop.delta("names", second)
    shop.load("named", "1.csv")
    assert verify("named")[0] == {0: RIGHT}
    shutil.rmtree(shop.root / "names")
    if how == "put back":
        shutil.copytree(tmp_path / "copy", shop.root / "names")
    else:
        shop.delta("names", first)
    shop.delta("names", first)
    outcomes, checks = verify("named")
    assert outcomes == {0: SKIPPED}
    was = "dropped and created again" if how == "created again" else "put back from a copy"
    assert checks[0].reason == f"delta.names was {was} since"


def test_a_base_table_whose_first_commits_were_cleaned_up_is_not_called_wrong(shop, orders, verify):
    log = Path(shop.path("orders")) / "_delta_log"
    deltalake.DeltaTable(shop.path("orders")).create_checkpoint()
    for version in range(2):
        (log / f"{version:020}.json").unlink()
    outcomes, checks = verify("orders", "newest")
    assert outcomes == {2: SKIPPED}
    assert checks[0].reason == "the commits that loaded its first files were removed from the log"
    shop.load("orders", "0.csv", "1.csv", "2.csv", full=True)
    assert verify("orders", "newest")[0] == {3: RIGHT}


@pytest.mark.proof
def test_what_the_files_no_longer_tell_is_skipped(shop, orders, verify):
    (orders / "1.csv").rename(orders / ".1.csv")
    outcomes, checks = verify("orders")
    assert outcomes == {0: RIGHT, 1: SKIPPED, 2: SKIPPED}
    assert checks[-1].reason == "1 of its files are gone from the feed: 1.csv"
    (orders / "1.csv").write_text("7,2026-01-01T00:00:00Z,1\n")
    outcomes, checks = verify("orders", "newest")
    assert outcomes == {2: SKIPPED}
    assert checks[0].reason.startswith("the file 1.csv was changed after it was loaded, ")


@pytest.mark.proof
def test_rows_that_somebody_deleted_by_hand_are_not_called_wrong(shop, orders, verify):
    deltalake.DeltaTable(shop.path("orders")).delete("id = 1")
    outcomes, checks = verify("orders")
    assert outcomes == {0: RIGHT, 1: RIGHT, 2: RIGHT, 3: SKIPPED}
    assert checks[-1].reason == "somebody else wrote into it, at version 3"
