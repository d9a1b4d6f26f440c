"""What others did to a base table whose log is in an object store: rows changed, or none."""

from __future__ import annotations

import deltalake
import pyarrow as pa
import pytest
from deltalake.schema import PrimitiveType
from pyarrow import fs

from freshline.core.errors import Place
from freshline.delta.standing import rows_changed
from freshline.project.model import TableDef

TABLE = TableDef(
    "orders", "base", "SELECT id FROM STREAM f", Place("a.sql", 1), Place("a.sql", 1), feed="f"
)


@pytest.fixture
def path(tmp_path, monkeypatch) -> str:
    # Its files are read through Arrow's file systems then, those of this machine as well.
    monkeypatch.setattr("freshline.delta.standing.local_log", lambda _: None)
    monkeypatch.setattr("freshline.delta.arrivals.local_log", lambda _: None)
    monkeypatch.setattr(
        "freshline.delta.arrivals.arrow_store", lambda path: (fs.LocalFileSystem(), path)
    )
    for number in range(2):
        rows = pa.table({"id": pa.array([number], pa.int64())})
        deltalake.write_deltalake(str(tmp_path / "t"), rows, mode="append")
    return str(tmp_path / "t")


ALTERED = {
    "a property": lambda t: t.alter.set_table_properties({"delta.checkpointInterval": "7"}),
    "a constraint": lambda t: t.alter.add_constraint({"positive": "id >= 0"}),
    "a feature": lambda t: t.alter.add_feature(
        deltalake.TableFeatures.ChangeDataFeed, allow_protocol_versions_increase=True
    ),
    "a column": lambda t: t.alter.add_columns([deltalake.Field("x", PrimitiveType("integer"))]),
    "a comment": lambda t: t.alter.set_table_description("told"),
    "OPTIMIZE": lambda t: t.optimize.compact(),
    "VACUUM": lambda t: [
        t.optimize.compact(),
        t.vacuum(0, dry_run=False, enforce_retention_duration=False),
    ],
}


@pytest.mark.parametrize("what", ALTERED)
def test_what_changes_no_row_is_not_told(path, what):
    ALTERED[what](deltalake.DeltaTable(path))
    newest = deltalake.DeltaTable(path).version()
    assert newest > 1
    assert not rows_changed(TABLE, path, 1, newest)


def test_rows_that_changed_are_told(path):
    deltalake.DeltaTable(path).delete("id = 0")
    rows = pa.table({"id": pa.array([5], pa.int64())})
    deltalake.write_deltalake(path, rows, mode="append")
    assert rows_changed(TABLE, path, 1, 2)
    assert rows_changed(TABLE, path, 2, 3)
    assert not rows_changed(TABLE, path, 3, 3)


def test_a_commit_that_was_cleaned_up_may_have_changed_rows(path):
    assert rows_changed(TABLE, path, 1, 2)


@pytest.mark.parametrize(
    ("operation", "is_told"),
    [
        ("DROP COLUMNS", True),
        ("RENAME COLUMN", True),
        ("CLUSTER BY", False),
        ("DROP FEATURE", False),
        ("CHANGE COLUMNS", False),
    ],
)
def test_columns_that_are_taken_are_told(path, operation, is_told):
    commit = '{"commitInfo":{"timestamp":1,"operation":"%s","operationParameters":{}}}\n'
    with open(f"{path}/_delta_log/{2:020d}.json", "w", encoding="utf-8") as log:  # noqa: PTH123
        log.write(commit % operation)
        log.write('{"metaData":{"id":"x"}}\n')
    assert rows_changed(TABLE, path, 1, 2) == is_told
