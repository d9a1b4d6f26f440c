"""Models whose SQL depends on when dbt compiled them: on the clock, or on the database's answers.

dbt does not record that a query was run. What a model can run is in its code and in the macros
that it calls, directly or through others, which the manifest has: so every model that could
have asked counts as one that did. ``is_incremental`` asks too, and is judged by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ASKS = re.compile(
    r"\b(run_query|statement|load_result|load_relation|load_cached_relation"
    r"|get_columns_in_query|dbt_utils\.get_column_values|adapter\s*\.\s*(?:execute|get_relation"
    r"|get_columns_in_relation|get_missing_columns|get_column_schema_from_query"
    r"|list_relations\w*|check_schema_exists|already_exists|list_schemas"
    r"|calculate_freshness\w*|run_sql\w*|add_query))\s*\("
)
_MOMENT = re.compile(
    r"\b(run_started_at\b|invocation_id\b|modules\s*(?:\.\s*datetime\b"
    r"|\[\s*[\"']datetime[\"']\s*\]|\.\s*get\s*\(\s*[\"']datetime[\"']))"
)
_IMPLEMENTATIONS = ("default", "spark", "databricks")
_JINJA = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
INCREMENTAL = "macro.dbt.is_incremental"
_BY_FULL_REFRESH = frozenset({INCREMENTAL, "macro.dbt.should_full_refresh"})
_FULL_REFRESH = re.compile(r"\b(is_incremental|should_full_refresh)\s*\(|\bflags\.FULL_REFRESH\b")


def asks(node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The call by which the model can have queried the database while compiling, or None."""
    for where, code in _code(node, macros):
        found = _ASKS.search(_jinja(code))
        if found is not None:
            return f"{found[1]}{where}"
    return None


def moment(node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The word by which its SQL differs from one run to the next, or None."""
    for where, code in _code(node, macros):
        found = _MOMENT.search(_jinja(code))
        if found is not None:
            return f"{found[1]}{where}"
    return None


def depends_on_full_refresh(
    node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Whether its SQL differs between a first run and later ones."""
    reached = _reached(node, macros)
    return bool(reached & _BY_FULL_REFRESH) or any(
        _FULL_REFRESH.search(_jinja(code)) for _, code in _code(node, macros)
    )


def _code(
    node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Its own code and that of the macros it reaches, each with where it stands."""
    found = [("", str(node.get("raw_code") or ""))]
    reached = _reached(node, macros) - _BY_FULL_REFRESH
    for key in sorted(reached, key=lambda each: (each.startswith("macro.dbt."), each)):
        code = str(macros.get(key, {}).get("macro_sql") or "")
        # The head of a macro called `statement` is no call of it.
        found.append((f" in {key}", re.sub(r"\{%-?\s*macro\s+\w+\s*\(", "{% macro (", code)))
    return found


def _reached(node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The macros that it calls, directly or through others; not those of is_incremental.

    ``adapter.dispatch`` chooses among the implementations of a macro by their names, so each
    implementation for Spark counts.
    """
    by_name: dict[str, list[str]] = {}
    for key in macros:
        by_name.setdefault(key.rpartition(".")[2], []).append(key)
    reached: set[str] = set()
    left = list(node.get("depends_on", {}).get("macros") or ())
    while left:
        key = left.pop()
        if key not in reached:
            reached.add(key)
            if key not in _BY_FULL_REFRESH:
                left += macros.get(key, {}).get("depends_on", {}).get("macros") or ()
                name = key.rpartition(".")[2]
                for prefix in _IMPLEMENTATIONS:
                    left += by_name.get(f"{prefix}__{name}", ())
    return reached


def _jinja(code: str) -> str:
    return " ".join(_JINJA.findall(_COMMENT.sub("", code)))
