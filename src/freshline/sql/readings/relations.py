"""What is known of the rows of a plan: bounds between their values, and what they depend on.

Each row depends on rows of a source whose column lies within some span of one of the row's own
terms. Of several terms all spans hold, so that the narrowest counts. Where no term bounds it, a
row depends on any row of that source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from freshline.sql.readings.terms import ANYTHING, SAME, Attribute, Call, Links, Outer, Span, Term


@dataclass(frozen=True, slots=True)
class Read:
    """Rows of a source on which a row depends.

    Attributes:
        source: Its name.
        within: By term of the row: by how much the source's column can lie from it.
    """

    source: str
    within: Mapping[Term, Span]


@dataclass(slots=True)
class Relation:
    """What is known of the rows of a plan."""

    columns: tuple[Attribute, ...] = ()
    links: Links = field(default_factory=Links)
    reads: list[Read] = field(default_factory=list)

    def span(self, source: str, term: Term) -> Span | None:
        """How far from ``term`` the source's column can lie; None: nothing of it is read."""
        mine = [read for read in self.reads if read.source == source]
        if not mine:
            return None
        near = self.links.around(term)
        return _hull([seen_from(read, near) for read in mine])


def seen_from(read: Read, near: Mapping[Term, Span]) -> Span:
    """A read from the term around which ``near`` was found."""
    found = ANYTHING
    for term, span in read.within.items():
        if term in near:
            found = found.both(near[term] + span)
    return found


def _hull(spans: list[Span]) -> Span:
    found = spans[0]
    for span in spans[1:]:
        found = found.either(span)
    return found


def rebased(reads: Iterable[Read], links: Links, bases: Iterable[Term]) -> list[Read]:
    """The reads, told from these terms."""
    near = {base: links.around(base) for base in bases}
    return [
        Read(
            read.source,
            {base: span for base in near if (span := seen_from(read, near[base])).tells},
        )
        for read in reads
    ]


def outer_terms(relation: Relation) -> list[Term]:
    """Terms that are the same for all rows: of outer columns alone."""
    terms = {term for read in relation.reads for term in read.within} | relation.links.spans.keys()
    return [
        term
        for term in terms
        if isinstance(term, Outer) or (isinstance(term, Call) and _is_outer(term))
    ]


def _is_outer(term: Term) -> bool:
    if isinstance(term, Call):
        return bool(term.of) and all(_is_outer(each) for each in term.of)
    return isinstance(term, Outer)


def by_outer(reads: list[Read]) -> list[Read]:
    """The reads as far as outer columns bound them: those bound all rows at once."""
    return [
        Read(each.source, {term: span for term, span in each.within.items() if _is_outer(term)})
        for each in reads
    ]


def columns_of(term: Term) -> list[Attribute]:
    """The row's own columns that a term is made of."""
    if isinstance(term, Attribute):
        return [term]
    return [leaf for each in term.of for leaf in columns_of(each)] if isinstance(term, Call) else []


def terms_of(links: Links, relation: Relation) -> list[Term]:
    """Known terms that are made of the relation's columns."""
    mine = set(relation.columns)
    terms = dict.fromkeys([*links.spans, *(t for read in relation.reads for t in read.within)])
    return [term for term in terms if (own := columns_of(term)) and set(own) <= mine]


def kept(relation: Relation) -> Relation:
    """The relation told by its columns alone."""
    mine = set(relation.columns)
    links = _told_by(relation.links, relation.columns)
    terms = dict.fromkeys(
        [
            *(column for column in relation.columns),
            *(t for t in links.spans if set(columns_of(t)) <= mine),
            *(t for read in relation.reads for t in read.within if set(columns_of(t)) <= mine),
        ]
    )
    reads = rebased(relation.reads, links, terms)
    return Relation(relation.columns, links.only(mine), reads)


def named(links: Links, columns: Iterable[Attribute]) -> dict[Term, Term]:
    """By term: the first of these columns that has its value."""
    found: dict[Term, Term] = {}
    for column in columns:
        for term, span in links.around(column).items():
            if span == SAME:
                found.setdefault(term, column)
    return found | {column: column for column in columns}


def renamed(term: Term, names: Mapping[Term, Term]) -> Term | None:
    """A term in other words; None: a column that it is made of has none."""
    if term in names or isinstance(term, Outer):
        return names.get(term, term)
    return _of_renamed(term, names) if isinstance(term, Call) else None


def _of_renamed(call: Call, names: Mapping[Term, Term]) -> Call | None:
    parts = [renamed(each, names) for each in call.of]
    known = tuple(each for each in parts if each is not None)
    return Call(call.kind, known, call.detail) if len(known) == len(parts) else None


def _told_by(links: Links, columns: Sequence[Attribute]) -> Links:
    """The links, and of what these columns are functions: a day that is made of an hour."""
    names, more = named(links, columns), links.copy()
    for term, column in names.items():
        told = _of_renamed(term, names) if isinstance(term, Call) and term.of else None
        if told is not None and told != column:
            more.add(column, told, SAME)
    return more


def following(links: Links, shared: Iterable[Term], more: Iterable[Term] = ()) -> set[Term]:
    """The terms that follow from those which rows share: equal ones, and functions of them.

    Args:
        links: What holds of these rows.
        shared: What they share.
        more: Terms that the links do not know, and may follow as well.
    """
    calls = {
        part
        for term in (*links.spans, *shared, *more)
        for part in _parts(term)
        if isinstance(part, Call) and part.of
    }
    found: set[Term] = set()
    waiting = list(shared)
    while waiting:
        while waiting:
            term = waiting.pop()
            if term not in found:
                found.add(term)
                waiting += [other for other, span in links.around(term).items() if span == SAME]
        waiting = [each for each in calls - found if all(part in found for part in each.of)]
    return found


def _parts(term: Term) -> Iterator[Term]:
    yield term
    if isinstance(term, Call):
        for each in term.of:
            yield from _parts(each)


def shown(links: Links, shared: Iterable[Term], columns: Iterable[Attribute]) -> frozenset[Term]:
    """What rows share, in terms of these columns alone."""
    names = named(links, columns)
    terms = (renamed(term, names) for term in following(links, shared))
    return frozenset(term for term in terms if term is not None)


def in_query_around(term: Term) -> Term:
    """A term of a subquery's outer columns as one of the query around."""
    if isinstance(term, Outer):
        return Attribute(term.number)
    if isinstance(term, Call):
        return Call(term.kind, tuple(in_query_around(each) for each in term.of), term.detail)
    return term
