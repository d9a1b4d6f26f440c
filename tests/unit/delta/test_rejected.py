"""Rejected rows of long ago are removed, and the others' small files put together."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import PlatformError
from freshline.delta.log import application, last_commit, newest_transaction
from freshline.delta.rejected import FEWEST_FILES, forget_rejected
from freshline.executor.fence import fenced
from tests.support.shop import made_project

NOW = datetime(2026, 6, 1, tzinfo=UTC)
NAME = "orders__rejected"


@pytest.fixture
def project(tmp_path):
    return made_project(tmp_path, {"orders": ()})


def reject(project, number: int, days_ago: float) -> None:
    """A row that update ``number`` rejected."""
    fields = {
        "freshline": 1, "table": NAME, "update": number, "strategy": "append", "rows": 1,
        "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "parents": {},
        "files": [f"{number}.csv"], "definition": "",
    }  # fmt: skip
    at = pa.array([NOW - timedelta(days=days_ago)], pa.timestamp("us", "UTC"))
    deltalake.write_deltalake(
        project.table_path(NAME),
        pa.table({"record": ["x"], "update": [number], "at": at}),
        mode="append",
        commit_properties=deltalake.CommitProperties(
            custom_metadata={"userMetadata": json.dumps(fields)},
            app_transactions=[deltalake.Transaction(application(NAME), number)],
        ),
    )


def updates(project) -> list[int]:
    table = deltalake.DeltaTable(project.table_path(NAME)).to_pyarrow_table()
    return sorted(table["update"].to_pylist())


def test_rows_older_than_the_setting_go_and_the_next_update_goes_on_from_there(project):
    for number, days_ago in enumerate((200, 91, 89, 1), start=1):
        reject(project, number, days_ago)
    assert forget_rejected(project, "orders", NOW.timestamp())
    assert updates(project) == [3, 4]
    path = project.table_path(NAME)
    last = last_commit(path)
    assert last is not None
    assert (last.update, last.metadata["files"], last.metadata["rows"]) == (4, [], 0)
    assert newest_transaction(path, application(NAME)) == 4
    assert forget_rejected(project, "orders", NOW.timestamp())
    assert last_commit(path) == last, "nothing more is old"


def test_many_small_files_become_one(project):
    for number in range(1, FEWEST_FILES + 1):
        reject(project, number, 1)
    assert forget_rejected(project, "orders", NOW.timestamp())
    assert updates(project) == list(range(1, FEWEST_FILES + 1))
    table = deltalake.DeltaTable(project.table_path(NAME))
    assert table.get_add_actions().num_rows == 1
    last = last_commit(project.table_path(NAME))
    assert last is not None
    assert last.update == FEWEST_FILES


class Permit:
    """Of a process that leads, or led before."""

    def __init__(self, *, leads: bool) -> None:
        self.epoch = 7
        self._leads = leads

    def check_commit(self) -> None:
        if not self._leads:
            raise PlatformError("lease-lost", "another process leads")


@pytest.mark.parametrize("days_ago", [200, 1])  # a delete, or a rewrite
def test_only_the_leader_commits(project, days_ago, monkeypatch):
    monkeypatch.setattr("freshline.delta.rejected.FEWEST_FILES", 2)
    for number in (1, 2):
        reject(project, number, days_ago)
    before = last_commit(project.table_path(NAME))
    with fenced(Permit(leads=False)), pytest.raises(PlatformError, match="another process leads"):
        forget_rejected(project, "orders", NOW.timestamp())
    assert last_commit(project.table_path(NAME)) == before
    with fenced(Permit(leads=True)):
        forget_rejected(project, "orders", NOW.timestamp())
    last = last_commit(project.table_path(NAME))
    assert last is not None
    assert last.metadata["epoch"] == 7


def test_a_table_without_rejected_rows_is_left_alone(project):
    assert not forget_rejected(project, "orders", NOW.timestamp())
