"""What is said of a query that Spark could not carry out."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import AnalysisException

from freshline.core.errors import Place
from freshline.project.model import Project, TableDef
from freshline.spark.engine.errors import update_failed

HERE = Place("tables/a.sql", 1)
PROJECT = Project("shop", Path("shop"), "shop/warehouse", (), {})


def said(table: TableDef, text: str) -> str:
    return update_failed(PROJECT, table, AnalysisException(text)).next_step or ""


def test_of_a_column_that_a_parent_may_still_get_it_is_said_when_it_comes() -> None:
    unknown = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `x` cannot be resolved SQLSTATE: 42703"
    divided = "[DIVIDE_BY_ZERO] Division by zero SQLSTATE: 22012"
    view = TableDef("a", "derived", "SELECT x FROM b", HERE, HERE, parents=("b",))
    base = TableDef("b", "base", "SELECT x FROM STREAM f", HERE, HERE, feed="f")
    assert "once that table has new rows" in said(view, unknown)
    assert "once that table" not in said(view, divided)
    assert "once that table" not in said(base, unknown)
