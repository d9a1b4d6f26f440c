"""A feed's schema in DDL as a tree of types, and as Arrow's schema; no Spark needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from freshline.core.errors import UserError
from freshline.project.model import Feed
from freshline.sql.tokens import SqlTextError, Token, tokens

Kind = Literal[
    "integer", "real", "decimal", "boolean", "string", "binary", "date", "timestamp",
    "timestamp_ntz", "array", "map", "struct",
]  # fmt: skip

_SIMPLE: dict[str, tuple[Kind, pa.DataType]] = {
    "TINYINT": ("integer", pa.int8()),
    "BYTE": ("integer", pa.int8()),
    "SMALLINT": ("integer", pa.int16()),
    "SHORT": ("integer", pa.int16()),
    "INT": ("integer", pa.int32()),
    "INTEGER": ("integer", pa.int32()),
    "BIGINT": ("integer", pa.int64()),
    "LONG": ("integer", pa.int64()),
    "FLOAT": ("real", pa.float32()),
    "REAL": ("real", pa.float32()),
    "DOUBLE": ("real", pa.float64()),
    "BOOLEAN": ("boolean", pa.bool_()),
    "STRING": ("string", pa.string()),
    "BINARY": ("binary", pa.binary()),
    "DATE": ("date", pa.date32()),
    "TIMESTAMP": ("timestamp", pa.timestamp("us", "UTC")),
    "TIMESTAMP_LTZ": ("timestamp", pa.timestamp("us", "UTC")),
    "TIMESTAMP_NTZ": ("timestamp_ntz", pa.timestamp("us")),
}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_MOST_DIGITS = 38
_MOST_DEPTH = 32
RULE = (
    "a pushed column is TINYINT to BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), BOOLEAN, STRING, BINARY,"
    " DATE, TIMESTAMP, TIMESTAMP_NTZ, or an ARRAY, MAP<STRING, ...> or STRUCT of them"
)


@dataclass(frozen=True, slots=True)
class Type:
    """A type.

    Attributes:
        kind: What kind of value.
        arrow: The Arrow type.
        name: As Spark writes it, for messages.
        element: Of an array, or of a map's values.
        fields: Of a struct.
    """

    kind: Kind
    arrow: pa.DataType
    name: str
    element: Type | None = None
    fields: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a schema, or a field of a struct."""

    name: str
    type: Type
    nullable: bool = True

    @property
    def arrow(self) -> pa.Field:
        """As Arrow's field; null is allowed there and checked by us, with a better message."""
        return pa.field(self.name, self.type.arrow)


def feed_columns(feed: Feed) -> tuple[Column, ...]:
    """The columns of a push feed.

    Raises:
        UserError: A type cannot be pushed, or the text is no schema.
    """
    try:
        return columns(feed.schema or "")
    except ValueError as error:
        raise UserError(
            "bad-schema",
            f"the schema of feed {feed.name}: {error}",
            where=feed.place,
            rule=RULE,
            next_step="Correct the schema.",
        ) from error


def arrow_schema(found: tuple[Column, ...]) -> pa.Schema:
    """The same as Arrow's schema."""
    return pa.schema([column.arrow for column in found])


def columns(ddl: str) -> tuple[Column, ...]:
    """The columns of a schema such as ``id BIGINT NOT NULL, tags ARRAY<STRING>``.

    Raises:
        ValueError: It is none, or has a type that cannot be pushed; the message says why.
    """
    try:
        parser = _Parser(tokens(ddl))
    except SqlTextError as error:
        raise ValueError(error.what) from error
    found = parser.fields(None, 0)
    return _distinct(found)


def _distinct(found: list[Column]) -> tuple[Column, ...]:
    seen: set[str] = set()
    for column in found:
        if column.name.lower() in seen:
            raise ValueError(f"{column.name} is given twice")
        seen.add(column.name.lower())
    return tuple(found)


class _Parser:
    """Recursive descent over the tokens; types inside < > may nest."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def fields(self, end: str | None, depth: int) -> list[Column]:
        """Columns up to ``end`` (None: the end of the text), separated by commas."""
        found = [self._field(depth)]
        while self._takes(","):
            found.append(self._field(depth))
        if end is not None:
            self._expect(end)
        elif self._at < len(self._tokens):
            raise ValueError(f"'{self._tokens[self._at].text}' is not understood")
        return found

    def _field(self, depth: int) -> Column:
        token = self._next("a column's name")
        if not token.is_name:
            raise ValueError(f"a column's name is expected, not '{token.text}'")
        self._takes(":")
        type_ = self._type(token.name, depth)
        nullable = True
        if self._takes_word("NOT"):
            if not self._takes_word("NULL"):
                raise ValueError(f"NOT of {token.name} is not followed by NULL")
            nullable = False
        if self._takes_word("COMMENT"):
            text = self._next("a comment")
            if text.kind != "string":
                raise ValueError(f"the comment of {token.name} is no string")
        return Column(token.name, type_, nullable)

    def _type(self, name: str, depth: int) -> Type:
        if depth > _MOST_DEPTH:
            raise ValueError(f"{name} is nested more than {_MOST_DEPTH} deep")
        word = self._next(f"the type of {name}").text.upper()
        if word in _SIMPLE:
            kind, arrow = _SIMPLE[word]
            return Type(kind, arrow, word)
        if word in _DECIMALS:
            return self._decimal(name)
        if word == "ARRAY":
            self._expect("<")
            element = self._type(name, depth + 1)
            self._expect(">")
            return Type("array", pa.list_(element.arrow), f"ARRAY<{element.name}>", element)
        if word == "MAP":
            return self._map(name, depth)
        if word == "STRUCT":
            self._expect("<")
            fields = _distinct(self.fields(">", depth + 1))
            arrow = pa.struct([field.arrow for field in fields])
            inside = ", ".join(f"{field.name}: {field.type.name}" for field in fields)
            return Type("struct", arrow, f"STRUCT<{inside}>", fields=fields)
        raise ValueError(f"{name} has the type {word}, which cannot be pushed")

    def _map(self, name: str, depth: int) -> Type:
        self._expect("<")
        if self._type(name, depth + 1).kind != "string":
            raise ValueError(f"the keys of {name} are no STRING, as JSON's are")
        self._expect(",")
        value = self._type(name, depth + 1)
        self._expect(">")
        arrow = pa.map_(pa.string(), value.arrow)
        return Type("map", arrow, f"MAP<STRING, {value.name}>", value)

    def _decimal(self, name: str) -> Type:
        precision, scale = 10, 0
        if self._takes("("):
            precision = self._whole(name)
            scale = self._whole(name) if self._takes(",") else 0
            self._expect(")")
        if scale > precision:
            raise ValueError(
                f"DECIMAL({precision},{scale}) of {name} has fewer digits than {scale}"
            )
        if not 1 <= precision <= _MOST_DIGITS:
            raise ValueError(
                f"DECIMAL({precision},{scale}) of {name} does not exist:"
                f" it has 1 to {_MOST_DIGITS} digits"
            )
        arrow = pa.decimal128(precision, scale)
        return Type("decimal", arrow, f"DECIMAL({precision},{scale})")

    def _whole(self, name: str) -> int:
        text = self._next("a number").text
        if not text.isdecimal():
            raise ValueError(f"'{text}' in the type of {name} is no number of digits")
        return int(text)

    def _next(self, what: str) -> Token:
        if self._at >= len(self._tokens):
            raise ValueError(f"{what} is missing at the end")
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, symbol: str) -> bool:
        there = self._at < len(self._tokens) and self._tokens[self._at].is_symbol(symbol)
        self._at += there
        return there

    def _takes_word(self, word: str) -> bool:
        there = self._at < len(self._tokens) and self._tokens[self._at].is_word(word)
        self._at += there
        return there

    def _expect(self, symbol: str) -> None:
        token = self._next(f"'{symbol}'")
        if not token.is_symbol(symbol):
            raise ValueError(f"'{symbol}' is expected, not '{token.text}'")
