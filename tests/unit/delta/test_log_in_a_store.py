"""A log in an object store: each commit has its own number, whatever comes meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from freshline.core.errors import PlatformError
from freshline.delta import log
from freshline.delta.log import commit_at, commits, last_commit, oldest_version, version
from freshline.delta.log_files import StoreLog
from freshline.delta.stores import delta_table


def committed(path, number):
    fields = {"freshline": 1, "table": "orders", "update": number, "strategy": "append"}
    write_deltalake(
        path,
        pa.table({"n": pa.array([number], pa.int64())}),
        mode="append",
        commit_properties=CommitProperties(custom_metadata={"userMetadata": json.dumps(fields)}),
    )


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A log of three commits, read as one in a store."""
    path = str(tmp_path / "orders")
    for number in (1, 2, 3):
        committed(path, number)
    monkeypatch.setattr(log, "local_log", lambda _: None)
    return path


def test_what_it_tells(path):
    last = last_commit(path)
    assert last is not None
    assert (last.version, last.update, version(path), oldest_version(path)) == (2, 3, 2, 0)
    assert [(each.version, each.update) for each in commits(path)] == [(0, 1), (1, 2), (2, 3)]
    assert [each.version for each in commits(path, 1)] == [2]
    assert commit_at(path, 3) is None
    nowhere = f"{path}-too"
    assert (last_commit(nowhere), version(nowhere), oldest_version(nowhere)) == (None, None, None)
    assert (list(commits(nowhere)), commit_at(nowhere, 0)) == ([], None)


def test_a_commit_that_lands_meanwhile_changes_no_number(path, monkeypatch):
    left = [4]

    def opened_just_before(path, version=None):
        table = delta_table(path, version)
        if left:
            committed(path, left.pop())
        return table

    monkeypatch.setattr(log, "delta_table", opened_just_before)
    last = last_commit(path)
    assert last is not None
    assert (last.version, last.update) == (2, 3)
    assert [(each.version, each.update) for each in commits(path)] == [
        (number, number + 1) for number in range(4)
    ]


def test_a_commit_without_information_of_its_own_changes_no_number(path):
    file = Path(path) / "_delta_log" / f"{3:020d}.json"
    file.write_text(json.dumps({"txn": {"appId": "somebody", "version": 1}}) + "\n")
    assert DeltaTable(path).version() == 3
    last = last_commit(path)
    assert last is not None
    assert (last.version, last.update) == (2, 3)
    assert [each.version for each in commits(path)] == [0, 1, 2]


def test_the_newest_commit_is_one_request(path, monkeypatch):
    asked, read = [], StoreLog.lines

    def lines(self, number):
        asked.append(number)
        return read(self, number)

    monkeypatch.setattr(StoreLog, "lines", lines)
    assert last_commit(path) is not None
    assert asked == [2]


def test_a_long_log_comes_in_order(path):
    folder = Path(path) / "_delta_log"
    text = (folder / f"{2:020d}.json").read_text()
    for number in range(3, 150):
        (folder / f"{number:020d}.json").write_text(text)
    assert [each.version for each in commits(path)] == list(range(150))


def test_a_commit_that_is_not_whole_is_told(path):
    (Path(path) / "_delta_log" / f"{1:020d}.json").write_text('{"commitInfo": {"userMe')
    with pytest.raises(PlatformError, match=f"{1:020d}.json cannot be read"):
        list(commits(path))


def test_a_clean_up_of_the_oldest_is_no_gap(path):
    DeltaTable(path).create_checkpoint()
    (Path(path) / "_delta_log" / f"{0:020d}.json").unlink()
    assert [each.version for each in commits(path)] == [1, 2]
    assert oldest_version(path) == 1
