"""What keeps a query's columns from being those of a Delta table.

Spark itself would say most of it, at the first update. A table's log is read by delta-rs, too,
which opens no table with a column of a type that it does not know.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from freshline.core.errors import UserError
from freshline.project.model import TableDef
from freshline.spark.engine import jvm

FORBIDDEN = " ,;{}()\n\t="
"""Characters that Delta allows in no name of a column."""

_OF_THE_CHANGE_FEED = ("_change_type", "_commit_version", "_commit_timestamp")
_STORED = re.compile(
    r"string|byte|short|integer|long|float|double|decimal\(\d+,\d+\)|boolean|binary|date"
    r"|timestamp|timestamp_ntz|variant"
)
_CANNOT = {"string collate UTF8_BINARY": "other readers of Delta do not know"}


Fault = Callable[[str, str, str, str], None]
"""Takes note of an error: its code, what the table has, the rule, the next step."""


def noted(table: TableDef, faults: list[UserError]) -> Fault:
    """Adds each error of a table's columns to ``faults``, at the table's query."""

    def fault(code: str, what: str, rule: str, step: str) -> None:
        what, where = f"table {table.name} {what}", table.query_place
        faults.append(UserError(code, what, where=where, rule=rule, next_step=step))

    return fault


def refuse_unstorable(table: TableDef, frame: DataFrame) -> None:
    """Raise as `validate` does, before anything is written.

    Nobody may have validated, and columns of feeds and static tables come and change.

    Raises:
        UserError: The first that is wrong with the columns of a query.
    """
    faults: list[UserError] = []
    check_storable(frame, noted(table, faults))
    if faults:
        raise faults[0]


def check_storable(frame: DataFrame, fault: Fault) -> None:
    """Tells what Delta or delta-rs would refuse of the types and names of a query's columns."""
    # PySpark's own types do not tell STRING from STRING COLLATE UTF8_BINARY; Delta's log does.
    fields = json.loads(jvm.schema_text(frame))["fields"]
    _check_names([field["name"] for field in fields], "", fault)
    for field in fields:
        if field["name"].lower() in _OF_THE_CHANGE_FEED:
            fault(
                "bad-column-name",
                f"has a column named {field['name']!r}",
                "the change feed of a table has columns of its own by this name",
                "Give it another name with AS.",
            )
        _check_field(field, field["name"], fault)


def _check_names(names: Sequence[str], within: str, fault: Fault) -> None:
    """Of columns, or of the fields of a struct; ``within``: the struct's path and a dot, or ""."""
    counts = Counter(name.lower() for name in names)
    for name in [name for name, count in counts.items() if count > 1]:
        fault(
            "duplicate-column",
            f"has {counts[name]} columns named {within}{name}",
            "names of columns differ, whatever the case",
            "Give each a name of its own with AS.",
        )
    for name in names:
        if any(character in FORBIDDEN for character in name):
            fault(
                "bad-column-name",
                f"has a column named {within + name!r}",
                "Delta allows no spaces and none of ,;{}()= in names of columns",
                "Give it a name with AS.",
            )


def _check_field(field: Mapping[str, Any], path: str, fault: Fault) -> None:
    """Of a column or a struct's field: its type, and the collations that stand beside it."""
    collations = field["metadata"].get("__COLLATIONS", {})
    for place, collation in collations.items():
        part = place.removeprefix(field["name"]).replace(".element", "[]")
        _check_type(f"string collate {collation.rpartition('.')[2]}", path + part, fault)
    _check_type(field["type"], path, fault)


def _check_type(kind: Any, column: str, fault: Fault) -> None:
    """Of a type in Spark's JSON: a name, or an object of a nested type.

    Args:
        kind: The type.
        column: The column's name, or the path to a part of it.
    """
    if isinstance(kind, str):
        if not _STORED.fullmatch(kind):
            fault(
                "bad-column-type",
                f"has column {column} of type {kind.upper()}, which"
                f" {_CANNOT.get(kind, 'Delta cannot store')}",
                "a column has a type that Delta knows",
                "Cast it, for example to STRING.",
            )
    elif kind["type"] == "struct":
        if not kind["fields"]:
            fault(
                "bad-column-type",
                f"has column {column}, a struct without a field, which Delta cannot store",
                "a column has a type that Delta knows",
                "Give it a field, or leave the column out.",
            )
        _check_names([field["name"] for field in kind["fields"]], f"{column}.", fault)
        for field in kind["fields"]:
            _check_field(field, f"{column}.{field['name']}", fault)
    elif kind["type"] == "array":
        _check_type(kind["elementType"], f"{column}[]", fault)
    elif kind["type"] == "map":
        _check_type(kind["keyType"], f"keys({column})", fault)
        _check_type(kind["valueType"], f"values({column})", fault)
    else:  # a class of a program's own
        _check_type(kind["sqlType"], column, fault)
