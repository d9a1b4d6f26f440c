"""The schema of a push feed, DDL as a tree of types: what records are checked against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from freshline.sql.text.tokens import SqlTextError, Token, tokens

Kind = Literal[
    "integer", "real", "decimal", "boolean", "string", "binary", "date", "timestamp",
    "timestamp_ntz", "array", "map", "struct",
]  # fmt: skip

_SIMPLE: dict[str, tuple[Kind, int]] = {
    "TINYINT": ("integer", 8),
    "BYTE": ("integer", 8),
    "SMALLINT": ("integer", 16),
    "SHORT": ("integer", 16),
    "INT": ("integer", 32),
    "INTEGER": ("integer", 32),
    "BIGINT": ("integer", 64),
    "LONG": ("integer", 64),
    "FLOAT": ("real", 32),
    "REAL": ("real", 32),
    "DOUBLE": ("real", 64),
    "BOOLEAN": ("boolean", 0),
    "STRING": ("string", 0),
    "BINARY": ("binary", 0),
    "DATE": ("date", 0),
    "TIMESTAMP": ("timestamp", 0),
    "TIMESTAMP_LTZ": ("timestamp", 0),
    "TIMESTAMP_NTZ": ("timestamp_ntz", 0),
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
        name: As Spark writes it, for messages.
        bits: Of an integer or a real number.
        precision: Of a decimal: its digits,
        scale: and of them those behind the point.
        element: Of an array, or of a map's values.
        fields: Of a struct.
    """

    kind: Kind
    name: str
    bits: int = 0
    precision: int = 0
    scale: int = 0
    element: Type | None = None
    fields: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a schema, or a field of a struct."""

    name: str
    type: Type
    nullable: bool = True


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
            kind, bits = _SIMPLE[word]
            return Type(kind, word, bits)
        if word in _DECIMALS:
            return self._decimal(name)
        if word == "ARRAY":
            self._expect("<")
            element = self._type(name, depth + 1)
            self._expect(">")
            return Type("array", f"ARRAY<{element.name}>", element=element)
        if word == "MAP":
            return self._map(name, depth)
        if word == "STRUCT":
            self._expect("<")
            fields = _distinct(self.fields(">", depth + 1))
            inside = ", ".join(f"{field.name}: {field.type.name}" for field in fields)
            return Type("struct", f"STRUCT<{inside}>", fields=fields)
        raise ValueError(f"{name} has the type {word}, which cannot be pushed")

    def _map(self, name: str, depth: int) -> Type:
        self._expect("<")
        if self._type(name, depth + 1).kind != "string":
            raise ValueError(f"the keys of {name} are no STRING, as JSON's are")
        self._expect(",")
        value = self._type(name, depth + 1)
        self._expect(">")
        return Type("map", f"MAP<STRING, {value.name}>", element=value)

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
        name = f"DECIMAL({precision},{scale})"
        return Type("decimal", name, precision=precision, scale=scale)

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
