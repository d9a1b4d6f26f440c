"""Listing feeds of files: what one part of a feed, or one feed, does to the others."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.delta.stores import arrow_uri
from freshline.runtime.feeds import listing as feeds
from freshline.runtime.feeds import sinks
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.feeds.sinks import SinkLog
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.reloading import check_reload
from tests.support.shop import LiveRun, made_project, made_shop


@pytest.fixture
def listing(tmp_path):
    return FeedListing(made_project(tmp_path, {"orders": ()}).feeds["orders_feed"])


def put(listing, *names):
    for name in names:
        path = Path(listing.feed.path) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")


def failing_scandir(monkeypatch, *folders, code=116):
    """Let a folder's listing fail as a file server's does (ESTALE), which nothing local can."""
    real = os.scandir

    def scandir(path):
        if os.path.basename(path) in folders:  # noqa: PTH119 - scandir is given a text
            raise OSError(code, os.strerror(code), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def names(files):
    return [file.name for file in files]


def test_a_folder_that_cannot_be_listed_hides_nothing_beside_it(listing, monkeypatch):
    put(listing, "a.csv", "east/b.csv", "south/c.csv", "west/d.csv")
    with monkeypatch.context() as broken:
        failing_scandir(broken, "south")
        look = listing.look()
        assert names(look.files) == ["a.csv", "east/b.csv", "west/d.csv"]
        (problem,) = look.problems
        assert problem.render() == (
            f"[feed-listing] tables.sql:1: cannot list {listing.feed.path}/south of feed"
            f" orders_feed: [Errno 116] Stale file handle: '{listing.feed.path}/south'. Check that"
            " it exists and may be read."
        )
    put(listing, "e.csv")
    again = listing.look()
    assert (sorted(names(again.files)), again.problems) == (["e.csv", "south/c.csv"], [])
    assert listing.look() == feeds.Look()


def test_a_listing_that_must_be_whole_counts_nothing_as_told_when_it_is_not(listing, monkeypatch):
    put(listing, "a.csv", "south/c.csv")
    with monkeypatch.context() as broken:
        failing_scandir(broken, "south")
        with pytest.raises(PlatformError, match="Stale file handle"):
            listing.new_files()
    assert names(listing.new_files()) == ["a.csv", "south/c.csv"]


def test_a_link_that_leads_to_itself_hides_nothing(listing):
    put(listing, "a.csv")
    loop = Path(listing.feed.path) / "loop.csv"
    loop.symlink_to(loop)
    look = listing.look()
    assert names(look.files) == ["a.csv"]
    assert ["Too many levels of symbolic links" in str(each) for each in look.problems] == [True]


def test_a_link_to_a_folder_that_it_is_in_brings_no_file_again(listing):
    put(listing, "a.csv", "south/b.csv")
    Path(listing.feed.path, "south", "up").symlink_to(listing.feed.path)
    Path(listing.feed.path, "self").symlink_to(".")
    look = listing.look()
    assert names(look.files) == ["a.csv", "south/b.csv"]
    assert [str(each).split(" leaves out ")[1].split(":")[0] for each in look.problems] == [
        f"{listing.feed.path}/self", f"{listing.feed.path}/south/up",
    ]  # fmt: skip


@pytest.mark.parametrize("far", [False, True])
def test_a_link_to_a_folder_above_the_feed_brings_no_file_again(listing, tmp_path, far):
    put(listing, "a.csv", "south/b.csv")
    feed, above = Path(listing.feed.path), Path(listing.feed.path).parent
    if far:  # by way of a folder elsewhere
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "c.csv").write_text("1")
        Path(feed, "south", "far").symlink_to(tmp_path / "elsewhere")
    Path(feed, "south", *(["far"] if far else []), "up").symlink_to(above)
    look = listing.look()
    assert names(look.files) == ["a.csv", "south/b.csv", *(["south/far/c.csv"] if far else [])]
    (problem,) = look.problems
    assert "/up: it is a link to a folder that it is in" in problem.what


def test_a_pipe_is_told_and_not_waited_for(listing):
    put(listing, "a.csv")
    os.mkfifo(f"{listing.feed.path}/b.csv")
    found = listing.look()
    assert names(found.files) == ["a.csv"]
    (problem,) = found.problems
    assert "b.csv: it is a pipe, a socket or a device" in problem.what
    os.remove(f"{listing.feed.path}/b.csv")  # noqa: PTH107
    assert not listing.look().problems


def test_folders_however_deep_are_listed(listing):
    folders = [Path(listing.feed.path) / "/".join("d" * depth) for depth in range(1, 1101)]
    put(listing, "a.csv")
    for folder in folders:
        folder.mkdir()
    (folders[-1] / "b.csv").write_text("1")
    assert sorted(names(listing.look().files)) == ["a.csv", "/".join("d" * 1100) + "/b.csv"]
    (folders[-1] / "b.csv").unlink()
    for folder in reversed(folders):  # what pytest removes folders with goes by recursion
        folder.rmdir()


def test_a_name_that_is_not_utf8_is_told_and_left_out(listing):
    put(listing, "a.csv", os.fsdecode(b"b\xff.csv"), os.fsdecode(b"c\xfe") + "/d.csv")
    look = listing.look()
    assert names(look.files) == ["a.csv"]
    where, then = "[file-name] tables.sql:1: feed orders_feed leaves out", "Rename it."
    assert sorted(problem.render() for problem in look.problems) == [
        rf"{where} b\xff.csv: its name is not UTF-8. {then}",
        rf"{where} c\xfe: its name is not UTF-8. {then}",
    ]


@pytest.mark.parametrize("as_store", [False, True])
def test_the_files_of_a_table_are_left_out_and_told_until_its_log_is_gone(listing, as_store):
    root = Path(listing.feed.path)
    rows = pa.table({"id": [1, 2]})
    for _ in range(2):
        deltalake.write_deltalake(str(root / "lake" / "t"), rows, mode="append")
    deltalake.DeltaTable(str(root / "lake" / "t")).optimize.compact()
    put(
        listing, "a.csv", "lake/b.csv", "lake/t/day=1/c.parquet", "hudi/d.parquet", "hudi/.hoodie/x"
    )
    if as_store:
        listing = FeedListing(dataclasses.replace(listing.feed, path=root.as_uri()))
    look = listing.look()
    assert sorted(names(look.files)) == ["a.csv", "lake/b.csv"]
    what = "[feed-of-a-table] tables.sql:1: feed orders_feed leaves out"
    assert sorted(problem.render() for problem in look.problems) == [
        f"{what} {listing.feed.path}/{folder}: it is the folder of a {kind} table; which of such"
        " files hold rows is in the table's log alone. For a Delta table declare a feed of"
        " `kind: delta` with this path."
        for folder, kind in (("hudi", "Hudi"), ("lake/t", "Delta"))
    ]
    assert (listing.look().files, len(listing.look().problems)) == ([], 2)
    shutil.rmtree(root / "hudi" / ".hoodie")
    assert names(listing.look().files) == ["hudi/d.parquet"]


def logged(folder, batch, *paths, version="v1"):
    """What a stream of Spark writes down of a batch that is complete."""
    lines = [json.dumps({"path": path, "size": 1, "isDir": False}) for path in paths]
    log = folder / "_spark_metadata" / batch
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join([version, *lines]))


def as_given(listing, as_store):
    if not as_store:
        return listing
    return FeedListing(dataclasses.replace(listing.feed, path=Path(listing.feed.path).as_uri()))


@pytest.mark.parametrize("as_store", [False, True])
def test_of_a_folder_that_a_stream_of_spark_writes_the_files_of_its_log_are_read(listing, as_store):
    root = Path(listing.feed.path)
    put(listing, "a.csv", *(f"sink/k=a%3Ab/{number}.csv" for number in range(7)), "sink/8.csv")
    there = "s3a://where/it/was/written/sink"
    logged(root / "sink", "0", f"{there}/k=a%253Ab/0.csv")
    logged(root / "sink", "1.compact", f"{there}/k=a%253Ab/0.csv", f"{there}/k=a%253Ab/1.csv")
    logged(root / "sink", "2", f"{there}/k=a%253Ab/2.csv", f"{there}/8.csv")
    (root / "sink" / "_spark_metadata" / ".2.crc").write_text("no text of a log")
    listing = as_given(listing, as_store)
    look = listing.look()
    first = [f"sink/k=a%3Ab/{number}.csv" for number in range(3)]
    assert sorted(names(look.files)) == ["a.csv", "sink/8.csv", *first]
    assert (look.sinks, look.problems) == ([f"{listing.feed.path}/sink"], [])
    assert (listing.look().files, listing.look().left_out) == ([], 4)
    logged(root / "sink", "3", f"{there}/k=a%253Ab/5.csv", f"{there}/gone.csv")
    logged(root / "sink", "4", f"{there}/k=a%253Ab/3.csv")
    assert sorted(names(listing.look().files)) == ["sink/k=a%3Ab/3.csv", "sink/k=a%3Ab/5.csv"]
    for part in (root / "sink" / "_spark_metadata").iterdir():  # and the stream began again
        part.unlink()
    logged(root / "sink", "0", f"{there}/k=a%253Ab/6.csv")
    assert names(listing.look().files) == ["sink/k=a%3Ab/6.csv"]
    shutil.rmtree(root / "sink" / "_spark_metadata")
    assert names(listing.look().files) == ["sink/k=a%3Ab/4.csv"]


@pytest.mark.parametrize("as_store", [False, True])
@pytest.mark.parametrize("sink", ["", "sink/", "day=2026-01-05/"])
def test_files_of_the_first_batch_of_a_stream_wait_for_its_log(listing, as_store, sink):
    """Spark makes the log's folder when the stream starts, and its first file after the batch."""
    root = Path(listing.feed.path)
    put(listing, f"{sink}k=1/0.csv", f"{sink}k=1/of-a-failed-task.csv")
    (root / sink / "_spark_metadata").mkdir()
    listing = as_given(listing, as_store)
    for _ in range(3):
        look = listing.look()
        assert (look.files, look.problems, look.left_out, len(look.sinks)) == ([], [], 2, 1)
    logged(root / sink, "0", f"s3a://lake/{sink}k=1/0.csv")
    assert names(listing.look().files) == [f"{sink}k=1/0.csv"]


def test_a_file_of_a_failed_batch_is_looked_for_in_new_parts_of_the_log_alone():
    read: list[str] = []
    log = SinkLog()

    def left_out(*batches: str) -> set[str]:
        def text(name: str) -> str:
            read.append(name)
            return 'v1\n{"path": "file:/sink/b.csv"}'

        read.clear()
        return log.left_out({"a.csv", "b.csv"} if "3" not in batches else {"a.csv"}, batches, text)

    assert (left_out("0", "1.compact", "2"), read) == ({"a.csv"}, ["2", "1.compact"])
    assert (left_out("0", "1.compact", "2", "3"), read) == ({"a.csv"}, ["3"])
    assert (left_out("0", "1.compact", "2", "3"), read) == ({"a.csv"}, [])


@pytest.mark.parametrize("as_store", [False, True])
def test_the_log_of_a_stream_of_spark_is_read_once_a_look_however_many_folders_there_are(
    listing, as_store, monkeypatch
):
    root = Path(listing.feed.path)
    parts = [f"sink/day={day}/part-{day}.csv" for day in range(5)]
    put(listing, *parts, "sink/day=0/of-a-failed-batch.csv")
    logged(root / "sink", "9.compact", *(f"file://{root}/{part}" for part in parts))
    read: list[str] = []
    real = sinks._paths

    def paths(name, text):
        read.append(name)
        return real(name, text)

    monkeypatch.setattr(sinks, "_paths", paths)
    listing = as_given(listing, as_store)
    look = listing.look()
    assert (sorted(names(look.files)), look.left_out) == (parts, 1)
    assert (listing.look().files, read) == ([], ["9.compact"])


def test_a_part_of_a_log_that_goes_away_while_it_is_read_is_no_fault(listing, monkeypatch):
    put(listing, "a.csv", "sink/b.csv")
    root = Path(listing.feed.path)
    logged(root / "sink", "0", f"file://{root}/sink/b.csv")
    with monkeypatch.context() as earlier:
        earlier.setattr(os, "listdir", lambda _: ["0", "1"])
        look = listing.look()
        assert (names(look.files), look.problems) == (["a.csv"], [])
    assert names(listing.look().files) == ["sink/b.csv"]


@pytest.mark.parametrize("as_store", [False, True])
@pytest.mark.parametrize(
    "text", ["v2\n", "", "v1\n\xff", 'v1\n{"path"', "v1\n[]", 'v1\n{"size": 1}']
)
def test_a_log_that_is_not_as_spark_writes_it_is_a_problem(listing, as_store, text):
    put(listing, "sink/b.csv", "sink/_spark_metadata/0")
    (Path(listing.feed.path) / "sink" / "_spark_metadata" / "0").write_bytes(text.encode("latin-1"))
    look = as_given(listing, as_store).look()
    (problem,) = look.problems
    assert (look.files, "_spark_metadata/0 is not understood" in problem.what) == ([], True)


def test_a_folder_that_a_stream_of_spark_writes_is_told_once_a_run(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    root = Path(shop.project.feeds["orders_feed"].path)
    logged(root, "0", *(f"file://{path}" for path in root.glob("*.csv")))
    with LiveRun(shop):
        shop.recorder.wait_for("done orders")
        logged(root, "1", f"file://{root}/{shop.file('orders', 2, [3])}")
        shop.recorder.wait_for("done orders", 2)
    assert shop.run_until_idle() == 0
    told = [line for line in shop.recorder.lines if "a stream of Spark writes" in line]
    assert len(told) == 2, "once in each of two runs"


@pytest.mark.parametrize("as_store", [False, True])
def test_a_feed_that_is_a_table_has_no_files(listing, as_store):
    deltalake.write_deltalake(listing.feed.path, pa.table({"id": [1]}))
    if as_store:
        path = Path(listing.feed.path).as_uri()
        listing = FeedListing(dataclasses.replace(listing.feed, path=path))
    look = listing.look()
    assert (look.files, [problem.code for problem in look.problems]) == ([], ["feed-of-a-table"])


def test_a_store_that_arrow_does_not_know_is_a_problem_of_that_feed(listing):
    other = FeedListing(dataclasses.replace(listing.feed, path="oss://bucket/orders"))
    look = other.look()
    assert look.files == []
    assert ["Unrecognized filesystem type" in str(problem) for problem in look.problems] == [True]
    assert other.exists("a.csv")  # nobody can say that it is gone


def test_a_file_in_a_folder_that_may_not_be_entered_is_not_gone(listing, monkeypatch):
    put(listing, "a.csv")
    assert listing.exists("a.csv")
    assert not listing.exists("b.csv")
    assert not listing.exists("a.csv/b.csv")

    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "stat", refused)
    assert listing.exists("a.csv")


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("s3a://bucket/a/b?region=eu-central-1", "s3://bucket/a/b?region=eu-central-1"),
        ("s3n://bucket/a", "s3://bucket/a"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("wasbs://c@shop.blob.core.windows.net/a", "abfss://c@shop.dfs.core.windows.net/a"),
        ("wasb://c@shop.blob.core.windows.net/a", "abfs://c@shop.dfs.core.windows.net/a"),
        ("abfss://c@shop.dfs.core.windows.net/a", "abfss://c@shop.dfs.core.windows.net/a"),
        ("gs://bucket/s3a://odd", "gs://bucket/s3a://odd"),
        ("hdfs://name:8020/a", "hdfs://name:8020/a"),
    ],
)
def test_stores_have_other_names_in_spark_than_in_arrow(path, uri):
    assert arrow_uri(path) == uri


def test_a_feed_that_cannot_be_listed_stops_no_other_and_is_left_behind(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "parts": ()})
    feed = dataclasses.replace(shop.project.feeds["parts_feed"], path="oss://bucket/parts")
    shop.project = shop.executor.project = dataclasses.replace(
        shop.project, feeds={**shop.project.feeds, "parts_feed": feed}
    )
    shop.file("orders", 1, [1, 2])
    assert shop.run_until_idle() == 1
    assert shop.executor.numbers("orders") == [1, 2]
    (row,) = shop.journal_rows("SELECT name, error FROM feeds WHERE error IS NOT NULL")
    assert row["name"] == "parts_feed"
    assert "Unrecognized filesystem type" in row["error"]


def test_a_name_that_is_not_utf8_stops_nothing_and_is_said_until_it_is_gone(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    bad = Path(shop.project.feeds["orders_feed"].path) / os.fsdecode(b"b\xff.csv")
    bad.write_text("2")
    assert shop.run_until_idle() == 1
    assert shop.executor.numbers("orders") == [1]
    with LiveRun(shop):
        shop.file("orders", 2, [3])
        shop.recorder.wait_for("done orders", 2)
        bad.rename(bad.with_name("orders-20260102T000300.csv"))
        shop.recorder.wait_for("notice feed orders_feed is listed in full again")
        shop.recorder.wait_for("done orders", 3)
    assert shop.executor.numbers("orders") == [1, 2, 3]
    told = [line for line in shop.recorder.lines if "file-name" in line]
    assert len(told) == 2  # once a run, however often it was listed
    assert shop.journal_rows("SELECT error FROM feeds") == [{"error": None}]


def test_the_journal_takes_any_text(tmp_path):
    project = made_project(tmp_path, {"orders": ()})
    journal = Journal(journal_path(project), create=True)
    journal.put("tables", {"name": "orders"}, error="cannot read b\udcff.csv", kind="base")
    assert journal.flush()
    journal.close()
    with closing(sqlite3.connect(journal_path(project))) as db:
        assert db.execute("SELECT error FROM tables").fetchall() == [(r"cannot read b\udcff.csv",)]


def test_files_that_a_log_does_not_name_are_not_gone_where_a_table_is_loaded_again(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    logged(Path(shop.project.feeds["orders_feed"].path), "0")
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    assert shop.executor.numbers("orders") == [1]


def test_files_that_are_gone_are_not_asked_for_one_by_one(tmp_path, monkeypatch):
    """Of a store each would be a request, and a feed may have deleted a hundred thousand."""
    shop = made_shop(tmp_path, {"orders": ()})
    name = shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    (Path(shop.project.feeds["orders_feed"].path) / name).unlink()
    asked: list[str] = []
    monkeypatch.setattr(FeedListing, "exists", lambda _, name: asked.append(name))
    told = pytest.raises(UserError, match="1 of the 1 files in table orders are no longer")
    with closing(Journal(journal_path(shop.project), create=False)) as journal, told:
        check_reload(shop.project, journal, "orders")
    assert asked == []
