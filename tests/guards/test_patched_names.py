"""What tests put another thing in place of is still there under its name.

A test that only the proof runs is not seen to fail when the function that it patches has moved.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(path for path in TESTS.rglob("*.py") if ".setattr(" in path.read_text())


def patched(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of what a file patches, as far as its imports tell the name."""
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {each.asname: each.name for each in node.names if each.asname}
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                imported[each.asname or each.name] = f"{node.module}.{each.name}"
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="monkeypatch"), attr="setattr"),
                args=[ast.Constant(value=str(name)), _],
            ):
                yield node.lineno, name
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="monkeypatch"), attr="setattr"),
                args=[ast.Name(id=owner), ast.Constant(value=str(attribute)), _],
            ) if owner in imported:
                yield node.lineno, f"{imported[owner]}.{attribute}"


def exists(name: str) -> bool:
    """Whether a module, and what the rest of the name says of it, can be found."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_what_a_test_patches_is_there(path):
    gone = [
        f"{path.name}:{line}: {name}"
        for line, name in patched(ast.parse(path.read_text()))
        if not exists(name)
    ]
    assert not gone


def test_a_name_that_moved_is_found():
    source = 'from os import path as p\nmonkeypatch.setattr(p, "joined", 1)\n'
    (found,) = patched(ast.parse(source))
    assert found == (2, "os.path.joined")
    assert not exists(found[1])
    assert exists("os.path.join")
