"""A schema in DDL, ``id BIGINT, at TIMESTAMP, tags ARRAY<STRING>``, checked for its form.

The types' own rules are Spark's; what is found here is what a typing error makes: a column
without a type, a type that does not exist, a bracket that is not closed, a name given twice.
"""

from __future__ import annotations

from freshline.project.names import nearest
from freshline.sql.text.tokens import SqlTextError, Token, tokens

RULE = "a schema is columns with Spark types, like 'id BIGINT, at TIMESTAMP'"
_TYPES = (
    "array", "bigint", "binary", "boolean", "byte", "char", "character", "date", "dec",
    "decimal", "double", "float", "geography", "geometry", "int", "integer", "interval", "long",
    "map", "numeric", "real", "short", "smallint", "string", "struct", "time", "timestamp",
    "timestamp_ltz", "timestamp_ntz", "tinyint", "varchar", "variant", "void",
)  # fmt: skip
_SIZED = ("CHAR", "CHARACTER", "VARCHAR")
"""Spark has them for tables; of what it reads from files and topics it refuses them."""
_OWN = "_freshline"
_OPEN = {"<": ">", "(": ")"}


def schema_columns(ddl: str) -> tuple[str, ...]:
    """The columns' names.

    Raises:
        ValueError: The text is no schema; the message says why.
    """
    try:
        columns = _columns(tokens(ddl))
    except SqlTextError as error:
        raise ValueError(error.what) from error
    names = [_column(column) for column in columns]
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ValueError(f"the column {name} is given twice")
        if name.lower().startswith(_OWN):
            raise ValueError(f"names of columns that begin with {_OWN} are freshline's own: {name}")
        seen.add(name.lower())
    return tuple(names)


def _columns(found: list[Token]) -> list[list[Token]]:
    """The tokens of each column: cut at the commas outside brackets."""
    columns: list[list[Token]] = [[]]
    waiting: list[str] = []
    for token in found:
        if token.text in _OPEN:
            waiting.append(_OPEN[token.text])
        elif token.text in _OPEN.values() and (not waiting or waiting.pop() != token.text):
            raise ValueError(f"'{token.text}' closes a bracket that was not opened")
        if token.is_symbol(",") and not waiting:
            columns.append([])
        else:
            columns[-1].append(token)
    if waiting:
        raise ValueError(f"a '{waiting[-1]}' is missing")
    return columns


def _column(column: list[Token]) -> str:
    if not column or not column[0].is_name:
        raise ValueError(f"a column's name is expected, not '{column[0].text if column else ','}'")
    name = column[0].name
    type_ = column[2 if len(column) > 1 and column[1].is_symbol(":") else 1 :]
    if not type_:
        raise ValueError(f"the column {name} has no type")
    if type_[0].text.lower() not in _TYPES:
        close = nearest(type_[0].text, _TYPES)
        meant = f" (did you mean {close.upper()}?)" if close else ""
        raise ValueError(f"the column {name} has the unknown type {type_[0].text}{meant}")
    for at, token in enumerate(type_):  # behind the first one such a word may name a field
        has_length = any(each.is_symbol("(") for each in type_[at + 1 : at + 2])
        if token.is_word(*_SIZED) and (at == 0 or has_length):
            raise ValueError(
                f"the column {name} has the type {token.text.upper()}, which only tables have"
                " (write STRING)"
            )
    return name
