"""Every error that is the user's to correct says what to do next."""

from __future__ import annotations

import ast
from pathlib import Path

import freshline

SOURCE = Path(freshline.__file__).parent
SCENARIOS = ("core/", "sim/scenario/")
"""Errors in scenario files have a form of their own: the key, the line and the rule."""


def without_a_next_step(path: Path) -> list[int]:
    """Lines where a UserError is made without one."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "UserError"
        and not any(each.arg in {"next_step", None} for each in node.keywords)
    ]


def test_every_user_error_has_a_next_step():
    names = {path: path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))}
    missing = [
        f"{name}:{line}"
        for path, name in names.items()
        if not name.startswith(SCENARIOS)
        for line in without_a_next_step(path)
    ]
    assert missing == []
