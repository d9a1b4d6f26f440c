"""The demo's project, plan and producer fit together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from demo import schedule
from demo.places import PROJECT_SOURCE, Places
from demo.queries import duckdb_columns, read_queries
from freshline.project import load_project

ROOT = Path(__file__).parents[3]
START_S = 1_790_000_000.123


@pytest.fixture(scope="module")
def project():
    return load_project(PROJECT_SOURCE)


def test_the_checker_reads_the_project_as_freshline_does(project):
    ours = {
        query.table: (query.base, query.priority, set(query.reads))
        for query in read_queries(PROJECT_SOURCE / "tables")
    }
    theirs = {
        table.name: (
            table.kind == "base",
            table.priority,
            {*table.sources, *(read.name for read in table.statics)},
        )
        for table in project.tables
    }
    assert ours == theirs


def test_there_are_views_over_views_of_many_priorities(project):
    base = {table.name for table in project.tables if table.kind == "base"}
    views = [table for table in project.tables if table.kind == "derived"]
    assert len(views) >= 8
    assert len({view.priority for view in views}) >= 5
    assert sum(not base & set(view.parents) for view in views) >= 2


def test_a_files_name_tells_when_it_was_due(project):
    for each in schedule.releases(30.0):
        pattern = project.feeds[f"{each.feed}_feed"].timestamp
        told_s = pattern.timestamp_s(each.name(START_S))
        assert told_s == pytest.approx(START_S + each.due_s, abs=0.001)


def test_the_plan_has_each_slice_of_each_feed_once_and_some_late():
    planned = schedule.releases(30.0)
    slices = range(len(schedule.due_times_s(30.0)))
    assert sorted((each.feed, each.slice) for each in planned) == sorted(
        (feed, part) for feed in schedule.SUFFIXES for part in slices
    )
    late = [each for each in planned if each.release_s > each.due_s]
    assert {each.feed for each in late} == {"lineitem"}
    assert len(late) == len(slices) // schedule.LATE_EVERY
    assert len({each.name(START_S) for each in planned}) == len(planned)


def test_the_producer_releases_everything_whole(tmp_path):
    places = Places(tmp_path)
    planned = schedule.releases(2.0)
    schedule.save(planned, places.plan)
    for each in planned:
        folder = places.staged / each.feed / f"slice={each.slice}"
        folder.mkdir(parents=True)
        (folder / "data_0.any").write_text(f"{each.feed} {each.slice}")
    command = [sys.executable, "-m", "demo.producer", str(tmp_path), str(START_S - 1e9)]
    subprocess.run(command, cwd=ROOT, check=True)
    found = {file.name: file.read_text() for file in places.feed.rglob("*.*")}
    assert found == {each.name(START_S - 1e9): f"{each.feed} {each.slice}" for each in planned}


def test_spark_types_are_duckdb_types():
    assert duckdb_columns("a BIGINT, b STRING, c DECIMAL(15,2), d INT") == {
        "a": "BIGINT",
        "b": "TEXT",
        "c": "DECIMAL(15, 2)",
        "d": "INT",
    }
