"""Which models and sources the hooks and operations of a project may change, and by what."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from freshline.importing.dbt.hooks import THIS, Change, changes, hook_texts, names_of
from freshline.importing.dbt.jinja import read_template
from freshline.importing.dbt.macros import OWN_PACKAGES, Macros, package_of
from freshline.importing.dbt.manifest import depends
from freshline.importing.dbt.overrides import LEAVE_ROWS, plain

_SETTING = re.compile(
    r"\s*set\s+`?(spark\.sql\.[\w.]+)`?\s*=\s*([\w./:+-]+|'[\w ./:+-]*')\s*;?\s*", re.IGNORECASE
)


class Around:
    """What is run around the models of a project: the hooks of each, and the operations.

    Attributes:
        settings: Those of Spark that operations set before the models run, by name.
        notes: What became of each operation.
    """

    def __init__(
        self, nodes: Mapping[str, Mapping[str, Any]], macros: Macros, project: str
    ) -> None:
        self._project = project
        self.settings: dict[str, str] = {}
        self.notes: list[str] = []
        self._own: dict[str, list[tuple[str, Change]]] = {}
        self._of_all: list[tuple[str, Change]] = []
        for key, node in nodes.items():
            if node.get("resource_type") == "operation":
                self._operation(key, node, macros)
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
        return self._by_others(names)

    def of_source(self, node: Mapping[str, Any]) -> str | None:
        """Why the source's rows may not be those of its feed, or None."""
        names = {str(node.get("identifier") or "").lower(), f"source {node.get('name')}".lower()}
        return self._by_others(names)

    def _by_others(self, names: set[str]) -> str | None:
        for told, change in self._of_all:
            if change.may_be(names):
                what = "its session" if change.session else "its rows"
                which = "" if change.session or change.table else ", of a table that is not told"
                return f"{told} may change {what} ({change.words}{which}), and is not run here"
        return None

    def _hooks(self, key: str, node: Mapping[str, Any], macros: Macros) -> None:
        own = names_of(node)
        for kind, text in hook_texts(node):
            # dbt lists what the hooks read with what the query reads.
            others = depends(node) if None in read_template(text).tables else ()
            for change in changes(text, macros, others):
                self._own.setdefault(key, []).append((kind, change))
                if change.table is not None and change.table not in own | {THIS}:
                    self._of_all.append((f"the {kind} of `{key}`", change))

    def _operation(self, key: str, node: Mapping[str, Any], macros: Macros) -> None:
        text = str(node.get("raw_code") or "")
        setting = _SETTING.fullmatch(text)
        tags = node.get("tags") or ()
        if setting is not None and "on-run-end" in tags:  # no query of dbt's runs after it
            self.notes.append(
                f"`{key}` sets {setting[1]} when dbt's models have run: no query here has it."
            )
            return
        if setting is not None and "on-run-start" in tags:
            self.settings[setting[1]] = setting[2].strip("'")
            self.notes.append(
                f"`{key}` sets {setting[1]}: freshline.yml has it for every query. Take it out"
                " where dbt's models ran in other sessions, which did not have it."
            )
            return
        self.notes.append(f"`{key}`, a hook of dbt's runs, is not run.")
        told = f"the operation `{key}`"
        # An operation has no table of its own: of ``this`` it is not told which it is.
        found = [
            dataclasses.replace(each, table=None) if each.table == THIS else each
            for each in changes(text, macros, depends(node))
        ]
        named = {each.words for each in found if each.table is not None}
        adapters = self._adapters_called(text, macros)
        # What a package keeps in tables of its own (a log of runs) has their names from its code.
        self._of_all += [
            (told, each)
            for each in found
            if each.table is not None
            or each.session
            or each.package in (None, "dbt", self._project)
            or (each.package in adapters and each.words not in named)
        ]

    def _adapters_called(self, text: str, macros: Macros) -> set[str]:
        """The adapters whose macros an operation calls, itself or in macros of the project."""
        called = macros.called_by(read_template(text))
        for key in macros.reached(called):
            if package_of(key) == self._project:
                called |= macros.calls(key)
        called = {key for key in called if plain(key) not in LEAVE_ROWS}
        return {package_of(key) for key in called} & OWN_PACKAGES
