"""Whether others changed a table whose log is in an object store, as on a disk."""

from __future__ import annotations

import json

import deltalake
import pyarrow as pa
import pytest
from deltalake import CommitProperties
from pyarrow import fs

from freshline.core.errors import Place
from freshline.delta import log
from freshline.delta.log import last_commit
from freshline.project.model import Project, TableDef
from freshline.runtime.lease.succession import fence_tables
from freshline.spark.commits.others import changed_by_others

HERE = Place("a.sql", 1)


@pytest.fixture
def project(tmp_path) -> Project:
    """Whose view has two updates of ours in two files."""
    sums = TableDef("sums", "derived", "SELECT n FROM t", HERE, HERE)
    project = Project("shop", tmp_path, str(tmp_path), (sums,), {})
    for number in (1, 2):
        rows = pa.table({"n": pa.array([number], pa.int64())})
        told = told_of(number, "append", after=number - 2)
        deltalake.write_deltalake(
            project.table_path("sums"), rows, mode="append", commit_properties=told
        )
    return project


def told_of(number: int, strategy: str, after: int) -> CommitProperties:
    fields = {
        "freshline": 1, "table": "sums", "update": number, "strategy": strategy, "rows": 0,
        "parents": {}, "to": "2026-01-01T00:00:00Z", "after": after,
    }  # fmt: skip
    return CommitProperties(custom_metadata={"userMetadata": json.dumps(fields)})


DONE = {
    "our compaction": lambda _, table: table.optimize.compact(
        commit_properties=told_of(3, "compact", after=1)
    ),
    "our fence": lambda project, _: fence_tables(project, 2),
    "OPTIMIZE": lambda _, table: table.optimize.compact(),
    "rows removed": lambda _, table: table.delete("n = 1"),
    "rows added": lambda _, table: deltalake.write_deltalake(
        table, table.to_pyarrow_table(), mode="append"
    ),
    "a property": lambda _, table: table.alter.set_table_properties(
        {"delta.checkpointInterval": "7"}
    ),
}
CHANGES = {"rows removed", "rows added", "a property"}


@pytest.mark.parametrize("where", ["on a disk", "in a store"])
@pytest.mark.parametrize("what", DONE)
def test_what_changes_no_row_is_not_told(project, monkeypatch, what, where):
    path = project.table_path("sums")
    DONE[what](project, deltalake.DeltaTable(path))
    newest = deltalake.DeltaTable(path).version()
    assert newest == 2
    if where == "in a store":
        _as_in_a_store(monkeypatch)
    last = last_commit(path)
    assert last is not None
    assert changed_by_others(path, last, newest) == (what in CHANGES)


@pytest.mark.parametrize("where", ["on a disk", "in a store"])
def test_a_commit_that_was_cleaned_up_may_have_changed_rows(project, monkeypatch, where):
    path = project.table_path("sums")
    last = last_commit(path)
    assert last is not None
    if where == "in a store":
        _as_in_a_store(monkeypatch)
    assert changed_by_others(path, last, last.version + 1)


def _as_in_a_store(monkeypatch) -> None:
    """Its files are read through Arrow's file systems then, those of this machine as well."""
    for module in ("delta.arrivals", "spark.commits.others"):
        monkeypatch.setattr(f"freshline.{module}.local_log", lambda _: None)
    monkeypatch.setattr(log, "local_log", lambda _: None)
    monkeypatch.setattr(
        "freshline.delta.arrivals.arrow_store", lambda path: (fs.LocalFileSystem(), path)
    )
