"""Hooks of models: the statements that dbt runs before and after it fills a model's table.

No hook is run here, so a model is taken only where its hooks leave its rows, its columns and the
session alone. A hook is a template; what it may run is in its text and in that of the macros it
calls. Where the text does not say which table a statement changes, it may be the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TARGET = r"(?:\{\{.*?\}\}|[`\w]+)(?:\.(?:\{\{.*?\}\}|[`\w]+))*"
_CHANGES = re.compile(
    r"\b(delete\s+from|insert\s+(?:into|overwrite)(?:\s+table)?|merge\s+into|truncate\s+table"
    r"|copy\s+into|drop\s+table(?:\s+if\s+exists)?|restore\s+table|create\s+or\s+replace\s+table"
    rf"|update)\b\s*({_TARGET})?",
    re.IGNORECASE | re.DOTALL,
)
_ALTERS = re.compile(
    rf"\b(alter)\s+table\s+({_TARGET})\s+(?:add|drop|rename|replace|alter|change)\s+column",
    re.IGNORECASE | re.DOTALL,
)
_OF_SESSION = re.compile(
    r"(?:^|;|%\}|['\"])\s*(set\s|reset\b|use\s"
    r"|create\s+(?:or\s+replace\s+)?(?:(?:global\s+)?temp(?:orary)?\s+)(?:view|function)\b"
    r"|create\s+(?:or\s+replace\s+)?function\b)",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\{\{-?\s*(?:ref|source)\s*\((.*?)\)\s*-?\}\}", re.DOTALL)
_CALL = re.compile(r"\b(\w+)\s*\(")
_QUOTED_OR_COMMENT = re.compile(r"('[^'\n]*'|\"[^\"\n]*\")|\{#.*?#\}|--[^\n]*|/\*.*?\*/", re.DOTALL)
_JINJA_SET = re.compile(r"\{%-?\s*set\b")


def changing_hook(
    node: Mapping[str, Any], macros: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str] | None:
    """The first hook that may change the model's rows or what its query means, or None.

    Args:
        node: The model's entry in the manifest.
        macros: Those of the manifest, by unique id.

    Returns:
        The hook's kind, and the words of it that change something.
    """
    config = node.get("config") or {}
    names = {str(each).lower() for each in (node.get("alias"), node.get("name")) if each}
    for kind in ("pre-hook", "post-hook"):
        for text in _texts(config.get(kind) or config.get(kind.replace("-", "_"))):
            for code in _reached(text, macros):
                words = _changing(code, names)
                if words is not None:
                    return kind, " ".join(words.upper().split())
    return None


def _texts(hooks: object) -> Iterator[str]:
    for hook in hooks if isinstance(hooks, list) else [hooks]:
        text = hook.get("sql") if isinstance(hook, Mapping) else hook
        if text:
            yield str(text)


def _changing(code: str, names: set[str]) -> str | None:
    found = _OF_SESSION.search(_JINJA_SET.sub("{% ", code))
    if found is not None:
        return found[1]
    for pattern in (_CHANGES, _ALTERS):
        for found in pattern.finditer(code):
            if _may_be(found[2], names, needed=found[1].lower() != "update"):
                return found[1]
    return None


def _may_be(target: str | None, names: set[str], *, needed: bool) -> bool:
    """Whether what a statement changes may have one of the names; ``needed``: it has a target."""
    if target is None:
        return needed
    other = _OTHERS.search(target)
    if other is not None and target.endswith("}}"):
        read = re.findall(r"['\"]([^'\"]*)['\"]", other[1])
        return not read or read[-1].lower() in names
    last = re.split(r"\.(?![^{]*\}\})", target)[-1]
    return last.startswith("{{") or last.strip("`").lower() in names


def _reached(text: str, macros: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The hook's text and that of the macros it calls, directly or through others."""
    by_name: dict[str, list[str]] = {}
    for key in macros:
        name = key.rpartition(".")[2]
        for each in {name, name.rpartition("__")[2]}:  # dispatch calls spark__name as name
            by_name.setdefault(each, []).append(key)
    found, seen, left = [], set[str](), [text]
    while left:
        code = _QUOTED_OR_COMMENT.sub(lambda match: match[1] or " ", left.pop())
        found.append(code)
        for name in _CALL.findall(code):
            for key in by_name.get(name, ()):
                if key not in seen:
                    seen.add(key)
                    left.append(str(macros[key].get("macro_sql") or ""))
    return found
