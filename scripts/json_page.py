"""The page of what ``--json`` prints: every field of every record, read from the code.

The fields are the keys of the dictionaries that a record's function writes; what they mean stands
in ``json_texts.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from scripts.json_texts import RECORDS, TEXTS
from scripts.reference_texts import NOTE

_SOURCE = Path(__file__).parents[1] / "src" / "freshline"


def json_page() -> str:
    """The page.

    Raises:
        KeyError: A field is described nowhere: say what it means in ``json_texts.py``.
    """
    lines = [
        "# Fields of --json",
        "",
        NOTE,
        "",
        "Moments are texts like `2026-01-31T08:00:00Z`, in UTC. Names that end in `_s` are",
        "seconds. A field is null where there is nothing to say. Fields may be added; none is",
        "renamed.",
        "",
        "A command that fails prints its error under `error`, and all of them under `errors` where",
        "there are several; `validate` has `errors` alone. `simulate`, `guarantees` and `plan`",
        "print nothing on standard output when their file is wrong, and no command does when",
        "its arguments are.",
        "",
    ]
    for title, records in RECORDS.items():
        lines += [f"## {title}", "", "| field | meaning |", "|---|---|"]
        for module, name, prefix in records:
            texts = TEXTS[name]
            lines += [
                f"| `{prefix}{key}` | {texts[key]} |" for key in fields(module, name) if texts[key]
            ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def fields(module: str, name: str) -> list[str]:
    """Every key that a function's dictionaries have; ``a.b`` and ``a[].b`` inside of others."""
    path = _SOURCE / f"{module.replace('.', '/')}.py"
    (function,) = (
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    return list(dict.fromkeys(key for each in _outermost(function) for key in _keys(each)))


def _outermost(node: ast.AST) -> Iterator[ast.Dict]:
    """The dictionaries written below a node, without those inside of them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Dict):
            yield child
        else:
            yield from _outermost(child)


def _keys(written: ast.Dict, prefix: str = "") -> Iterator[str]:
    for key, value in zip(written.keys, written.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            continue
        name = f"{prefix}{key.value}"
        yield name
        inside = [value] if isinstance(value, ast.Dict) else list(_outermost(value))
        many = not isinstance(value, ast.Dict) and any(
            isinstance(node, ast.ListComp) for node in ast.walk(value)
        )
        for each in inside:
            yield from _keys(each, f"{name}[]." if many else f"{name}.")
