"""What of a pipeline's names is copied for a call of its functions, without Spark."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from freshline.spark.pipelines.bound import Bound, shared_changes

TEXT = """
from datetime import date
from decimal import Decimal

rows = [("a", date(2026, 1, 1), Decimal("1.5"))]
nested = (rows, "a")
days = {"a": date(2026, 1, 1)}


def seen():
    return rows, nested, days


def grow():
    rows.append(1)
    days["b"] = None
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    (tmp_path / "names.py").write_text(TEXT)
    spec = importlib.util.spec_from_file_location("names", tmp_path / "names.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_what_nobody_can_change_is_not_copied(tmp_path: Path, module: ModuleType) -> None:
    rows, nested, days = Bound(tmp_path).as_it_is(module.seen)()
    assert (rows, nested, days) == (module.rows, module.nested, module.days)
    assert rows is nested[0]
    assert rows is not module.rows
    assert days is not module.days
    assert rows[0] is module.rows[0]


def test_changes_are_noted_where_a_call_is_watched(tmp_path: Path, module: ModuleType) -> None:
    bound = Bound(tmp_path)
    functions = {"grow": bound.as_it_is(module.grow), "seen": bound.as_it_is(module.seen)}
    functions["grow"]()
    assert list(shared_changes(functions)) == []
    functions["grow"].watched()
    assert list(shared_changes(functions)) == [("grow", "rows", "seen")]
