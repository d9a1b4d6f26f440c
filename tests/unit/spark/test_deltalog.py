"""What a table's log tells without Spark."""

from __future__ import annotations

import json

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.errors import PlatformError
from freshline.delta.log import (
    commit_of,
    commits,
    last_commit,
    newest_transaction,
    row_count,
    size_bytes,
    table_id,
    version,
)


def test_a_versions_rows_are_counted_from_its_log(tmp_path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"a": pa.array([], pa.int64())}))
    deltalake.write_deltalake(path, pa.table({"a": [1, 2, 3]}), mode="append")
    deltalake.write_deltalake(path, pa.table({"a": [4, 5]}), mode="append")
    deltalake.DeltaTable(path).delete("a > 3")
    assert [row_count(path, version) for version in range(4)] == [0, 3, 5, 3]


def test_a_version_that_is_not_there_has_no_known_count(tmp_path):
    path = str(tmp_path / "t")
    assert row_count(path, 0) is None
    unsaid = {"delta.dataSkippingNumIndexedCols": "0"}
    deltalake.write_deltalake(path, pa.table({"a": [1]}), configuration=unsaid)
    assert row_count(path, 0) == 1  # the count of rows is there without any column's statistics
    assert row_count(path, 7) is None


def test_what_delta_writes_beside_a_commit_is_asked_first(tmp_path):
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, pa.table({"a": [1, 2]}))
    beside = tmp_path / "t" / "_delta_log" / f"{0:020d}.crc"
    files = [{"stats": '{"numRecords": 30}'}, {"stats": '{"numRecords": 12}'}]
    beside.write_text(json.dumps({"tableSizeBytes": 99, "numFiles": 2, "allFiles": files}))
    assert (row_count(path, 0), size_bytes(path, 0), table_id(path, 0)) == (42, 99, None)
    beside.write_text(json.dumps({"metadata": {"id": "of this table"}}))
    assert table_id(path, 0) == "of this table"
    beside.write_text(json.dumps({"numFiles": 2, "allFiles": [*files[:1], {}]}))
    assert row_count(path, 0) is None
    # Of too many files Delta does not write them all down; half a file of a crash says nothing.
    for text in (
        json.dumps({"tableSizeBytes": 99, "numFiles": 3, "allFiles": files}),
        '{"num',
        "7",
    ):
        beside.write_text(text)
        assert row_count(path, 0) == 2


def written(path: str, *transactions: tuple[str, int]) -> None:
    properties = deltalake.CommitProperties(
        app_transactions=[deltalake.Transaction(name, number) for name, number in transactions]
    )
    rows = pa.table({"a": ['{"txn": {"appId": "freshline.t", "version": 99}}']})
    deltalake.write_deltalake(path, rows, mode="append", commit_properties=properties)


def test_the_newest_transaction_of_a_name_is_found_beneath_others(tmp_path):
    path = str(tmp_path / "t")
    assert newest_transaction(path, "freshline.t") == -1
    written(path)
    assert newest_transaction(path, "freshline.t") == -1
    written(path, ("freshline.t", 7))
    written(path, ("freshline.other", 9), ("freshline.t", 8))
    written(path, ("freshline.other", 10))
    assert (
        newest_transaction(path, "freshline.t")
        == newest_transaction(f"file:{path}", "freshline.t")
        == 8
    )
    assert newest_transaction(path, "freshline.other") == 10
    assert newest_transaction(path, "freshline.third") == -1
    for _ in range(18):
        written(path)
    assert newest_transaction(path, "freshline.t") == 8  # in the last of twenty commits
    written(path)
    assert newest_transaction(path, "freshline.t") is None
    assert newest_transaction("s3://bucket/t", "freshline.t") is None


def test_where_the_oldest_commits_are_gone_delta_is_asked_for_transactions(tmp_path):
    path = str(tmp_path / "t")
    for _ in range(3):
        written(path)
    log = tmp_path / "t" / "_delta_log"
    (log / f"{0:020d}.json").unlink()
    assert newest_transaction(path, "freshline.t") is None
    newest = log / f"{2:020d}.json"
    newest.write_text('{"txn": {"appId"')
    with pytest.raises(PlatformError, match="cannot be read"):
        newest_transaction(path, "freshline.t")


def logged(folder, versions, hint):
    log = folder / "_delta_log"
    log.mkdir()
    for number in versions:
        info = {"freshline": 1, "table": "t", "update": number + 1}
        told = {"commitInfo": {"timestamp": number, "userMetadata": json.dumps(info)}}
        transaction = {"txn": {"appId": "freshline.t", "version": number + 1}}
        text = f"{json.dumps(told)}\n{json.dumps(transaction)}\n"
        (log / f"{number:020d}.json").write_text(text if number % 7 else "")
    if hint is not None:
        (log / "_last_checkpoint").write_text(hint)
    return str(folder)


@given(
    st.integers(0, 60),
    st.integers(0, 60),
    st.one_of(
        st.none(),
        st.integers(-2, 70).map(lambda number: json.dumps({"version": number})),
        st.sampled_from(["", "{", "7", '{"version": null}', '{"version": "x"}']),
    ),
    st.integers(-1, 62),
)
def test_what_a_log_tells_is_what_a_listing_tells(tmp_path_factory, first, count, hint, since):
    """Wherever it was cleaned up to, and whatever Delta noted of its checkpoint."""
    versions = range(first, first + count)
    path = logged(tmp_path_factory.mktemp("t"), versions, hint)
    ours = [number for number in versions if number % 7]
    last = last_commit(path)
    assert version(path) == (versions[-1] if count else None)
    assert (last.version if last else None) == (ours[-1] if ours else None)
    assert [each.version for each in commits(path, since)] == [n for n in ours if n > since]
    for number in (first, first + count // 2, first + count):
        found = commit_of(path, number + 1)
        assert (found.version if found else None) == (number if number in ours else None)
    newest = newest_transaction(path, "freshline.t")
    if ours:
        assert newest == ours[-1] + 1
    else:
        assert newest in (None, -1)


def test_a_log_with_a_checkpoint_is_not_listed_again(tmp_path, monkeypatch):
    path = logged(tmp_path, range(995, 1131), json.dumps({"version": 1100}))
    assert version(path) == 1130

    def fail(log):
        raise AssertionError(f"{log.folder} is listed")

    monkeypatch.setattr("freshline.delta.log._versions", fail)
    assert version(path) == 1130
    last = last_commit(path)
    assert last is not None
    assert last.version == 1130
    assert [each.version for each in commits(path, 1127)] == [1128, 1129, 1130]
    assert newest_transaction(path, "freshline.t") == 1131
