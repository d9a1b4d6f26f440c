"""Values and conditions of the views that test keys (:mod:`tests.support.key_grammar`).

A text holds marks, ``⟦Spark's text¦DuckDB's text⟧``, one within another: a column may be spelt in
any way that Spark understands, and is always ``alias.column`` for DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from freshline.sql.query.records import Source

SOURCES = (
    Source("orders", {"id": "int", "usr": "int", "shop": "int", "amount": "int", "name": "string"}),
    Source("clicks", {"id": "int", "usr": "int", "n": "int", "name": "string", "ok": "boolean"}),
    Source("visits", {"usr": "bigint", "shop": "bigint", "page": "string", "n": "int"}),
    Source("refunds", {"usr": "decimal(10,2)", "code": "string", "id": "int"}),
    Source("scores", {"usr": "bigint", "x": "double", "code": "string"}),
    Source("users", {"usr": "int", "name": "string", "boss": "int"}, static=True),
    Source("pairs", {"a": "int", "b": "int", "code": "string"}, static=True),
)
WHOLE = ("int", "bigint")
CONDITIONS = (
    "compare", "compare", "null", "list", "columns", "and", "or", "not", "wrapped", "scalar",
    "exists", "exists", "in", "in",
)  # fmt: skip
NUMBERS = (*WHOLE, "decimal(10,2)", "double")
_INNERMOST = re.compile("⟦([^⟦⟧¦]*)¦([^⟦⟧¦]*)⟧")


def both(spark: str, duck: str) -> str:
    """A text that is not the same in both dialects."""
    return spark if spark == duck else f"⟦{spark}¦{duck}⟧"


def read(text: str, group: int) -> str:
    """Spark's text (1) or DuckDB's (2) of a text with marks."""
    while "⟦" in text:
        text = _INNERMOST.sub(rf"\{group}", text)
    return text


@dataclass(frozen=True)
class Column:
    """A column that a FROM clause shows; ``table`` is empty where nothing qualifies it."""

    table: str
    name: str
    kind: str
    duck: str
    hidden: bool = False
    """Only its qualified name names it: USING shows another in its place."""


@dataclass(frozen=True)
class Scope:
    """The columns of a FROM clause, and of the query around it."""

    columns: tuple[Column, ...]
    outer: Scope | None = None
    required: tuple[str, ...] = ()
    """What WHERE must say: the conditions of a join by commas."""

    def spellings(self, column: Column) -> list[str]:
        """The names that mean ``column`` here."""
        plain, qualified = not column.hidden, bool(column.table)
        scope: Scope | None = self
        while scope is not None and column not in scope.columns:
            plain = plain and not any(c.name == column.name for c in scope.columns)
            qualified = qualified and not any(c.table == column.table for c in scope.columns)
            scope = scope.outer
        same = [c for c in (scope or self).columns if c.name == column.name and not c.hidden]
        names = [column.name] if plain and same == [column] else []
        return names + [f"{column.table}.{column.name}"] * qualified * 2


class Values:
    """Writes values and conditions, each as text with marks."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.fresh = 0
        self.focus = chance.choice((0.5, 0.9, 0.97))
        """How often users are meant, and plain columns: then much of a view can have a key."""

    def often(self, share: float) -> bool:
        return self.chance.randrange(100) < share * 100

    def new_name(self) -> str:
        self.fresh += 1
        return f"z{self.fresh}"

    # Values.

    def spelt(self, column: Column, scope: Scope) -> str:
        name = self.chance.choice(scope.spellings(column))
        if self.often(0.06):
            name = name.upper()
        elif self.often(0.04):
            name = ".".join(f"`{part}`" for part in name.split("."))
        return both(name, column.duck)

    def columns(self, scope: Scope, kinds: Iterable[str] | None = None) -> list[Column]:
        return [
            column
            for column in scope.columns
            if (kinds is None or column.kind in kinds) and scope.spellings(column)
        ]

    def column(self, scope: Scope, kinds: Iterable[str] | None = None) -> Column | None:
        """One of the columns, most often a user."""
        there = self.columns(scope, kinds)
        users = [column for column in there if column.name == "usr"]
        if users and self.often(self.focus):
            return self.chance.choice(users)
        return self.chance.choice(there) if there else None

    def value(self, scope: Scope, kinds: Iterable[str] | None = None) -> tuple[str, str] | None:
        """An expression over the columns, with its type; most often a column."""
        column = self.column(scope, kinds)
        if column is None:
            return None
        text, kind = self.spelt(column, scope), column.kind
        if self.often(0.06):
            return self.of_both(scope, column) or (text, kind)
        if self.often(self.focus + 0.02 if self.focus > 0.5 else 0.8):
            return text, kind
        if kind in WHOLE:
            forms = [
                "{0} + 1", "coalesce({0}, 0)", "coalesce({0}, 1)", "-{0}", "{0} % 2", "abs({0})",
                "nullif({0}, 1)", "greatest({0}, 2)", "CASE WHEN {0} > 1 THEN {0} ELSE 1 END",
                "CASE {0} WHEN 1 THEN 2 ELSE {0} END", "if({0} IS NULL, 1, {0})", "{0} * 0", "+{0}",
                "({0})", "coalesce({0}, NULL)",
            ]  # fmt: skip
            other = self.column(scope, (kind,))
            if other is not None:
                second = self.spelt(other, scope)
                forms += [f"coalesce({{0}}, {second})", f"greatest({{0}}, {second})"] * 2
                forms += [f"{{0}} + {second}", f"CASE WHEN {second} = 1 THEN {{0}} END"]
            form = self.chance.choice(forms)
            return form.format(text), kind
        if kind == "string":
            forms = ["upper({0})", "concat({0}, 'x')", "coalesce({0}, 'a')", "nullif({0}, 'b')"]
            forms += ["CASE WHEN {0} = 'a' THEN 'b' ELSE {0} END"]
            return self.chance.choice(forms).format(text), kind
        if kind == "double":
            return f"CAST({text} AS BIGINT)", "bigint"
        return text, kind

    def of_both(self, scope: Scope, column: Column) -> tuple[str, str] | None:
        """One value of two columns of a name, as a full join's readers write it."""
        others = [c for c in self.columns(scope, (column.kind,)) if c != column]
        same = [c for c in others if c.name == column.name]
        if not others:
            return None
        first = self.spelt(column, scope)
        second = self.spelt(self.chance.choice(same or others), scope)
        third = self.spelt(self.chance.choice(others), scope)
        forms = (
            "coalesce({0}, {1})", "coalesce({0}, {1})", "coalesce({0}, {1}, {2})",
            both("nvl({0}, {1})", "coalesce({0}, {1})"), "ifnull({0}, {1})",
            both("nvl2({0}, {0}, {1})", "coalesce({0}, {1})"),
            both("nvl2({0}, {1}, {0})", "if({0} IS NULL, {0}, {1})"),
            "CASE WHEN {0} IS NOT NULL THEN {0} ELSE {1} END", "if({0} IS NULL, {1}, {0})",
            "CASE WHEN {2} IS NULL THEN {0} ELSE {1} END", "greatest({0}, {1})", "least({0}, {1})",
            "CASE WHEN {0} = {1} THEN {0} END", "nullif({0}, {1})",
        )  # fmt: skip
        return self.chance.choice(forms).format(first, second, third), column.kind

    def cast(self, scope: Scope) -> tuple[str, str] | None:
        """A column as another type, which may not keep its values apart."""
        column = self.column(scope, NUMBERS)
        if column is None:
            return None
        kind = self.chance.choice(("double", "bigint", "string", "decimal(10,2)", "boolean"))
        text = f"CAST({self.spelt(column, scope)} AS {both(kind, duck_type(kind))})"
        return text, kind

    def literal(self, kind: str) -> str:
        if self.often(0.06):
            return "NULL"
        if kind == "string":
            return self.chance.choice(("'a'", "'b'", "'1'"))
        if kind == "boolean":
            return self.chance.choice(("true", "false"))
        return self.chance.choice(("0", "1", "1", "2", "2", "3"))

    # Conditions.

    def condition(self, scope: Scope, depth: int) -> str:
        kind = self.chance.choice(CONDITIONS)
        if kind in {"exists", "in", "scalar"} and depth > 0:
            return self.subquery_condition(scope, depth, kind)
        if kind in {"and", "or", "not", "wrapped"}:
            return self.combined(scope, depth - 1, kind)
        if kind == "columns":
            equal = self.equality(scope.columns, scope.columns, scope)
            if equal is not None:
                return equal
        value = self.value(scope)
        if value is None:
            return "1 = 1"
        text, type_ = value
        if kind == "null":
            return f"{text} IS {self.chance.choice(('', 'NOT '))}NULL"
        if kind == "list":
            literals = ", ".join(self.literal(type_) for _ in range(self.chance.randrange(1, 3)))
            return f"{text} {self.chance.choice(('IN', 'IN', 'NOT IN'))} ({literals})"
        sign = self.chance.choice(("=", "=", "<", ">", "<>", ">=", self.null_safe()))
        return f"{text} {sign} {self.literal(type_)}"

    def combined(self, scope: Scope, depth: int, kind: str) -> str:
        first = self.condition(scope, depth)
        if kind == "wrapped":
            return self.wrapped(first)
        if kind == "not":
            return f"NOT ({first})"
        return f"({first} {kind.upper()} {self.condition(scope, depth)})"

    def wrapped(self, condition: str) -> str:
        """A condition within another, which may be true where it is NULL or false."""
        forms = (
            "({0}) IS NULL", "({0}) IS NOT NULL", "coalesce({0}, true)", "coalesce({0}, false)",
            "({0}) IS TRUE", "({0}) IS NOT TRUE", "({0}) IS NOT FALSE", "({0}) = true",
            "({0}) = false", f"({{0}}) {self.null_safe()} false", "NOT coalesce({0}, false)",
            "CASE WHEN {0} THEN true ELSE false END", "CASE WHEN {0} THEN false ELSE true END",
            "if({0}, true, false)", "NOT NOT ({0})", "CASE WHEN NOT ({0}) THEN false ELSE true END",
        )  # fmt: skip
        return self.chance.choice(forms).format(condition)

    def null_safe(self) -> str:
        return both(self.chance.choice(("<=>", "IS NOT DISTINCT FROM")), "IS NOT DISTINCT FROM")

    def equality(self, left: Sequence[Column], right: Sequence[Column], scope: Scope) -> str | None:
        """An equality of two columns, mostly of one type and often of one name."""
        pairs = [
            (a, b)
            for a in left
            for b in right
            if a != b and scope.spellings(a) and scope.spellings(b)
            and (a.kind == b.kind or {a.kind, b.kind} <= set(NUMBERS))
        ]  # fmt: skip
        if not pairs:
            return None
        users = [pair for pair in pairs if pair[0].name == pair[1].name == "usr"]
        same = [pair for pair in pairs if pair[0].name == pair[1].name]
        chosen = (
            users
            if users and self.often(self.focus)
            else same
            if same and self.often(0.4)
            else pairs
        )
        first, second = self.chance.choice(chosen)
        texts = [self.spelt(first, scope), self.spelt(second, scope)]
        if self.often(0.5):
            texts.reverse()
        if self.often(0.05) and first.kind == "string":
            texts = [f"upper({text})" for text in texts]
        elif self.often(0.08) and first.kind in WHOLE:
            form = self.chance.choice(("coalesce({}, 0)", "{} + 1", "{} % 2", "-{}"))
            texts = [form.format(text) for text in texts]
            if self.often(0.3):
                texts[0] = self.spelt(first, scope)
        sign = "=" if self.often(0.85) else self.null_safe()
        if self.often(0.03):
            return f"NOT ({texts[0]} <> {texts[1]})"
        equal = f"{texts[0]} {sign} {texts[1]}"
        return self.wrapped(equal) if self.often(0.03) else equal

    def subquery_condition(self, scope: Scope, depth: int, kind: str) -> str:
        raise NotImplementedError


def duck_type(kind: str) -> str:
    return {"string": "VARCHAR", "double": "DOUBLE"}.get(kind, kind.upper())


def kinds_like(kind: str) -> tuple[str, ...]:
    return WHOLE if kind in WHOLE else (kind,)


def same_kind(one: str, other: str) -> bool:
    return one == other or {one, other} <= set(NUMBERS)


def wider(one: str, other: str) -> str:
    return max(one, other, key=NUMBERS.index) if one in NUMBERS and other in NUMBERS else one
