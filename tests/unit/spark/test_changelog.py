"""What commits changed, from the Delta log alone."""

from __future__ import annotations

import json
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import PlatformError
from freshline.delta import log_files
from freshline.delta.changelog import (
    AddedFile,
    ChangesGoneError,
    LoggedChanges,
    ReplacedTimes,
    logged_changes,
)
from freshline.delta.stores import arrow_store
from freshline.spark.views.changes import _redefines

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def path(tmp_path) -> str:
    """Version 0: two rows, 1: one more, 2: compacted, 3: one row deleted, 4: a column more."""
    path = str(tmp_path / "table")
    for values in ([1, 2], [3]):
        rows = pa.table({"id": values, "day of week": ["a b"] * len(values)})
        deltalake.write_deltalake(
            path, rows, partition_by="day of week", mode="append", configuration=FEED
        )
    deltalake.DeltaTable(path).optimize.compact()
    deltalake.DeltaTable(path).delete("id = 2")
    rows = pa.table({"id": [4], "day of week": [None], "more": [1]}).cast(
        pa.schema([("id", pa.int64()), ("day of week", pa.string()), ("more", pa.int64())])
    )
    deltalake.write_deltalake(path, rows, mode="append", schema_mode="merge")
    return path


def changes(path: str, since: int, until: int) -> LoggedChanges:
    found = logged_changes(path, since, until)
    assert found is not None
    return found


def test_rows_that_were_only_added_are_in_files(path, tmp_path):
    added = changes(path, 0, 1)
    (file,) = added.added
    assert (added.rows, added.rewrote, added.redefined, added.readable) == (1, False, False, True)
    assert file.partition == {"day of week": "a b"}
    assert (tmp_path / "table" / file.path).exists()
    assert added.size_bytes == (tmp_path / "table" / file.path).stat().st_size


def test_an_empty_partition_value_is_null_as_delta_has_it(tmp_path):
    """delta-rs writes an empty text as it is, and Delta reads NULL."""
    path, rows = str(tmp_path / "table"), pa.table({"shop": ["a"], "id": [1]})
    deltalake.write_deltalake(path, rows, partition_by="shop")
    rows = pa.table({"shop": ["", None, "b"], "id": [2, 3, 4]})
    deltalake.write_deltalake(path, rows, mode="append")
    found = [file.partition["shop"] for file in changes(path, 0, 1).added]
    assert sorted(found, key=str) == [None, None, "b"]
    shown = deltalake.DeltaTable(path).to_pyarrow_table().column("shop").to_pylist()
    assert sorted(shown, key=str) == [None, None, "a", "b"]


def test_compaction_changes_no_row(path):
    assert not changes(path, 1, 2)
    assert len(changes(path, 0, 2).added) == 1
    assert not changes(path, 4, 4)


def test_a_deletion_is_no_insertion(path):
    deleted = changes(path, 2, 3)
    assert (deleted.rewrote, deleted.redefined) == (True, False)
    assert deleted.rows >= 1


def test_columns_that_came_are_told(path):
    widened = changes(path, 3, 4)
    assert (widened.redefined, widened.rewrote, widened.rows) == (True, False, 1)
    assert widened.added[0].partition == {"day of week": None}


@pytest.mark.parametrize(
    ("operation", "given", "lost"),
    [
        ("ADD COLUMNS", {"columns": '[{"column":{"name":"a"}}]'}, frozenset()),
        ("DROP COLUMNS", {"columns": '["Id","of.a"]'}, frozenset({"id", "of.a"})),
        ("RENAME COLUMN", {"oldColumnPath": "id", "newColumnPath": "n"}, frozenset({"id"})),
        ("DROP COLUMNS", {"columns": '["`a.b`"]'}, None),
        ("DROP COLUMNS", {"columns": "id"}, None),
        ("RENAME COLUMN", {}, None),
        ("REPLACE COLUMNS", {"columns": "[]"}, None),
    ],
)
def test_columns_that_rows_lost_are_told(tmp_path, operation, given, lost):
    folder = tmp_path / "table" / "_delta_log"
    folder.mkdir(parents=True)
    commits = [("ADD COLUMNS", {}), ("DROP COLUMNS", {"columns": '["x"]'}), (operation, given)]
    for number, (of, parameters) in enumerate(commits):
        info = {"operation": of, "operationParameters": parameters}
        actions: list[dict[str, Any]] = [{"commitInfo": info}, {"metaData": {}}]
        lines = [json.dumps(each) for each in actions]
        (folder / f"{number:020d}.json").write_text("\n".join(lines))
    path = str(tmp_path / "table")
    assert changes(path, 1, 2).lost == lost
    assert changes(path, 0, 2).lost == (None if lost is None else lost | {"x"})


def test_a_commit_that_was_cleaned_up_is_missed(path, tmp_path):
    (tmp_path / "table" / "_delta_log" / f"{3:020d}.json").unlink()
    with pytest.raises(ChangesGoneError, match="commit 3 of"):
        logged_changes(path, 1, 4)
    assert changes(path, 3, 4).redefined


def test_a_log_elsewhere_is_not_read_here():
    assert logged_changes("s3://bucket/table", 0, 1) is None


def test_a_change_feed_of_ours_says_how_many_rows_it_has(tmp_path):
    folder = tmp_path / "view" / "_delta_log"
    folder.mkdir(parents=True)
    commit = {"freshline": 1, "changes": 3}
    files = [
        {"add": {"path": "a", "size": 900, "stats": '{"numRecords": 500}', "dataChange": True}},
        {"remove": {"path": "b", "stats": '{"numRecords": 499}', "dataChange": True}},
        {"cdc": {"path": "_change_data/c", "size": 20, "dataChange": False}},
    ]
    for version, facts in enumerate((commit, {"freshline": 1}, None)):
        info = {"commitInfo": {"userMetadata": json.dumps(facts)} if facts else {}}
        lines = [json.dumps(action) for action in (info, *files)]
        (folder / f"{version:020d}.json").write_text("\n".join(lines))
    path = str(tmp_path / "view")
    assert [changes(path, version - 1, version).rows for version in range(3)] == [3, 999, 999]
    assert (changes(path, -1, 2).rows, changes(path, -1, 0).size_bytes) == (3 + 2 * 999, 20)


NEW_YEAR_US = 1_767_225_600_000_000
"""2026 in UTC."""


def added(**stats: object) -> AddedFile:
    return AddedFile("f", {}, json.dumps(stats))


def test_statistics_tell_the_times_of_a_file_cut_off_to_milliseconds():
    told = added(
        numRecords=3,
        minValues={"at": "2026-01-01T01:00:00.001+01:00"},
        maxValues={"at": "2026-01-01T00:00:02.500Z"},
        nullCount={"at": 1},
    )
    assert told.times_us("AT") == ((NEW_YEAR_US + 1_000, NEW_YEAR_US + 2_500_999), True)
    assert added(numRecords=2, nullCount={"at": 2}).times_us("at") == (None, True)
    assert added(numRecords=0, nullCount={"at": 0}).times_us("at") == (None, False)


def test_statistics_that_do_not_tell_the_times_of_a_file_are_not_believed():
    plain = {"minValues": {"at": "1970-01-01T00:00:00"}, "maxValues": {"at": "1970-01-01T00:00:02"}}
    whole = {"minValues": {"at": 1}, "maxValues": {"at": 2}}
    known = {"numRecords": 3, "nullCount": {"at": 0}}
    assert AddedFile("f", {}).times_us("at") is None
    assert added(numRecords=3).times_us("at") is None
    assert added(**known).times_us("at") is None
    assert added(**known, **plain).times_us("at") is None
    assert added(**known, **whole).times_us("at") is None
    assert added(**known, **plain).times_us("other") is None
    # Calcutta's offset was +05:21:10 then; statistics leave the seconds out.
    old = {name: {"at": "1900-01-01T00:00:00.000+05:21"} for name in ("minValues", "maxValues")}
    assert added(**known, **old).times_us("at") is None


def test_statistics_tell_the_numbers_and_days_of_a_file():
    told = added(
        numRecords=3,
        minValues={"id": -(2**63), "day": "1969-12-31", "x": 0.5, "s": "a", "ok": True},
        maxValues={"id": 2**63 - 1, "day": "1970-01-02", "x": 1.5, "s": "b", "ok": True},
        nullCount={"id": 0, "day": 1, "x": 0, "s": 0, "none": 3, "ok": 0},
    )
    assert told.numbers("ID") == [(-(2**63), 2**63 - 1)]
    assert told.numbers("day") == [(-1, 1)]
    assert told.numbers("none") == []
    assert [told.numbers(each) for each in ("x", "s", "ok", "other")] == [None] * 4
    assert AddedFile("f", {}).numbers("id") is None


def _come(path: str, replaced: dict[str, object] | None, ident: int) -> None:
    """One row more, by a commit of ours that says of which times the rows are that it replaced."""
    facts: dict[str, object] = {"freshline": 1, "table": "t", "update": ident}
    if replaced is not None:
        facts["replaced"] = replaced
    deltalake.write_deltalake(
        path,
        pa.table({"id": [ident]}),
        mode="append",
        commit_properties=deltalake.CommitProperties(
            custom_metadata={"userMetadata": json.dumps(facts)}
        ),
    )


def test_times_of_replaced_rows_are_told_where_every_commit_that_changed_rows_says_them(tmp_path):
    path = str(tmp_path / "told")
    hour = {"column": "hour", "us": [[0, 9], [20, 29]], "null": False}
    none = {"column": "hour", "us": [], "null": True}
    for ident, said in enumerate((None, hour, none, None, hour)):
        _come(path, said, ident)
    deltalake.DeltaTable(path).optimize.compact()  # changes no row, says nothing
    told = ReplacedTimes("hour", ((0, 9), (20, 29)), null=False)
    assert changes(path, 0, 2).replaced == (told, ReplacedTimes("hour", (), null=True))
    assert changes(path, 3, 5).replaced == (told,)
    assert changes(path, 4, 5).replaced == ()  # the compaction
    assert [changes(path, 1, 3).replaced, changes(path, 2, 4).replaced] == [None, None]


def test_in_a_store_one_client_tells_of_new_columns(path, tmp_path, monkeypatch):
    made = []

    def store(uri: str):
        made.append(uri)
        return arrow_store(uri)

    monkeypatch.setattr(log_files, "arrow_store", store)
    assert not _redefines(path, 0, 3)
    assert made == [path]
    assert _redefines(path, 0, 4)
    assert not _redefines(path, 4, 4)
    folder = tmp_path / "table" / "_delta_log"
    noted = {"commitInfo": {"operationParameters": {"text": '"metaData"', "metaData": "{}"}}}
    (folder / f"{5:020d}.json").write_text(json.dumps(noted))
    assert not _redefines(path, 4, 5)
    (folder / f"{5:020d}.json").write_text('{"metaData": ')
    with pytest.raises(PlatformError, match="00005"):
        _redefines(path, 4, 5)
    (folder / f"{3:020d}.json").unlink()
    with pytest.raises(ChangesGoneError):
        _redefines(path, 1, 3)
