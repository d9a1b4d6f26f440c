"""Macros of a project in the place of dbt's own, which decide what a table holds or a test asks.

dbt takes a macro of the project before its own of the same name, and of another package where
``dispatch:`` of dbt_project.yml says so; the manifest has that in ``depends_on`` of dbt's macros.
"""

from __future__ import annotations

from collections.abc import Iterable

from freshline.importing.dbt.macros import OWN_PACKAGES, PREFIXES, Macros, package_of

_MATERIALIZATIONS = ("table", "incremental", "view", "materialized_view")
_OF_TESTS = ("materialization_test", "get_test_sql", "get_where_subquery")
LEAVE_ROWS = frozenset(
    {
        "alter_column_comment", "alter_relation_comment", "apply_grants", "clustered_cols",
        "comment_clause", "copy_grants", "create_indexes", "get_persist_docs_column_list",
        "location_clause", "persist_docs", "should_revoke", "tblproperties_clause",
        "validate_doc_columns",
    }
)  # fmt: skip
"""Macros of dbt's materializations that decide comments, rights and files, and no rows."""


class Overrides:
    """Those of a project, asked for a materialization or a generic test."""

    def __init__(self, macros: Macros, project: str) -> None:
        self._macros = macros
        self._project = project
        self._of_test: dict[str, str | None] = {}
        self._of_strategy: dict[str, str | None] = {}
        self._of_table = {
            name: self._in_place_of(f"materialization_{name}") for name in _MATERIALIZATIONS
        }

    def of_materialization(self, name: str, strategy: str = "") -> str | None:
        """The macro that fills tables in the place of dbt's own, or None.

        Args:
            name: Of the materialization.
            strategy: Of an incremental model, where dbt comes to the strategy's macro by its name
                in Python, which no macro shows.
        """
        own = self._of_table.get(name)
        if own is not None or not strategy:
            return own
        if strategy not in self._of_strategy:
            root = f"get_incremental_{strategy.replace('+', '_')}_sql"
            self._of_strategy[strategy] = self._in_place_of(root)
        return self._of_strategy[strategy]

    def of_test(self, name: str) -> str | None:
        """The macro in the place of one of those by which dbt runs the generic test, or None."""
        if name not in self._of_test:
            found = (self._in_place_of(root) for root in (f"test_{name}", *_OF_TESTS))
            self._of_test[name] = next((each for each in found if each is not None), None)
        return self._of_test[name]

    def _in_place_of(self, root: str) -> str | None:
        """The first macro of another package that ``root`` calls or reaches through others."""
        seen: set[str] = set()
        left = self._roots(root)
        while left:
            key = left.pop()
            if package_of(key) not in OWN_PACKAGES:
                return key
            if key not in seen:
                seen.add(key)
                left += self._called(key)
        return None

    def _roots(self, name: str) -> list[str]:
        """All macros of that name: a package's materialization can be in the place of dbt's."""
        keys = set(self._macros.named(name))
        for prefix in PREFIXES:
            keys |= self._macros.named(f"{name}_{prefix}")
        return sorted(
            (key for key in keys if self._counts(key) or "materialization_" in name),
            key=lambda each: package_of(each) in OWN_PACKAGES,
        )

    def _called(self, key: str) -> Iterable[str]:
        listed = self._macros.listed_of(key)
        return sorted(
            each
            for each in self._macros.calls(key)
            if plain(each) not in LEAVE_ROWS and (each in listed or self._counts(each))
        )

    def _counts(self, key: str) -> bool:
        """Whether dbt can come to the macro by its name alone."""
        return package_of(key) in OWN_PACKAGES | {self._project}


def plain(key: str) -> str:
    """The macro's name, without that of an adapter."""
    name = key.rpartition(".")[2]
    prefix, _, rest = name.partition("__")
    return rest if prefix in PREFIXES else name
