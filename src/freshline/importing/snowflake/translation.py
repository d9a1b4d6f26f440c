"""Snowflake's SQL as Spark's, where both mean the same; everything else is refused.

sqlglot writes most of Snowflake's syntax for Spark, but not with the same meaning: its DATEADD
drops the time of day, FLATTEN and many functions stay as they are, ``QUALIFY`` under ``*`` adds a
column. So a query may consist only of parts in a list whose meaning was compared.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.snowflake import SnowflakeParser

from freshline.importing.snowflake.aliases import columns_first, without_qualify
from freshline.importing.snowflake.digits import digits_of
from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kind, Kinds, Other, declared
from freshline.importing.snowflake.numbers import Number
from freshline.importing.snowflake.opaque import refuse_opaque
from freshline.importing.snowflake.rows import by_values
from freshline.importing.snowflake.tables import Tables
from freshline.importing.snowflake.texts import (
    literals_that_meet_numbers,
    refuse_computed,
    unescaped_pattern,
)
from freshline.importing.snowflake.times import (
    TIMES,
    TRUNCATED,
    by_zone,
    mark_truncated,
    texts_as_times,
    truncate,
)

SNOWFLAKE = Dialect.get_or_raise("snowflake")


_ADDED = "added"


class _Parser(SnowflakeParser):
    """Notes the parentheses that sqlglot puts around an operand: ``a = b IS NULL`` has none."""

    def _build_predicate(
        self,
        klass: type[exp.Binary],
        this: exp.Expr | None,
        expression: exp.Expr | None,
        *rest: Any,
        **others: Any,
    ) -> exp.Expr:
        built = super()._build_predicate(klass, this, expression, *rest, **others)
        for paren in built.find_all(exp.Paren):
            if paren.this is this or paren.this is expression:
                paren.meta[_ADDED] = True
        return built


def parsed(text: str) -> list[exp.Expr | None]:
    """The statements of a text.

    Raises:
        SqlglotError: It is none that sqlglot knows.
    """
    return _Parser(dialect=SNOWFLAKE).parse(SNOWFLAKE.tokenize(text), text)


class _Writer(SparkGenerator):
    """Leaves each WITH where it is: further out, its names would hide those of tables there."""

    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()


_SAME: frozenset[type[exp.Expression]] = frozenset(
    {
        exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered,
        exp.Distinct, exp.With, exp.CTE, exp.Subquery, exp.Table, exp.TableAlias, exp.Qualify,
        exp.Union, exp.Except, exp.Intersect, exp.Identifier, exp.Column, exp.Star, exp.Alias,
        exp.Literal, exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ,
        exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Is, exp.Like, exp.Exists,
        exp.Case, exp.If, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.DPipe, exp.Cast,
        exp.DataType, exp.DataTypeParam, exp.Tuple, exp.Var, exp.Sum, exp.Count, exp.CountIf,
        exp.Min, exp.Max, exp.Avg, exp.Coalesce, exp.Nullif, exp.Abs, exp.Round, exp.Floor,
        exp.Ceil, exp.Upper, exp.Lower, exp.Length, exp.Window, exp.WindowSpec, exp.RowNumber,
        exp.Rank, exp.DenseRank, exp.Lag, exp.Lead, exp.DateTrunc, exp.TimestampTrunc, exp.Year,
        exp.Month, exp.Day,
    }
)  # fmt: skip
"""Parts with one meaning in both, under the changes of types below. Not in it on purpose:
DATEADD, DATEDIFF (Snowflake counts the boundaries crossed), GREATEST and LEAST (NULL wins there),
FIRST_VALUE and LAST_VALUE (other default frames), paths into VARIANT, the clock."""

_TYPES = {
    **dict.fromkeys(
        (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT),
        "DECIMAL(38, 0)",  # all of them are NUMBER(38, 0); a cast to it rounds
    ),
    exp.DType.FLOAT: "DOUBLE",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
    exp.DType.DATETIME: "TIMESTAMP_NTZ",
    exp.DType.TEXT: "STRING",
    exp.DType.VARCHAR: "STRING",
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.DATE: "DATE",
}
_MEASURED = {
    exp.DType.VARCHAR: "16777216",  # as many characters as there can be
    exp.DType.TEXT: "16777216",
    exp.DType.TIMESTAMP: "9",
    exp.DType.TIMESTAMPNTZ: "9",
    exp.DType.DATETIME: "9",
}
"""Types with a length, and the length that a type without one has, as GET_DDL writes it."""
_STORED: dict[Kind, str] = {
    Other.TEXT: "STRING",
    Other.NTZ: "TIMESTAMP_NTZ",
    Other.LTZ: "TIMESTAMP",
    Other.TZ: "TIMESTAMP",
    Other.BINARY: "BINARY",
}
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
_TRUNC = (
    "DATE_TRUNC gives a TIMESTAMP where the script does not say the type of its value; a"
    " TIMESTAMP_NTZ in the hour that the time zone leaves out becomes one of the next hour"
)
_DIFFERENT: dict[type[exp.Expression], str] = {
    exp.Sub: "the difference of two dates is an INTERVAL, not a number of days",
    **dict.fromkeys(TRUNCATED, _TRUNC),
}
_TEXTS = (exp.Cast, exp.Upper, exp.Lower, exp.Length, exp.Like)
_AS_TEXT = "a FLOAT or a time that becomes text is written as Spark writes it: 1.0, not 1"


def translated(query: exp.Query, tables: Tables) -> tuple[str, tuple[str, ...]]:
    """The query in Spark's SQL, and what is different about its values.

    Args:
        query: As Snowflake runs it.
        tables: What the script says about the tables that it reads.

    Raises:
        UntranslatableError: A part of it has another meaning in Spark, or none.
    """
    copy = query.copy()
    for raw in list(copy.find_all(exp.RawString)):
        raw.replace(exp.Literal.string(raw.this))
    for unequal in list(copy.find_all(exp.NEQ)):
        _not_in(unequal)
    for node in copy.walk():
        if not isinstance(node, exp.Expression) or type(node) not in _SAME:
            raise UntranslatableError(f"{shown(node)} is not translated")
        _check(node)
    by_values(copy)
    kinds = Kinds(tables)
    columns_first(copy, kinds)
    refuse_opaque(copy, kinds)
    different = _rewrite(copy, kinds)
    copy = without_qualify(copy)
    for node in list(copy.find_all(exp.DataType)):
        node.replace(_type(node))
    for name in copy.find_all(exp.Identifier):
        if "$" in name.this:
            name.set("quoted", True)  # no letter of Spark's
    try:
        text = _Writer(
            dialect="spark", unsupported_level=ErrorLevel.RAISE, pretty=True, comments=False
        ).generate(copy)
    except SqlglotError as error:
        raise UntranslatableError(str(error)) from error
    return text, different


def say_recursive(statement: exp.Expr) -> None:
    """Put RECURSIVE where an entry of a WITH reads itself: Snowflake can do without the word."""
    for with_ in statement.find_all(exp.With):
        for cte in with_.expressions:
            union = cte.this.unnest()
            if isinstance(union, exp.Union) and any(
                len(table.parts) == 1 and table.name.lower() == cte.alias.lower()
                for table in union.expression.find_all(exp.Table)
            ):
                with_.set("recursive", True)


def _not_in(unequal: exp.NEQ) -> None:
    """``a <> ALL (query)``, as sqlglot reads ``a NOT IN (query)``, in the words that Spark has."""
    every = unequal.expression
    one = not isinstance(unequal.this, exp.Tuple)  # of rows, Snowflake's answer is another one
    if one and isinstance(every, exp.All) and isinstance(every.this, exp.Query):
        query = exp.Subquery(this=every.this.unnest())
        unequal.replace(exp.Not(this=exp.In(this=unequal.this, query=query)))


def _rewrite(query: exp.Query, kinds: Kinds) -> tuple[str, ...]:
    """Replaces what means something else in Spark, and says what still differs."""
    changes, notes = digits_of(query, kinds)
    literals, as_double = literals_that_meet_numbers(query, kinds)
    refuse_computed(query, kinds)
    as_times = (*texts_as_times(query, kinds), by_zone(query, kinds))
    found = {type(node) for node in query.walk()}
    if not any(_is_of_times(node, kinds) for node in query.find_all(exp.Sub)):
        found.discard(exp.Sub)
    if not mark_truncated(query, kinds):
        found -= set(TRUNCATED)
    different = [*notes, *(text for kind, text in _DIFFERENT.items() if kind in found)]
    if exp.DPipe in found or any(
        _is_text_of_times(node, kinds) for node in query.find_all(*_TEXTS)
    ):
        different.append(_AS_TEXT)
    for literal in literals:  # first: some changes replace a part of the query by a copy
        literal.replace(exp.Literal.number(int(literal.name)))
    for change in changes:
        change()
    truncate(query)
    for pattern in query.find_all(exp.Like):
        unescaped_pattern(pattern)
    return tuple(dict.fromkeys([*different, *filter(None, (as_double, *as_times))]))


def _is_of_times(difference: exp.Sub, kinds: Kinds) -> bool:
    """Whether a difference may be one of two times: nothing says that it is one of numbers."""
    of = (kinds.of(difference.this), kinds.of(difference.expression))
    return not any(isinstance(each, Number) or each is Other.FLOAT for each in of)


def _is_text_of_times(node: exp.Expr, kinds: Kinds) -> bool:
    """Whether it makes a text, perhaps of a FLOAT or a time."""
    if isinstance(node, exp.Cast):
        return node.to.this in exp.DataType.TEXT_TYPES
    return kinds.of(node.this) in {Other.FLOAT, Other.REST, *TIMES}


def stored_type(node: exp.DataType) -> str:
    """The type by which Spark analyses what queries do with a table's column.

    Its values fit already, so lengths and digits go without saying. Of a type that Spark does not
    have they are only handed on (:mod:`freshline.importing.snowflake.opaque`), as a VARIANT is.
    """
    kind = declared(node)
    if kind in _STORED:
        return _STORED[kind]
    return spark_type(node) or "VARIANT"


def spark_type(node: exp.DataType) -> str | None:
    """A type in Spark's SQL; None where it has none of the same values."""
    try:
        return _type(node).sql(dialect="spark")
    except UntranslatableError:
        return None


def _check(node: exp.Expression) -> None:
    """What is the same only under conditions."""
    fault = None
    if isinstance(node, exp.Qualify) and isinstance(node.parent, exp.Select):
        fault = _qualify_fault(node.parent)
    elif isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
        unit = node.args.get("unit")
        if unit is None or unit.name.upper() not in _UNITS:
            fault = f"the unit of {shown(node)} depends on the session"
    elif isinstance(node, exp.Literal) and not node.is_string and "e" in node.name.lower():
        fault = f"{shown(node)} is a DOUBLE in Spark: write it without an exponent"
    elif isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
        fault = f"{shown(node)} is no table"
    elif _is_loose(node):
        fault = f"{shown(node)} has no parentheses that say what belongs together: write them"
    elif any(node.args.get(name) for name in _OTHER_FORMS.get(type(node), ())):
        fault = f"{shown(node)} is not translated"
    if fault is not None:
        raise UntranslatableError(fault)


_OTHER_FORMS: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("exclude", "into", "kind"),
    exp.Star: ("replace", "rename", "ilike"),
    exp.Round: ("truncate",),
    exp.Cast: ("format", "default", "action"),
    exp.DataType: ("collate",),
    exp.Floor: ("decimals", "to"),
    exp.Ceil: ("decimals", "to"),
    exp.Join: ("method", "global_", "global", "match_condition"),
    exp.Union: ("by_name",),
    exp.Except: ("by_name",),
    exp.Intersect: ("by_name",),
}
"""Arguments by which a part means something else."""


def _is_loose(node: exp.Expression) -> bool:
    """Whether Spark reads another structure out of the same words.

    It binds || as + and -, from left to right, and sqlglot looser; of comparisons in a row each of
    them makes something else. Snowflake's manual says neither.
    """
    if isinstance(node, exp.DPipe):
        return isinstance(node.expression, exp.Add | exp.Sub)
    operands = [node.args.get(name) for name in ("this", "expression", "low", "high")]
    added = any(isinstance(each, exp.Paren) and each.meta.get(_ADDED) for each in operands)
    return added or (_is_comparison(node) and any(map(_is_comparison, operands)))


def _is_comparison(node: object) -> bool:
    return isinstance(node, exp.Predicate) and not isinstance(node, exp.SubqueryPredicate)


def _qualify_fault(select: exp.Select) -> str | None:
    """QUALIFY becomes a WHERE around the query, where each column needs a name."""
    for each in select.expressions:
        if each.is_star or not isinstance(each, exp.Column | exp.Alias):
            return f"under QUALIFY, {shown(each)} has to be a column or to have a name by AS"
    return None


def _type(node: exp.DataType) -> exp.DataType:
    kind = node.this
    if kind == exp.DType.DECIMAL:
        return node if node.expressions else exp.DataType.build("DECIMAL(38, 0)", dialect="spark")
    size = [each.name for each in node.expressions]
    if kind not in _TYPES or (size and size != [_MEASURED.get(kind)]):
        raise UntranslatableError(f"the type {shown(node)} is not translated")
    return exp.DataType.build(_TYPES[kind], dialect="spark")
