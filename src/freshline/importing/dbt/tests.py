"""dbt's data tests: the four kinds that are checks here, and why another is not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from freshline.importing.dbt.manifest import depends, mapping
from freshline.importing.dbt.overrides import Overrides
from freshline.importing.items import Check
from freshline.project.model import CHECK_KINDS

_NAME = re.compile(r"""["']([^"']+)["']""")
_VERSION = re.compile(r"""\b(?:v|version)\s*=\s*["']?([\w.]+)""")
_RENDERED = re.compile(r"\{\{|\{%|^\s*(?:env_var|var|ref|source|doc)\s*\(.+\)\s*$", re.DOTALL)
"""What dbt fills in when the test runs: Jinja, and calls that it renders without braces too."""
_READS = re.compile(r"\{\{|\{%|\bselect\b", re.IGNORECASE)
_ESCAPED = re.compile(r"['\\]")
"""What ends a text of SQL, or stands before a character that has another meaning there."""
_LIMITS = (
    ("error_if", "!= 0"),
    ("warn_if", "!= 0"),
    ("fail_calc", "count(*)"),
    ("limit", None),
)
"""Options that change which number of failing rows is a failure, with dbt's defaults."""


def read_test(key: str, node: Mapping[str, Any], overrides: Overrides) -> Check:
    """A test of the manifest."""
    about = mapping(node.get("test_metadata"))
    arguments = mapping(about.get("kwargs"))
    config = mapping(node.get("config"))
    nodes = depends(node)
    kind = str(about.get("name") or "query")
    of = str(node.get("attached_node") or "") or _named(str(arguments.get("model")), nodes)
    where = config.get("where")
    column = arguments.get("column_name") or node.get("column_name")
    values = arguments.get("values")
    quote = arguments.get("quote", True)
    check = Check(
        key,
        kind,
        of or ", ".join(nodes),
        column=str(column or ""),
        # dbt puts a text between quotes as it is: a quote in it has a backslash in front.
        values=tuple(str(each).replace("\\'", "'") if quote else each for each in _list(values)),
        to=_named(str(arguments.get("to")), nodes) if kind == "relationships" else None,
        field=str(arguments["field"]) if "field" in arguments else None,
        where=str(where) if where else None,
        warns=str(config.get("severity", "")).lower() == "warn",
    )
    refusal = _refusal(check, about, arguments, config)
    own = overrides.of_test(kind) if refusal is None else None
    if own is not None:
        refusal = f"{own} is in the place of dbt's own test"
    return check if refusal is None else Check(key, kind, check.of, refusal=refusal)


def _refusal(
    check: Check,
    about: Mapping[str, Any],
    arguments: Mapping[str, Any],
    config: Mapping[str, Any],
) -> str | None:
    """Why the test is no check here, or None."""
    if not about:
        return "it is a query of its own"
    if about.get("namespace") or check.kind not in CHECK_KINDS:
        return f"only {', '.join(CHECK_KINDS)} of dbt itself are checked"
    for name, default in _LIMITS:
        if config.get(name, default) not in {default, None}:
            return f"its {name} is {config[name]}: a check fails where a row fails"
    if unclear := _unclear(check):
        return unclear
    if check.kind == "accepted_values":
        return _unfit_values(check, arguments)
    if check.kind == "relationships" and (not check.to or check.field is None):
        return "the manifest does not say which table it refers to"
    return None


def _unclear(check: Check) -> str | None:
    """Why the manifest does not say which rows and values it asks for, or None."""
    if not check.column:
        return "it names no column"
    texts = [check.column, check.field, *check.values]
    if rendered := [each for each in texts if isinstance(each, str) and _RENDERED.search(each)]:
        return f"its {rendered[0]} is filled in when dbt runs"
    if check.where is not None and _READS.search(check.where):
        return "its where reads other tables, or is filled in when dbt runs"
    return None


def _unfit_values(check: Check, arguments: Mapping[str, Any]) -> str | None:
    if not check.values:
        return "it lists no values"
    unfit = [str(each) for each in check.values if not isinstance(each, int | float)]
    if unfit and arguments.get("quote", True) is not True:
        return f"its values are SQL expressions: {', '.join(unfit)}"
    texts = [str(each) for each in _list(arguments.get("values"))]
    odd = [each for each in texts if _ESCAPED.search(each.replace("\\'", ""))]
    return f"which text its value {odd[0]} is depends on settings of Spark" if odd else None


def _named(text: str, nodes: Sequence[str]) -> str:
    """The node that ``ref('x')`` or ``source('a', 'b')`` names; empty where it is not clear.

    A model with versions has one node for each: ``model.shop.customers.v2``.
    """
    version = _VERSION.search(text)
    name = ".".join(_NAME.findall(text[: version.start()] if version else text))
    end = re.escape(f".{name}") + (rf"\.v{re.escape(version[1])}" if version else r"(\.v[\w.]+)?")
    fit = [node for node in nodes if name and re.search(f"{end}$", node)]
    return fit[0] if len(fit) == 1 else ""


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
