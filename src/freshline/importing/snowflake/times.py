"""Times: their parts, whatever the session's zone, and texts that become dates.

Spark's DATE_TRUNC makes a TIMESTAMP of a TIMESTAMP_NTZ first: in the hour that a zone with summer
time leaves out, that is another time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kind, Kinds, Other
from freshline.importing.snowflake.texts import MEETING, meetings

TRUNCATED = (exp.DateTrunc, exp.TimestampTrunc)
TIMES = (Other.DATE, Other.NTZ, Other.LTZ)
_OF_TIMES = (*TRUNCATED, exp.Year, exp.Month, exp.Day)
_TIME_TYPES = {
    exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME,
}  # fmt: skip
_AS_BOTH_READ_IT = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}"
    r"([ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,6})?)?( ?(Z|[+-]\d{2}:\d{2}))?)?"
)
_AS_SPARK_READS_IT = (
    "texts that become dates or times are read as Spark reads them: of digits alone ('2024') it"
    " makes a year, Snowflake seconds since 1970"
)
_DATES = ("YEAR", "QUARTER", "MONTH")
_PARTS = {"DAY": (), "HOUR": ("HOUR",), "MINUTE": ("HOUR", "MINUTE")}
_KIND = "freshline_kind"


def texts_as_times(query: exp.Expr, kinds: Kinds) -> str:
    """What is different about texts that become times; empty where nothing is.

    Raises:
        UntranslatableError: A literal is read in two ways.
    """
    note = ""
    for node, text in _texts(query, kinds):
        literal = text.unnest() if isinstance(text, exp.Expr) else None
        if not isinstance(literal, exp.Literal):
            note = _AS_SPARK_READS_IT
        elif not _AS_BOTH_READ_IT.fullmatch(literal.name):
            raise UntranslatableError(
                f"{shown(node)} makes a time of '{literal.name}', which Snowflake and Spark read"
                " in two ways: write it like '2024-05-31' or '2024-05-31 12:00:00'"
            )
    return note


def _texts(query: exp.Expr, kinds: Kinds) -> Iterator[tuple[exp.Expr, exp.Expr | Kind]]:
    """The texts that become times, and where."""
    node: exp.Expr
    for node in query.find_all(exp.Cast, *_OF_TIMES):
        is_time = not isinstance(node, exp.Cast) or node.to.this in _TIME_TYPES
        if is_time and kinds.of(node.this) is Other.TEXT:
            yield node, node.this
    for node in query.find_all(*MEETING):
        for meeting in meetings(node, kinds):
            of = [(each, kinds.of(each) if isinstance(each, exp.Expr) else each)
                  for each in meeting]  # fmt: skip
            if any(kind in TIMES for _, kind in of):
                yield from ((node, each) for each, kind in of if kind is Other.TEXT)


def mark_truncated(query: exp.Expr, kinds: Kinds) -> bool:
    """Notes what each DATE_TRUNC is of; whether one is of something that is not known."""
    unknown = False
    for node in query.find_all(*TRUNCATED):
        kind = kinds.of(node.this)
        node.meta[_KIND] = kind
        unknown |= kind not in TIMES
    return unknown


def truncate(query: exp.Expr) -> None:
    """Replaces each DATE_TRUNC that was found to be of a DATE or a TIMESTAMP_NTZ."""
    for node in reversed(list(query.find_all(*TRUNCATED))):
        kind, unit, value = node.meta.get(_KIND), node.args["unit"].name.upper(), node.this
        if kind is Other.DATE:
            node.replace(_first_day(value, unit))
        elif kind is Other.NTZ and unit in _DATES:
            node.replace(exp.cast(_first_day(exp.cast(value.copy(), "DATE"), unit), _NTZ))
        elif kind is Other.NTZ:
            day = exp.cast(exp.cast(value.copy(), "DATE"), _NTZ)
            parts = [_call(part, value) for part in _PARTS.get(unit, ("HOUR", "MINUTE", "SECOND"))]
            rest = exp.Anonymous(
                this="MAKE_DT_INTERVAL", expressions=[exp.Literal.number(0), *parts]
            )
            whole = exp.Add(this=day, expression=rest)
            node.replace(exp.paren(whole, copy=False) if parts else day)


_NTZ = "TIMESTAMP_NTZ"


def _first_day(date: exp.Expr, unit: str) -> exp.Expr:
    if unit in _DATES:
        months = exp.Literal.string(unit)
        return exp.Anonymous(this="TRUNC", expressions=[date.copy(), months])
    return exp.paren(date.copy(), copy=False) if isinstance(date, exp.Binary) else date.copy()


def _call(name: str, value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[value.copy()])
