"""A case that was kept: what it holds, and that the same is done again; without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from freshline.executor.trials import Difference
from freshline.project.load import load_project
from freshline.spark.trials.evidence import keep, kept_case
from freshline.spark.trials.runner import _Trial
from freshline.spark.trials.tables import Tables
from freshline.sql.query.records import Reason, ViewPlan

COLUMNS = StructType([StructField("usr", StringType()), StructField("n", IntegerType())])
NO = Reason("NO", "in a test")
QUERY = "SELECT o.usr, p.n FROM orders o JOIN delta.`people` p ON o.usr = p.usr"
_PROJECT = {
    "freshline.yml": "name: shop\nstorage: warehouse\n"
    "libraries: [{glob: {include: tables/*.sql}}]\n"
    "feeds: {f: {kind: files, path: feed, format: csv, schema: usr STRING}}\n",
    "tables/a.sql": "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM f;\n"
    f"CREATE MATERIALIZED VIEW v AS {QUERY};\n",
}


@pytest.fixture
def kept(tmp_path):
    """A project, what a trial did to its tables, and the folder of the case."""
    root = tmp_path / "project"
    for name, text in _PROJECT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "feed").mkdir()
    project = load_project(root, root)
    tables = Tables(None, tmp_path / "done", {"orders": COLUMNS, "_static_0": COLUMNS})  # type: ignore[arg-type]
    tables.insert("orders", [{"usr": "a", "n": 1}, {"usr": "b", "n": 2}, {"usr": "a", "n": 3}])
    tables.insert("_static_0", [{"usr": "a", "n": 7}])
    tables.step = 1
    tables.insert("orders", [{"usr": None, "n": 4}])
    tables.update("orders", 0)
    tables.step = 2
    tables.delete("orders", 0)
    difference = Difference("group-merge", "merges", 2, missing=(("a", 1),))
    (read,) = project.table("v").statics
    statics = {read.name: "_static_0"}
    folder = keep(project, project.table("v"), tables, difference, "Europe/Berlin", 3, statics)
    return project, tables, Path(folder)


def rows(path):
    found = deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted(((row["usr"], row["n"]) for row in found), key=repr)


def test_the_project_that_is_kept_has_every_row_and_its_static_tables(kept):
    project, _, folder = kept
    assert folder == Path(project.own_path) / "evidence" / "trial-v"
    sent = load_project(folder, folder)
    assert [table.name for table in sent.tables] == ["orders", "v"]
    (read,) = sent.table("v").statics
    assert read.path == str(folder / "static" / "_static_0")
    assert rows(folder / "static" / "_static_0") == [("a", 7)]
    case = json.loads((folder / "case.json").read_text())
    assert [(each["step"], each["table"]) for each in case["history"]] == [
        (0, "orders"), (0, "_static_0"), (1, "orders"), (1, "orders"), (2, "orders"),
    ]  # fmt: skip
    updated = case["history"][3]
    assert (updated["update"], updated["set"]) == ('"n" = 1', {'"usr"': "'a'", '"n"': "2"})
    assert case["history"][-1]["delete"] == "\"usr\" = 'a'"
    assert (case["query"], case["zone"], case["missing"]) == (QUERY, "Europe/Berlin", [["a", 1]])
    assert "exit status 3" in (folder / "README.md").read_text()


def test_the_same_is_done_again_step_by_step(kept, tmp_path):
    _, tables, folder = kept
    sent = load_project(folder, folder)
    table = sent.table("v")
    case = kept_case(sent, table)
    assert case is not None
    assert kept_case(sent, sent.table("orders")) is None
    trial = _Trial(None, sent, table, tables.schemas, ViewPlan(NO, NO, NO), (), tmp_path, case)  # type: ignore[arg-type]
    trial._tables = again = Tables(None, tmp_path / "again", tables.schemas)  # type: ignore[arg-type]
    seen = []
    for step in trial._again(case):
        step()
        seen.append(rows(again.path("orders")))
    assert seen == [
        [("a", 1), ("a", 3), ("b", 2)],
        [("a", 2), ("a", 3), ("b", 2), (None, 4)],
        [("b", 2), (None, 4)],
    ]
    assert rows(again.path("_static_0")) == [("a", 7)]
    assert rows(tables.path("orders")) == seen[-1]


def test_a_project_without_a_case_has_none(kept):
    project, *_ = kept
    assert kept_case(project, project.table("v")) is None
