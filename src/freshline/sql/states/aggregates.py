"""What every aggregate keeps of a batch, how that merges, and the value in the end.

The table of mergeable aggregates: a state is one or more columns
over the rows of a batch, or a further group key (DISTINCT, percentiles); merging states of two
batches gives the state of both. Whatever has no such rule is refused with its code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.states.moments import VARIANCES, moments_finish, moments_merge, moments_state
from freshline.sql.states.quotients import decimal_digits, exact_quotient
from freshline.sql.text.functions import AGGREGATES

Column = exp.Expr
_FLOATS = re.compile(r"\b(double|float)\b")
_WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
_NAMES: dict[type[exp.Expr], str] = {
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.ArrayUniqueAgg: "collect_set",
    exp.ArrayAgg: "collect_list",
    exp.GroupConcat: "listagg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
    exp.Quantile: "percentile",
    exp.ApproxQuantile: "percentile_approx",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}
_SYNONYMS = {
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
    "mean": "avg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "array_agg": "collect_list",
    "string_agg": "listagg",
    "first_value": "first",
    "last_value": "last",
    "approx_percentile": "percentile_approx",
}
_BUILT: dict[str, type[exp.Func]] = {
    "sum": exp.Sum, "min": exp.Min, "max": exp.Max,
    "bool_and": exp.LogicalAnd, "bool_or": exp.LogicalOr, "bit_and": exp.BitwiseAndAgg,
    "bit_or": exp.BitwiseOrAgg, "bit_xor": exp.BitwiseXorAgg, "avg": exp.Avg,
    "count": exp.Count, "count_if": exp.CountIf, "collect_set": exp.ArrayUniqueAgg,
}  # fmt: skip
_ITSELF = frozenset({"sum", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"})
_SAME_TWICE = _ITSELF - {"sum", "bit_xor"}
"""A value that comes twice changes nothing: multiplicities do not matter."""
_OF_VALUES = frozenset({"count", "count_if", "sum", "avg", "bit_xor"})
"""With DISTINCT: of each value once, so that states keep the values."""
_WEIGHT_DIGITS = 12
"""Of the number of rows that a row stands for."""
_MOST_WEIGHTED = 35
"""Digits of a sum, ten more than its values have: times a weight they have 38 at most. Of wider
products Spark would drop digits behind the point, or they overflow: without ANSI mode that is NULL,
which the sum of the others would pass over."""
_ORDER = frozenset({"any_value", "first", "last", "collect_list", "listagg"})
_APPROXIMATE = frozenset(
    {"approx_count_distinct", "percentile_approx", "count_min_sketch", "histogram_numeric"}
)
_HOLISTIC = frozenset({"mode", "percentile_cont", "percentile_disc"})


@dataclass(frozen=True, slots=True)
class Call:
    """One aggregate call, whatever sqlglot calls it.

    Attributes:
        node: The call with its FILTER and the like, as it stands in the query.
        name: Spark's name, lower case, one for synonyms.
        args: Its arguments, with the FILTER worked into them.
        distinct: ``f(DISTINCT ...)``.
    """

    node: exp.Expr
    name: str
    args: tuple[exp.Expr, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class State:
    """One column of a state.

    Attributes:
        value: Over the rows of a batch.
        merge: Over the state's column: the state of all rows of the group.
        weighted: Over rows that stand for as many rows as the weight says; None: there is no
            such form.
    """

    value: exp.Expr
    merge: Callable[[Column], exp.Expr]
    weighted: Callable[[exp.Expr], exp.Expr] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """How one call is kept, merged and finished.

    Attributes:
        keys: Expressions that become further group keys of the state.
        states: Its columns.
        finish: From the states' columns, the merged states and the keys' columns: the
            aggregate, of its type but for a cast.
    """

    keys: tuple[exp.Expr, ...]
    states: tuple[State, ...]
    finish: Callable[[Sequence[Column], Sequence[exp.Expr], Sequence[Column]], exp.Expr]


def calls_in(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost aggregate calls in an expression, those of its subqueries apart.

    The function of a window (``sum(..) OVER``) is none, but what stands in its arguments is:
    ``sum(sum(x)) OVER ()``.
    """
    if isinstance(tree, exp.Query):
        return
    if isinstance(tree, exp.Window):
        inner = tree.this
        while isinstance(inner, _WRAPPERS):
            inner = inner.this
        parts = [*inner.iter_expressions(), *tree.args.get("partition_by", ())]
        parts += [tree.args["order"]] if tree.args.get("order") else []
        for part in parts:
            yield from calls_in(part)
        return
    if _name(tree) is not None:
        yield tree
        return
    for child in tree.iter_expressions():
        yield from calls_in(child)


def is_call(node: exp.Expr) -> bool:
    """Whether ``node`` is a call of an aggregate, with its FILTER and the like or without."""
    return _name(node) is not None


def call_of(node: exp.Expr) -> Call:
    """The aggregate call at ``node`` in one form.

    Raises:
        Unsupported: It counts the rows that differ in any column, ``count(DISTINCT *)``.
    """
    inner, condition = node, None
    while isinstance(inner, _WRAPPERS):
        if isinstance(inner, exp.Filter):
            condition = inner.expression.this
        inner = inner.this
    name = _name(node)
    assert name is not None
    args: list[exp.Expr] = []
    distinct = False
    for each in _arguments(inner):
        if isinstance(each, exp.Distinct):  # around the first argument, or around all of them
            distinct = True
            args += each.expressions
        else:
            args.append(each)
    if distinct and any(each.is_star for each in args):
        message = "count(DISTINCT *) has no merge rule; name the columns"
        raise unsupported("AGGREGATE", message, node)
    if name == "count" and not args:
        args = [exp.Star()]
    if condition is not None:
        args = _filtered(name, args, condition)
    return Call(node, name, tuple(args), distinct)


def rule_of(call: Call, type_: str, sums: Collection[str] = ()) -> Rule:
    """How ``call``, whose result has the Spark type ``type_``, is kept and merged.

    Args:
        call: The call.
        type_: The simple string.
        sums: Arguments, as text, of which the same query shows a sum that is a double: an
            average beside it needs no sum of its own.

    Raises:
        Unsupported: It has no state that merges; the reason says what to use instead.
    """
    name, args = call.name, call.args
    if isinstance(call.node, exp.IgnoreNulls | exp.RespectNulls) and name not in _ORDER:
        raise unsupported("AGGREGATE", f"{name} with IGNORE NULLS has no merge rule", call.node)
    if name == "collect_set" and _FLOATS.search(type_):
        message = "collect_set of floating-point numbers counts each NaN, and merges none"
        raise unsupported("AGGREGATE", message, call.node)
    if name == "collect_set" or (call.distinct and name in _OF_VALUES):
        return _as_key(call)
    if call.distinct and name not in _SAME_TWICE | {"max_by", "min_by"}:
        raise _refusal(call)
    if name in _ITSELF:
        return _itself(name, args[0], type_)
    if name in {"count", "count_if"}:
        return _count(name, args)
    if name == "avg" and not type_.startswith("interval"):
        return _average(args[0], type_, is_summed=args[0].sql(dialect="spark") in sums)
    if name in VARIANCES:
        return _variance(name, args[0])
    if name in {"max_by", "min_by"} and len(args) == 2:  # noqa: PLR2004 - value and ordering
        return _by(name, args[0], args[1])
    if name in {"median", "percentile"}:
        return _percentile(name, args)
    raise _refusal(call)


def double_sums(calls: Iterable[Call], types: Iterable[str]) -> frozenset[str]:
    """Arguments, as text, of the sums among ``calls`` that are doubles, by the calls' types."""
    return frozenset(
        call.args[0].sql(dialect="spark")
        for call, type_ in zip(calls, types, strict=True)
        if call.name == "sum" and not call.distinct and type_ == "double"
    )


def _name(node: exp.Expr) -> str | None:
    """The name of the aggregate that ``node`` calls; None where it calls none."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    if isinstance(node, exp.Grouping | exp.GroupingId):
        return None
    if isinstance(node, exp.Anonymous):
        name = str(node.name).lower()
        return _SYNONYMS.get(name, name) if name in AGGREGATES else None
    if isinstance(node, exp.Max | exp.Min) and node.expressions:
        return None  # greatest, least
    if isinstance(node, exp.AggFunc):
        name = _NAMES.get(type(node)) or node.sql_name().lower()
        return _SYNONYMS.get(name, name)
    return None


def _arguments(inner: exp.Expr) -> list[exp.Expr]:
    if isinstance(inner, exp.Anonymous):
        return list(inner.expressions)
    if isinstance(inner, exp.Quantile):
        return [inner.this, inner.args["quantile"]]
    return list(inner.iter_expressions())


def _filtered(name: str, args: list[exp.Expr], condition: exp.Expr) -> list[exp.Expr]:
    """The arguments, NULL where the FILTER does not hold: every rule here ignores NULL."""

    def held(value: exp.Expr) -> exp.Expr:
        return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])

    if name in {"max_by", "min_by"}:
        return [args[0], *(held(each) for each in args[1:])]
    if name == "percentile":
        return [held(args[0]), *args[1:]]
    if name == "count":
        args = [exp.Literal.number(1) if isinstance(each, exp.Star) else each for each in args]
    return [held(each) for each in args]


def _function(name: str, *args: exp.Expr) -> exp.Expr:
    built = _BUILT.get(name)
    copies = [each.copy() for each in args]
    if built is None:
        return exp.Anonymous(this=name.upper(), expressions=copies)
    if len(copies) > 1:
        return built(this=copies[0], expressions=copies[1:])
    return built(this=copies[0])


def _total(count: exp.Expr) -> exp.Expr:
    """A sum of counts: none of them is no NULL but zero."""
    return exp.Coalesce(this=_function("sum", count), expressions=[exp.Literal.number(0)])


def _times(value: exp.Expr, weight: exp.Expr) -> exp.Expr:
    return exp.Mul(this=exp.paren(value.copy()), expression=weight.copy())


def _keeps_digits(type_: str) -> bool:
    """Whether values whose sum has this decimal type, times weights, keep all their digits."""
    precision, _ = decimal_digits(type_)
    return precision <= _MOST_WEIGHTED


def _itself(name: str, value: exp.Expr, type_: str) -> Rule:
    weighted: Callable[[exp.Expr], exp.Expr] | None = None
    if name in _SAME_TWICE:
        weighted = lambda weight: _function(name, value)  # noqa: E731, ARG005 - once is enough
    elif name == "sum" and not type_.startswith("decimal"):
        # A FLOAT times a weight is a FLOAT without ANSI mode, where Spark sums up doubles.
        added = exp.cast(value.copy(), "double") if type_ == "double" else value
        weighted = lambda weight: _function("sum", _times(added, weight))  # noqa: E731
    elif name == "sum" and _keeps_digits(type_):
        weighted = lambda weight: _function(  # noqa: E731
            "sum", _times(value, exp.cast(weight, f"decimal({_WEIGHT_DIGITS},0)"))
        )
    state = State(_function(name, value), lambda column: _function(name, column), weighted)
    return Rule((), (state,), lambda _, merged, __: merged[0])


def _counted(name: str, args: Sequence[exp.Expr]) -> State:
    def weighted(weight: exp.Expr) -> exp.Expr:
        if isinstance(args[0], exp.Star):
            return _total(weight)
        if name == "count_if":
            holds: exp.Expr = args[0].copy()
        else:
            holds = exp.and_(
                *(
                    exp.Not(this=exp.Is(this=_bracketed(each), expression=exp.null()))
                    for each in args
                )
            )
        return _total(exp.Case(ifs=[exp.If(this=holds, true=weight.copy())]))

    value = exp.CountIf(this=args[0].copy()) if name == "count_if" else _function(name, *args)
    return State(value, _total, weighted)


def _bracketed(value: exp.Expr) -> exp.Expr:
    """A value that can stand in front of IS: ``(a OR b) IS NULL``.

    The brackets are in the tree, since a state is known by the text of its tree.
    """
    plain = isinstance(value, exp.Column | exp.Literal | exp.Paren)
    return value.copy() if plain else exp.paren(value)


def _count(name: str, args: Sequence[exp.Expr]) -> Rule:
    return Rule((), (_counted(name, args),), lambda _, merged, __: merged[0])


def _average(value: exp.Expr, type_: str, *, is_summed: bool) -> Rule:
    """Sum and count; a sum of doubles where the average is one, as Spark computes it."""
    decimal = type_.startswith("decimal")
    summed = value.copy() if decimal or is_summed else exp.cast(value.copy(), "double")
    total = _itself("sum", summed, _summed_type(type_) if decimal else type_).states[0]

    def finish(_: object, merged: Sequence[exp.Expr], __: object) -> exp.Expr:
        whole, count = merged
        if not decimal:
            return exp.Div(this=whole, expression=_not_zero(count))
        return exact_quotient(whole, _not_zero(count), type_)

    return Rule((), (total, _counted("count", [value])), finish)


def _summed_type(average: str) -> str:
    """The type of a sum of decimals, by that of their average, which has 4 digits more than they.

    A sum has 10 digits more before the point; no type has more than 38 digits.
    """
    precision, scale = decimal_digits(average)
    return f"decimal({min(precision + 6, 38)},{max(scale - 4, 0)})"


def _not_zero(count: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=count.copy(), expression=exp.Literal.number(0))


def _variance(name: str, value: exp.Expr) -> Rule:
    state = State(moments_state(value), moments_merge)
    return Rule((), (state,), lambda columns, _, __: moments_finish(name, columns[0]))


def _by(name: str, value: exp.Expr, order: exp.Expr) -> Rule:
    """The value at the extreme, and the extreme; which of several at a tie is free.

    One struct, so that the value of a merged state belongs to its ordering.
    """
    built = exp.ArgMax if name == "max_by" else exp.ArgMin
    extreme = "max" if name == "max_by" else "min"

    def pair(first: exp.Expr, second: exp.Expr) -> exp.Expr:
        return exp.Struct(
            expressions=[
                exp.PropertyEQ(this=exp.to_identifier("v"), expression=first),
                exp.PropertyEQ(this=exp.to_identifier("o"), expression=second),
            ]
        )

    def both(first: exp.Expr, second: exp.Expr) -> exp.Expr:
        at_extreme = built(this=first.copy(), expression=second.copy())
        return pair(at_extreme, _function(extreme, second))

    def part(column: exp.Expr, name: str) -> exp.Expr:
        return exp.Dot(this=column.copy(), expression=exp.to_identifier(name))

    state = State(
        both(value, order),
        lambda column: both(part(column, "v"), part(column, "o")),
        lambda weight: both(value, order),  # noqa: ARG005 - how often does not matter
    )
    return Rule((), (state,), lambda _, merged, __: part(exp.paren(merged[0]), "v"))


def _percentile(name: str, args: Sequence[exp.Expr]) -> Rule:
    """Every value with its count: exact, and as large as there are distinct values."""
    if name == "percentile" and len(args) != 2:  # noqa: PLR2004 - value and percentage
        raise unsupported("AGGREGATE", "percentile with frequencies has no merge rule")
    share = exp.Literal.number("0.5") if name == "median" else args[1]
    is_minus_zero = exp.EQ(
        this=exp.cast(args[0].copy(), "string"), expression=exp.Literal.string("-0.0")
    )

    def finish(columns: Sequence[Column], _: object, keys: Sequence[Column]) -> exp.Expr:
        key, is_minus = (each.copy() for each in keys)
        # As a group's key -0.0 is 0.0, but Spark's percentile may be -0.0.
        value = exp.If(this=is_minus, true=exp.Neg(this=exp.paren(key.copy())), false=key)
        # Not exp.Quantile: sqlglot would drop the third argument.
        return _function("percentile", value, share, columns[0])

    count = State(exp.Count(this=exp.Star()), _total, lambda weight: weight.copy())
    return Rule((args[0], is_minus_zero), (count,), finish)


def _as_key(call: Call) -> Rule:
    def finish(_: object, __: object, keys: Sequence[Column]) -> exp.Expr:
        copies = [each.copy() for each in keys]
        if call.name == "collect_set":
            return exp.ArrayUniqueAgg(this=copies[0])
        return _BUILT[call.name](this=exp.Distinct(expressions=copies))

    return Rule(call.args, (), finish)


def _refusal(call: Call) -> Unsupported:
    name, node = call.name, call.node
    if name in _ORDER:
        message = f"{name} depends on the order of the rows; use max_by, min_by or collect_set"
        return unsupported("ORDER_DEPENDENT", message, node)
    if name in _HOLISTIC:
        message = f"{name} needs all values at once; use percentile or median, which merge"
        return unsupported("HOLISTIC", message, node)
    if name in _APPROXIMATE or "sketch" in name or name.startswith("approx_"):
        message = f"{name} gives other estimates when merged; use the exact function"
        return unsupported("APPROXIMATE", message, node)
    message = f"{name} has no merge rule; use sums, counts, extremes, averages or variances"
    return unsupported("AGGREGATE", message, node)
