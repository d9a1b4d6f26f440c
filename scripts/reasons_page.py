"""The page of reasons: codes with which updates say why they were made in their way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from freshline.sql import strategy
from scripts.reference_texts import NOTE

_SOURCE = Path(__file__).parents[1] / "src" / "freshline"

CODES = {
    "row-wise": "The output of new rows is added to the table.",
    "buckets": "Only the buckets of time that the parents' changes touch are computed.",
    "joined": "What each table's new rows make with all rows of the others is added to the table.",
    "merges": "Aggregates of the new rows are merged into their buckets or groups.",
    "groups": "Only the groups that the parents' changes touch are computed.",
    "keys": "Only the keys of the rows that changed in the parents are computed.",
    "whole": "The new rows' aggregates are merged, and the whole view is written.",
    "state-built": "The state for merging was built from all rows.",
    "parent-rewrote": "A parent lost or changed rows, and only new rows could be added or merged.",
    "cheaper": "`auto` chose an update in full, since it should be quicker.",
    "tried": "The update used another strategy than the usual one, to see whether it is quicker."
    " Both give the same rows. It is no trial (`try`).",
    "not-analysed": "Spark has not analysed the query yet; the strategy is chosen after that.",
    "small-files": "Small files were put together; no row changed.",
}
"""Codes beside those of :data:`freshline.sql.strategy._FULL`."""

_AGGREGATES = {
    "APPROXIMATE": "an approximate aggregate, whose sketches cannot be merged exactly",
    "HOLISTIC": "the aggregate needs all values of its group at once",
    "ORDER_DEPENDENT": "the aggregate's result depends on the order of rows",
}
"""Codes whose sentence is chosen by the function's name."""

_ANALYSIS = re.compile(r"[A-Z][A-Z_]+")


def reasons_page() -> str:
    """The page.

    Raises:
        KeyError: A code is described nowhere: say what it means in ``CODES``.
    """
    full = strategy._FULL  # noqa: SLF001 - the page is of this table
    lines = [
        "# Reasons",
        "",
        NOTE,
        "",
        "Every update says how it was computed (`strategy`), why (`reason`, a sentence) and the",
        "same as a code that stays over versions (`code`): in `freshline status`, `story` and",
        "`explain`, and in the table's commit. [The strategies](../glossary.md).",
        "",
        "Four strategies are upkeep, and change no row: `compact`, `vacuum`, `verify` (an audit)",
        "and `try` (a trial, in the log `tried in`). The code `tried` is a real update, no trial.",
        "",
        "## Codes of updates",
        "",
        "| code | meaning |",
        "|---|---|",
    ]
    written = {code for path in _SOURCE.rglob("*.py") for code in _codes(path)}
    lines += [f"| `{code}` | {CODES[code]} |" for code in sorted(written - set(full))]
    lines += [f"| `{code}` | `full`: {text} |" for code, text in sorted(full.items())]
    lines += [
        "",
        "## Codes of the analysis",
        "",
        "Why a view cannot be appended to, has no buckets of time, states to merge or keys:",
        "`freshline explain`, and the code of an update in full. `...` stands for names.",
        "",
        "| code | meaning | found in |",
        "|---|---|---|",
    ]
    found: dict[str, tuple[list[str], list[str]]] = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        for code, text in _refused(path):
            texts, modules = found.setdefault(code, ([], []))
            texts.append(text)
            modules.append(f"`{path.relative_to(_SOURCE)}`")
    for code, (texts, modules) in sorted(found.items()):
        told, where = (list(dict.fromkeys(each)) for each in (texts, modules))
        meant = [each for each in told if each != "..."] or [_AGGREGATES[code]]
        lines.append(f"| `{code}` | {_cell('; '.join(meant))} | {', '.join(where)} |")
    return "\n".join(lines) + "\n"


@cache
def _calls(path: Path) -> list[tuple[str, list[ast.expr]]]:
    """Name and arguments of every call."""
    return [
        (getattr(node.func, "attr", getattr(node.func, "id", "")), node.args)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]


def _codes(path: Path) -> Iterator[str]:
    """The codes of strategies that a module makes; names stand for those of strategy.py."""
    for name, arguments in _calls(path):
        if name == "Strategy" and len(arguments) > 1:
            code = arguments[1]
            if isinstance(code, ast.Name) and code.id.isupper():
                yield str(getattr(strategy, code.id))
            elif isinstance(code, ast.Constant):
                yield str(code.value)
    if path.stem == "strategy":
        yield from (strategy.PARENT_REWROTE, strategy.STATE_BUILT, strategy.WHOLE, "small-files")


def _refused(path: Path) -> Iterator[tuple[str, str]]:
    for name, arguments in _calls(path):
        if name in {"unsupported", "Unsupported", "Reason", "_reason"} and len(arguments) > 1:
            code, text = arguments[:2]
            if isinstance(code, ast.Constant) and _ANALYSIS.fullmatch(str(code.value)):
                yield str(code.value), _text(text)


def _text(node: ast.expr) -> str:
    """A message's text, with ``...`` for what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "..." for each in node.values)
        return "".join(str(part) for part in parts)
    return "..."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
