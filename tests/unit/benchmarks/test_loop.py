"""The loop that the warehouse is compared with must be a fair one: it wastes no update."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.common.projects import FeedSpec, TableSpec, add_file, write_project
from benchmarks.overload.loop import Loop
from freshline.executor.records import UpdateRequest, UpdateResult

FEED = FeedSpec("a_feed", "csv")


class Recorded:
    """An executor that commits nothing and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[UpdateRequest] = []

    def run(self, request: UpdateRequest) -> UpdateResult:
        self.requests.append(request)
        return UpdateResult(request.number, 1, 0, 0.0, "full", "", False, request.parents, False)

    def healthy(self) -> bool:
        return True

    def close(self) -> None: ...


@pytest.fixture
def project(tmp_path: Path):
    return write_project(
        tmp_path / "project",
        [FEED],
        [
            TableSpec("a", 1.0, "SELECT id FROM STREAM a_feed"),
            TableSpec("v", 2.0, "SELECT id FROM a"),
            TableSpec("w", 2.0, "SELECT count(*) AS n FROM v"),
        ],
    )


def rounds(loop: Loop, executor: Recorded, count: int) -> list[tuple[str, float, dict[str, int]]]:
    """What one thread does in so many steps."""
    before = len(executor.requests)
    for _ in range(count):
        loop.step()
    asked = executor.requests[before:]
    return [(request.table, request.to_s, dict(request.parents)) for request in asked]


def test_it_goes_down_the_tables_and_skips_those_without_news(project):
    executor = Recorded()
    loop = Loop(project, executor)
    assert rounds(loop, executor, 2) == []
    add_file(project, FEED, 1, 1000.0)
    assert rounds(loop, executor, 5) == [
        ("a", 1000.0, {}),
        ("v", 1000.0, {"a": 1}),
        ("w", 1000.0, {"v": 1}),
    ]
    add_file(project, FEED, 1, 1001.0)
    add_file(project, FEED, 1, 1002.0)
    assert rounds(loop, executor, 5) == [
        ("a", 1002.0, {}),
        ("v", 1002.0, {"a": 2}),
        ("w", 1002.0, {"v": 2}),
    ]
    assert [file.timestamp_s for file in executor.requests[3].files] == [1001.0, 1002.0]
