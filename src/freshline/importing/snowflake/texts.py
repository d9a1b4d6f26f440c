"""Texts: patterns without an escape character, and texts that meet numbers.

Spark compares a text with a decimal as DOUBLE, which tells 15 digits apart; Snowflake makes a
NUMBER of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kind, Kinds, Other, branches
from freshline.importing.snowflake.numbers import Number

_WHOLE = re.compile(r"[+-]?\d{1,38}")
_LOOKS_LIKE_A_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
MEETING = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Case, exp.If,
    exp.Coalesce, exp.Nullif, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Union, exp.Except,
    exp.Intersect, exp.Join, exp.Lag, exp.Lead,
)  # fmt: skip
"""Where values of several expressions become values of one type."""
_COMPUTED = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil,
)  # fmt: skip
_AS_DOUBLE = (
    "a text that looks like a number stands beside a value whose type the script does not say: if"
    " that is a NUMBER, Spark compares both as DOUBLE, with 15 digits"
)


def unescaped_pattern(node: exp.Like) -> None:
    """Doubles the backslashes of a pattern: an escape in Spark, none in Snowflake."""
    pattern = node.expression
    if isinstance(pattern, exp.Literal):
        doubled: exp.Expr = exp.Literal.string(pattern.name.replace("\\", "\\\\"))
    else:
        one, two = exp.Literal.string("\\"), exp.Literal.string("\\\\")
        doubled = exp.func("REPLACE", pattern.copy(), one, two)
    if doubled != pattern:
        pattern.replace(doubled)


def literals_that_meet_numbers(query: exp.Expr, kinds: Kinds) -> tuple[list[exp.Literal], str]:
    """Texts of whole numbers that stand beside numbers; and what is different, or an empty text.

    Raises:
        UntranslatableError: Another text meets a number.
    """
    found: list[exp.Literal] = []
    note = ""
    for node in query.find_all(*MEETING):
        for meeting in meetings(node, kinds):
            of = [(each, kinds.of(each) if isinstance(each, exp.Expr) else each)
                  for each in meeting]  # fmt: skip
            meets_number = any(isinstance(kind, Number) for _, kind in of)
            meets_unknown = any(kind is None for _, kind in of)
            for text in (each for each, kind in of if kind is Other.TEXT):
                literal = text.unnest() if isinstance(text, exp.Expr) else None
                told = literal.name if isinstance(literal, exp.Literal) else ""
                if meets_number and isinstance(literal, exp.Literal) and _WHOLE.fullmatch(told):
                    found.append(literal)
                elif meets_number:
                    raise UntranslatableError(
                        f"{shown(node)} lets a text meet a NUMBER: Spark makes a DOUBLE of both;"
                        " cast one of them"
                    )
                elif meets_unknown and _LOOKS_LIKE_A_NUMBER.fullmatch(told):
                    note = _AS_DOUBLE
    return found, note


def refuse_computed(query: exp.Expr, kinds: Kinds) -> None:
    """Makes sure that no text is computed with, but beside a FLOAT, with which it is one in both.

    Raises:
        UntranslatableError: One is: Snowflake makes a NUMBER of it, Spark a DOUBLE.
    """
    for node in query.find_all(*_COMPUTED):
        of = [kinds.of(each) for each in (node.this, node.args.get("expression")) if each]
        of_others = {kind for kind in of if kind is not Other.TEXT and kind is not None}
        if Other.TEXT in of and not of_others:
            raise UntranslatableError(
                f"{shown(node)} makes a number of a text: a NUMBER in Snowflake, a DOUBLE in"
                " Spark; cast it"
            )


def meetings(node: exp.Expr, kinds: Kinds) -> Iterator[Sequence[exp.Expr | Kind]]:
    """The groups of expressions whose values become values of one type, or are compared."""
    if isinstance(node, exp.SetOperation):
        one, other = kinds.outputs(node.this), kinds.outputs(node.expression)
        for (_, kind), (_, also) in zip(one or (), other or (), strict=False):
            yield kind, also
    elif isinstance(node, exp.Join):
        yield from kinds.joined(node)
    elif isinstance(node, exp.Case):
        yield branches(node)
        if node.this is not None:
            yield node.this, *(each.this for each in node.args["ifs"])
    elif isinstance(node, exp.Coalesce):
        yield branches(node)
    elif isinstance(node, exp.If):
        if not isinstance(node.parent, exp.Case):
            yield branches(node)
    elif isinstance(node, exp.Between):
        yield node.this, node.args["low"]
        yield node.this, node.args["high"]
    elif isinstance(node, exp.In):
        query = node.args.get("query")
        if query is not None:
            row = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
            columns = kinds.outputs(query) or [("", None)] * len(row)
            yield from ((each, kind) for each, (_, kind) in zip(row, columns, strict=False))
        yield from ((node.this, each) for each in node.expressions)
    else:
        other = node.args.get("default") or node.args.get("expression")
        yield (node.this,) if other is None else (node.this, other)  # LAG may have no default
