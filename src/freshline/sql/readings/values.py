"""Expressions of Spark's plan as terms: what value they hold, and how far from which other."""

from __future__ import annotations

import json
import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache

from freshline.sql.readings.terms import (
    DAY_US,
    HOUR_US,
    Attribute,
    Call,
    Links,
    Outer,
    Span,
    Term,
)
from freshline.sql.readings.trees import Tree

_SAME_VALUE = ("Alias", "KnownNullable", "KnownNotNull", "PreciseTimestampConversion")
_TIMES = ("timestamp", "timestamp_ntz", "date")
_UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": HOUR_US,
    "DAY": DAY_US,
    "WEEK": 7 * DAY_US,
    "MON": 31 * DAY_US,
    "MM": 31 * DAY_US,
    "MONTH": 31 * DAY_US,
    "QUARTER": 92 * DAY_US,
    "YEAR": 366 * DAY_US,
    "YYYY": 366 * DAY_US,
    "YY": 366 * DAY_US,
}
"""The longest that each unit is where no clock changes."""


class Values:
    """Makes terms of expressions, and notes in ``links`` what follows from their functions.

    Args:
        links: Those of the rows over which the expressions are computed; added to.
    """

    def __init__(self, links: Links) -> None:
        self.links = links

    def of(self, tree: Tree) -> tuple[Term, int] | None:
        """A term, and what has to be added to it to have the value; None: a constant."""
        kind = tree.kind
        if kind in _SAME_VALUE:
            return self.of(tree.children[0])
        if kind in ("AttributeReference", "NamedLambdaVariable"):
            return self._attribute(tree), 0
        if kind == "OuterReference":
            held = tree.tree("e")
            return None if held is None else (self._outer(held), 0)
        replacement = tree.fields.get("replacement")
        if isinstance(replacement, int) and replacement < len(tree.children):
            return self.of(tree.children[replacement])
        moved = self._moved(tree)
        if moved is not None:
            return moved
        made = self._truncated(tree) or self._months(tree) or self._chosen(tree)
        return self._call(tree) if made is None else made

    def term(self, tree: Tree) -> Term | None:
        """A term that has exactly the value; None: a constant."""
        found = self.of(tree)
        if found is None:
            return None
        term, by = found
        if not by:
            return term
        moved = Call("moved", (term,), str(by))
        self.links.add(moved, term, Span(by, by))
        size = self.links.steps.get(term, 1)
        if by % size == 0:
            self.links.step(moved, size)
        return moved

    def _attribute(self, tree: Tree) -> Attribute:
        found = Attribute(tree.number)
        if tree.text("dataType") == "date":
            self.links.step(found, DAY_US)
        return found

    def _outer(self, tree: Tree) -> Outer:
        found = Outer(tree.number)
        if tree.text("dataType") == "date":
            self.links.step(found, DAY_US)
        return found

    # ---- moved by a constant ----

    def _moved(self, tree: Tree) -> tuple[Term, int] | None:
        kind, children = tree.kind, tree.children
        if kind == "Cast" and tree.text("dataType") in _TIMES:
            return self._cast(tree)
        if kind in ("ParseToDate", "ParseToTimestamp") and len(children) == 1:
            return self._cast(tree)
        by: int | None = None
        at = children[0] if children else tree
        if kind in ("DateAdd", "DateSub"):
            days = constant(children[1])
            by = None if days is None else days * (DAY_US if kind == "DateAdd" else -DAY_US)
        elif kind in ("TimestampAddInterval", "TimeAdd"):
            by = constant(children[1]) if _is_exact(children[1]) else None
        elif kind == "TimestampAdd":
            unit, count = _UNITS_US.get(tree.text("unit").upper(), 0), constant(children[0])
            at = children[1]
            exact = unit and unit <= 7 * DAY_US and count is not None
            by = unit * count if exact and count is not None else None
        elif kind in ("Add", "Subtract") and (amount := constant(children[1])) is not None:
            by = amount if kind == "Add" else -amount
        elif kind == "Add" and (amount := constant(children[0])) is not None:
            at, by = children[1], amount
        if by is None:
            return None
        found = self.of(at)
        return None if found is None else (found[0], found[1] + by)

    def _cast(self, tree: Tree) -> tuple[Term, int] | None:
        """Between times: the same instant, but that a date is the beginning of its day."""
        (child,) = tree.children
        source, target = type_of(child), type_of(tree)
        if source not in _TIMES:
            return None
        if target != "date" or source == "date":
            return self.of(child)
        return self._floor(child, DAY_US, "DAY")

    # ---- floors ----

    def _truncated(self, tree: Tree) -> tuple[Term, int] | None:
        kind, children = tree.kind, tree.children
        if kind in ("TruncTimestamp", "TruncDate"):
            unit, at = (0, 1) if kind == "TruncTimestamp" else (1, 0)
            name = str(_literal(children[unit]) or "").upper()
            size = _UNITS_US.get(name)
            if size is None or (kind == "TruncDate" and size < 7 * DAY_US):
                return None
            return self._floor(children[at], size, _ONE_NAME.get(name, name))
        if kind == "TimeBucket":
            size, origin = constant(children[0]), constant(children[2])
            if not size or children[2].kind != "Literal":
                return None
            begins = children[2].text("value") if origin is None else origin % size
            return self._floor(children[1], size, f"{size} from {begins}")
        if kind == "Subtract" and (modulus := _remainder(children[1])) is not None:
            value, size = modulus
            whole, part = self.of(children[0]), self.of(value)
            if whole is not None and part is not None and whole[0] == part[0]:
                first = (whole[1] - part[1]) % size
                return self._floor(children[0], size, f"{size} from {first}")
        return None

    def _floor(self, tree: Tree, size: int, name: str) -> tuple[Term, int] | None:
        term = self.term(tree)
        if term is None:
            return None
        found = Call("floor", (term,), name)
        fine = self.links.steps.get(term, 1)
        finest = fine if size % fine == 0 else 1
        self.links.add(found, term, Span(finest - size, 0))
        irregular = "from" not in name and size > 7 * DAY_US
        at_zero = "from" not in name or name.endswith(" from 0")
        if name == "WEEK" or irregular:
            self.links.step(found, DAY_US)
        elif at_zero:
            self.links.step(found, size)
        return found, 0

    # ---- others ----

    def _months(self, tree: Tree) -> tuple[Term, int] | None:
        if tree.kind == "LastDay" and (day := self.term(tree.children[0])) is not None:
            last = Call("last day", (day,))
            self.links.add(last, day, Span(0, 30 * DAY_US))
            self.links.step(last, DAY_US)
            return last, 0
        if tree.kind not in ("DateAddYMInterval", "TimestampAddYMInterval", "AddMonths"):
            return None
        months, term = constant(tree.children[1]), self.term(tree.children[0])
        if months is None or term is None:
            return None
        found = Call("months", (term,), str(months))
        lo, hi = days_in(months)
        self.links.add(found, term, Span(lo * DAY_US, hi * DAY_US))
        return found, 0

    def _chosen(self, tree: Tree) -> tuple[Term, int] | None:
        """One of several values that are all NULL if one is."""
        if tree.kind not in ("Greatest", "Least", "Coalesce", "If"):
            return None
        choices = [self.of(each) for each in tree.children[1 if tree.kind == "If" else 0 :]]
        if not choices or any(choice is None for choice in choices):
            return None
        terms = [term for each in tree.children[tree.kind == "If" :] if (term := self.term(each))]
        if len(terms) < len(choices):
            return None
        call = self._call(tree)
        if call is None:
            return None
        apart = [self.links.between(terms[0], other) for other in terms]
        if not all(span.bounded for span in apart):
            return call
        if tree.kind == "Coalesce":
            self.links.add(call[0], terms[0], Span(0, 0))
            return call
        for term in terms:
            reach = [self.links.between(other, term) for other in terms]
            lo, hi = min(span.lo for span in reach), max(span.hi for span in reach)
            if tree.kind == "Greatest":
                lo = max(span.lo for span in reach)
            if tree.kind == "Least":
                hi = min(span.hi for span in reach)
            self.links.add(call[0], term, Span(lo, hi))
        return call

    def _call(self, tree: Tree) -> tuple[Term, int] | None:
        """Any other function: equal where it is the same of equal terms, and no more is known."""
        if tree.kind == "GetStructField":
            return self._field(tree)
        if any(each.kind == "AggregateExpression" or "plan" in each.fields for each in tree.walk()):
            return Call("opaque", (), json.dumps(signature(tree))), 0
        terms = [self.term(child) for child in tree.children]
        if tree.children and all(term is None for term in terms):
            return None
        if not tree.children:
            return None if tree.kind == "Literal" else (Call(tree.kind, (), _detail(tree)), 0)
        details = [
            "" if term is not None else json.dumps(signature(child))
            for term, child in zip(terms, tree.children, strict=True)
        ]
        of = tuple(term for term in terms if term is not None)
        return Call(tree.kind, of, json.dumps([_detail(tree), *details])), 0

    def _field(self, tree: Tree) -> tuple[Term, int] | None:
        whole = self.term(tree.children[0])
        if whole is None:
            return None
        return Call("field", (whole,), tree.text("ordinal")), 0

    def named(self, alias: Tree) -> None:
        """Note what an alias' value is."""
        new, (value,) = Attribute(alias.number), alias.children
        self.is_now(new, value)

    def is_now(self, new: Attribute, value: Tree) -> None:
        """Note that the attribute ``new`` has the value of an expression."""
        term = self.term(value)
        if term is not None and term != new:
            self.links.add(new, term, Span(0, 0))
            if term in self.links.steps:
                self.links.step(new, self.links.steps[term])
        for at, part in enumerate(fields_of(value)):
            held = self.term(part)
            if held is not None:
                self.links.add(Call("field", (new,), str(at)), held, Span(0, 0))
                if held in self.links.steps:
                    self.links.step(Call("field", (new,), str(at)), self.links.steps[held])
        if isinstance(term, Attribute):  # a struct under another name has the same fields
            for known in [t for t in self.links.spans if isinstance(t, Call) and t.of == (term,)]:
                if known.kind == "field":
                    self.links.add(Call("field", (new,), known.detail), known, Span(0, 0))


_EPOCH = ("1970-01-01", "1970-01-01 00:00:00")
_ONE_NAME = {"MON": "MONTH", "MM": "MONTH", "YYYY": "YEAR", "YY": "YEAR"}


def fields_of(tree: Tree) -> Iterator[Tree]:
    """Values of the fields of a struct that is made here."""
    if tree.kind in _SAME_VALUE:
        yield from fields_of(tree.children[0])
    elif tree.kind == "CreateNamedStruct":
        yield from tree.children[1::2]


def type_of(tree: Tree) -> str:
    """Spark's type of an expression, as far as it matters here; else empty."""
    replacement = tree.fields.get("replacement")
    if tree.kind in _TYPES:
        return _TYPES[tree.kind]
    held = tree.tree("e") if tree.kind == "OuterReference" else None
    if held is not None:
        return type_of(held)
    if tree.kind == "GetStructField":
        return "timestamp" if tree.text("name") in ("start", "end") else ""
    if isinstance(replacement, int) and replacement < len(tree.children):
        return type_of(tree.children[replacement])
    if tree.kind in _TYPED_BY:
        return type_of(tree.children[_TYPED_BY[tree.kind]])
    return tree.text("toType") or tree.text("dataType")


_TYPES = {
    "TruncTimestamp": "timestamp",
    "TruncDate": "date",
    "DateAdd": "date",
    "DateSub": "date",
    "ParseToDate": "date",
    "AddMonths": "date",
    "LastDay": "date",
    "DateAddYMInterval": "date",
}
_TYPED_BY = dict.fromkeys(
    (*_SAME_VALUE[:-1], "TimestampAddInterval", "TimeAdd", "TimestampAddYMInterval", "Coalesce",
     "Greatest", "Least"),
    0,
) | {"TimeBucket": 1, "TimestampAdd": 1, "If": 1}  # fmt: skip
"""By kind: the child of whose type the value is."""


def constant(tree: Tree) -> int | None:
    """The number of a constant: microseconds of a time or an interval, months of longer ones."""
    if tree.kind == "Literal":
        return _number(tree)
    parts = [constant(child) for child in tree.children]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    if tree.kind in (*_SAME_VALUE, "Cast") and _keeps_number(tree):
        return known[0]
    if tree.kind == "UnaryMinus":
        return -known[0]
    if tree.kind == "Add":
        return known[0] + known[1]
    if tree.kind == "Subtract":
        return known[0] - known[1]
    if tree.kind in ("Multiply", "MultiplyDTInterval", "MultiplyYMInterval"):
        return known[0] * known[1]
    return None


def _keeps_number(tree: Tree) -> bool:
    return tree.kind != "Cast" or tree.text("dataType") in (
        "tinyint", "smallint", "int", "integer", "long", "bigint",
    )  # fmt: skip


def _number(tree: Tree) -> int | None:
    value, kind = tree.text("value"), tree.text("dataType")
    if re.fullmatch(r"-?\d+", value):
        return int(value)
    return 0 if kind in _TIMES and value in _EPOCH else None


def _literal(tree: Tree) -> str | None:
    return tree.text("value") if tree.kind == "Literal" else None


def _is_exact(tree: Tree) -> bool:
    """Whether an interval is of days and smaller units, not of months."""
    kinds = [each.text("dataType") for each in tree.walk() if each.kind == "Literal"]
    return not any("month" in kind or "year" in kind for kind in kinds)


def _remainder(tree: Tree) -> tuple[Tree, int] | None:
    """The value and the modulus of a remainder that was made non-negative."""
    if tree.kind != "CaseWhen" or len(tree.children) != 3:  # noqa: PLR2004 - with one WHEN
        return None
    test, value, rest = tree.children
    if rest.kind != "Remainder":
        return None
    size = constant(rest.children[1])
    raised = value.kind == "Add" and signature(value.children[0]) == signature(rest)
    if size is None or test.kind != "LessThan" or not raised or constant(value.children[1]) != size:
        return None
    return rest.children[0], size


@cache
def days_in(months: int) -> tuple[int, int]:
    """The fewest and the most days by which adding months moves a date."""
    moved = set()
    for ordinal in range(date(1999, 1, 1).toordinal(), date(2005, 1, 1).toordinal()):
        day = date.fromordinal(ordinal)
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        if not 1 <= year <= 9999:  # noqa: PLR2004 - the calendar's own
            return 28 * months, 31 * months
        last = monthrange(year, month + 1)[1]
        moved.add(date(year, month + 1, min(day.day, last)).toordinal() - ordinal)
    return min(moved), max(moved)


_VOLATILE_FIELDS = frozenset({"exprId", "name", "mutableAggBufferOffset", "inputAggBufferOffset"})


def _detail(tree: Tree) -> str:
    plain: Mapping[str, object] = {
        name: value
        for name, value in tree.fields.items()
        if name not in _VOLATILE_FIELDS and isinstance(value, (str, bool)) and value != ""
    }
    return json.dumps(plain, sort_keys=True)


def signature(tree: Tree) -> list[object]:
    """An expression as plain data, the same for equal ones."""
    own = tree.number if tree.kind in ("AttributeReference", "NamedLambdaVariable") else ""
    below = [signature(child) for child in tree.children]
    held = [signature(each) for each in tree.expressions()]
    return [tree.kind, own, _detail(tree), below, held]
