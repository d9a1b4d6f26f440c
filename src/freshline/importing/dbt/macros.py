"""The macros of a manifest, and which of them a template can call.

A template calls a macro by its name, with its package or without; by ``adapter.dispatch``, which
chooses among implementations by their names; or in a way that dbt saw while it parsed the project
(``depends_on``). All three are followed, and a name stands for the macros of every package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from freshline.importing.dbt.jinja import Template, read_template

OWN_PACKAGES = frozenset({"dbt", "dbt_spark", "dbt_databricks"})
"""Those that dbt and its adapters bring themselves."""
PREFIXES = ("default", "spark", "databricks")
"""What the names of the implementations for Spark begin with."""
BY_FULL_REFRESH = frozenset({"macro.dbt.is_incremental", "macro.dbt.should_full_refresh"})
"""They ask the database, and are judged by themselves: nothing is followed into them."""


class Macros:
    """The macros of a manifest by unique id.

    Attributes:
        packages: Names of the packages that have macros.
    """

    def __init__(self, macros: Mapping[str, Mapping[str, Any]]) -> None:
        self._macros = macros
        self._templates: dict[str, Template] = {}
        self._calls: dict[str, set[str]] = {}
        self._by_name: dict[str, set[str]] = {}
        self.packages = {"dbt"}
        for key in macros:
            self._by_name.setdefault(key.rpartition(".")[2], set()).add(key)
            self.packages.add(package_of(key))

    def text(self, key: str) -> str:
        """The macro's text; empty where the manifest has none."""
        return str(self._macros.get(key, {}).get("macro_sql") or "")

    def template(self, key: str) -> Template:
        """What the macro's text reads."""
        if key not in self._templates:
            self._templates[key] = read_template(self.text(key))
        return self._templates[key]

    def named(self, name: str) -> set[str]:
        """The macros of that name and the implementations of it, in every package."""
        found = set(self._by_name.get(name, ()))
        for prefix in PREFIXES:
            found |= self._by_name.get(f"{prefix}__{name}", set())
        return found

    def called_by(self, template: Template) -> set[str]:
        """The macros that the template calls itself."""
        names = {each for each in template.dispatched if each is not None}
        for read in template.reads:
            # A method of the adapter runs the macro of its name: adapter.truncate_relation.
            at = 1 if read.path[0] == "adapter" or self.is_package(read.path[0]) else 0
            names |= {each for each in read.path[at : at + 1] if each is not None}
        return {key for name in names for key in self.named(name)}

    def is_package(self, name: str | None) -> bool:
        """Whether the name is a package's, whose macros are its attributes."""
        return name in self.packages and name not in self._by_name

    def calls(self, key: str) -> set[str]:
        """The macros that a macro calls itself."""
        if key not in self._calls:
            implementations = self.named(key.rpartition(".")[2])
            called = self.called_by(self.template(key))
            self._calls[key] = called | self.listed_of(key) | implementations
        return self._calls[key]

    def listed_of(self, key: str) -> set[str]:
        """The macros that dbt saw a macro call."""
        return self.listed(self._macros.get(key, {}))

    @staticmethod
    def listed(node: Mapping[str, Any]) -> set[str]:
        """The macros that dbt saw the node or macro call."""
        return set((node.get("depends_on") or {}).get("macros") or ())

    def reached(self, keys: Iterable[str]) -> set[str]:
        """The macros and those that they call, directly or through others."""
        reached: set[str] = set()
        left = list(keys)
        while left:
            key = left.pop()
            if key not in reached:
                reached.add(key)
                left += () if key in BY_FULL_REFRESH else self.calls(key)
        return reached


def package_of(key: str) -> str:
    """The package of a macro, by its unique id."""
    return key.split(".")[1] if key.count(".") > 1 else ""
