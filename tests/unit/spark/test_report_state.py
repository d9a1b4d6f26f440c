"""What the logs of a window's partials tell of its batches."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from freshline.core.errors import Place
from freshline.delta.histories import marks_of
from freshline.executor.report_records import Window
from freshline.project.model import Project, TableDef
from freshline.spark.reports.state import Batch, ReportState

HERE = Place("tables.sql", 1)
NO_SESSION = cast("SparkSession", None)


@pytest.fixture
def state(tmp_path: Path) -> ReportState:
    project = Project("shop", tmp_path, str(tmp_path / "warehouse"), (), {})
    table = TableDef("sales of day", "derived", "", HERE, HERE, parents=("orders",))
    window = Window(table, 0.0, 3600.0, 7200.0, "abc")
    return ReportState(NO_SESSION, project, window, ["groups", "distinct"], "cut")


def wrote(state: ReportState, partial: str, number: int, at_s: float = 0.0, **facts: Any) -> None:
    """A partial's commit of one batch."""
    log = Path(state.path(partial)) / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    told = {"freshline": 1, "update": number, "base": 1, "before": {}, "statics": {}, **facts}
    info = {"timestamp": int(at_s * 1000), "userMetadata": json.dumps(told)}
    (log / f"{number - 1:020d}.json").write_text(json.dumps({"commitInfo": info}))


def test_a_batch_took_as_long_as_until_its_last_partial_and_is_whole_with_all(state) -> None:
    wrote(state, "groups", 1, parents={"orders": 3}, seconds=2.0)
    wrote(state, "distinct", 1, parents={"orders": 3}, seconds=3.5)
    wrote(state, "groups", 2, parents={"orders": 5}, before={"orders": 3}, seconds=1.0)
    assert state.batches() == [
        Batch(1, 1, {"orders": 3}, {}, {}, {}, 3.5, True, untold_s=0.0),
        Batch(2, 1, {"orders": 5}, {"orders": 3}, {}, {}, 1.0, False, untold_s=0.0),
    ]


def test_a_window_without_batches_has_none(state) -> None:
    assert state.batches() == []


def test_its_folder_is_named_by_report_window_and_cut(state) -> None:
    folder = Path(state.path("groups")).relative_to(state.project.own_path)
    assert str(folder) == (
        "reports/sales%20of%20day/19700101T000000.000000Z-19700101T010000.000000Z-cut/groups"
    )


def test_a_stream_that_was_put_back_has_other_rows_by_now(state, tmp_path) -> None:
    orders = TableDef("orders", "base", "", HERE, HERE)
    project = dataclasses.replace(state.project, tables=(orders,))
    path = Path(project.table_path("orders"))

    def load(number: int) -> None:
        write_deltalake(str(path), pa.table({"n": [number]}), mode="append")

    load(1)
    shutil.copytree(path, tmp_path / "copy")
    load(2)
    load(3)
    pins = {"orders": 2}
    batch = Batch(1, 1, pins, {}, {}, {}, marks=marks_of(project, pins))
    assert not batch.read_what_is_gone(project, pins)
    load(4)
    assert not batch.read_what_is_gone(project, {"orders": 3})
    shutil.rmtree(path)
    shutil.copytree(tmp_path / "copy", path)
    load(5)
    assert batch.read_what_is_gone(project, {"orders": 1})
    load(6)
    assert batch.read_what_is_gone(project, {"orders": 2})
    load(7)
    assert batch.read_what_is_gone(project, {"orders": 3})


@pytest.mark.parametrize(
    ("facts", "asked_s", "begins_again"),
    [
        ({"asked": 1000.0}, 1000.0, False),
        ({"asked": 1000.0}, 2000.0, True),
        ({"asked": None}, None, False),
        # Of an earlier version, which made it at 1500 and did not note who asked.
        ({}, None, False),
        ({}, 1000.0, False),
        ({}, 2000.0, True),
    ],
)
def test_a_window_is_begun_again_for_who_asked_since_where_a_static_table_has_changed(
    state, facts, asked_s, begins_again
) -> None:
    wrote(state, "groups", 1, 1500.0, parents={}, seconds=1.0, statics={"rates": 1}, **facts)
    (batch,) = state.batches()
    window = dataclasses.replace(state.window, asked_s=asked_s)
    assert batch.was_for_another(window, {"rates": 2}) is begins_again
    assert not batch.was_for_another(window, {"rates": 1})


def test_submissions_are_counted_on_and_a_views_windows_apart_from_them(state) -> None:
    view = dataclasses.replace(state.window, start_s=86_400.0)
    asked = dataclasses.replace(state.window, asked_s=90_000.0)  # while that window goes on
    again = dataclasses.replace(asked, asked_s=90_001.0)
    assert view.number < asked.number < again.number
    assert view.counted_as != asked.counted_as == again.counted_as
