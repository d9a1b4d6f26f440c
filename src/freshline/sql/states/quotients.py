"""The average of decimals from their sum and count, to the digit that Spark's average has.

Spark's ``avg`` divides to 38 digits behind the point and rounds once more to the digits of its
type; its ``/`` keeps fewer digits of wide decimals, so that rounding what it gives rounds twice.
Here the quotient is found in whole numbers, which lose no digit, and rounded once, half up: with
fewer than 10^12 rows in a group no digit is left in which the two could differ.

With a total t of scale s, a count c, and S = s + 4 digits wanted:

    r = t mod c                       whole = (t - r) / c
    n = |r| 10^s, a whole number      q = (2 n 10^4 + c) div 2c
    result = (whole 10^S + sign(t) q) 10^-S

Of values with at most eleven digits Spark's optimiser makes another average: that of whole
numbers, as a double, which is divided by 10^s and rounded (its rule DecimalAggregates, for types
of at most fifteen digits). Its last digit differs from the exact one where the quotient lies at a
tie or close to one, so it is computed in the same way here.
"""

from __future__ import annotations

from sqlglot import exp

from freshline.sql.query.unsupported import unsupported

_MORE = 4
"""Digits behind the point that an average has more than its values."""
_COUNT_DIGITS = 12
_MOST_DIGITS = 38
_MOST_SCALE = 24
"""Of the result: the largest number above has 12 + S + 1 digits, one more for the doubled count."""
_DOUBLE_DIGITS = 15
"""Of the result: with so many Spark computes it in doubles."""
_SUM_DIGITS = 6
"""Digits that a sum has more than the average of the same values."""
_MOST_WHOLE = 32
"""Digits before the point: Spark's ``/`` keeps six behind it in any case."""


def decimal_digits(type_: str) -> tuple[int, int]:
    """How many digits a type as ``decimal(16,6)`` has, and how many of them behind the point."""
    precision, scale = type_[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def exact_quotient(total: exp.Expr, count: exp.Expr, type_: str) -> exp.Expr:
    """``total / count`` as Spark's average has it.

    Args:
        total: The sum; NULL without rows.
        count: Whole and not negative; NULL without rows.
        type_: Of the average, such as ``decimal(16,6)``.

    Raises:
        Unsupported: AGGREGATE: the type is too wide for whole numbers of 38 digits.
    """
    precision, scale = decimal_digits(type_)
    if precision <= _DOUBLE_DIGITS:
        return _in_doubles(total, count, precision, scale)
    if scale > _MOST_SCALE or precision - scale > _MOST_WHOLE:
        message = f"an average of the type {type_} has no exact merge rule; cast to fewer digits"
        raise unsupported("AGGREGATE", message, total)
    own = max(scale - _MORE, 0)
    count = _as(count, _COUNT_DIGITS)
    rest = _paren(exp.Mod, total, count)
    whole = _paren(exp.Div, _as(_paren(exp.Sub, total, rest)), count)
    whole = _as(whole, _MOST_DIGITS - scale)
    part = _paren(exp.Mod, rest, _as(_number(1), 1))
    digits = exp.Add(
        this=_as(_paren(exp.Mul, _as(_paren(exp.Sub, rest, part), _COUNT_DIGITS), _power(own))),
        expression=_raised(part, own),
    )
    twice = _paren(exp.Mul, count, _as(_number(2), 1))
    raised = _paren(exp.Mul, exp.Abs(this=_as(digits)), _as(_number(2 * 10**_MORE), _MORE + 1))
    raised = _as(_paren(exp.Add, _as(raised), count))
    quotient = _as(_paren(exp.Div, _paren(exp.Sub, raised, _paren(exp.Mod, raised, twice)), twice))
    negative = exp.LT(this=total.copy(), expression=_number(0))
    signed = exp.Case(
        ifs=[exp.If(this=negative, true=exp.Neg(this=quotient.copy()))], default=quotient
    )
    unscaled = _as(_paren(exp.Add, _as(_paren(exp.Mul, whole, _power(scale))), signed))
    text = exp.Concat(
        expressions=[exp.cast(unscaled, "string"), exp.Literal.string(f"E-{scale}")],
        safe=True,
        coalesce=False,
    )
    return exp.cast(text, type_, dialect="spark")


def _in_doubles(total: exp.Expr, count: exp.Expr, precision: int, scale: int) -> exp.Expr:
    own = scale - _MORE
    digits = precision + _SUM_DIGITS
    summed = exp.cast(total.copy(), f"decimal({digits},{own})")
    unscaled = _double(_as(_paren(exp.Mul, summed, _power(own)), digits))
    mean = _paren(exp.Div, unscaled, _double(count))
    return exp.cast(
        _paren(exp.Div, mean, _double(_number(10**own))),
        f"decimal({precision},{scale})",
        dialect="spark",
    )


def _double(value: exp.Expr) -> exp.Expr:
    return exp.cast(value.copy(), "double")


def _raised(part: exp.Expr, scale: int) -> exp.Expr:
    """A number below 1 times 10^scale, in two steps.

    Without ``allowPrecisionLoss`` a product keeps all its digits behind the point: of 20 there,
    18 would be left before it.
    """
    first = scale // 2
    last = scale - first
    half = exp.cast(_paren(exp.Mul, part, _power(first)), f"decimal({scale + 1},{last})")
    return _as(_paren(exp.Mul, half, _power(last)))


def _as(value: exp.Expr, digits: int = _MOST_DIGITS) -> exp.Expr:
    return exp.cast(value.copy(), f"decimal({digits},0)")


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _power(exponent: int) -> exp.Expr:
    return _as(_number(10**exponent), exponent + 1)


def _paren(kind: type[exp.Binary], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.paren(kind(this=left.copy(), expression=right.copy()), copy=False)
