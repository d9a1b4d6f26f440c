"""What of a pipeline's names is copied for a call of its functions, without Spark."""

from __future__ import annotations

import importlib.util
import sys
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


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    (tmp_path / "names.py").write_text(TEXT)
    return _imported(tmp_path / "names.py")


REACHED = {
    "by an attribute": "import helpers\n\n\ndef f():\n    return helpers.more()\n",
    "by a variable": "import helpers\n\n\ndef f():\n    h = helpers\n    return h.more()\n",
    "both": "import helpers\n\n\ndef f():\n    helpers.n, h = 0, helpers\n    return h.more()\n",
    "by its name": "import helpers\n\n\ndef f():\n    return getattr(helpers, 'more')()\n",
    "in a dict": "import helpers\nby = {1: helpers}\n\n\ndef f():\n    return by[1].more()\n",
    "by an argument": "import helpers\n\n\ndef f(by=helpers):\n    return by.more()\n",
    "of a function": """
def g():
    g.seen.append(1)
    return g.seen


g.seen = []


def f():
    return g()
""",
}


@pytest.mark.parametrize("text", REACHED.values(), ids=REACHED)
def test_each_call_begins_anew_however_a_name_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    helpers = tmp_path / "helpers.py"
    helpers.write_text("seen = []\n\n\ndef more():\n    seen.append(1)\n    return seen\n")
    monkeypatch.setitem(sys.modules, "helpers", _imported(helpers))
    (tmp_path / "names.py").write_text(text)
    function = Bound(tmp_path).as_it_is(_imported(tmp_path / "names.py").f)
    assert [function(), function()] == [[1], [1]]


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
    assert list(shared_changes(functions)) == [
        ("grow", "days", "seen", True),
        ("grow", "rows", "seen", False),
    ]
