"""``checks:`` of freshline.yml: what has to hold of the rows of tables, by table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from freshline.core.errors import UserError
from freshline.project.model import CHECK_KINDS, CheckKind, DataCheck, TableDef
from freshline.project.names import correction, listed
from freshline.project.yaml.section import Section

_BELONGS = {"values": "accepted_values", "to": "relationships", "field": "relationships"}
_PADDED = re.compile(r"[-+]?0[0-9_]|[-+]?[0-9_]+:")
"""Numbers to YAML: 010 is 8, 0.5 is no such one, and 12:30 is 750."""
_EXPRESSION = "it is a column or an SQL expression over the table's columns, as a text"


def read_checks(top: Section, tables: list[TableDef]) -> dict[str, tuple[DataCheck, ...]]:
    """The checks of each table, by its name as the project has it.

    Args:
        top: The whole file; faults are added to it.
        tables: All tables and reports that were read.
    """
    section = top.sub("checks", "checks")
    if section is None:
        return {}
    names = {table.name.lower(): table.name for table in tables}
    found: dict[str, tuple[DataCheck, ...]] = {}
    given: dict[str, str] = {}
    for key, entries in section.data.items():
        name = names.get(key.lower())
        if name is None:
            section.fault(
                "unknown-table",
                f"checks names the unknown table '{key}'",
                key=key,
                rule="checks are of tables of the project",
                next_step=correction(key, names.values(), "Remove the entry."),
            )
            continue
        if name in given:
            section.fault(
                "duplicate-name",
                f"checks of {given[name]} and {key} are of the same table",
                key=key,
                rule="names are compared without case",
                next_step="Put the checks of a table into one list.",
            )
            continue
        given[name] = key
        if not isinstance(entries, list):
            section.fault(
                "bad-value",
                f"the checks of {key} are no list",
                key=key,
                rule="they are a list of mappings, each with one kind of check",
                next_step="Write each as - unique: COLUMN.",
            )
            continue
        read = [
            _entry(
                Section(top.file, ("checks", key, at), f"check {at + 1} of {key}", section.errors),
                names,
            )
            for at in range(len(entries))
        ]
        found[name] = tuple(each for each in read if each is not None)
    return found


def _entry(section: Section, names: Mapping[str, str]) -> DataCheck | None:
    section.only(
        "unique", "not_null", "accepted_values", "relationships",
        "values", "to", "field", "where", "severity", "name",
    )  # fmt: skip
    kinds = [kind for kind in CHECK_KINDS if kind in section.data]
    if len(kinds) != 1:
        section.fault(
            "bad-check",
            f"{section.what} has {listed(kinds) if kinds else 'no kind'}",
            rule=f"a check has one of {listed(CHECK_KINDS)}",
            next_step="Make it one entry for each kind.",
        )
        return None
    kind: CheckKind = kinds[0]
    columns = _columns(section, kind)
    for key, of in _BELONGS.items():
        if kind == of:
            section.require(key)
        elif key in section.data:
            section.fault(
                "bad-check",
                f"{section.what} has {key}, and is {kind}",
                key=key,
                rule=f"{key} belongs to {of}",
                next_step=f"Remove {key}.",
            )
    to = section.text("to")
    if to is not None and "." not in to:
        if to.lower() not in names:
            section.fault(
                "unknown-table",
                f"{section.what} refers to the unknown table '{to}'",
                key="to",
                rule="to is a table of the project, or the name of another with its schema",
                next_step=correction(to, names.values(), "Correct the name."),
            )
        to = names.get(to.lower(), to)
    return DataCheck(
        name=section.text("name") or f"{kind} of {', '.join(columns)}",
        kind=kind,
        columns=columns,
        values=_values(section),
        to=to,
        field=section.text("field"),
        where=section.text("where"),
        warns=section.choice("severity", ("error", "warn"), "error") == "warn",
        place=section.place(),
    )


def _columns(section: Section, kind: str) -> tuple[str, ...]:
    given: Any = section.data.get(kind)
    several = given if kind == "unique" and isinstance(given, list) else [given]
    if several and all(isinstance(each, str) and each.strip() for each in several):
        return tuple(several)
    section.fault(
        "bad-value",
        f"{kind} of {section.what} names no column",
        key=kind,
        rule=f"{_EXPRESSION}, or a list of them" if kind == "unique" else _EXPRESSION,
        next_step="Correct it.",
    )
    return ()


def _values(section: Section) -> tuple[str | int | float | bool, ...]:
    given: Any = section.data.get("values")
    if given is None:
        return ()
    if isinstance(given, list) and given and all(isinstance(v, str | int | float) for v in given):
        _refuse_misread(section, given)
        return tuple(given)
    section.fault(
        "bad-value",
        f"values of {section.what} is no list of texts or numbers",
        key="values",
        rule="it lists every value that the column may have",
        next_step="Correct the list.",
    )
    return ()


def _refuse_misread(section: Section, values: list[str | int | float | bool]) -> None:
    """An error for each value that YAML takes for another than most people mean: no, 010."""
    flags = [isinstance(each, bool) for each in values]
    for at, value in enumerate(values):
        word = section.file.word((*section.path, "values", at)) or str(value)
        is_flag = flags[at] and (word.lower() not in ("true", "false") or not all(flags))
        if not (is_flag or (not isinstance(value, str) and _PADDED.match(word))):
            continue
        section.errors.append(
            UserError(
                "bad-value",
                f"values of {section.what} has {word}, which YAML reads as {str(value).lower()}",
                where=section.file.place((*section.path, "values", at)),
                rule="true and false stand in a list of their own, and a number begins with no 0",
                next_step=f"Write '{word}' where it is a text.",
            )
        )
