"""Which models the hooks of a project may change, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshline.importing.dbt.hooks import Change, changes, hook_texts, names_of
from freshline.importing.dbt.macros import Macros


class Around:
    """What is run around the models of a project: the hooks of each, and the operations.

    Attributes:
        notes: What became of each operation.
    """

    def __init__(self, nodes: Mapping[str, Mapping[str, Any]], macros: Macros) -> None:
        self.notes: list[str] = []
        self._own: dict[str, list[tuple[str, Change]]] = {}
        for key, node in nodes.items():
            if node.get("resource_type") == "operation":
                self.notes.append(f"`{key}`, a hook of dbt's runs, is not run.")
            else:
                self._hooks(key, node, macros)

    def of_model(self, key: str, node: Mapping[str, Any]) -> str | None:
        """Why the model's rows may not be those of its query, or None."""
        names = names_of(node)
        for kind, change in self._own.get(key, ()):
            if change.may_be(names):
                return (
                    f"its {kind} may change its rows or its session ({change.words}), and is not"
                    " run here"
                )
        return None

    def _hooks(self, key: str, node: Mapping[str, Any], macros: Macros) -> None:
        for kind, text in hook_texts(node):
            for change in changes(text, macros):
                self._own.setdefault(key, []).append((kind, change))
