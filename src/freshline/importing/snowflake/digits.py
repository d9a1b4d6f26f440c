"""Sums, products, quotients, averages and whole parts with the digits that Snowflake gives them.

Spark's `/` leaves wide decimals too few digits on one side of the point or the other. Both operands
as decimals of 38 digits leave 18 digits behind it at least. Where the script says the types, a cast
rounds to Snowflake's digits; where it does not, there are more digits, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from sqlglot import exp

from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kind, Kinds, Other, branches
from freshline.importing.snowflake.numbers import (
    MOST_DIGITS,
    Number,
    averaged,
    divided,
    multiplied,
)

Change = Callable[[], None]

_MOST_SCALE = 18
"""Digits behind the point that Spark keeps in every quotient of decimals of 38 digits."""
_AVERAGE_MORE = 4
"""Digits behind the point that an average has more than its values in Spark."""
_AVERAGE_WIDER = 2
"""Digits that are added to the values so that their average has six more."""
_OF_FLOATS = (
    "FLOOR and CEIL are whole numbers up to 2^63 where the script does not say the type of their"
    " value; of a FLOAT Snowflake makes a FLOAT"
)
_NOTES = {
    exp.Mul: "`*` keeps all digits behind the point where the script does not say the types of its"
    " operands; Snowflake keeps 12, or as many as an operand has",
    exp.Div: "`/` keeps 18 digits behind the point or more where the script does not say the types"
    " of its operands; Snowflake keeps 6 to 12",
    exp.Avg: "AVG has six digits more than its values where the script does not say their type;"
    " Snowflake adds none beyond 12",
}


def digits_of(query: exp.Expr, kinds: Kinds) -> tuple[list[Change], list[str]]:
    """What is to be replaced in a query, in this order, and what is different about its values.

    Nothing is replaced yet: the kinds of values are those of Snowflake's text.

    Raises:
        UntranslatableError: A quotient has more digits than Spark can keep, or a default of LAG or
            LEAD more than what stands in for it.
    """
    changes: list[Change] = []
    notes: dict[str, None] = {}
    for node in query.find_all(*_RULES):
        found = list(_RULES[type(node)](node, kinds))
        changes += reversed([each for each in found if callable(each)])
        notes |= dict.fromkeys(each for each in found if isinstance(each, str))
    changes.reverse()  # what is inside comes first
    return changes, list(notes)


def _product(node: exp.Expr, kinds: Kinds) -> Iterator[Change | str]:
    one, other = kinds.of(node.this), kinds.of(node.args["expression"])
    if Other.FLOAT in (one, other):
        return
    yield from _whole_result(node, kinds)
    if isinstance(one, Number) and isinstance(other, Number):
        scale = multiplied(one, other).scale
        if one.scale + other.scale > scale:
            yield lambda: _cast(node, scale)
    elif not any(isinstance(each, Number) and each.scale == 0 for each in (one, other)):
        yield _NOTES[exp.Mul]


def _whole_result(node: exp.Expr, _kinds: Kinds) -> Iterator[Change | str]:
    """Sums, differences and products of whole numbers that Spark would find too long."""
    of = [_longest(each) for each in (node.this, node.args["expression"])]
    if None not in of and _longest(node) is None:
        yield lambda: _cast(node.this, 0)


def _longest(node: exp.Expr) -> tuple[int, int] | None:
    """Of an expression that is an INT or BIGINT in Spark: where this type ends, and the most.

    None: it has another type, or can be longer than its type.
    """
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return _literal(node.this, negative=True)
    if isinstance(node, exp.Literal):
        return _literal(node, negative=False)
    if isinstance(node, exp.Paren | exp.Neg | exp.Window | exp.Abs | exp.Min | exp.Max):
        return _longest(node.this)
    if isinstance(node, exp.Case | exp.If | exp.Coalesce):
        return _together([_longest(each) for each in branches(node)], max)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        of = [_longest(each) for each in (node.this, node.expression)]
        return _together(of, prod if isinstance(node, exp.Mul) else sum)
    return _INTS.get(type(node))


def _literal(literal: exp.Literal, *, negative: bool) -> tuple[int, int] | None:
    """A literal has the first type that it fits into."""
    if literal.is_string or not literal.name.isdigit():
        return None
    number = int(literal.name)
    return next(((end, number) for end in _ENDS if number < end + negative), None)


def _together(
    of: Sequence[tuple[int, int] | None], most_of: Callable[[list[int]], int]
) -> tuple[int, int] | None:
    known = [each for each in of if each is not None]
    if not known or len(known) < len(of):
        return None
    end, most = max(end for end, _ in known), most_of([most for _, most in known])
    return (end, most) if most < end or most_of is max else None


_INT_END, _BIGINT_END = _ENDS = 2**31, 2**63
_ROWS, _ROWS_OF_A_GROUP = 10**15, 2**30
"""More than can be counted, and than can be numbered; with room for what is added to them."""
_INTS: dict[type[exp.Expr], tuple[int, int]] = {
    exp.Year: (_INT_END, 9999), exp.Month: (_INT_END, 12), exp.Day: (_INT_END, 31),
    exp.Length: (_INT_END, 2**24), exp.RowNumber: (_INT_END, _ROWS_OF_A_GROUP),
    exp.Rank: (_INT_END, _ROWS_OF_A_GROUP), exp.DenseRank: (_INT_END, _ROWS_OF_A_GROUP),
    exp.Count: (_BIGINT_END, _ROWS), exp.CountIf: (_BIGINT_END, _ROWS),
}  # fmt: skip
"""What is an INT or a BIGINT in Spark, with its most; results of these can be too long for both."""


def _quotient(node: exp.Expr, kinds: Kinds) -> Iterator[Change | str]:
    one, other = kinds.of(node.this), kinds.of(node.args["expression"])
    if Other.FLOAT in (one, other):
        return
    yield lambda: _widen(node, "this", one)
    yield lambda: _widen(node, "expression", other)
    if not isinstance(one, Number) or not isinstance(other, Number):
        yield _NOTES[exp.Div]
        return
    scale = divided(one, other).scale
    if scale > _MOST_SCALE:
        raise UntranslatableError(
            f"{shown(node)} has {scale} digits behind the point, and Spark keeps {_MOST_SCALE}:"
            " cast its numerator to fewer"
        )
    yield lambda: _cast(node, scale)


def _average(node: exp.Expr, kinds: Kinds) -> Iterator[Change | str]:
    kind = kinds.of(_values(node))
    if isinstance(kind, Other):
        return
    if kind is None:
        yield lambda: _widen_values(node)
        yield _NOTES[exp.Avg]
        return
    scale = averaged(kind).scale
    wider = scale - _AVERAGE_MORE
    if wider > kind.scale:
        precision = min(kind.precision + wider - kind.scale, MOST_DIGITS)
        yield lambda: _cast(_values(node), wider, precision)
    elif wider < kind.scale:
        yield lambda: _cast(node, scale)


def _widen_values(average: exp.Expr) -> None:
    values = _values(average)
    values.replace(_times_one(values, _AVERAGE_WIDER + 1, _AVERAGE_WIDER))


def _neighbour(node: exp.Expr, kinds: Kinds) -> Iterator[Change | str]:
    """Spark gives a default the type of the values: 0.5 beside whole numbers would be 1."""
    values, default = kinds.of(node.this), kinds.of(node.args.get("default"))
    least = values.scale if isinstance(values, Number) else 0
    if isinstance(default, Number) and default.scale > least and not isinstance(values, Other):
        raise UntranslatableError(
            f"the default of {shown(node)} has more digits behind the point than its values:"
            " cast the values to as many"
        )
    yield from ()


def _whole(node: exp.Expr, kinds: Kinds) -> Iterator[Change | str]:
    """FLOOR and CEIL of a FLOAT are FLOATs; Spark makes a BIGINT, the largest one of any beyond."""
    kind = kinds.of(node.this)
    if kind is Other.FLOAT:
        yield lambda: _kept_as_float(node)
    elif kind is None:
        yield _OF_FLOATS


def _kept_as_float(node: exp.Expr) -> None:
    value = node.this
    whole = exp.LT(this=exp.Abs(this=value.copy()), expression=exp.Literal.number(2**53))
    chosen = exp.Case().when(whole, exp.cast(node.copy(), "DOUBLE")).else_(value.copy())
    node.replace(chosen)


def _values(average: exp.Expr) -> exp.Expr:
    """What an average is of, with or without DISTINCT."""
    found: exp.Expr = average.this
    if isinstance(found, exp.Distinct):
        found = found.expressions[0]
    return found


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, Kinds], Iterator[Change | str]]] = {
    exp.Add: _whole_result,
    exp.Sub: _whole_result,
    exp.Mul: _product,
    exp.Div: _quotient,
    exp.Avg: _average,
    exp.Floor: _whole,
    exp.Ceil: _whole,
    exp.Lag: _neighbour,
    exp.Lead: _neighbour,
}


def _widen(node: exp.Expr, name: str, kind: Kind) -> None:
    """Gives an operand 38 digits; one whose type is not known stays a FLOAT if it is one."""
    operand = node.args[name]
    if isinstance(kind, Number):
        _cast(operand, kind.scale)
    else:
        operand.replace(exp.paren(_times_one(operand, MOST_DIGITS, 0), copy=False))


def _times_one(value: exp.Expr, precision: int, scale: int) -> exp.Expr:
    one = exp.cast(exp.Literal.number(1), f"DECIMAL({precision}, {scale})")
    inner = value.copy()
    if isinstance(inner, exp.Binary | exp.Neg):
        inner = exp.paren(inner, copy=False)
    return exp.Mul(this=inner, expression=one)


def _cast(node: exp.Expr, scale: int, precision: int = MOST_DIGITS) -> None:
    """Puts a cast around an expression; around the whole window where it is computed over one."""
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        node = node.parent
    bare = node
    while isinstance(bare, exp.Paren):
        bare = bare.this
    node.replace(exp.cast(bare.copy(), f"DECIMAL({precision}, {scale})"))
