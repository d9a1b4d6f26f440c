"""Data tests of the other tool as checks of the new project's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.importing.assembly import Assembly
from freshline.importing.items import Check, Item
from freshline.sql.text.reads import quoted


@dataclass(frozen=True, slots=True)
class TakenCheck:
    """What became of a test.

    Attributes:
        table: The table of the new project that it is of; None where it was not taken.
        entry: What ``checks:`` of freshline.yml says of it.
        reason: Why it was not taken; else empty.
    """

    check: Check
    table: str | None = None
    entry: Mapping[str, Any] | None = None
    reason: str = ""


def taken_checks(
    checks: Iterable[Check], items: Iterable[Item], assembly: Assembly
) -> tuple[TakenCheck, ...]:
    """The tests, in their order, each with what became of it."""
    known = {item.key: item for item in items}
    tables = {table.item.key: table.name for table in assembly.tables}
    refused = {each.item.key for each in assembly.outcomes if each.became == "not taken"}

    def taken(check: Check) -> TakenCheck:
        if check.refusal is not None:
            return TakenCheck(check, reason=check.refusal)
        table = tables.get(check.of)
        if table is None:
            return TakenCheck(check, reason=f"{check.of} is no table of the new project")
        entry: dict[str, Any] = {check.kind: check.column}
        if check.kind == "accepted_values":
            entry["values"] = list(check.values)
        if check.kind == "relationships":
            parent = _parent(check.to or "", known, tables, refused)
            if parent is None:
                return TakenCheck(check, reason=f"it refers to {check.to}, which is no table here")
            entry |= {"to": parent, "field": check.field}
        if check.where is not None:
            entry["where"] = check.where
        if check.warns:
            entry["severity"] = "warn"
        return TakenCheck(check, table, entry)

    return tuple(taken(check) for check in checks)


def _parent(
    key: str, items: Mapping[str, Item], tables: Mapping[str, str], refused: set[str]
) -> str | None:
    """The name of the table that a reference is to: of the new project, or filled by others."""
    if key in tables:
        return tables[key]
    item = items.get(key)
    if item is None or len(item.relation) < 2:  # noqa: PLR2004 - a name without schema is the session's
        return None
    if item.role == "outside" or (key in refused and item.stays):
        return ".".join(quoted(part) for part in item.relation)
    return None
