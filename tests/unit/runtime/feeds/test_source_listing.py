"""What a base table is told of its feed's Delta table, look by look; the tables are delta-rs'."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import Place, PlatformError
from freshline.delta.arrivals import named, read_commit
from freshline.delta.stores import arrow_uri, delta_table, storage_options, use
from freshline.executor.source import Held, SourceLook, SourceMissingError
from freshline.project.model import DeltaSource, Feed
from freshline.runtime.feeds.sources import SourceListing
from tests.support.s3_server import S3Server

NOW_S = 4e9


class DeltaRs:
    """A table as delta-rs sees it; counts how often it was asked."""

    def __init__(self, path):
        self.path = str(path)
        self.looks = 0

    def look(self):
        self.looks += 1
        if "://" not in self.path and not Path(self.path).is_dir():
            raise SourceMissingError("f", self.path)
        table = delta_table(self.path)
        return SourceLook(self.path, str(table.metadata().id), table.version())

    def append(self, *ids):
        rows = pa.table({"id": pa.array(ids, pa.int64())})
        options = storage_options(self.path)
        deltalake.write_deltalake(
            arrow_uri(self.path), rows, mode="append", storage_options=options
        )

    @property
    def table(self):
        return delta_table(self.path)


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def source(tmp_path):
    made = DeltaRs(tmp_path / "source")
    made.append(1, 2)
    return made


@pytest.fixture
def listen(tmp_path, source):
    """Makes the listing of a new process; the base table is at tmp_path/base."""

    def make(*known, on_new_table="refuse", clock=None):
        settings = DeltaSource(None, on_new_table)
        place = Place("freshline.yml", 3)
        feed = Feed("f", "delta", source.path, "delta", {}, None, None, None, place, settings)
        return SourceListing(
            feed, "t", source, str(tmp_path / "base"), known, clock=clock or Clock()
        )

    return make


def versions(news):
    return [named(file.name)[0] for file in news.files]


def commit_of(source, version):
    commit = read_commit(source.path, version)
    assert commit is not None
    return commit


def holds(tmp_path, source, version):
    """A base table's commit says that it shows a version."""
    commit = commit_of(source, version)
    held = Held(str(source.table.metadata().id), version, commit.mark)
    log = tmp_path / "base" / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    said = {"freshline": 1, "table": "t", "update": 1, **held.fields()}
    number = len(list(log.iterdir()))
    info = {"commitInfo": {"timestamp": 1, "userMetadata": json.dumps(said)}}
    (log / f"{number:020d}.json").write_text(json.dumps(info))


def test_all_that_is_there_is_one_arrival_and_each_version_after_it_another(source, listen):
    source.append(3)
    listing = listen()
    first = listing.news(NOW_S)
    assert versions(first) == [1]
    assert (first.version, first.ends, first.notices) == (1, {"version": 1}, [])
    source.append(4)
    source.append(5)
    second = listing.news(NOW_S)
    assert versions(second) == [2, 3]
    sizes = [commit_of(source, version).size_bytes for version in (2, 3)]
    assert [file.size_bytes for file in second.files] == sizes
    assert min(sizes) > 0
    stamps = [commit_of(source, version).timestamp_s for version in (2, 3)]
    assert [file.timestamp_s for file in second.files] == stamps
    assert listing.news(NOW_S).files == []


def test_a_look_at_a_table_that_stands_still_asks_nobody(source, listen):
    clock = Clock()
    listing = listen(clock=clock)
    listing.news(NOW_S)
    for _ in range(5):
        listing.news(NOW_S)
    assert source.looks == 1
    source.append(3)
    assert versions(listing.news(NOW_S)) == [1]
    assert source.looks == 2
    clock.now_s += 60.0  # the catalog may name another place by now
    listing.news(NOW_S)
    assert source.looks == 3


def test_what_changes_no_row_is_no_arrival(source, listen):
    source.append(3)
    listing = listen()
    listing.news(NOW_S)
    source.table.optimize.compact()
    source.table.alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})
    source.table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert source.table.version() > 1
    assert listing.news(NOW_S).files == []


def test_rows_that_were_changed_are_told_with_what_changed_them(source, listen):
    listing = listen()
    listing.news(NOW_S)
    source.append(3)
    source.table.delete("id = 1")
    news = listing.news(NOW_S)
    assert versions(news) == [1, 2]
    assert news.notices == [
        "feed f: version 2 (DELETE) changed or removed rows; t is loaded again in full"
    ]
    assert listing.news(NOW_S).notices == []


def test_a_new_process_goes_on_where_the_base_table_stands(tmp_path, source, listen):
    holds(tmp_path, source, 0)
    source.append(3)
    known = listen().news(NOW_S).files[0].name
    assert named(known)[0] == 1
    source.append(4)
    assert versions(listen(known).news(NOW_S)) == [2]  # the other is known, loaded or not


def test_versions_that_left_the_log_are_told_as_a_whole(tmp_path, source, listen):
    holds(tmp_path, source, 0)
    for number in (3, 4, 5):
        source.append(number)
    source.table.create_checkpoint()
    for version in (0, 1):
        (Path(source.path) / "_delta_log" / f"{version:020d}.json").unlink()
    news = listen().news(NOW_S)
    assert versions(news) == [3]
    assert news.notices == [
        "feed f: the versions after 0 are no longer in its log; t is loaded again in full"
    ]


@pytest.mark.parametrize("running", [True, False])
def test_a_table_made_again_is_refused_until_it_is_loaded_in_full(
    tmp_path, source, listen, running
):
    holds(tmp_path, source, 0)
    listing = listen()
    if running:
        listing.news(NOW_S)
    shutil.rmtree(source.path)
    with pytest.raises(SourceMissingError):
        listing.news(NOW_S)
    for number in (1, 2, 3):
        source.append(number)
    with pytest.raises(PlatformError) as error:
        listing.news(NOW_S)
    assert error.value.render() == (
        "[source-replaced] freshline.yml:3: the Delta table of feed f is not what was loaded from"
        " before: another table is in its place; a base table shows one version of its feed's"
        " table, and rows may be missing here. Put the old one back. Where this one is right,"
        " `freshline refresh --full` of the base table loads all of it in place of what was"
        " loaded, and `on_new_table: reload` of the feed does so each time."
    )
    holds(tmp_path, source, 1)
    assert versions(listing.news(NOW_S)) == [2]


def test_a_table_made_again_is_one_arrival_where_the_feed_says_so(tmp_path, source, listen):
    holds(tmp_path, source, 0)
    shutil.rmtree(source.path)
    source.append(1)
    source.append(2)
    news = listen(on_new_table="reload").news(NOW_S)
    assert versions(news) == [1]
    assert news.notices == ["feed f: another table is in its place; t is loaded again in full"]


def test_another_history_of_the_same_table_is_noticed(tmp_path, source, listen):
    shutil.copytree(source.path, tmp_path / "backup")
    source.append(3)
    holds(tmp_path, source, 1)
    listing = listen(on_new_table="reload")
    listing.news(NOW_S)
    shutil.rmtree(source.path)
    shutil.copytree(tmp_path / "backup", source.path)
    back = listing.news(NOW_S)
    assert back.notices == ["feed f: it went back from version 1 to 0; t is loaded again in full"]
    assert versions(back) == [0]
    holds(tmp_path, source, 0)
    source.append(4)  # another version 1 than the one before
    news = listing.news(NOW_S)
    assert versions(news) == [1]
    assert news.notices == []


def test_a_version_under_a_number_that_was_loaded_is_another_one(tmp_path, source, listen):
    shutil.copytree(source.path, tmp_path / "backup")
    source.append(3)
    holds(tmp_path, source, 1)
    listing = listen(on_new_table="reload")
    known = listing.news(NOW_S)
    shutil.rmtree(source.path)
    shutil.copytree(tmp_path / "backup", source.path)
    source.append(4)
    source.append(5)
    news = listing.news(NOW_S)
    assert versions(news) == [2]
    assert news.notices == [
        "feed f: version 1 is another one than was loaded; t is loaded again in full"
    ]
    assert not {file.name for file in known.files} & {file.name for file in news.files}


def test_the_time_of_versions_never_goes_back(source, listen):
    listing = listen()
    listing.news(NOW_S)
    for version, at_ms in ((1, 5_000_000), (2, 3_000_000)):
        source.append(version)
        file = Path(source.path) / "_delta_log" / f"{version:020d}.json"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            if "commitInfo" in line:
                line["commitInfo"]["timestamp"] = at_ms
        file.write_text("\n".join(map(json.dumps, lines)))
    listing._newest_s = 0.0  # what came before is of no matter
    assert [file.timestamp_s for file in listing.news(NOW_S).files] == [5000.0, 5000.0]


def test_versions_in_an_object_store_are_read_without_spark(tmp_path):
    with S3Server() as server:
        use(server.settings)
        try:
            source, clock = DeltaRs("s3a://lake/source"), Clock()
            source.append(1)
            source.append(2)
            place = Place("freshline.yml", 3)
            feed = Feed(
                "f", "delta", source.path, "delta", {}, None, None, None, place, DeltaSource(None)
            )
            listing = SourceListing(feed, "t", source, str(tmp_path / "base"), clock=clock)
            assert versions(listing.news(NOW_S)) == [1]
            assert versions(listing.news(NOW_S)) == []
            source.append(3)
            source.table.delete("id = 1")
            news = listing.news(NOW_S)
            assert versions(news) == [2, 3]
            assert news.notices == [
                "feed f: version 3 (DELETE) changed or removed rows; t is loaded again in full"
            ]
            clock.now_s += 60.0
            assert versions(listing.news(NOW_S)) == []
            holds(tmp_path, source, 1)
            again = SourceListing(feed, "t", source, str(tmp_path / "base"))
            assert versions(again.news(NOW_S)) == [2, 3]
            # JSON leaves U+2028, which Python's splitlines takes for the end of a line.
            deltalake.write_deltalake(
                arrow_uri("s3a://lake/odd"),
                pa.table({"text": ["one\u2028two\u0085three"]}),
                storage_options=storage_options("s3a://lake/odd"),
            )
            commit = read_commit("s3a://lake/odd", 0)
            assert commit is not None
            assert commit.rows == 1
        finally:
            use({})
