"""The text of a syntax tree is compared in one module alone, which knows how it is spelt.

The parser keeps keywords as the user typed them. A comparison of such a text with ``PRECEDING``
once made every window frame in lower case reach the wrong way. So ``sql/text/canonical.py`` puts
trees into one spelling and answers questions about them; elsewhere a keyword may only meet what it
answered, or what was put into capitals (or small letters) on the spot.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "freshline"
CANONICAL = ROOT / "sql" / "text" / "canonical.py"
READERS = sorted(
    path
    for folder in (ROOT / "sql", ROOT / "spark" / "views")
    for path in folder.rglob("*.py")
    if path.parent.name != "readings"  # of Spark's plans, which has no spellings
)

ANSWERS = frozenset({"side_of", "kind_of", "unit_name"})
ANSWERED = frozenset({"Side", "JoinKind"})
SPELLERS = frozenset({"upper", "lower", "casefold"})
TEXTS = frozenset({"side", "method", "this", "alias", "alias_or_name", "args", "output_name"})
CALLED_TEXTS = frozenset({"text", "sql"})


def literals(node: ast.expr) -> list[str]:
    """The strings that ``node`` is or lists."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        return [text for element in node.elts for text in literals(element)]
    return []


def is_keyword(text: str) -> bool:
    return len(text) > 1 and text.isupper() and text.replace(" ", "").isalpha()


def is_spelt(node: ast.expr, spelt: set[str]) -> bool:
    """Whether ``node`` is in a known spelling: an answer, or put into one on the spot."""
    if isinstance(node, ast.Name):
        return node.id in spelt
    if isinstance(node, ast.Subscript):
        return is_spelt(node.value, spelt)
    if isinstance(node, ast.Tuple | ast.List):
        return all(is_spelt(element, spelt) for element in node.elts)
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return is_spelt(node.elt, spelt)
    if isinstance(node, ast.IfExp):
        return all(
            is_spelt(each, spelt) or bool(literals(each)) for each in (node.body, node.orelse)
        )
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute):
            return called.attr in SPELLERS or (
                called.attr in {"get", "removesuffix", "strip"} and is_spelt(called.value, spelt)
            )
        return isinstance(called, ast.Name) and called.id in ANSWERS
    return False


def spelt_names(function: ast.AST) -> set[str]:
    """Names in a function (or module) that hold a text in a known spelling, wherever assigned."""
    spelt: set[str] = set()
    raw: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            known = isinstance(node.annotation, ast.Name) and node.annotation.id in ANSWERED
            (spelt if known else raw).add(node.arg)
    grown = -1
    while grown != len(spelt):
        grown = len(spelt)
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign | ast.NamedExpr):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                for name, value in pairs:
                    if isinstance(name, ast.Name) and is_spelt(value, spelt):
                        spelt.add(name.id)
    return spelt - raw


def is_raw_text(node: ast.expr) -> bool:
    """Whether ``node`` is a text straight from a tree."""
    if isinstance(node, ast.BoolOp):
        return any(is_raw_text(each) for each in node.values)
    if isinstance(node, ast.Subscript):
        return is_raw_text(node.value)
    if isinstance(node, ast.Call):
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr in SPELLERS:
            return False
        return called.attr in CALLED_TEXTS or is_raw_text(called.value)
    return isinstance(node, ast.Attribute) and node.attr in TEXTS


def faults(source: str) -> Iterator[str]:
    module = ast.parse(source)
    functions = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    seen: set[int] = set()
    for scope in [*functions, module]:
        spelt = spelt_names(scope)
        for node in ast.walk(scope):
            if not isinstance(node, ast.Compare) or id(node) in seen:
                continue
            seen.add(id(node))
            sides = [node.left, *node.comparators]
            texts = [text for side in sides for text in literals(side) if text]
            others = [side for side in sides if not literals(side)]
            keyword = any(map(is_keyword, texts))
            for other in others:
                if texts and (is_raw_text(other) or (keyword and not is_spelt(other, spelt))):
                    yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_of_a_tree_is_compared_as_it_was_typed(path):
    if path != CANONICAL:
        assert list(faults(path.read_text())) == []


def test_the_guard_finds_what_was_wrong_once():
    wrong = """
def edge(value, side, join, spec):
    if value == "CURRENT ROW":
        return 0
    kind = spec.args.get("kind")
    one = join.side in {"LEFT", "FULL"} or join.args["method"] == "natural"
    return side == "PRECEDING" or kind == "ROWS" or one or "FULL" == join.text("side")
"""
    assert len(list(faults(wrong))) == 6
    right = """
def edge(side: Side, join, token):
    kind = kind_of(join)
    word = token.text.upper()
    return side == "LEFT" or kind in {"SEMI", "ANTI"} or word == "GROUP" or kind_of(join) == "CROSS"
"""
    assert list(faults(right)) == []
