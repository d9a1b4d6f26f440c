"""Snowflake's fixed-point numbers, and how many digits its arithmetic gives its results.

The rules are those of https://docs.snowflake.com/en/sql-reference/operators-arithmetic. An average
follows the rule of division: ``AVG`` of 1, 2, 2 is 1.666667.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_DIGITS = 38
_ENOUGH = 12
"""Digits behind the point beyond which products and quotients add none."""
_MORE = 6
"""Digits behind the point that a quotient has more than its numerator."""


@dataclass(frozen=True, slots=True)
class Number:
    """The type NUMBER(precision, scale).

    Attributes:
        precision: Digits in all.
        scale: Digits behind the point.
    """

    precision: int
    scale: int

    @property
    def whole(self) -> int:
        """Digits before the point."""
        return self.precision - self.scale


WHOLE = Number(MOST_DIGITS, 0)
"""What INT, BIGINT and all others of whole numbers are."""


def _number(whole: int, scale: int) -> Number:
    return Number(min(whole + scale, MOST_DIGITS), min(scale, MOST_DIGITS))


def added(one: Number, other: Number) -> Number:
    """The type of a sum or a difference."""
    return _number(max(one.whole, other.whole) + 1, max(one.scale, other.scale))


def multiplied(one: Number, other: Number) -> Number:
    """The type of a product."""
    most = max(one.scale, other.scale, _ENOUGH)
    return _number(one.whole + other.whole, min(one.scale + other.scale, most))


def divided(numerator: Number, denominator: Number) -> Number:
    """The type of a quotient."""
    return _number(numerator.whole + denominator.scale, _quotient_scale(numerator))


def averaged(values: Number) -> Number:
    """The type of an average."""
    return Number(MOST_DIGITS, _quotient_scale(values))


def _quotient_scale(numerator: Number) -> int:
    return max(numerator.scale, min(numerator.scale + _MORE, _ENOUGH))


def widest(one: Number, other: Number) -> Number:
    """The type that holds the values of both: of COALESCE, CASE and UNION."""
    return _number(max(one.whole, other.whole), max(one.scale, other.scale))
