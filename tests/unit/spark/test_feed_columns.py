"""The columns of a Parquet feed without `schema:`, from run to run."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import LongType, StructType

from freshline.core.errors import PlatformError, UserError
from freshline.project.model import Project
from freshline.spark.feeds.reader import FeedReader
from tests.support.shop import Shop, made_shop


def schema_of(*columns: str) -> StructType:
    schema = StructType()
    for name in columns:
        schema.add(name, LongType())
    return schema


def session(*columns: str) -> Any:
    """A session to which every file has these columns."""
    schema = schema_of(*columns)
    reader: Any = SimpleNamespace(
        format=lambda _: reader,
        options=lambda **_: reader,
        load=lambda _: SimpleNamespace(schema=schema),
    )
    return SimpleNamespace(read=reader)


def columns_of(
    project: Project, found: Any, names: list[str], table: str | None = None, **how: bool
) -> list[str]:
    """As a new process takes them."""
    reader = FeedReader(project, project.feeds["orders_feed"])
    return reader.schema(found, names, table=table, **how).names


def note(project: Project) -> Path:
    """Where an earlier version of freshline wrote the columns down."""
    return Path(project.own_path) / "feeds" / "orders_feed.schema.json"


def loads_say(monkeypatch: pytest.MonkeyPatch, project: Project, **facts: Any) -> None:
    """Have the newest loads of tables say this; of a table that is not named there is none."""
    by_path = {project.table_path(name): told for name, told in facts.items()}

    def last(path: str) -> Any:
        return SimpleNamespace(metadata=by_path[path]) if path in by_path else None

    monkeypatch.setattr("freshline.spark.feeds.reader.last_load", last)


def facts_of(*columns: str, feed: str = "orders_feed") -> dict[str, Any]:
    return {"columns": {feed: schema_of(*columns).jsonValue()}}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """An earlier version read its feed at its first place, and wrote its columns down."""
    shop = made_shop(tmp_path, {"orders": ()})
    feed = shop.project.feeds["orders_feed"]
    without = dataclasses.replace(feed, format="parquet", schema=None)
    shop = Shop(dataclasses.replace(shop.project, feeds={"orders_feed": without}))
    note(shop.project).parent.mkdir(parents=True)
    note(shop.project).write_text(schema_of("id", "amount").json())
    return shop


def moved(shop: Shop) -> Project:
    feed = dataclasses.replace(shop.project.feeds["orders_feed"], path=str(shop.root / "other"))
    return dataclasses.replace(shop.project, feeds={"orders_feed": feed})


def test_a_new_table_has_the_columns_of_the_place_where_its_feed_is_now(shop: Shop) -> None:
    assert columns_of(moved(shop), session("id", "shop"), ["b.parquet"]) == ["id", "shop"]


def test_they_are_looked_for_in_files_alone(shop: Shop) -> None:
    assert columns_of(moved(shop), session("id", "shop"), []) == ["id", "amount"]


def test_a_table_that_is_filled_keeps_its_columns(shop: Shop) -> None:
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    for project in (shop.project, moved(shop)):  # `freshline accept` says that its files moved
        assert columns_of(project, session("id", "shop"), ["b.parquet"]) == ["id", "amount"]
        assert columns_of(project, session("id", "shop"), ["b.parquet"], "orders") == [
            "id",
            "amount",
        ]


def test_without_a_file_or_a_note_they_are_not_known(shop: Shop, tmp_path: Path) -> None:
    project = dataclasses.replace(shop.project, root=tmp_path, storage=str(tmp_path / "none"))
    with pytest.raises(PlatformError, match="declares no schema and has no file to take it from"):
        columns_of(project, session(), [])


def test_a_table_has_the_columns_that_its_commits_say(shop: Shop, monkeypatch: Any) -> None:
    """Whatever the next file has, and whether there is a note of an earlier version."""
    loads_say(monkeypatch, shop.project, orders=facts_of("id", "shop"))
    for _ in range(2):
        found = columns_of(shop.project, session("id"), ["b.parquet"], "orders")
        assert found == ["id", "shop"]
        note(shop.project).unlink(missing_ok=True)


def test_a_full_update_takes_those_of_the_first_file(shop: Shop, monkeypatch: Any) -> None:
    loads_say(monkeypatch, shop.project, orders=facts_of("id", "shop"))
    found = columns_of(shop.project, session("id"), ["b.parquet"], "orders", anew=True)
    assert found == ["id"]


def commits_of(project: Project, *commits: dict[str, Any]) -> None:
    """Have the log of orders hold these commits alone, as it is once older ones are cleaned up."""
    log = Path(project.table_path("orders")) / "_delta_log"
    shutil.rmtree(log)
    log.mkdir()
    for version, facts in enumerate(commits, 7):
        told = {"freshline": 1, "update": version, "from": "", "to": "", "files": []} | facts
        info = {"timestamp": 0, "userMetadata": json.dumps(told)}
        (log / f"{version:020d}.json").write_text(json.dumps({"commitInfo": info}))


@pytest.mark.parametrize("then", [(), ("compact",)])
def test_a_backfill_says_the_columns_once_the_loads_commit_is_gone(
    then: tuple[str, ...], shop: Shop
) -> None:
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    told = facts_of("id", "shop")
    commits = ({"strategy": each} | told for each in ("backfill", *then))
    commits_of(shop.project, *commits)
    assert columns_of(shop.project, session("id"), ["b.parquet"], "orders") == ["id", "shop"]
    assert columns_of(shop.project, session("id"), ["b.parquet"]) == ["id", "shop"]


@pytest.mark.parametrize("left", ["a backfill of an earlier version", "none"])
def test_a_table_whose_loads_commits_are_gone_is_as_filled_as_before(
    left: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    commits_of(shop.project, {"strategy": "backfill"} if left != "none" else {"freshline": 0})
    known = {shop.project.table_path("orders"): "freshline.orders"}
    monkeypatch.setattr(
        "freshline.spark.feeds.reader.last_transaction",
        lambda path, application: 1 if known.get(path) == application else None,
    )
    for table in ("orders", None):
        found = columns_of(shop.project, session("id", "shop"), ["b.parquet"], table)
        assert found == ["id", "amount"]
    note(shop.project).unlink()
    with pytest.raises(UserError, match="with which columns table orders was loaded so far"):
        columns_of(shop.project, session("id"), ["b.parquet"], "orders")


@pytest.mark.parametrize("text", [None, ""])
def test_a_filled_table_of_which_nothing_says_the_columns_is_refused(
    text: str | None, shop: Shop, monkeypatch: Any
) -> None:
    """Its next file may have fewer. A note may be empty after a power cut."""
    loads_say(monkeypatch, shop.project, orders={})
    note(shop.project).unlink()
    if text is not None:
        note(shop.project).write_text(text)
    with pytest.raises(UserError, match="with which columns table orders was loaded so far"):
        columns_of(shop.project, session("id"), ["b.parquet"], "orders")


def test_a_table_that_was_loaded_from_another_feed_takes_those_of_a_file(
    shop: Shop, monkeypatch: Any
) -> None:
    loads_say(monkeypatch, shop.project, orders=facts_of("id", "shop", feed="other_feed"))
    note(shop.project).unlink()
    assert columns_of(shop.project, session("id"), ["b.parquet"], "orders") == ["id"]


def test_each_table_of_a_feed_has_its_own_columns(shop: Shop, monkeypatch: Any) -> None:
    """A full update of one of them may have found a first file with others."""
    (orders,) = [table for table in shop.project.tables if table.name == "orders"]
    tables = tuple(dataclasses.replace(orders, name=name) for name in ("a", "b", "c"))
    project = dataclasses.replace(shop.project, tables=tables)
    loads_say(monkeypatch, project, a=facts_of("id"), b=facts_of("id", "note"))
    assert columns_of(project, session("x"), ["b.parquet"], "a") == ["id"]
    assert columns_of(project, session("x"), ["b.parquet"], "b") == ["id", "note"]
    assert columns_of(project, session("x"), ["b.parquet"], "c") == ["id", "note"]
