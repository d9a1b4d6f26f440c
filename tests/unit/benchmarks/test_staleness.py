from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.common.projects import FeedSpec, TableSpec, write_project
from benchmarks.overload.staleness import Commit, area_s2, commits

START_S = 1000.0


def logged(table: Path, version: int, at_s: float, actions: list[dict]) -> None:
    """One commit in a Delta log, made at that moment."""
    path = table / "_delta_log" / f"{version:020d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions))
    os.utime(path, (at_s, at_s))


def added(due_s: float) -> dict:
    stats = {"numRecords": 3, "maxValues": {"due_s": due_s}}
    return {"add": {"path": "part", "stats": json.dumps(stats)}}


def read(**parents: int) -> dict:
    return {"commitInfo": {"userMetadata": json.dumps({"parents": parents})}}


@pytest.fixture
def project(tmp_path):
    return write_project(
        tmp_path / "project",
        [FeedSpec("a_feed", "csv"), FeedSpec("b_feed", "csv")],
        [
            TableSpec("a", 1.0, "SELECT id FROM STREAM a_feed"),
            TableSpec("b", 1.0, "SELECT id FROM STREAM b_feed"),
            TableSpec("v", 2.0, "SELECT a.id FROM a JOIN b ON a.id = b.id"),
            TableSpec("w", 2.0, "SELECT count(*) AS n FROM v"),
        ],
    )


def test_a_table_without_commits_is_as_stale_as_the_time_since_the_start():
    assert area_s2([], START_S, START_S + 10.0) == 50.0


def test_each_commit_moves_freshness_from_its_own_moment_on():
    made = [Commit(0, START_S + 4.0, START_S + 3.0), Commit(1, START_S + 8.0, START_S + 8.0)]
    # 0 to 4 in 4 s; then 1 to 5 in 4 s; then 0 to 2 in 2 s
    assert area_s2(made, START_S, START_S + 10.0) == 8.0 + 12.0 + 2.0


def test_commits_after_the_end_do_not_count():
    made = [Commit(0, START_S + 4.0, START_S + 4.0), Commit(1, START_S + 20.0, START_S + 20.0)]
    assert area_s2(made, START_S, START_S + 10.0) == 8.0 + 18.0


def test_freshness_comes_from_files_statistics_and_for_views_from_the_versions_they_read(project):
    storage = Path(project.storage)
    logged(storage / "a", 0, START_S + 1.0, [added(0.5), added(0.9)])
    logged(storage / "a", 1, START_S + 3.0, [added(2.5)])
    logged(storage / "b", 0, START_S + 2.0, [read()])  # made empty
    logged(storage / "b", 1, START_S + 4.0, [added(1.5)])
    logged(storage / "v", 0, START_S + 5.0, [read(a=0, b=0)])
    logged(storage / "v", 1, START_S + 6.0, [read(a=1, b=1)])
    logged(storage / "w", 0, START_S + 7.0, [read(v=1)])
    assert commits(project, START_S) == {
        "a": [Commit(0, START_S + 1.0, START_S + 0.9), Commit(1, START_S + 3.0, START_S + 2.5)],
        "b": [Commit(0, START_S + 2.0, START_S), Commit(1, START_S + 4.0, START_S + 1.5)],
        "v": [Commit(0, START_S + 5.0, START_S), Commit(1, START_S + 6.0, START_S + 1.5)],
        "w": [Commit(0, START_S + 7.0, START_S + 1.5)],
    }
