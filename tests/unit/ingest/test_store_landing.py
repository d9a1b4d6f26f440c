"""Landed files in an object store: there once, whatever fails, and whichever host put them."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from freshline.delta.stores import arrow_store, use
from freshline.failpoints import armed
from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.landedfile import LandedName, file_name
from freshline.ingest.engine.settings import FeedSpec
from freshline.ingest.engine.store_landing import StoreLanding, log_id
from tests.support.pushing import SCHEMA, batch, land, small
from tests.support.s3_server import S3Server


@pytest.fixture(scope="module")
def s3():
    with S3Server() as server:
        use(server.settings)
        yield server
        use({})


@pytest.fixture
def place(s3, request) -> str:
    """A feed's folder in the store."""
    return f"s3a://lake/{request.node.name}/_freshline/landed/clicks"


def engine_of(folder: Path, place: str, **changes) -> Engine:
    """The engine of a host with a disk of its own, not started."""
    spec = FeedSpec("clicks", SCHEMA, folder / "landed" / "clicks", store=place)
    return Engine(folder, {"clicks": spec}, small(**changes))


def host(folder: Path, place: str, **changes) -> Engine:
    """The same, started; the test takes its steps."""
    made = engine_of(folder, place, **changes)
    made.start(threads=False)
    return made


def push(engine: Engine, who: str, request: int, records: int = 1) -> None:
    future = engine.submit(batch("clicks", who, request, records), None)
    engine.commit_waiting()
    future.result(timeout=0)


def stored(place: str) -> list[tuple[str, int, int]]:
    """Every record in the store, in order."""
    from pyarrow import fs

    system, base = arrow_store(place)
    found = []
    for info in system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True)):
        if info.is_file:
            rows = pq.read_table(info.path, filesystem=system).to_pylist()
            found += [(row["who"], row["request"], row["record"]) for row in rows]
    return sorted(found)


def hidden(folder: Path) -> list[Path]:
    return list((folder / "landed" / "clicks").iterdir())


def test_files_go_to_the_store_and_none_stays_on_the_disk(tmp_path, place):
    engine = host(tmp_path, place)
    push(engine, "a", 0, records=3)
    land(engine)
    push(engine, "a", 1)
    land(engine)
    assert stored(place) == [("a", 0, 0), ("a", 0, 1), ("a", 0, 2), ("a", 1, 0)]
    assert hidden(tmp_path) == []
    assert engine.metrics().segments == 1  # what is in the store is in the log no longer
    engine.close()


def test_records_of_two_hosts_are_told_apart_and_those_of_a_lost_disk_stay(tmp_path, place):
    first, second = host(tmp_path / "1", place), host(tmp_path / "2", place)
    for number in range(3):
        push(first, "first", number)
        push(second, "second", number)
        land(first)
        land(second)
    first.close()
    shutil.rmtree(tmp_path / "1")
    again = host(tmp_path / "1", place)  # a new disk: another log, whose records begin at 1
    push(again, "again", 0)
    land(again)
    assert stored(place) == [
        ("again", 0, 0),
        *(("first", number, 0) for number in range(3)),
        *(("second", number, 0) for number in range(3)),
    ]
    again.close()
    second.close()


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_end_around_the_store_leaves_a_file_that_the_next_start_shows_once(
    tmp_path, place, s3, where
):
    engine = host(tmp_path, place)
    push(engine, "a", 0)
    with armed(f"ingest.put.{where}=eio"):
        engine.roll()
        engine.commit_waiting()
        engine.land_once()
    engine.close()
    is_there = where == "after"
    assert len(hidden(tmp_path)) == 1
    assert stored(place) == ([("a", 0, 0)] if is_there else [])
    before = objects(s3, place)
    again = host(tmp_path, place)
    land(again)
    assert stored(place) == [("a", 0, 0)]
    assert hidden(tmp_path) == []
    if is_there:  # a reader would take a file that was written again for one that changed
        assert objects(s3, place) == before
    again.close()


def away(_: StoreLanding) -> None:
    raise OSError("away")


@pytest.fixture
def left_hidden(tmp_path, place):
    """The folder of a host that died between the ledger and the store, with two records."""
    engine = host(tmp_path, place)
    push(engine, "a", 0, records=2)
    with armed("ingest.put.before=eio"):
        engine.roll()
        engine.commit_waiting()
        engine.land_once()
    engine.close()
    assert len(hidden(tmp_path)) == 1
    assert stored(place) == []
    return tmp_path


def test_a_start_that_only_lands_puts_what_a_death_left_hidden_into_the_store(left_hidden, place):
    again = engine_of(left_hidden, place)
    again.start()
    landed = again.drain(30.0)
    again.close()
    assert landed
    assert stored(place) == [("a", 0, 0), ("a", 0, 1)]
    assert hidden(left_hidden) == []


def test_what_a_death_left_hidden_is_not_landed_until_the_store_has_it(
    left_hidden, place, monkeypatch
):
    again = host(left_hidden, place)
    with monkeypatch.context() as patch:
        patch.setattr(StoreLanding, "_reached", away)
        land(again)
        waits = again.metrics().feeds["clicks"]
        assert not again.drain(0.1)
    assert (waits.backlog_requests, waits.backlog_records) == (1, 2)
    assert waits.backlog_bytes > 0
    assert waits.backlog_age_s > 0
    land(again)
    assert again.drain(1.0)
    shown = again.metrics().feeds["clicks"]
    assert (shown.backlog_requests, shown.backlog_records, shown.backlog_age_s) == (0, 0, 0)
    again.close()


def test_what_waits_hidden_is_counted_with_what_waits_in_the_log(left_hidden, place, monkeypatch):
    monkeypatch.setattr(StoreLanding, "_reached", away)
    again = host(left_hidden, place)
    before = again.metrics().feeds["clicks"]
    push(again, "b", 0, records=3)
    both = again.metrics().feeds["clicks"]
    again.close()
    assert (both.backlog_requests, both.backlog_records) == (2, 5)
    assert both.backlog_bytes > before.backlog_bytes
    assert both.backlog_age_s >= before.backlog_age_s  # that of the oldest


def objects(s3: S3Server, place: str) -> dict[str, object]:
    prefix = place.removeprefix("s3a://lake/")
    found = s3.client().list_objects_v2(Bucket="lake", Prefix=prefix)
    return {each["Key"]: each["LastModified"] for each in found.get("Contents", [])}


def test_a_store_that_takes_nothing_leaves_records_in_the_log(tmp_path, place, monkeypatch):
    engine = host(tmp_path, place)
    push(engine, "a", 0)
    with monkeypatch.context() as patch:
        patch.setattr(StoreLanding, "_reached", away)
        land(engine)
        push(engine, "a", 1)
        land(engine)
    assert stored(place) == []
    assert engine.metrics().feeds["clicks"].backlog_records == 2
    assert any("cannot be landed: away" in text for text in engine.metrics().messages)
    engine.close()
    again = host(tmp_path, place)
    land(again)
    assert stored(place) == [("a", 0, 0), ("a", 1, 0)]
    again.close()


@contextlib.contextmanager
def put_back(disk):
    """The disk is put back, after what is within, from a copy of before it."""
    copy = disk.with_name("copy")
    shutil.copytree(disk, copy)
    yield
    shutil.rmtree(disk)
    copy.rename(disk)


def test_an_older_copy_of_the_disk_lands_nothing_twice(tmp_path, place):
    disk = tmp_path / "disk"
    engine = host(disk, place)
    push(engine, "a", 0)
    engine.close()
    with put_back(disk):
        engine = host(disk, place)
        land(engine)
        engine.close()
    engine = host(disk, place)
    land(engine)
    push(engine, "a", 1)
    land(engine)
    assert stored(place) == [("a", 0, 0), ("a", 1, 0)]
    engine.close()


def test_an_older_copy_without_waiting_records_lands_what_comes_after_it(tmp_path, place):
    """Its numbers are given out again, and the store has files of the first ones."""
    disk = tmp_path / "disk"
    engine = host(disk, place)
    push(engine, "a", 0)
    land(engine)
    engine.close()
    with put_back(disk):
        engine = host(disk, place)
        push(engine, "a", 1)
        land(engine)
        engine.close()
    engine = host(disk, place)
    push(engine, "b", 0)
    engine.close()
    engine = host(disk, place)
    land(engine)
    engine.close()
    assert stored(place) == [("a", 0, 0), ("a", 1, 0), ("b", 0, 0)]


def test_files_of_another_history_hide_no_record_that_cannot_be_read(tmp_path, place):
    disk = tmp_path / "disk"
    engine = host(disk, place)
    push(engine, "a", 0)
    land(engine)
    engine.close()
    with put_back(disk):
        engine = host(disk, place)
        push(engine, "a", 1, records=2)  # 2 and 3
        land(engine)
        engine.close()
    engine = host(disk, place)
    push(engine, "b", 0)  # 2
    push(engine, "b", 1)  # 3
    engine.close()
    newest = max(disk.glob("segment-*.db"))
    with contextlib.closing(sqlite3.connect(newest)) as log, log:
        assert log.execute("UPDATE requests SET crc32 = crc32 + 1 WHERE first = 3").rowcount == 1
    engine = host(disk, place)
    land(engine)
    metrics = engine.metrics()
    engine.close()
    assert stored(place) == [("a", 0, 0), ("a", 1, 0), ("a", 1, 1), ("b", 0, 0)]
    assert metrics.corrupt_rows == 1
    assert any("records 3 to 3 of feed clicks" in text for text in metrics.messages)


def test_the_files_of_a_former_versions_segments_are_found(tmp_path, place):
    """Their names have no number of the segment."""
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    engine = host(disk, place)
    push(engine, "a", 0)
    engine.close()
    for path in disk.glob("segment-*"):
        path.rename(path.with_name(re.sub("-[0-9a-f]{12}[.]", ".", path.name)))
    shutil.copytree(disk, copy)
    engine = host(disk, place)
    land(engine)
    engine.close()
    engine = host(copy, place)
    land(engine)
    engine.close()
    assert stored(place) == [("a", 0, 0)]


def test_a_log_keeps_its_number_and_an_empty_folder_gets_a_new_one(tmp_path):
    assert log_id(tmp_path) != log_id(tmp_path)
    (tmp_path / "segment-1-1.db").touch()
    assert log_id(tmp_path) == log_id(tmp_path)


def test_names_are_below_the_hour_of_landing_and_are_found_again(tmp_path, place, s3):
    store = StoreLanding("clicks", place, tmp_path, "0123456789ab")
    stem, stem_before = store.stem("a0b1c2d3e4f5"), store.stem("")
    name, before = file_name(stem, 0, 3, 4), file_name(stem_before, 0, 1, 2)
    other = name.replace("0123456789ab", "ba9876543210")
    prefix = place.removeprefix("s3a://lake/")
    keys = [store.named(each, 7200.0) for each in (name, before, other)]
    for key in (*keys, "1970-01-01T00/x.parquet"):
        s3.client().put_object(Bucket="lake", Key=f"{prefix}/{key}", Body=b"")
    assert stem == "clicks-0123456789ab-a0b1c2d3e4f5"
    assert store.names_since(7200.0) == [
        LandedName(f"1970-01-01T02/{before}", 1, 2, "clicks-0123456789ab"),
        LandedName(f"1970-01-01T02/{name}", 3, 4, stem),
    ]
    assert store.names_since(90_000.0) == []
