"""What is flushed of a commit, and in which order."""

from __future__ import annotations

import json

import pytest

from freshline.delta import flushed


@pytest.fixture
def order(monkeypatch, tmp_path):
    """The files and folders that are flushed, below the test's own folder."""
    found = []

    def note(path):
        assert path.exists()
        if tmp_path in (path, *path.parents):
            found.append(path.relative_to(tmp_path).as_posix())

    monkeypatch.setattr(flushed, "sync_file", note)
    monkeypatch.setattr(flushed, "sync_folder", note)
    return found


@pytest.fixture
def table(tmp_path):
    """A table with two partitions, whose second commit has a checkpoint."""
    names = ["day=1/a b.parquet", "day=2/c.parquet", "_change_data/d.parquet"]
    for name in names:
        path = tmp_path / "storage" / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    log = tmp_path / "storage" / "t" / "_delta_log"
    log.mkdir()
    added = [{"add": {"path": "day=1/a%20b.parquet"}}, {"cdc": {"path": "_change_data/d.parquet"}},
             {"add": {"path": "day=3/vacuumed.parquet"}}]  # fmt: skip
    for version in (0, 1):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, added)))
    (log / f"{1:020d}.checkpoint.parquet").write_text("x")
    (log / "_last_checkpoint").write_text('{"version": 1}')
    return str(tmp_path / "storage" / "t")


LOG = "storage/t/_delta_log"


def test_data_files_come_before_their_folders_and_those_before_the_tables(table, order):
    flushed.flush_files(f"file:{table}", ["day=1/a%20b.parquet", "_change_data/d.parquet"])
    assert order[:2] == ["storage/t/day=1/a b.parquet", "storage/t/_change_data/d.parquet"]
    assert set(order[2:4]) == {"storage/t/day=1", "storage/t/_change_data"}
    assert order[4:] == ["storage/t"]


def test_a_commit_is_flushed_with_the_checkpoint_that_was_made_of_it(table, order):
    flushed.flush_commit(table, 1)
    assert order == [
        f"{LOG}/{1:020d}.json", f"{LOG}/{1:020d}.checkpoint.parquet", f"{LOG}/_last_checkpoint", LOG
    ]  # fmt: skip


def test_the_first_commit_is_flushed_with_all_folders_above_it(table, order):
    flushed.flush_commit(table, 0)
    assert order == [f"{LOG}/{0:020d}.json", LOG, "storage/t", "storage", "."]


def test_all_of_a_version_that_is_still_there_is_flushed(table, order):
    flushed.flush_version(table, 1)
    assert order[:2] == ["storage/t/day=1/a b.parquet", "storage/t/_change_data/d.parquet"]
    assert order[-1] == LOG
    order.clear()
    flushed.flush_version(table, 7)  # it was cleaned up
    assert order == []


def test_a_store_answers_for_itself(order):
    flushed.flush_files("s3a://lake/t", ["a.parquet"])
    flushed.flush_commit("s3a://lake/t", 0)
    flushed.flush_version("s3a://lake/t", 0)
    assert order == []
