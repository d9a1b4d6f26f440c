"""Expressions over numbers, each with the value that Snowflake's documented rules give it.

Values are fractions, so that nothing is rounded but by a rule: a sum has as many digits behind the
point as its longer operand, a product at most 12 or as many as an operand has, a quotient six more
than its numerator up to 12. Nothing here is of the importer's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

Row = dict[str, Any]

TYPES = {
    "n0": ("NUMBER(38,0)", 38, 0),
    "i": ("INT", 38, 0),
    "n2": ("NUMBER(10,2)", 10, 2),
    "n8": ("NUMBER(18,8)", 18, 8),
    "n5": ("NUMBER(5,0)", 5, 0),
    "n4": ("DECIMAL(9,4)", 9, 4),
    "w10": ("NUMBER(38,10)", 38, 10),
    "w2": ("NUMBER(38,2)", 38, 2),
    "n13": ("NUMBER(20,13)", 20, 13),
}
"""Columns: their types in Snowflake, digits in all and behind the point."""


@dataclass(frozen=True)
class Made:
    """An expression.

    Attributes:
        text: In Snowflake's SQL.
        scale: Digits behind the point; None: it is true or false.
        of: Its value in a row; None: NULL.
    """

    text: str
    scale: int | None
    of: Callable[[Row], Any]


def rounded(value: Fraction | None, scale: int) -> Fraction | None:
    """Half away from zero."""
    if value is None:
        return None
    shifted = abs(value) * 10**scale
    whole = (2 * shifted.numerator + shifted.denominator) // (2 * shifted.denominator)
    return Fraction(whole if value >= 0 else -whole, 10**scale)


def column(name: str) -> Made:
    def value(row: Row) -> Any:
        return None if row[name] is None else Fraction(row[name])

    return Made(name, TYPES[name][2], value)


def literal(text: str) -> Made:
    return Made(text, len(text.partition(".")[2]), lambda _: Fraction(text))


def quotient_scale(scale: int) -> int:
    return max(scale, min(scale + 6, 12))


def binary(sign: str, one: Made, other: Made) -> Made:
    assert one.scale is not None
    assert other.scale is not None
    both = max(one.scale, other.scale)
    scale = {
        "*": min(one.scale + other.scale, max(both, 12)),
        "/": quotient_scale(one.scale),
    }.get(sign, both)

    def value(row: Row) -> Any:
        left, right = one.of(row), other.of(row)
        if left is None or right is None or (sign == "/" and right == 0):
            return None
        if sign == "/":
            return rounded(left / right, scale)
        found = {"+": left + right, "-": left - right, "*": left * right}[sign]
        return rounded(found, scale)

    right = f"nullif({other.text}, 0)" if sign == "/" else other.text
    return Made(f"({one.text} {sign} {right})", scale, value)


def compared(sign: str, one: Made, other: Made) -> Made:
    def value(row: Row) -> Any:
        left, right = one.of(row), other.of(row)
        if left is None or right is None:
            return None
        return {"=": left == right, "<>": left != right, "<": left < right,
                ">=": left >= right}[sign]  # fmt: skip

    return Made(f"({one.text} {sign} {other.text})", None, value)


def chosen(kind: str, one: Made, other: Made) -> Made:
    """A form whose value is one of two, and has room for both."""
    assert one.scale is not None
    assert other.scale is not None
    scale = max(one.scale, other.scale)

    def value(row: Row) -> Any:
        left, right = one.of(row), other.of(row)
        if kind == "coalesce":
            return right if left is None else left
        return left if row["k"] % 2 else right

    text = {
        "coalesce": f"coalesce({one.text}, {other.text})",
        "case": f"case when k in (1, 3, 5, 7, 9, 11) then {one.text} else {other.text} end",
        "iff": f"iff(k in (1, 3, 5, 7, 9, 11), {one.text}, {other.text})",
    }[kind]
    return Made(text, scale, value)


def listed(one: Made, others: Sequence[Made]) -> Made:
    def value(row: Row) -> Any:
        left, rest = one.of(row), [each.of(row) for each in others]
        if left is None:
            return None
        if left in rest:
            return True
        return None if None in rest else False

    return Made(f"({one.text} in ({', '.join(each.text for each in others)}))", None, value)


def between(one: Made, low: Made, high: Made) -> Made:
    def value(row: Row) -> Any:
        left, least, most = one.of(row), low.of(row), high.of(row)
        above = None if left is None or least is None else left >= least
        below = None if left is None or most is None else left <= most
        if above is False or below is False:
            return False
        return None if above is None or below is None else True

    return Made(f"({one.text} between {low.text} and {high.text})", None, value)


def single(kind: str, one: Made) -> Made:
    assert one.scale is not None
    scale = {"round1": min(1, one.scale), "round": 0, "floor": 0, "ceil": 0, "int": 0}.get(
        kind, one.scale
    )

    def value(row: Row) -> Any:
        found = one.of(row)
        if found is None:
            return None
        return {
            "round1": lambda: rounded(found, scale),
            "round": lambda: rounded(found, 0),
            "int": lambda: rounded(found, 0),
            "floor": lambda: Fraction(found.numerator // found.denominator),
            "ceil": lambda: Fraction(-(-found.numerator // found.denominator)),
            "abs": lambda: abs(found),
            "neg": lambda: -found,
        }[kind]()

    text = {
        "round1": f"round({one.text}, 1)",
        "int": f"({one.text})::int",
        "neg": f"(-{one.text})",
    }.get(kind, f"{kind}({one.text})")
    return Made(text, scale, value)


SIGNS = ("+", "-", "*", "/")
COMPARED = ("=", "<>", "<", ">=")
CHOSEN = ("coalesce", "case", "iff")
SINGLE = ("round1", "round", "floor", "ceil", "int", "abs", "neg")
LITERALS = ("0", "1", "3", "7", "100", "0.5", "10.40", "2.125", "0.00000001", "1.0000000000001")


def pairs() -> list[Made]:
    """Every operator with every pair of types."""
    found = []
    for one in map(column, TYPES):
        found += [single(kind, one) for kind in SINGLE]
        for other in [*map(column, TYPES), *map(literal, LITERALS[::2])]:
            found += [binary(sign, one, other) for sign in SIGNS]
            found += [compared(sign, one, other) for sign in COMPARED]
            found += [chosen(kind, one, other) for kind in CHOSEN]
            found.append(listed(one, [other, literal("3")]))
            found.append(between(one, other, literal("10.4")))
    return found


def number(chance: random.Random, depth: int) -> Made:
    """A random expression of several operators; factors and divisors are short."""
    if depth == 0 or chance.random() < 0.15:
        if chance.random() < 0.25:
            return literal(chance.choice(LITERALS))
        return column(chance.choice(list(TYPES)))
    what = chance.random()
    one = number(chance, depth - 1)
    if what < 0.55:
        sign = chance.choice(SIGNS)
        other = number(chance, 0 if sign in "*/" else depth - 1)
        if sign == "/" and quotient_scale(one.scale or 0) > 13:
            sign = "-"
        return binary(sign, one, other)
    if what < 0.75:
        return chosen(chance.choice(CHOSEN), one, number(chance, depth - 1))
    return single(chance.choice(SINGLE), one)


def condition(chance: random.Random, depth: int) -> Made:
    one, other = number(chance, depth), number(chance, depth)
    what = chance.random()
    if what < 0.6:
        return compared(chance.choice(COMPARED), one, other)
    if what < 0.8:
        return listed(one, [other, number(chance, 0)])
    return between(one, other, number(chance, 0))


def rows(chance: random.Random, size: int) -> list[Row]:
    """Rows with equal and nearly equal numbers, zeros and NULLs."""
    found = []
    for k in range(size):
        row: Row = {"k": k}
        base = chance.choice([0, 1, 3, 10, 10, 12, 99])
        for name, (_, _, scale) in TYPES.items():
            part = chance.choice(["0", "0.4", "0.40", "0.5", "-0.5", "0.33333333", "0.00000001"])
            value = (Decimal(base) + Decimal(part)) * chance.choice([1, 1, 1, -1])
            value = value.quantize(Decimal(1).scaleb(-scale))
            row[name] = None if chance.random() < 0.08 else value
        found.append(row)
    return found
