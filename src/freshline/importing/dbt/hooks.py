"""Hooks of models: the statements that dbt runs before and after it fills a model's table.

No hook is run here, so a model is taken only where its hooks leave rows and session alone. A
hook is a template; what it may run is in its text and in that of the macros it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_CHANGES = re.compile(
    r"\b(delete|update|merge|insert|truncate|overwrite|copy|drop|restore|replace)\b", re.IGNORECASE
)
_SETS = re.compile(r"(?:^|[;%}'\"])\s*(set)\s+(?!tblproperties\b)", re.IGNORECASE)
_RIGHTS = re.compile(r"\b(?:grant|revoke)\b[^;{]*", re.IGNORECASE)
_THIS = re.compile(r"\b(?:this|relation)\b")
_CALL = re.compile(r"\b(\w+)\s*\(")
_COMMENT = re.compile(r"\{#.*?#\}|--[^\n]*|/\*.*?\*/", re.DOTALL)
_JINJA_SET = re.compile(r"\{%-?\s*set\b")


def changing_hook(
    node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str] | None:
    """The first hook that may change the model's rows or what its query means, or None.

    Args:
        node: The model's entry in the manifest.
        macros: Those of the manifest, by unique id.

    Returns:
        The hook's kind, and the word of it that changes something.
    """
    config = node.get("config") or {}
    names = {str(each).lower() for each in (node.get("alias"), node.get("name")) if each}
    for kind in ("pre-hook", "post-hook"):
        for text in _texts(config.get(kind) or config.get(kind.replace("-", "_"))):
            whole = "\n".join(_reached(text, macros))
            found = _SETS.search(_JINJA_SET.sub("{%", whole))
            if found is None and _reads(whole, names):
                found = _CHANGES.search(whole)
            if found is not None:
                return kind, found[1].upper()
    return None


def _texts(hooks: object) -> Iterator[str]:
    for hook in hooks if isinstance(hooks, list) else [hooks]:
        text = hook.get("sql") if isinstance(hook, Mapping) else hook
        if text:
            yield str(text)


def _reads(whole: str, names: set[str]) -> bool:
    """Whether it names the model, by ``this``, a macro's relation or its own name."""
    return _THIS.search(whole) is not None or any(
        re.search(rf"\b{re.escape(name)}\b", whole.lower()) for name in names
    )


def _reached(text: str, macros: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The hook's text and that of the macros it calls, directly or through others."""
    by_name: dict[str, list[str]] = {}
    for key in macros:
        name = key.rpartition(".")[2]
        for each in {name, name.rpartition("__")[2]}:  # dispatch calls spark__name as name
            by_name.setdefault(each, []).append(key)
    found, seen, left = [], set[str](), [text]
    while left:
        code = _RIGHTS.sub(" ", _COMMENT.sub(" ", left.pop()))
        found.append(code)
        for name in _CALL.findall(code):
            for key in by_name.get(name, ()):
                if key not in seen:
                    seen.add(key)
                    left.append(str(macros[key].get("macro_sql") or ""))
    return found
