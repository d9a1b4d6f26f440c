"""The engine: what is acknowledged, refused, spilled and landed, step by step."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import time
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.core.errors import InternalError, PlatformError, UserError
from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.settings import EngineSettings, FeedSpec, fitted
from freshline.ingest.receipts import (
    Batch,
    BatchTooLarge,
    KeyConflict,
    OverQuota,
    Receipt,
    Unavailable,
    UnknownFeed,
)
from tests.support.pushing import SCHEMA, batch, engine, landed, small


def push(gateway, feed, who, request, records=1, key=None, padding=""):
    future = gateway.submit(batch(feed, who, request, records, padding), key)
    gateway.commit_waiting()
    return future.result(timeout=0)


def land(gateway):
    """As much as can be landed."""
    gateway.commit_waiting()
    gateway.roll()
    gateway.commit_waiting()
    while gateway.land_once():
        pass


@pytest.fixture
def gateway(tmp_path):
    one = engine(tmp_path, "clicks", "visits")
    one.start(threads=False)
    yield one
    one.close()


def test_a_receipt_counts_a_feeds_records_from_one(gateway):
    assert push(gateway, "clicks", "a", 0, records=3) == Receipt(3, 1, 3, duplicate=False)
    assert push(gateway, "visits", "a", 0, records=2) == Receipt(2, 1, 2, duplicate=False)
    assert push(gateway, "clicks", "a", 1) == Receipt(1, 4, 4, duplicate=False)


def test_a_start_that_failed_can_be_closed_and_tried_again(tmp_path):
    one = engine(tmp_path, "clicks")
    (tmp_path / "catalogue.db").mkdir(parents=True)
    with pytest.raises(PlatformError, match="cannot be opened: unable to open database file"):
        one.start(threads=False)
    one.close()
    (tmp_path / "catalogue.db").rmdir()
    one.start(threads=False)
    assert push(one, "clicks", "a", 0) == Receipt(1, 1, 1, duplicate=False)
    one.close()


def test_nothing_is_acknowledged_before_its_commit(gateway):
    future = gateway.submit(batch("clicks", "a", 0), None)
    assert not future.done()
    gateway.commit_waiting()
    assert future.done()


def test_requests_that_wait_together_are_committed_together(gateway):
    futures = [gateway.submit(batch("clicks", "a", n), None) for n in range(7)]
    gateway.commit_waiting()
    assert [future.result(timeout=0).first for future in futures] == list(range(1, 8))
    assert gateway.metrics().group_requests.total == 7
    assert gateway.metrics().group_requests.number == 1


def test_a_group_ends_at_its_size(tmp_path):
    gateway = engine(tmp_path, group_bytes=1000)
    gateway.start(threads=False)
    futures = [gateway.submit(batch("clicks", "a", n), None) for n in range(3)]
    gateway.commit_waiting()
    assert [future.done() for future in futures] == [True, False, False]
    gateway.close()
    assert all(future.result(timeout=0) for future in futures)


def test_a_repeated_key_gets_the_first_answer_wherever_its_request_is_by_now(tmp_path):
    gateway = engine(tmp_path)
    gateway.start(threads=False)
    first = push(gateway, "clicks", "a", 0, records=2, key="k")
    again = Receipt(2, 1, 2, duplicate=True)
    assert first == Receipt(2, 1, 2, duplicate=False)
    assert push(gateway, "clicks", "a", 0, records=2, key="k") == again  # in the segment
    gateway.roll()
    gateway.commit_waiting()
    assert push(gateway, "clicks", "a", 0, records=2, key="k") == again  # in a full one
    land(gateway)
    assert push(gateway, "clicks", "a", 0, records=2, key="k") == again  # landed and removed
    gateway.close()
    restarted = engine(tmp_path)
    restarted.start(threads=False)
    assert push(restarted, "clicks", "a", 0, records=2, key="k") == again
    restarted.close()
    assert len(landed(tmp_path, "clicks")) == 2


def test_a_clock_that_jumps_ahead_forgets_no_key(tmp_path):
    now_s = [1_000_000_000.0]
    feeds = {"clicks": FeedSpec("clicks", SCHEMA, tmp_path / "landed" / "clicks")}
    gateway = Engine(tmp_path, feeds, small(), clock=lambda: now_s[0])
    gateway.start(threads=False)
    push(gateway, "clicks", "a", 0, key="k")
    land(gateway)
    now_s[0] += 3 * 86_400.0
    gateway._lander._pruned_s = float("-inf")
    gateway.land_once()
    assert push(gateway, "clicks", "a", 0, key="k").duplicate
    gateway.close()


@pytest.mark.parametrize("first_s", [0.0, 1_000_000_000.0 + 365 * 86_400.0], ids=["1970", "ahead"])
def test_keys_are_forgotten_in_time_although_the_clock_was_set_late(first_s, tmp_path, monkeypatch):
    """The gateway starts with a clock that is not set yet; it is put right a minute later."""
    now_s, past_s = [first_s], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: past_s[0])
    feeds = {"clicks": FeedSpec("clicks", SCHEMA, tmp_path / "landed" / "clicks")}
    gateway = Engine(tmp_path, feeds, small(), clock=lambda: now_s[0])
    gateway.start(threads=False)
    push(gateway, "clicks", "a", 0, key="k")
    land(gateway)
    now_s[0] = 1_000_000_000.0
    known = []
    for hours in (0, 1, 23, 2, 23, 4):
        past_s[0] += hours * 3600.0
        now_s[0] += hours * 3600.0
        gateway.land_once()
        known.append(gateway._log.find_key("clicks", "k") is not None)
        if hours == 2:
            push(gateway, "clicks", "a", 1, key="later")
            land(gateway)
    assert known == [True, True, True, False, False, False]
    assert gateway._log.find_key("clicks", "later") is None
    gateway.close()


def test_a_clock_that_jumps_for_a_minute_forgets_no_key(tmp_path, monkeypatch):
    """Keys that were kept in that minute are of the future, but not old."""
    past_s, ahead_s = [0.0], [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: past_s[0])
    feeds = {"clicks": FeedSpec("clicks", SCHEMA, tmp_path / "landed" / "clicks")}
    gateway = Engine(
        tmp_path, feeds, small(), clock=lambda: 1_000_000_000.0 + past_s[0] + ahead_s[0]
    )
    gateway.start(threads=False)

    def later(seconds: float) -> None:
        past_s[0] += seconds
        gateway.land_once()

    later(25 * 3600.0)
    ahead_s[0] = 2 * 86_400.0
    later(30.0)
    push(gateway, "clicks", "a", 0, key="k")
    land(gateway)
    ahead_s[0] = 0.0
    later(30.0)
    later(3600.0)
    assert push(gateway, "clicks", "a", 0, key="k").duplicate
    later(25 * 3600.0)
    assert gateway._log.find_key("clicks", "k") is None
    gateway.close()


def test_a_key_is_forgotten_after_its_time(tmp_path):
    now_s = [1_000_000_000.0]
    feeds = {"clicks": FeedSpec("clicks", SCHEMA, tmp_path / "landed" / "clicks")}
    for duplicate in (False, False):
        gateway = Engine(tmp_path, feeds, small(), clock=lambda: now_s[0])
        gateway.start(threads=False)
        assert push(gateway, "clicks", "a", 0, key="k").duplicate == duplicate
        land(gateway)
        gateway.close()
        now_s[0] += 3 * 86_400.0


def test_a_key_repeated_within_a_group_is_stored_once(gateway):
    futures = [gateway.submit(batch("clicks", "a", 0), "k") for _ in range(3)]
    gateway.commit_waiting()
    assert [future.result(timeout=0).duplicate for future in futures] == [False, True, True]
    assert gateway.metrics().feeds["clicks"].acknowledged_requests == 1
    assert gateway.metrics().feeds["clicks"].duplicate_requests == 2


def test_a_key_with_other_records_is_refused(gateway):
    push(gateway, "clicks", "a", 0, key="k")
    with pytest.raises(KeyConflict, match="other records"):
        push(gateway, "clicks", "a", 1, key="k")
    assert gateway.metrics().feeds["clicks"].refused == {"key-conflict": 1}


def test_a_key_is_repeated_by_the_same_bytes_or_by_the_same_records(gateway):
    def submit(sent, who):
        one = batch("clicks", who, 0)
        future = gateway.submit(Batch("clicks", 1, one.body, sent), "k")
        gateway.commit_waiting()
        return future.result(timeout=0).duplicate

    assert not submit(b"{...}", "a")
    assert submit(b"{...}", "b")  # the feed's schema makes other records of it
    assert submit(b"[{...}]", "a")
    with pytest.raises(KeyConflict):
        submit(b"[{...}]", "b")


def test_a_key_is_the_feeds_own(gateway):
    push(gateway, "clicks", "a", 0, key="k")
    assert not push(gateway, "visits", "b", 0, key="k").duplicate


def test_keys_are_forgotten_after_their_time_and_not_before(tmp_path):
    now = [1_000_000.0]
    feeds = {"clicks": FeedSpec("clicks", SCHEMA, tmp_path / "landed" / "clicks")}
    answers = []
    for later_s in (0, 24 * 3600, 3601):
        now[0] += later_s
        gateway = Engine(tmp_path, feeds, small(), clock=lambda: now[0])
        gateway.start(threads=False)
        land(gateway)
        answers.append(push(gateway, "clicks", "a", 0, key="k").duplicate)
        land(gateway)
        gateway.close()
    assert answers == [False, True, False]


def test_what_is_landed_is_what_was_pushed_and_its_segments_go(gateway, tmp_path):
    for n in range(5):
        push(gateway, "clicks", "a", n, records=2)
        push(gateway, "visits", "b", n)
    land(gateway)
    assert landed(tmp_path, "clicks") == {
        1 + 2 * n + i: ("a", n, i) for n in range(5) for i in range(2)
    }
    assert landed(tmp_path, "visits") == {1 + n: ("b", n, 0) for n in range(5)}
    assert len(list(tmp_path.glob("segment-*.db"))) == 1
    assert gateway.metrics().feeds["clicks"].backlog_records == 0
    assert gateway.metrics().feeds["clicks"].landed_records == 10


def test_records_are_landed_in_time_although_the_clock_is_put_back(tmp_path):
    now_s = [1_000_000_000.0]
    feeds = {"clicks": FeedSpec("clicks", SCHEMA, tmp_path / "landed" / "clicks")}
    settings = small(landing_period_s=0.05)
    gateway = Engine(tmp_path, feeds, settings, clock=lambda: now_s[0])
    gateway.start(threads=False)
    push(gateway, "clicks", "a", 0)
    now_s[0] -= 3600.0
    gateway.land_once()
    time.sleep(0.1)
    for _ in range(3):
        gateway.land_once()
        gateway.commit_waiting()
    assert gateway.metrics().feeds["clicks"].landed_records == 1
    gateway.close()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.timestamp("us", "UTC"), [86_400_000_000, 5, None]),
        (pa.timestamp("us"), [86_400_000_000, 5, None]),
        (pa.date32(), [1, 0, None]),
    ],
)
def test_the_name_of_a_landed_file_holds_the_time_of_its_newest_record(tmp_path, kind, values):
    schema = pa.schema([("at", kind)])
    landing = tmp_path / "landed" / "clicks"
    feeds = {"clicks": FeedSpec("clicks", schema, landing, time_column="at")}
    gateway = Engine(tmp_path, feeds, small(), clock=lambda: 1_000_000_000.5)
    gateway.start(threads=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array(values, kind)], schema=schema))
    gateway.submit(Batch("clicks", 3, sink.getvalue().to_pybytes()), None)
    land(gateway)
    gateway.close()
    assert [path.name for path in landing.iterdir()] == [
        "clicks-19700102T000000.000000Z-0000000000000001-0000000000000003.parquet"
    ]


BERLIN, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
WALL = dt.datetime.fromisoformat


@pytest.mark.parametrize(
    ("kind", "value", "zones", "expected"),
    [
        (pa.timestamp("us"), WALL("2026-01-31T12:00"), (TOKYO,), "20260131T030000"),
        (pa.timestamp("us"), WALL("2026-01-31T12:00"), (BERLIN,), "20260131T110000"),
        (pa.timestamp("us"), WALL("2026-01-31T12:00"), (BERLIN, TOKYO), "20260131T030000"),
        (pa.timestamp("us"), WALL("2026-10-25T02:30"), (BERLIN,), "20261025T003000"),
        (pa.timestamp("us"), WALL("2026-03-29T02:30"), (BERLIN,), "20260329T013000"),
        (pa.date32(), dt.date(2026, 1, 31), (TOKYO,), "20260130T150000"),
        (pa.date32(), dt.date(9999, 12, 31), (TOKYO,), "20270115T080000"),  # of its reception
        (
            pa.timestamp("us", "UTC"),
            dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC),
            (TOKYO,),
            "20260131T120000",
        ),
    ],
)
def test_a_wall_clocks_time_is_that_of_the_zone_and_the_earlier_of_two(
    tmp_path, kind, value, zones, expected
):
    schema = pa.schema([("at", kind)])
    landing = tmp_path / "landed" / "clicks"
    feeds = {"clicks": FeedSpec("clicks", schema, landing, time_column="at", zones=zones)}
    gateway = Engine(tmp_path, feeds, small(), clock=lambda: 1_800_000_000.0)
    gateway.start(threads=False)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch([pa.array([value], kind)], schema=schema))
    gateway.submit(Batch("clicks", 1, sink.getvalue().to_pybytes()), None)
    land(gateway)
    gateway.close()
    (path,) = landing.iterdir()
    assert path.name == f"clicks-{expected}.000000Z-0000000000000001-0000000000000001.parquet"


def test_a_large_backlog_is_landed_in_files_of_bounded_size(tmp_path):
    gateway = engine(tmp_path, file_bytes=3000, landing_period_s=1e9)
    gateway.start(threads=False)
    for n in range(10):
        push(gateway, "clicks", "a", n)
    land(gateway)
    gateway.close()
    assert len(list((tmp_path / "landed" / "clicks").iterdir())) > 2
    assert len(landed(tmp_path, "clicks")) == 10


def test_more_than_memory_holds_is_dropped_and_read_again_once(tmp_path):
    gateway = engine(tmp_path, "clicks", "visits", memory_bytes=200_000, landing_period_s=1e9)
    gateway.start(threads=False)
    for n in range(300):
        push(gateway, "clicks" if n % 3 else "visits", "a", n, padding=os.urandom(300).hex())
        assert gateway.metrics().memory_bytes <= 200_000
    assert gateway.metrics().writes > 0
    land(gateway)
    metrics = gateway.metrics()
    assert metrics.reads > 0
    assert metrics.rewritten_bytes == 0
    assert metrics.memory_bytes == 0
    gateway.close()
    assert len(landed(tmp_path, "clicks")) + len(landed(tmp_path, "visits")) == 300


def test_a_feed_over_its_quota_is_refused_until_it_is_landed(tmp_path):
    gateway = engine(tmp_path, "clicks", quota_bytes=3000)
    gateway.start(threads=False)
    with pytest.raises(OverQuota, match="its quota is 3000") as refused:
        [push(gateway, "clicks", "a", n) for n in range(10)]
    assert 1 <= refused.value.retry_after_s <= 300
    land(gateway)
    assert push(gateway, "clicks", "a", 99)
    gateway.close()


def test_memory_full_of_requests_that_wait_for_their_commit_refuses_more(tmp_path):
    gateway = engine(tmp_path, memory_bytes=20_000)
    gateway.start(threads=False)
    with pytest.raises(Unavailable) as refused:
        [gateway.submit(batch("clicks", "a", n), None) for n in range(100)]
    assert (refused.value.code, refused.value.retry_after_s) == ("memory", 5)
    assert gateway.metrics().state == "memory"
    gateway.commit_waiting()
    assert push(gateway, "clicks", "a", 100)
    assert gateway.metrics().state == "open"
    gateway.close()


def test_memory_that_is_free_again_is_told_although_nobody_pushes(tmp_path):
    """Who asks the health before it sends would never send again."""
    gateway = engine(tmp_path, memory_bytes=20_000)
    gateway.start(threads=False)
    with pytest.raises(Unavailable):
        [gateway.submit(batch("clicks", "a", n), None) for n in range(100)]
    assert gateway.metrics().state == "memory"
    gateway.commit_waiting()
    assert gateway.metrics().state == "open"
    gateway.close()


def test_a_request_that_memory_can_never_hold_is_refused_for_good(tmp_path):
    gateway = engine(tmp_path, memory_bytes=20_000)
    gateway.start(threads=False)
    with pytest.raises(BatchTooLarge, match="the gateway's memory allows"):
        push(gateway, "clicks", "a", 0, padding=os.urandom(10_000).hex())
    gateway.close()


def test_an_unknown_feed_and_an_empty_batch_are_refused(gateway):
    with pytest.raises(UnknownFeed):
        gateway.submit(batch("../clicks", "a", 0), None)
    with pytest.raises(InternalError, match="empty-batch"):
        gateway.submit(batch("clicks", "a", 0, records=0), None)


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "_own"])
def test_a_name_that_leaves_its_folder_is_no_feed(tmp_path, name):
    with pytest.raises(InternalError, match="feed-name"):
        Engine(tmp_path, {name: FeedSpec(name, SCHEMA, tmp_path)})


def test_a_feed_that_cannot_be_landed_does_not_hold_up_the_others(gateway, tmp_path):
    (tmp_path / "landed").mkdir()
    (tmp_path / "landed" / "clicks").write_text("in the way")
    push(gateway, "clicks", "a", 0)
    push(gateway, "visits", "a", 0)
    land(gateway)
    assert landed(tmp_path, "visits") == {1: ("a", 0, 0)}
    metrics = gateway.metrics()
    assert metrics.feeds["clicks"].backlog_records == 1
    assert any("feed clicks cannot be landed" in message for message in metrics.messages)


def test_while_draining_nothing_is_taken_in_and_everything_is_landed(tmp_path):
    gateway = engine(tmp_path, landing_period_s=1e9)
    gateway.start()
    futures = [gateway.submit(batch("clicks", "a", n), None) for n in range(20)]
    assert gateway.drain(60)
    assert all(future.result(timeout=0) for future in futures)
    with pytest.raises(Unavailable, match="stopping"):
        gateway.submit(batch("clicks", "a", 20), None)
    gateway.close()
    assert len(landed(tmp_path, "clicks")) == 20


def test_close_commits_what_was_taken_in_and_the_next_start_lands_it(tmp_path):
    gateway = engine(tmp_path, landing_period_s=1e9)
    gateway.start(threads=False)
    futures = [gateway.submit(batch("clicks", "a", n), None) for n in range(20)]
    gateway.close()
    assert all(future.result(timeout=0) for future in futures)
    restarted = engine(tmp_path)
    recovery = restarted.start(threads=False)
    assert (recovery.requests, recovery.records, recovery.messages) == (20, 20, ())
    land(restarted)
    restarted.close()
    assert landed(tmp_path, "clicks") == {n + 1: ("a", n, 0) for n in range(20)}


def test_a_second_engine_on_a_folder_is_refused_by_the_holders_number(gateway, tmp_path):
    with pytest.raises(UserError, match=f"process {os.getpid()} accepts"):
        engine(tmp_path).start(threads=False)


def test_records_of_a_feed_that_the_project_dropped_stay_in_the_log(tmp_path):
    gateway = engine(tmp_path, "clicks", "visits")
    gateway.start(threads=False)
    push(gateway, "visits", "a", 0)
    gateway.close()
    without = engine(tmp_path, "clicks")
    assert "of feed visits" in " ".join(without.start(threads=False).messages)
    land(without)
    without.close()
    again = engine(tmp_path, "clicks", "visits")
    again.start(threads=False)
    land(again)
    again.close()
    assert landed(tmp_path, "visits") == {1: ("a", 0, 0)}


def test_numbers_go_on_when_all_is_landed_and_forgotten(tmp_path):
    for life in range(3):
        gateway = engine(tmp_path)
        gateway.start(threads=False)
        assert push(gateway, "clicks", "a", life).first == life + 1
        land(gateway)
        (path,) = (tmp_path / "landed" / "clicks").iterdir()
        path.unlink()  # as the warehouse does once it has read it
        gateway.close()


def test_landed_files_are_parquet_with_the_feeds_schema(gateway, tmp_path):
    push(gateway, "clicks", "a", 0)
    land(gateway)
    (path,) = (tmp_path / "landed" / "clicks").iterdir()
    assert pq.read_schema(path).equals(SCHEMA)


def test_records_of_one_segment_with_other_columns_get_a_file_of_their_own(gateway, tmp_path):
    for names in (["who"], ["who"], ["who", "request"], ["who"]):
        schema = pa.schema([SCHEMA.field(name) for name in names])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.table([["a"], [7]][: len(names)], schema=schema))
        gateway.submit(Batch("clicks", 1, sink.getvalue().to_pybytes()), None)
    land(gateway)
    requests = {number: request for number, (_, request, _) in landed(tmp_path, "clicks").items()}
    assert requests == {1: None, 2: None, 3: 7, 4: None}
    assert gateway.metrics().feeds["clicks"].backlog_requests == 0
    assert gateway.metrics().messages == ()


def waited_while_it_became(folder, schema, *, time_column=None):
    """What is landed of three records when the schema changes before they are, and what is told."""
    before = engine(folder, landing_period_s=1e9)
    before.start(threads=False)
    push(before, "clicks", "a", 0, records=2)
    push(before, "clicks", "b", 1)
    before.close()
    home = folder / "landed" / "clicks"
    after = Engine(folder, {"clicks": FeedSpec("clicks", schema, home, None, time_column)}, small())
    after.start(threads=False)
    land(after)
    (path,) = home.iterdir()
    metrics = after.metrics()
    assert (metrics.corrupt_rows, metrics.feeds["clicks"].backlog_requests) == (0, 0)
    after.close()
    return pq.read_table(path), metrics.messages


def test_records_that_waited_are_landed_when_the_schema_gains_a_column(tmp_path):
    grown = SCHEMA.append(pa.field("url", pa.string())).append(pa.field("at", pa.timestamp("us")))
    found, told = waited_while_it_became(tmp_path, grown, time_column="at")
    assert found.schema.equals(grown)
    assert found.to_pydict() == {
        "who": ["a", "a", "b"], "request": [0, 0, 1], "record": [0, 1, 0],
        "url": [None] * 3, "at": [None] * 3,
    }  # fmt: skip
    assert told == ()


def test_records_that_waited_keep_a_column_that_the_schema_lost(tmp_path):
    found, told = waited_while_it_became(tmp_path, pa.schema([SCHEMA.field("record")]))
    assert found.to_pydict() == {
        "record": [0, 1, 0], "who": ["a", "a", "b"], "request": [0, 0, 1],
    }  # fmt: skip
    assert told == ()


def test_records_that_waited_are_cast_where_that_loses_nothing(tmp_path):
    changed = pa.schema([("WHO", pa.string()), ("request", pa.int8()), ("record", pa.string())])
    found, told = waited_while_it_became(tmp_path, changed)
    assert found.schema.equals(changed)
    assert found.to_pydict() == {
        "WHO": ["a", "a", "b"], "request": [0, 0, 1], "record": ["0", "1", "0"],
    }  # fmt: skip
    assert told == ()


def test_records_that_waited_and_fit_no_more_are_landed_as_they_were_accepted(tmp_path):
    changed = SCHEMA.set(0, pa.field("who", pa.int64()))
    found, told = waited_while_it_became(tmp_path, changed)
    assert found.schema.equals(SCHEMA)
    assert found["who"].to_pylist() == ["a", "a", "b"]
    assert " ".join(told) == (
        "feed clicks: records that were accepted before its schema changed do not fit it (column"
        " who: Failed to parse string: 'a' as a scalar of type int64); they are landed with the"
        " types that they were accepted with"
    )


def test_a_small_disk_gets_small_segments():
    sizes = fitted(EngineSettings(), 8 << 20)
    assert (sizes.segment_bytes, sizes.ballast_bytes) == (512 << 10, 1 << 20)


def test_the_engine_needs_no_spark():
    program = "import sys, freshline.ingest.engine.engine; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
