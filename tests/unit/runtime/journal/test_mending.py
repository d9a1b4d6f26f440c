"""Tables that a power cut has torn go back to their newest whole version, and lose nothing."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from freshline.delta.flushed import flush_commit
from freshline.runtime.journal.mending import mend
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.recovery import recover
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.reports.store import WantedReport, note, note_wanted, read_reports
from tests.support.shop import made_shop

VIEWS = {"orders": (), "doubled": ("orders",)}


@pytest.fixture
def shop(tmp_path):
    """A base table and a view, two updates each."""
    shop = made_shop(tmp_path, VIEWS)
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    return shop


def commit_file(shop, table, version) -> Path:
    return Path(shop.project.table_path(table)) / "_delta_log" / f"{version:020d}.json"


def data_file(shop, table, version) -> Path:
    lines = commit_file(shop, table, version).read_text().splitlines()
    (added,) = (json.loads(line)["add"] for line in lines if '"add"' in line)
    return Path(shop.project.table_path(table), str(added["path"]))


def sum_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def newest(shop, table) -> int:
    return DeltaTable(shop.project.table_path(table)).version()


def told(shop) -> list[str]:
    return [line for line in shop.recorder.lines if "went back" in line or "table-torn" in line]


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("journal", [True, False])
def test_a_commit_that_is_not_whole_is_taken_back_and_made_again(shop, part, journal):
    for table in VIEWS:
        file = commit_file(shop, table, newest(shop, table))
        whole = file.read_bytes()
        file.write_bytes([b"", whole[: len(whole) // 2], bytes(len(whole))][part])
        sum_of(file).write_bytes(b"Hadoop's sum of what was there")
    if not journal:
        for each in (Path(shop.project.storage) / "_freshline").glob("journal.db*"):
            each.unlink()
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    for table in VIEWS:
        assert shop.executor.numbers(table) == [1, 2, 3]
        # A sum that stayed would make Spark refuse the new commit, which has the same name.
        assert not sum_of(commit_file(shop, table, newest(shop, table))).exists(), table
    shop.check_views()
    assert len(told(shop)) == 2


@pytest.mark.parametrize("lost", ["short", "missing"])
@pytest.mark.parametrize("table", list(VIEWS))
def test_a_data_file_that_is_not_whole_takes_its_commit_and_later_ones_back(shop, lost, table):
    file = data_file(shop, "orders", 1)
    if table == "doubled":
        file = data_file(shop, table, newest(shop, table))
    content = file.read_bytes()
    file.unlink()
    if lost == "short":
        file.write_bytes(content[:-3])
    shop.file("orders", 3, [3])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3]
    assert shop.executor.numbers("doubled") == [1, 2, 3]
    assert len(told(shop)) == 1


def test_rows_whose_file_is_gone_from_the_feed_are_not_taken_back_and_the_other_tables_go_on(
    shop,
):
    data_file(shop, "orders", 1).write_bytes(b"")
    for each in (shop.root / "feed" / "orders").iterdir():
        each.unlink()
    shop.run_until_idle()
    (line,) = told(shop)
    assert "[table-torn]" in line
    assert "refresh orders --full" in line
    assert newest(shop, "orders") == 1


def test_a_checkpoint_of_format_2_is_whole_or_moved_aside(shop):
    path = shop.project.table_path("orders")
    log = Path(path, "_delta_log")
    newest = max(log.glob("*.json")).stem
    manifest = log / f"{newest}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    note = f'{{"version": {int(newest)}}}'
    (log / "_last_checkpoint").write_text(note)
    manifest.write_text('{"checkpointMetadata":{"version":1}}\n{"protocol":{}}\n')
    assert not mend(shop.project)
    assert (log / "_last_checkpoint").read_text() == note
    manifest.write_text('{"checkpointMetadata":{"version":1}}\n{"proto')
    assert "was not whole; it was moved aside" in "".join(mend(shop.project))
    assert not [*log.glob("*checkpoint*")]


@pytest.mark.parametrize("kind", ["json", "parquet"])
@pytest.mark.parametrize("fault", ["short", "missing"])
def test_a_part_of_a_checkpoint_of_format_2_that_is_not_whole_moves_it_aside(shop, kind, fault):
    log = Path(shop.project.table_path("orders"), "_delta_log")
    number = max(log.glob("*.json")).stem
    part = log / "_sidecars" / "a b.parquet"
    part.parent.mkdir()
    pq.write_table(pa.table({"add": [1]}), part)
    manifest = log / f"{number}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{kind}"
    said = {"path": "a%20b.parquet", "sizeInBytes": 1, "modificationTime": 1}
    if kind == "json":
        manifest.write_text(json.dumps({"sidecar": said}) + "\n")
    else:
        pq.write_table(pa.table({"sidecar": [None, said]}), manifest)
    (log / "_last_checkpoint").write_text(f'{{"version": {int(number)}}}')
    flush_commit(str(log.parent), int(number))
    assert not mend(shop.project)
    if fault == "short":
        part.write_bytes(part.read_bytes()[:-5])
    else:
        part.unlink()
    assert "was not whole; it was moved aside" in "".join(mend(shop.project))
    assert not [*log.glob("*checkpoint*"), *log.glob("_sidecars/*")]


def test_a_checkpoint_that_is_not_whole_is_moved_aside(shop):
    path = shop.project.table_path("orders")
    DeltaTable(path).create_checkpoint()
    log = Path(path) / "_delta_log"
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-5])
    for each in (checkpoint, log / "_last_checkpoint"):
        sum_of(each).write_bytes(b"Hadoop's sum of what was there")
    assert shop.run_until_idle() == 0
    assert not [*log.glob("*checkpoint*"), *log.glob(".*checkpoint*")]
    assert shop.executor.numbers("orders") == [1, 2]


def test_what_is_whole_stays_as_it_is(shop):
    # Files that a later version removed may be gone: VACUUM removes them.
    data_file(shop, "doubled", newest(shop, "doubled") - 1).unlink()
    shop.run_until_idle()
    assert not told(shop)
    assert not (Path(shop.project.storage) / "_freshline" / "torn").exists()


def test_files_of_a_feed_at_a_uri_are_looked_up_there(shop):
    data_file(shop, "orders", 1).unlink()
    feeds = shop.project.feeds
    shop.project = dataclasses.replace(
        shop.project,
        feeds={
            name: dataclasses.replace(feed, path=Path(feed.path).as_uri())
            for name, feed in feeds.items()
        },
    )
    (note,) = mend(shop.project)
    assert "went back to version 0" in note


def test_versions_of_a_delta_feed_are_no_files_that_could_be_gone(shop):
    file = commit_file(shop, "orders", 1)
    names = json.dumps([f"{7:020d}-0123456789ab"])
    whole = file.read_text()
    loaded = json.loads(next(line for line in whole.splitlines() if "commitInfo" in line))
    told = json.loads(loaded["commitInfo"]["userMetadata"])["files"]
    file.write_text(whole.replace(json.dumps(json.dumps(told))[1:-1], json.dumps(names)[1:-1]))
    assert "0123456789ab" in file.read_text()
    data_file(shop, "orders", 1).unlink()
    feeds = shop.project.feeds
    shop.project = dataclasses.replace(
        shop.project,
        feeds={name: dataclasses.replace(feed, kind="delta") for name, feed in feeds.items()},
    )
    (note,) = mend(shop.project)
    assert "went back to version 0" in note


@pytest.mark.parametrize("asked", [True, False])
def test_the_tables_of_reports_are_put_back_too(shop, asked):
    result = Path(shop.project.table_path("weekly"), "_delta_log")
    state = Path(shop.project.own_path, "reports", "weekly", "0-1-abc", "p0", "_delta_log")
    whole = commit_file(shop, "doubled", 0).read_text()
    for log in (result, state):
        log.mkdir(parents=True)
        (log / f"{0:020d}.json").write_text('{"commitInfo":{}}\n')
        (log / f"{1:020d}.json").write_text(whole[: len(whole) // 2])
    if not asked:
        report = dataclasses.replace(shop.project.table("doubled"), name="weekly")
        shop.project = dataclasses.replace(shop.project, reports=(report,))
    notes = mend(shop.project, ["weekly"] if asked else [])
    assert [note.partition(" went back to version 0")[1] for note in notes] == [
        " went back to version 0"
    ] * 2
    assert not any((log / f"{1:020d}.json").exists() for log in (result, state))


@pytest.mark.parametrize("asked", [True, False])
def test_what_a_report_loses_by_it_is_to_be_made_again(shop, asked):
    log = Path(shop.project.table_path("weekly"), "_delta_log")
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").write_text('{"commitInfo":{}}\n')
    (log / f"{1:020d}.json").write_bytes(b"")
    if not asked:
        report = dataclasses.replace(shop.project.table("doubled"), name="weekly")
        shop.project = dataclasses.replace(shop.project, reports=(report,))
    journal = Journal(journal_path(shop.project), create=True)
    for number, name in enumerate(["weekly"] if asked else ["weekly@1", "weekly@2"]):
        version = 1 if asked else number
        query = "SELECT 1" if asked else None
        wanted = WantedReport(name, "weekly", query, None, 10.0 * number, 10.0 * number + 10, 99.0)
        note_wanted(journal, wanted, "live", 50.0)
        note(journal, name, state="done", version=version, finish_s=60.0, taken_rows=3, batches=1)
    journal.flush()
    (told,) = recover(shop.project, journal, Ledger(journal)).notes
    assert "went back to version 0" in told
    found = {each.wanted.name: each for each in read_reports(journal)}
    journal.close()
    again = found.pop("weekly" if asked else "weekly@2")
    assert (again.state, again.version, again.taken_rows, again.asked_s) == ("asked", None, 0, 50.0)
    assert [each.state for each in found.values()] == ["done"] * len(found)


def test_a_report_that_somebody_asked_for_is_no_name_for_a_table(shop):
    data_file(shop, "orders", 1).write_bytes(b"")
    for each in (shop.root / "feed" / "orders").iterdir():
        each.unlink()
    (line,) = mend(shop.project, ["orders"])
    assert "[table-torn]" in line
