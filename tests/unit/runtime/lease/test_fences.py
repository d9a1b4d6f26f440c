"""The commit that ends a former leader's commits: it goes on from all that the table holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshline.core.errors import PlatformError
from freshline.delta.log import application, last_commit, newest_transaction
from freshline.delta.stores import delta_table
from freshline.executor.records import FeedFile, UpdateRequest
from freshline.runtime.lease import succession
from freshline.runtime.lease.succession import fence_tables
from tests.support.shop import made_shop


@pytest.fixture
def shop(tmp_path):
    """A table with one update."""
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    return shop


@pytest.fixture(params=["before", "after"])
def _woken(shop, monkeypatch, request):
    """The former leader's next update lands just before its successor opens the table, or after."""
    name = shop.file("orders", 2, [2])
    left = [FeedFile(name, 2, 0.0, 0.0)]

    def opened(path):
        table = delta_table(path)
        if left:
            files = (left.pop(),)
            shop.executor.run(UpdateRequest(2, "orders", 60.0, 120.0, files=files, filled=True))
        return table if request.param == "after" else delta_table(path)

    monkeypatch.setattr(succession, "delta_table", opened)


@pytest.mark.usefixtures("_woken")
def test_a_commit_that_lands_while_the_fence_is_made_is_not_denied(shop):
    path = shop.project.table_path("orders")
    fence_tables(shop.project, 99)
    last = last_commit(path)
    assert last is not None
    assert (last.version, last.update, last.metadata["epoch"]) == (2, 2, 99)
    assert newest_transaction(path, application("orders")) == 2


@pytest.mark.usefixtures("_woken")
def test_what_such_a_commit_loaded_is_not_loaded_again(shop):
    fence_tables(shop.project, 99)
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2]


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two tables with one update each."""
    monkeypatch.setattr(succession, "_PAUSE_S", 0.0)
    shop = made_shop(tmp_path, {"orders": (), "sums": ("orders",)})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    return shop


def epochs(shop, *names):
    """Under which epoch each table's last commit was made."""
    last = [last_commit(shop.project.table_path(name)) for name in names]
    return [None if each is None else each.metadata.get("epoch") for each in last]


def make_unknown(path: Path, what: str) -> None:
    """Have a table need what delta-rs does not know, as a newer Spark may."""
    log = path / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "metaData" in action and what == "a type":
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"][0]["type"] = "geometry(OGC:CRS84)"
            action["metaData"]["schemaString"] = json.dumps(schema)
        if "protocol" in action and what != "a type":
            features = {"writerFeatures": ["fancy"], "readerFeatures": []}
            if what == "a reader's feature":
                features["readerFeatures"] = ["fancy"]
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    log.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


@pytest.mark.parametrize("what", ["a type", "a writer's feature", "a reader's feature"])
def test_a_table_that_cannot_be_fenced_is_told_and_the_others_are_fenced(two, what):
    make_unknown(Path(two.project.table_path("orders")), what)
    (told,) = fence_tables(two.project, 99)
    assert told.startswith(
        "table orders cannot be fenced off from the process that ran before, which may still commit"
        " to it if it wakes up: "
    )
    assert "\n" not in told
    assert epochs(two, "orders", "sums") == [1, 99]


def refuse(monkeypatch, path: str, then=lambda: None) -> None:
    """Let nobody write a table, as where its prefix is read-only."""

    class ReadOnly:
        def __init__(self, table):
            self._table = table

        def __getattr__(self, name):
            return getattr(self._table, name)

        def create_write_transaction(self, *_, **__):
            then()
            raise OSError("Generic S3 error\n  403 Forbidden")

    def opened(of):
        return ReadOnly(delta_table(of)) if of == path else delta_table(of)

    monkeypatch.setattr(succession, "delta_table", opened)


def test_a_table_that_nobody_may_write_is_told_and_the_others_are_fenced(two, monkeypatch):
    refuse(monkeypatch, two.project.table_path("orders"))
    (told,) = fence_tables(two.project, 99)
    assert told.endswith("if it wakes up: Generic S3 error 403 Forbidden")
    assert epochs(two, "orders", "sums") == [1, 99]


def test_a_store_that_is_away_is_no_fault_of_the_tables_own(two, monkeypatch):
    path = two.project.table_path("orders")

    def away(_: str) -> None:
        raise PlatformError("log-unreadable", "the storage is away")

    def goes() -> None:
        monkeypatch.setattr(succession, "version", away)

    refuse(monkeypatch, path, goes)
    with pytest.raises(PlatformError, match="the storage is away"):
        fence_tables(two.project, 99)
