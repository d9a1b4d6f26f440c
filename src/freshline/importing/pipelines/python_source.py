"""What a pipeline's Python file must not do, found in its text before it is imported.

Spark refuses the same: definitions change no session and write nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from freshline.core.errors import Place, UserError

_VIEWS = (
    "createTempView", "createOrReplaceTempView", "createGlobalTempView",
    "createOrReplaceGlobalTempView", "dropTempView", "dropGlobalTempView", "setCurrentCatalog",
    "setCurrentDatabase", "registerJavaFunction", "registerJavaUDAF", "registerTempTable",
)  # fmt: skip
_OF = {("conf", "set"), ("udf", "register"), ("conf", "unset")}
_WRITES = ("write", "writeStream", "writeTo")


def refused(text: str, file: str) -> list[UserError]:
    """An error for each place that changes the session or writes, or for what is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return [
            UserError(
                "bad-python",
                f"this is not Python: {error.msg}",
                where=Place(file, error.lineno),
                next_step="Correct the syntax.",
            )
        ]
    pivots = [
        UserError(
            "pivot",
            "pivot has no list of values, so the table's columns would be those of the moment",
            where=Place(file, line),
            rule="the columns of a dataset are the same in each of its versions",
            next_step="Name the values: pivot(column, [...]).",
        )
        for line in _open_pivots(tree)
    ]
    return pivots + [
        UserError(
            "changes-session",
            f"{name} changes the session or writes data",
            where=Place(file, line),
            rule="definitions of a pipeline return DataFrames and do nothing else",
            next_step="Make a temporary view with @temporary_view, set what has to be set in the"
            " pipeline's configuration, or return the DataFrame.",
        )
        for name, line in _found(tree)
    ]


def _open_pivots(tree: ast.AST) -> Iterator[int]:
    """Lines of ``grouped.pivot(column)``; the arguments of pandas' pivot have other names."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "pivot"
        ):
            named = {each.arg: each.value for each in node.keywords}
            given = dict(zip(("pivot_col", "values"), node.args, strict=False)) | named
            values = given.get("values")
            has_none = values is None or (isinstance(values, ast.Constant) and values.value is None)
            if has_none and "pivot_col" in given and given.keys() <= {"pivot_col", "values"}:
                yield node.end_lineno or node.lineno


def _found(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = node.func.value
            owner = inner.attr if isinstance(inner, ast.Attribute) else ""
            name = node.func.attr
            if name in _VIEWS:
                yield name, node.lineno
            elif (owner, name) in _OF or owner in _WRITES:
                yield f"{owner}.{name}", node.lineno
