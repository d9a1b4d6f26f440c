"""Expressions over times: which are times themselves, and how far from those they use.

Every such expression becomes a time of its own, called by its SQL, bounded against what it is
made of. So ``date_trunc('hour', a.ts) = date_trunc('hour', b.ts)`` links the two hours exactly
and the rows below them by an hour. An expression is a time only where it is NULL exactly when
what it is made of is: that keeps NULL times apart from all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

from sqlglot import exp

from freshline.sql.buckets.relation import Grain, Kind, Padded, Range, Relation, hull
from freshline.sql.query.calendar import (
    Span,
    date_us,
    span_of,
    span_of_text,
    truncation_us,
    unit_name,
    unit_step_us,
)
from freshline.sql.query.normal import is_call_of
from freshline.sql.query.unsupported import unsupported
from freshline.sql.query.zone import DAY_US, HOUR_US, MINUTE_US, Zone

_CAST_KINDS: dict[exp.DType, Kind] = {
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "ntz",
    exp.DType.DATE: "date",
}
_WINDOW_FIELDS = ("start", "end")
_WINDOW_WITH_START = 3


def kind_of_type(name: str) -> Kind | None:
    """The kind of time that a column of this Spark type holds, or None."""
    plain = name.strip().lower()
    if plain in {"timestamp", "timestamp_ltz"}:
        return "timestamp"
    return "ntz" if plain == "timestamp_ntz" else "date" if plain == "date" else None


class Times:
    """Finds the times that expressions over a relation stand for, adding them to it."""

    def __init__(self, relation: Relation, zone: Zone) -> None:
        self.relation = relation
        self.zone = zone

    def fields(self, node: exp.Expr) -> dict[str, str]:
        """The times in ``node`` by field: one under "", or those of a window's struct."""
        node = node.unnest()
        if isinstance(node, exp.Column):
            return dict(self.relation.columns.get((node.table, node.name.lower()), {}))
        if is_call_of(node, "window") and not self._are_keys:
            return self._window(node)
        time = self.time(node)
        return {} if time is None else {"": time}

    def time(self, node: exp.Expr) -> str | None:
        """The time that ``node`` stands for, or None where it is not known to be one."""
        node = node.unnest()
        name = node.sql(dialect="spark")
        if name in self.relation.differences:
            return name
        if isinstance(node, exp.Column):
            return self.relation.columns.get((node.table, node.name.lower()), {}).get("")
        if isinstance(node, exp.Dot):
            return self.fields(node.this).get(node.name.lower())
        if self._are_keys:
            return _coalesce(self, node, name) if isinstance(node, exp.Coalesce) else None
        if is_call_of(node, "session_window"):
            raise unsupported(
                "SESSION", "a session's end depends on rows that may still come", node
            )
        rule = _RULES.get(type(node))
        if rule is None and isinstance(node, exp.Anonymous):
            rule = _CALLS.get(node.name.lower())
        return None if rule is None else rule(self, node, name)

    @property
    def _are_keys(self) -> bool:
        """Whether these are keys: a relation has either all keys or none."""
        return next(iter(self.relation.kinds.values()), None) == "key"

    def derived(
        self, name: str, base: str, change: Range, kind: Kind, grain: Grain | None = None
    ) -> str:
        """Adds the time ``name``, which is ``base`` plus something in ``change``."""
        relation = self.relation
        relation.kinds[name] = kind
        if relation.bases.setdefault(name, base) != base:
            relation.bases[name] = ""
        if grain is not None and grain[0] > 1:
            relation.grains[name] = grain
        elif change[0] == change[1] and base in relation.grains:
            step, phase = relation.grains[base]
            relation.grains[name] = step, (phase + change[0]) % step
        relation.bound(name, base, change)
        return name

    def wall_grain(self, step_us: int) -> Grain | None:
        """The grid of a wall-clock unit, where the zone's offset never changes."""
        if self.zone.shifts:
            return None
        return step_us, -self.zone.offset_lo_us % step_us

    def kind(self, time: str) -> Kind:
        """Its kind."""
        return self.relation.kinds[time]

    def conversion(self, one: Kind, other: Kind) -> Range:
        """Bounds of a time as ``other`` less the same as ``one``, both in microseconds.

        Where zones convert between wall clock and instants is left open: the range holds 0.
        """
        if (one == "ntz") == (other == "ntz"):
            return 0, 0
        lo, hi = self.zone.offset_lo_us, self.zone.offset_hi_us
        bend = self.zone.spread_us
        return (
            (min(0, lo) - bend, max(0, hi) + bend)
            if other == "ntz"
            else (
                min(0, -hi) - bend,
                max(0, -lo) + bend,
            )
        )

    def _window(self, node: exp.Expr) -> dict[str, str]:
        """``window(ts, size, slide, start)``: aligned to 1970 in UTC, without the zone."""
        base = self.time(node.expressions[0]) if node.expressions else None
        sizes = [_text_span(argument) for argument in node.expressions[1:]]
        if base is None or not sizes or any(size is None for size in sizes):
            return {}
        lengths = [_fixed_us(size) for size in sizes if size is not None]
        size_us = lengths[0]
        if size_us is None or size_us <= 0:
            return {}
        call = node.sql(dialect="spark")
        kind = self.kind(base)
        kind = "timestamp" if kind == "date" else kind
        names = {field: f"{call}.{field}" for field in _WINDOW_FIELDS}
        if lengths[1:2] not in ([], [size_us]):
            self.relation.bases[names["start"]] = ""  # a row has several sliding windows
        grain = None  # with a start of its own the grid is moved
        if len(lengths) < _WINDOW_WITH_START and lengths[-1]:
            grain = lengths[-1], 0
        self.derived(names["start"], base, (1 - size_us, 0), kind, grain)
        self.derived(names["end"], names["start"], (size_us, size_us), kind)
        return names


def _text_span(node: exp.Expr) -> Span | None:
    if isinstance(node, exp.Literal) and node.is_string:
        return span_of_text(node.name)
    return span_of(node)


def _fixed_us(span: Span) -> int | None:
    """Length of a window; in windows a day is 24 hours."""
    return None if span.months else span.days * DAY_US + span.micros


def _sum(shift: Range, more: Range) -> Range:
    return shift[0] + more[0], shift[1] + more[1]


def _cast(times: Times, node: exp.Expr, name: str) -> str | None:
    to = node.args.get("to")
    kind = _CAST_KINDS.get(to.this) if isinstance(to, exp.DataType) else None
    base = times.time(node.this)
    day_of = _wall_day_of(node)
    day = None if day_of is None else times.time(day_of)
    if day is not None and times.kind(day) == "ntz":
        return _cut(times, name, day, DAY_US)
    return None if kind is None else _as(times, name, base, kind)


def _wall_day_of(node: exp.Expr) -> exp.Expr | None:
    """The t of ``CAST(CAST(t AS DATE) AS TIMESTAMP_NTZ)``, the start of its day by the clock."""
    for type_ in (exp.DType.TIMESTAMPNTZ, exp.DType.DATE):
        node = node.unnest()
        if not isinstance(node, exp.Cast | exp.TryCast) or node.to.this != type_:
            return None
        node = node.this
    return node.unnest()


def _cut(times: Times, name: str, base: str, step_us: int) -> str:
    """The wall clock's time of ``base``, cut to a day or less: exactly, whatever the zone."""
    change = _sum(times.conversion(times.kind(base), "ntz"), (1 - step_us, 0))
    return times.derived(name, base, change, "ntz", (step_us, 0))


def _cut_by_parts(times: Times, node: exp.Expr, name: str) -> str | None:
    """The day of t ``+ make_dt_interval(0, hour(t), minute(t))``: t without its smaller parts."""
    interval = node.args["expression"].unnest()
    of = _wall_day_of(node.this)
    if of is None or not is_call_of(interval, "make_dt_interval"):
        return None
    days, *parts = interval.expressions or [None]
    kinds = tuple(type(part) for part in parts)
    base = times.time(of)
    if base is None or kinds not in _CUTS or _whole(days) != 0:
        return None
    if any(part.this.unnest() != of for part in parts):
        return None
    return _cut(times, name, base, _CUTS[kinds])


_CUTS: dict[tuple[type[exp.Expr], ...], int] = {
    (exp.Hour,): HOUR_US,
    (exp.Hour, exp.Minute): MINUTE_US,
    (exp.Hour, exp.Minute, exp.Second): 1_000_000,
}


def _as(times: Times, name: str, base: str | None, kind: Kind) -> str | None:
    """``base`` converted to ``kind``."""
    if base is None:
        return None
    known = times.kind(base)
    change = times.conversion(known, kind)
    if kind == "date" and known != "date":
        change = _sum(change, date_us(times.zone))
    return times.derived(name, base, change, kind, _day_grain(times, kind))


def _day_grain(times: Times, kind: Kind) -> Grain | None:
    return times.wall_grain(DAY_US) if kind == "date" else None


def _date(times: Times, node: exp.Expr, name: str) -> str | None:
    if node.args.get("format"):
        return None
    return _as(times, name, times.time(node.this), "date")


def _truncation(times: Times, node: exp.Expr, name: str) -> str | None:
    """``date_trunc('hour', ts)``, a timestamp, and ``trunc(day, 'MM')``, a date."""
    unit, base = node.args.get("unit"), times.time(node.this)
    if unit is None or base is None:
        return None
    change = truncation_us(unit.name, times.zone)
    kind: Kind = "timestamp"
    if isinstance(node, exp.DateTrunc):
        kind = "date"
        if unit_name(unit.name) not in {"WEEK", "MONTH", "QUARTER", "YEAR"}:
            return None  # trunc gives NULL
    if change is None:
        return None
    if kind == "date" or times.kind(base) == "ntz":
        change = _sum(change, (-times.zone.spread_us, times.zone.spread_us))
    change = _sum(change, times.conversion(times.kind(base), kind))
    return times.derived(name, base, change, kind, times.wall_grain(unit_step_us(unit.name)))


def _shifted(times: Times, node: exp.Expr, name: str) -> str | None:
    """A time plus or minus an interval, or a date plus or minus a number of days."""
    if isinstance(node, exp.Add) and (cut := _cut_by_parts(times, node, name)):
        return cut
    base, amount = times.time(node.this), node.args["expression"]
    if base is None and isinstance(node, exp.Add):
        base, amount = times.time(node.expression), node.this
    if base is None:
        return None
    span = span_of(amount)
    if span is None and times.kind(base) == "date" and (days := _whole(amount)) is not None:
        span = Span(days=days)
    if span is None:
        return None
    return _moved(times, name, base, -span if isinstance(node, exp.Sub) else span, times.kind(base))


def _moved(times: Times, name: str, base: str, span: Span, kind: Kind) -> str | None:
    wall = None if times.kind(base) == "ntz" else times.zone
    if span.micros and kind == "date":
        kind = "timestamp"
    return times.derived(name, base, span.bounds_us(wall), kind, _day_grain(times, kind))


def _date_add(times: Times, node: exp.Expr, name: str) -> str | None:
    """``date_add(day, n)``, ``date_sub(day, n)`` and ``add_months(day, n)``: dates."""
    count = _whole(node.args["expression"])
    base = times.time(node.this)
    if count is None or base is None:
        return None
    day = _as(times, f"CAST({node.this.sql(dialect='spark')} AS DATE)", base, "date")
    if times.kind(base) == "date":
        day = base
    assert day is not None
    months = isinstance(node, exp.AddMonths)
    unit = node.args.get("unit")
    if not months and unit is not None and unit.name.upper() != "DAY":
        return None
    return _moved(times, name, day, Span(months=count) if months else Span(days=count), "date")


def _timestamp_add(times: Times, node: exp.Expr, name: str) -> str | None:
    """``dateadd(hour, n, ts)`` and ``timestampadd``."""
    count, base, unit = (
        _whole(node.args["expression"]),
        times.time(node.this),
        node.args.get("unit"),
    )
    span = span_of_text(f"{count} {unit.name}") if count is not None and unit else None
    if span is None or base is None:
        return None
    kind = times.kind(base)
    return _moved(times, name, base, span, "timestamp" if kind == "date" else kind)


def _last_day(times: Times, node: exp.Expr, name: str) -> str | None:
    base = times.time(node.this)
    if base is None or node.args.get("unit"):
        return None
    bend = times.zone.spread_us + times.zone.back_us
    change = (-DAY_US - bend, 30 * DAY_US + bend)
    change = _sum(change, times.conversion(times.kind(base), "date"))
    return times.derived(name, base, change, "date", _day_grain(times, "date"))


def _time_bucket(times: Times, node: exp.Expr, name: str) -> str | None:
    """``time_bucket(size, ts, origin)``: the start of the bucket that holds ts."""
    if len(node.expressions) not in {2, 3}:
        return None
    span, base = span_of(node.expressions[0]), times.time(node.expressions[1])
    if span is None or base is None:
        return None
    kind = times.kind(base)
    length_us = span.bounds_us(times.zone)[1]
    if length_us <= 0:
        return None
    bend = 0 if span.is_fixed else times.zone.spread_us
    kind = "timestamp" if kind == "date" else kind
    grain = times.wall_grain(length_us) if not span.months and len(node.expressions) == 2 else None  # noqa: PLR2004
    return times.derived(name, base, (1 - length_us - bend, bend), kind, grain)


def _extreme(times: Times, node: exp.Expr, name: str) -> str | None:
    """``greatest`` and ``least``: they skip NULLs, so all must be NULL together."""
    arguments = [times.time(argument) for argument in (node.this, *node.expressions)]
    known = [argument for argument in arguments if argument is not None]
    differences = times.relation.differences
    if len(known) < len(arguments) or len({times.kind(time) for time in known}) > 1:
        return None
    pairs = [[differences.between(one, other) for other in known] for one in known]
    if any(pair is None for row in pairs for pair in row):
        return None
    pick: Callable[..., int] = max if isinstance(node, exp.Greatest) else min
    for at, base in enumerate(known):
        changes = [row[at] for row in pairs]
        lo = pick(change[0] for change in changes if change is not None)
        hi = pick(change[1] for change in changes if change is not None)
        times.derived(name, base, (lo, hi), times.kind(base))
    return name


def _coalesce(times: Times, node: exp.Expr, _name: str) -> str | None:
    """``coalesce(a.hour, b.hour)`` above joins."""
    arguments = [times.time(argument) for argument in (node.this, *node.expressions)]
    if any(argument is None for argument in arguments):
        return None
    result = arguments[0]
    for argument in arguments[1:]:
        assert result is not None
        assert argument is not None
        result = _first_of(times, result, argument)
        if result is None:
            return None
    return result


def _first_of(times: Times, one: str, other: str) -> str | None:
    relation = times.relation
    if times.kind(one) != times.kind(other):
        return None
    if relation.differences.between(one, other) is not None:
        return one  # NULL together
    sides = [padded for padded in relation.padded if padded.matched.between(one, other) is not None]
    for padded in sides:
        if not padded.full and other in padded.times:
            return one  # the other is there only where this one is
    name = f"COALESCE({one}, {other})"
    if name in relation.differences:
        return name
    relation.differences.add(name)
    relation.kinds[name] = times.kind(one)
    relation.reads[name] = {
        source: hull(relation.reads_at(one, source), relation.reads_at(other, source))
        for source in relation.sources
    }
    if _is_there(relation, sides, (one, other)):
        relation.null_ok.add(name)
    if any(_joins(side, one, other) for side in sides):
        # Whichever side a row has, it has the value of those that one choice touches.
        relation.choices = [
            ({*shared, name} if {one, other} & relation.following(shared) else shared, what)
            for shared, what in relation.choices
        ]
    return name


def _is_there(relation: Relation, sides: Sequence[Padded], both: Sequence[str]) -> bool:
    """Whether each row has one of the two times, but for those that depend on NULL times only.

    A row of a full join has its left side or its right one. So each side must have one of the
    times, and nothing may have been missing in it before. Nor may the row as a whole be missing
    where a later join keeps another row without a match.

    Args:
        relation: The rows.
        sides: Of joins in whose matches the times are linked.
        both: The times.
    """
    full = [side for side in sides if side.full]
    linked = [set(relation.differences.linked(time)) for time in both]
    return (
        any(all(side.matched.is_nonnull(time) for time in both) for side in full)
        and any(
            linked[0] & one.null_ok and linked[1] & other.null_ok and one.matched is other.matched
            for one, other in permutations(full, 2)
        )
        and all(
            side in full for side in relation.padded if any(times & side.times for times in linked)
        )
    )


def _joins(side: Padded, one: str, other: str) -> bool:
    """Whether rows meet across a join of this side only where both times are the same."""
    apart = (one in side.times) != (other in side.times)
    return apart and side.matched.between(one, other) == (0, 0)


def _whole(node: exp.Expr) -> int | None:
    """A whole number written as a literal, perhaps times minus one."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Mul):
        left, right = _whole(node.this), _whole(node.expression)
        return None if left is None or right is None else left * right
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else None


def _aggregate(times: Times, node: exp.Expr, name: str) -> str | None:
    """``max(ts)`` and ``min(ts)`` of a group, bounded by its keys."""
    relation = times.relation
    if relation.aggregated is None or node.args.get("expressions"):
        return None
    below = Times(relation.aggregated, times.zone).time(node.this)
    if below is None:
        return None
    found = False
    for key in relation.own_times():
        known = relation.aggregated.differences.between(below, key)
        if known is not None and key in relation.reads:
            relation.bound(name, key, known)
            found = True
    relation.kinds[name] = relation.aggregated.kinds[below]
    return name if found else None


_Rule = Callable[[Times, exp.Expr, str], str | None]
_RULES: dict[type[exp.Expr], _Rule] = {
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.TsOrDsToDate: _date,
    exp.TimestampTrunc: _truncation,
    exp.DateTrunc: _truncation,
    exp.Add: _shifted,
    exp.Sub: _shifted,
    exp.TsOrDsAdd: _date_add,
    exp.DateAdd: _date_add,
    exp.AddMonths: _date_add,
    exp.TimestampAdd: _timestamp_add,
    exp.LastDay: _last_day,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Coalesce: _coalesce,
    exp.Max: _aggregate,
    exp.Min: _aggregate,
}
_CALLS: dict[str, _Rule] = {"time_bucket": _time_bucket}
