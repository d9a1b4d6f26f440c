"""Static tables that change while nothing else does."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from freshline.delta.log import last_commit, version
from freshline.project.model import StaticRead
from freshline.runtime.feeds import statics
from tests.support.shop import PATIENCE_S, LiveRun, Shop, eventually, made_project


@pytest.fixture
def shop(tmp_path):
    """A view ``joined`` reads a static table, and ``total`` another one, at a fixed version."""
    project = made_project(tmp_path, {"orders": (), "joined": ("orders",), "total": ("joined",)})

    def reading(table, name):
        if table.name != name:
            return table
        path = str(tmp_path / f"static_{name}")
        fixed = name == "total"
        read = StaticRead(f"delta.`static_{name}`", "delta", path, (), time_travel=fixed)
        return dataclasses.replace(table, statics=(read,))

    tables = project.tables
    for name in ("joined", "total"):
        tables = tuple(reading(table, name) for table in tables)
    return Shop(dataclasses.replace(project, tables=tables))


def change(shop, name):
    write_deltalake(
        str(shop.root / f"static_{name}"), pa.table({"n": pa.array([1], pa.int64())}), mode="append"
    )


def begin(shop):
    """Both static tables and the first file of orders are there."""
    for name in ("joined", "total"):
        change(shop, name)
    shop.file("orders", 1, [1])


def made(shop):
    """How often each view was made."""
    asked = [request.table for request in shop.executor.requests]
    return asked.count("joined"), asked.count("total")


def pin(shop):
    commit = last_commit(shop.project.table_path("joined"))
    assert commit is not None
    return commit.metadata["parents"]["delta.`static_joined`"]


def test_a_view_is_made_anew_when_its_static_table_has_a_new_version(shop):
    begin(shop)
    shop.run_until_idle()
    assert made(shop) == (1, 1)
    shop.run_until_idle()
    assert made(shop) == (1, 1)
    change(shop, "total")  # a version that the query itself fixes
    shop.run_until_idle()
    assert made(shop) == (1, 1)
    change(shop, "joined")
    shop.run_until_idle()
    assert made(shop) == (2, 2)
    assert shop.executor.requests[-2].full
    assert pin(shop) == 1


def test_a_running_warehouse_notices_too_and_asks_only_once(shop, monkeypatch):
    monkeypatch.setattr(statics, "LOOK_EVERY_S", 0.0)
    begin(shop)
    with LiveRun(shop):
        shop.recorder.wait_for("done total")
        change(shop, "joined")
        shop.recorder.wait_for("done total", times=2)
        assert pin(shop) == 1
        shop.executor.failing["joined"] = "no room"
        change(shop, "joined")
        shop.recorder.wait_for("failed joined", times=2)  # by its own retries
        del shop.executor.failing["joined"]
        shop.recorder.wait_for("done total", times=3)
        assert pin(shop) == 2


def test_a_static_table_in_a_store_that_hangs_holds_up_nothing_else(shop, monkeypatch):
    monkeypatch.setattr(statics, "LOOK_EVERY_S", 0.0)
    begin(shop)
    answers = threading.Event()

    def hanging(path):
        assert answers.wait(PATIENCE_S)
        return version(path)

    with LiveRun(shop):
        shop.recorder.wait_for("done total")
        monkeypatch.setattr(statics, "version", hanging)
        change(shop, "joined")
        shop.file("orders", 2, [2])
        shop.recorder.wait_for("done total", times=2)
        made_before = made(shop)[0]
        change(shop, "joined")
        answers.set()
        eventually(lambda: pin(shop) == 2)
    assert made(shop)[0] > made_before


def test_a_view_is_asked_for_once_over_a_store_that_answers_at_every_second_look(shop):
    begin(shop)
    shop.run_until_idle()
    change(shop, "joined")
    view = SimpleNamespace(
        name="joined", version=0, running=None, paused=False, asked=False, deferred_until_s=0.0
    )
    core = SimpleNamespace(first=lambda: None, tables=[view])
    looks = statics.StaticTables(shop.project, cast("Any", core), shop.recorder, until_idle=True)
    found = looks._by_path.found
    turns = itertools.cycle([True, False])
    looks._by_path.found = lambda *asked: found(*asked) if next(turns) else {}  # type: ignore[method-assign]
    moments_s = [statics.LOOK_EVERY_S * look for look in range(4)]
    assert [len(looks.changed(now_s)) for now_s in moments_s] == [1, 0, 0, 0]


def test_another_table_at_the_same_version_is_noticed(shop):
    log = Path(shop.root) / "static_joined" / "_delta_log"

    def told(identity):
        (log / f"{0:020d}.crc").write_text(json.dumps({"metadata": {"id": identity}}))

    begin(shop)
    told("the first")
    shop.run_until_idle()
    told("another")
    shop.run_until_idle()
    assert made(shop) == (2, 2)
    (log / f"{0:020d}.crc").unlink()  # Delta did not come to write it: nothing is told
    shop.run_until_idle()
    assert made(shop) == (2, 2)


def test_another_history_at_the_same_version_is_noticed(shop):
    path, copy = shop.root / "static_joined", shop.root / "copy"
    begin(shop)
    shutil.copytree(path, copy)
    change(shop, "joined")
    shop.run_until_idle()
    assert made(shop) == (1, 1)
    shutil.rmtree(path)
    shutil.copytree(copy, path)
    change(shop, "joined")
    shop.run_until_idle()
    assert made(shop) == (2, 2)
    shop.run_until_idle()
    assert made(shop) == (2, 2)


def test_a_paused_view_is_left_alone_and_a_table_that_is_gone_is_no_news(shop, monkeypatch):
    monkeypatch.setattr(statics, "LOOK_EVERY_S", 0.0)
    begin(shop)
    with LiveRun(shop):
        shop.recorder.wait_for("done total")
        assert shop.ask("pause", "joined")["ok"]
        change(shop, "joined")
        shop.file("orders", 2, [2])
        shop.recorder.wait_for("done orders", times=2)
        assert made(shop) == (1, 1)
        assert shop.ask("resume", "joined")["ok"]
        eventually(lambda: made(shop)[1] == 2)
    before = made(shop)
    shutil.rmtree(Path(shop.root) / "static_joined")
    shop.run_until_idle()
    assert made(shop) == before


@pytest.fixture
def lonely(tmp_path):
    """A view that reads no table of the project, and one over it."""
    project = made_project(tmp_path, {"orders": (), "alone": ("orders",), "over": ("alone",)})

    def lone(table):
        return dataclasses.replace(table, parents=()) if table.name == "alone" else table

    return Shop(dataclasses.replace(project, tables=tuple(map(lone, project.tables))))


def test_a_static_table_by_name_is_looked_up_in_the_catalog(shop):
    tables = tuple(
        dataclasses.replace(table, statics=(StaticRead("db.users", None, None, ()),))
        if table.name == "joined"
        else table
        for table in shop.project.tables
    )
    shop = Shop(dataclasses.replace(shop.project, tables=tables))
    begin(shop)
    shop.executor.by_name["db.users"] = str(shop.root / "static_joined")
    shop.run_until_idle()
    shop.run_until_idle()
    assert made(shop) == (1, 1)
    change(shop, "joined")
    shop.run_until_idle()
    assert made(shop) == (2, 2)
    assert shop.executor.requests[-2].full
    del shop.executor.by_name["db.users"]
    shop.run_until_idle()
    assert made(shop) == (2, 2)
    (told,) = (line for line in shop.recorder.lines if "static" in line)
    assert told == (
        "notice static table db.users: changes go unnoticed: [static-unreadable] db.users: there"
        " is no such table"
    )


def test_a_view_without_parents_is_computed_once_in_each_run(lonely):
    lonely.run_until_idle()
    asked = [(request.table, dict(request.parents)) for request in lonely.executor.requests]
    assert asked == [("alone", {}), ("over", {"alone": 0})]
    lonely.run_until_idle()
    asked = [(request.table, dict(request.parents)) for request in lonely.executor.requests]
    assert asked[2:] == [("alone", {}), ("over", {"alone": 1})]


def test_a_view_without_parents_is_computed_by_its_period(lonely):
    tables = tuple(
        dataclasses.replace(table, period_s=0.1) if table.name == "alone" else table
        for table in lonely.project.tables
    )
    lonely.project = dataclasses.replace(lonely.project, tables=tables)
    with LiveRun(lonely):
        lonely.recorder.wait_for("done over", times=3)
