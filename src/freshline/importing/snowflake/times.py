"""Times: their parts, whatever the session's zone, and texts that become dates.

Spark's DATE_TRUNC makes a TIMESTAMP of a TIMESTAMP_NTZ first: in the hour that a zone with summer
time leaves out, that is another time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kind, Kinds, Other, branches, declared
from freshline.importing.snowflake.texts import MEETING, meetings

TRUNCATED = (exp.DateTrunc, exp.TimestampTrunc)
TIMES = (Other.DATE, Other.NTZ, Other.LTZ, Other.TZ)
_MOMENTS = (Other.LTZ, Other.TZ)
_LOCAL = (Other.DATE, Other.NTZ)
_OF_TIMES = (*TRUNCATED, exp.Year, exp.Month, exp.Day)
_AS_BOTH_READ_IT = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}"
    r"([ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,6})?)?( ?(Z|[+-]\d{2}:\d{2}))?)?"
)
_AS_SPARK_READS_IT = (
    "texts that become dates or times are read as Spark reads them: of digits alone ('2024') it"
    " makes a year, Snowflake seconds since 1970"
)
_LOOKS_LIKE_A_DATE = re.compile(r"\s*(\d{4}|\d{4,7}-\d{1,2}(-\d{1,2}([ T].*)?)?)\s*")
_BESIDE_UNKNOWN = (
    "a text that looks like a date stands beside a value whose type the script does not say: if"
    " that is a time, Spark may make another time of the text ('2024' is a year; in Snowflake it"
    " is a second of 1970)"
)
_BY_ZONE = (
    "dates, hours and texts of a TIMESTAMP_TZ are those of Spark's time zone; in Snowflake they are"
    " those of the offset that each value has"
)
_DATES = ("YEAR", "QUARTER", "MONTH")
_PARTS = {"DAY": (), "HOUR": ("HOUR",), "MINUTE": ("HOUR", "MINUTE")}
_KIND = "freshline_kind"
_Leaf = tuple[exp.Expr | Kind, Kind]


def texts_as_times(query: exp.Expr, kinds: Kinds) -> tuple[str, ...]:
    """What is different about texts that become times, or may become some.

    Raises:
        UntranslatableError: A literal is read in two ways.
    """
    notes: dict[str, None] = {}
    for node, text, surely in _texts(query, kinds):
        literal = text.unnest() if isinstance(text, exp.Expr) else None
        told = literal.name if isinstance(literal, exp.Literal) else None
        if told is not None and _AS_BOTH_READ_IT.fullmatch(told):
            continue
        if not surely:
            if told is not None and _LOOKS_LIKE_A_DATE.fullmatch(told):
                notes[_BESIDE_UNKNOWN] = None
        elif told is None:
            notes[_AS_SPARK_READS_IT] = None
        else:
            raise UntranslatableError(
                f"{shown(node)} makes a time of '{told}', which Snowflake and Spark read"
                " in two ways: write it like '2024-05-31' or '2024-05-31 12:00:00'"
            )
    return tuple(notes)


def _texts(query: exp.Expr, kinds: Kinds) -> Iterator[tuple[exp.Expr, exp.Expr | Kind, bool]]:
    """The texts that become times, where, and whether they do so surely."""
    node: exp.Expr
    for node in query.find_all(exp.Cast, *_OF_TIMES):
        is_time = not isinstance(node, exp.Cast) or declared(node.to) in TIMES
        if is_time:
            yield from (
                (node, each, True)
                for each in _leaves(node.this)
                if isinstance(each, exp.Expr) and kinds.of(each) is Other.TEXT
            )
    for node, leaves in _met(query, kinds):
        found = {kind for _, kind in leaves}
        surely = not found.isdisjoint(TIMES)
        if surely or None in found:
            yield from ((node, each, surely) for each, kind in leaves if kind is Other.TEXT)


def _met(query: exp.Expr, kinds: Kinds) -> Iterator[tuple[exp.Expr, list[_Leaf]]]:
    """The values that are compared or become one column, with their kinds, and where."""
    node: exp.Expr
    for node in query.find_all(*MEETING):
        for meeting in _columns(node) or meetings(node, kinds):
            leaves = [leaf for each in meeting for leaf in _leaves(each)]
            yield node, [(each, kinds.of(each) if isinstance(each, exp.Expr) else each)
                         for each in leaves]  # fmt: skip


def _leaves(value: exp.Expr | Kind) -> Iterator[exp.Expr | Kind]:
    """The expressions whose value a CASE or COALESCE can have, through all that are nested."""
    inner = value.unnest() if isinstance(value, exp.Expr) else value
    if isinstance(inner, exp.Alias):
        yield from _leaves(inner.this)
    elif isinstance(inner, exp.Case | exp.Coalesce | exp.If):
        for each in branches(inner):
            yield from _leaves(each)
    elif not isinstance(inner, exp.Null):
        yield inner


def _columns(node: exp.Expr) -> Sequence[Sequence[exp.Expr]]:
    """What meets in each column of a set operation; nothing where that is not to be seen."""
    if not isinstance(node, exp.SetOperation):
        return ()
    selects, todo = [], [node.this, node.expression]
    while todo:
        query = todo.pop().unnest()
        if isinstance(query, exp.SetOperation):
            todo += [query.this, query.expression]
        else:
            selects.append(query)
    lists = [each.expressions for each in selects if isinstance(each, exp.Select)]
    one = len(lists) == len(selects) and len({len(each) for each in lists}) == 1
    if not one or any(each.is_star for each in selects):
        return ()
    return list(zip(*lists, strict=True))


def by_zone(query: exp.Expr, kinds: Kinds) -> str | None:
    """What is different where a query takes a date, an hour or a text of a TIMESTAMP_TZ."""
    nodes = query.find_all(exp.Cast, exp.DPipe, *_OF_TIMES)
    parts = (part for node in nodes for part in (node.this, node.args.get("expression")))
    return _BY_ZONE if any(kinds.of(part) is Other.TZ for part in parts) else None


def by_session(query: exp.Expr, kinds: Kinds) -> bool:
    """Whether values or rows of a query depend on the session's time zone, as far as it is seen.

    A text, DATE or TIMESTAMP_NTZ is a moment only in a zone. A value that is not declared may be a
    TIMESTAMP_LTZ; dates of those that are declared are told where they are declared.
    """
    for node in query.find_all(exp.Cast, *_OF_TIMES):
        is_date = not isinstance(node, exp.Cast) or declared(node.to) in _LOCAL
        if is_date and kinds.of(node.this) is None:
            return True
    for _, leaves in _met(query, kinds):
        found = {kind for _, kind in leaves}
        if None in found and any(_is_date(*each) for each in leaves):
            return True
        if not found.isdisjoint(_MOMENTS) and any(_is_local(*each) for each in leaves):
            return True
    return False


def needs_zone(query: exp.Expr, kinds: Kinds) -> bool:
    """Whether anything in a query may depend on a time zone: it has a moment, or compares dates."""
    values = query.find_all(exp.Column, exp.Cast)
    return (
        by_session(query, kinds)
        or by_zone(query, kinds) is not None
        or any(kinds.of(each) in _MOMENTS for each in values)
    )


def _is_date(leaf: exp.Expr | Kind, kind: Kind) -> bool:
    """Whether it is a date or time without a zone, or a literal that looks like one."""
    told = leaf.name if isinstance(leaf, exp.Literal) else ""
    is_date = _AS_BOTH_READ_IT.fullmatch(told) is not None
    return kind in _LOCAL or (is_date and _is_local(leaf, kind))


def _is_local(leaf: exp.Expr | Kind, kind: Kind) -> bool:
    """Whether it is a moment in a zone alone: anything but a literal with an offset."""
    found = _AS_BOTH_READ_IT.fullmatch(leaf.name) if isinstance(leaf, exp.Literal) else None
    return kind in _LOCAL or (kind is Other.TEXT and (found is None or found[4] is None))


def mark_truncated(query: exp.Expr, kinds: Kinds) -> bool:
    """Notes what each DATE_TRUNC is of; whether one is of something that is not known."""
    unknown = False
    for node in query.find_all(*TRUNCATED):
        kind = kinds.of(node.this)
        node.meta[_KIND] = kind
        unknown |= kind not in TIMES
    return unknown


def truncate(query: exp.Expr) -> None:
    """Replaces each DATE_TRUNC that was found to be of a DATE or a TIMESTAMP_NTZ.

    Any other becomes Spark's DATE_TRUNC. A TRUNC(value, 'DAY') would be written as Spark's TRUNC,
    which makes a DATE, or NULL of what is shorter than a week.
    """
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
        elif isinstance(node, exp.DateTrunc):
            node.replace(exp.TimestampTrunc(this=value, unit=exp.var(unit)))


_NTZ = "TIMESTAMP_NTZ"


def _first_day(date: exp.Expr, unit: str) -> exp.Expr:
    if unit in _DATES:
        months = exp.Literal.string(unit)
        return exp.Anonymous(this="TRUNC", expressions=[date.copy(), months])
    return exp.paren(date.copy(), copy=False) if isinstance(date, exp.Binary) else date.copy()


def _call(name: str, value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[value.copy()])
