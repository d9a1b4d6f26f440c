"""On which rows of the sources the rows of a plan depend, operator by operator.

A row depends on any row of a source under LIMIT, in a frame without bounds, with a subquery that
is not correlated, and with every operator that is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from freshline.sql.readings.conditions import bound, conjuncts
from freshline.sql.readings.groups import (
    coalesce_detail,
    extreme,
    frame_of,
    in_all_sets,
    in_every_branch,
    made_of,
    of_groups,
    order_of,
    sets_of,
    unmoved,
)
from freshline.sql.readings.plans import output
from freshline.sql.readings.relations import (
    Read,
    Relation,
    by_outer,
    columns_of,
    in_query_around,
    kept,
    outer_terms,
    rebased,
    seen_from,
    terms_of,
)
from freshline.sql.readings.subqueries import Subquery, subqueries
from freshline.sql.readings.terms import ANYTHING, SAME, Attribute, Call, Links, Span, Term
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values


class Reader:
    """Reads a simplified plan.

    Args:
        columns: By name of source in lower case: its column by which reads are told; None: any
            row may matter. A source that is not among them is static.
    """

    def __init__(self, columns: Mapping[str, str | None]) -> None:
        self._columns = columns
        self._known: dict[int, tuple[Tree, Relation]] = {}
        self._operators: Mapping[str, Callable[[Tree], Relation]] = {
            "View": self._source,
            "OneRowRelation": self._constants,
            "LocalRelation": self._constants,
            "Range": self._constants,
            "Project": self._project,
            "Filter": self._filter,
            "Join": self._join,
            "LateralJoin": self._lateral,
            "Aggregate": self._aggregate,
            "Distinct": self._distinct,
            "Window": self._window,
            "Expand": self._expand,
            "Generate": self._generate,
            "Union": self._union,
            "Intersect": self._compared,
            "Except": self._compared,
            "Sort": self._same,
        }

    def read(self, plan: Tree) -> Relation:
        """The relation of a plan's rows."""
        if id(plan) not in self._known:
            operator = self._operators.get(plan.kind, self._anything)
            if plan.kind != "Project" and any(makes_sessions(each) for each in plan.expressions()):
                operator = self._anything
            self._known[id(plan)] = plan, operator(plan)
        return self._known[id(plan)][1]

    # ---- leaves ----

    def _source(self, plan: Tree) -> Relation:
        name = plan.text("desc").lower()
        held = output(plan)
        columns = tuple(Attribute(each.number) for each in held)
        found = Relation(columns)
        for each in held:
            Values(found.links).of(each)
        if name not in self._columns:
            return found
        wanted = self._columns[name]
        at = [
            c for c, each in zip(columns, held, strict=True) if each.text("name").lower() == wanted
        ]
        found.reads.append(Read(name, {at[0]: SAME} if at else {}))
        return found

    def _constants(self, plan: Tree) -> Relation:
        return Relation(tuple(Attribute(each.number) for each in output(plan)))

    # ---- one child ----

    def _same(self, plan: Tree) -> Relation:
        return self.read(plan.children[0])

    def _anything(self, plan: Tree) -> Relation:
        """Of an operator that looks at all rows, or is not known."""
        below = [self.read(child) for child in plan.children]
        reads = [read for each in below for read in each.reads]
        reads += self._in_expressions(plan, Links())
        columns = below[0].columns if below else ()
        return Relation(columns, Links(), by_outer(reads))

    def _project(self, plan: Tree) -> Relation:
        below = self.read(plan.children[0])
        reads = below.reads + self._in_expressions(plan, below.links)
        return self._named(below.links, reads, plan.trees("projectList"))

    def _named(self, links: Links, reads: list[Read], columns: tuple[Tree, ...]) -> Relation:
        """The rows with these columns and no others."""
        links = links.copy()
        values = Values(links)
        for column in columns:
            if column.kind == "Alias" and not makes_sessions(column):
                values.named(column)
        named = tuple(Attribute(column.number) for column in columns)
        return kept(Relation(named, links, reads))

    def _filter(self, plan: Tree) -> Relation:
        below = self.read(plan.children[0])
        links = below.links.copy()
        bound(Values(links), plan.tree("condition"))
        reads = below.reads + self._in_expressions(plan, links)
        return Relation(below.columns, links, reads)

    def _generate(self, plan: Tree) -> Relation:
        below = self.read(plan.children[0])
        columns = tuple(Attribute(each.number) for each in output(plan))
        reads = below.reads + self._in_expressions(plan, below.links)
        return Relation(columns, below.links, reads)

    def _expand(self, plan: Tree) -> Relation:
        if not sets_of(plan):  # Spark leaves them out now and then
            return replace(self._anything(plan), columns=tuple(map(_attribute, output(plan))))
        below = self.read(plan.children[0])
        links = below.links.copy()
        in_all_sets(plan, links)
        columns = tuple(Attribute(each.number) for each in plan.trees("output"))
        return kept(Relation(columns, links, below.reads))

    # ---- groups ----

    def _aggregate(self, plan: Tree) -> Relation:
        below = self.read(plan.children[0])
        links = below.links.copy()
        values = Values(links)
        keys = [term for each in plan.trees("groupingExpressions") if (term := values.term(each))]
        known = [term for term in links.spans if made_of(term, {*keys})]
        reads = rebased(below.reads, links, {*keys, *known, *outer_terms(below)})
        columns = plan.trees("aggregateExpressions")
        grouped = of_groups(links, keys)
        values = Values(grouped)
        for column in columns:
            most = extreme(column)
            if most is None:
                continue
            held = Values(links).term(most)
            for key in keys:
                span = links.between(held, key) if held is not None else ANYTHING
                if span.bounded:
                    grouped.add(Attribute(column.number), key, span)
        reads += self._in_expressions(plan, grouped)
        return self._named(grouped, reads, columns)

    def _distinct(self, plan: Tree) -> Relation:
        below = self.read(plan.children[0])
        reads = rebased(below.reads, below.links, [*below.columns, *outer_terms(below)])
        return Relation(below.columns, below.links, reads)

    def _window(self, plan: Tree) -> Relation:
        below = self.read(plan.children[0])
        links = below.links.copy()
        values = Values(links)
        parts = [term for each in plan.trees("partitionSpec") if (term := values.term(each))]
        order = order_of(plan, values)
        near = links.around(order[0]) if order is not None else {}
        # Rows of one partition share what is made of its keys, such as the start of window(...).
        known = [term for term in links.spans if made_of(term, {*parts})]
        bases = [*parts, *known, *outer_terms(below)]
        reads = list(below.reads)
        for column in plan.trees("windowExpressions"):
            specification = next(e for e in column.walk() if e.kind == "WindowSpecDefinition")
            frame = frame_of(specification)
            for read, others in zip(below.reads, rebased(below.reads, links, bases), strict=True):
                within = dict(others.within)
                if frame is not None and order is not None:
                    within[order[0]] = seen_from(read, near) + (frame if order[1] else -frame)
                reads.append(Read(read.source, within))
        reads += self._in_expressions(plan, links)
        columns = tuple(Attribute(each.number) for each in output(plan))
        return Relation(columns, links, reads)

    # ---- several children ----

    def _join(self, plan: Tree) -> Relation:
        left, right = (kept(self.read(child)) for child in plan.children)
        kind = plan.text("joinType")
        links = left.links.copy()
        links.merge(right.links)
        bound(Values(links), plan.tree("condition"))
        within = self._in_expressions(plan, links)
        if kind in ("Inner", "Cross"):
            columns = (*left.columns, *right.columns)
            return Relation(columns, links, left.reads + right.reads + within)
        if kind == "RightOuter":
            left, right = right, left
        if kind in ("LeftOuter", "RightOuter", "LeftSemi", "LeftAnti"):
            bases = [*terms_of(links, left), *outer_terms(right)]
            reads = left.reads + rebased(right.reads + within, links, bases)
            columns = tuple(Attribute(each.number) for each in output(plan))
            apart = left.links.copy()
            if kind == "LeftSemi":
                apart = links.only(set(left.columns))
            elif kind != "LeftAnti":
                apart.merge(right.links)
            return Relation(columns, apart, reads)
        if kind == "FullOuter":
            return self._full(plan, left, right, links, within)
        return self._anything(plan)

    def _lateral(self, plan: Tree) -> Relation:
        """A subquery for each row of the left side, whose columns it knows as outer ones."""
        left = kept(self.read(plan.children[0]))
        subquery = plan.tree("right")
        inner = subquery.tree("plan") if subquery is not None else None
        if inner is None or plan.text("joinType") not in ("Inner", "Cross", "LeftOuter"):
            return self._anything(plan)
        right = kept(self.read(inner))
        links = left.links.copy()
        for x, near in right.links.spans.items():
            for y, span in near.items():
                if columns_of(x) or columns_of(y):  # else it held of rows that are no more
                    links.add(in_query_around(x), in_query_around(y), span)
        reads = [
            Read(each.source, {in_query_around(term): span for term, span in each.within.items()})
            for each in right.reads
        ]
        columns = (*left.columns, *right.columns)
        if plan.text("joinType") == "LeftOuter":
            bases = terms_of(links, left)
            return Relation(columns, left.links, left.reads + rebased(reads, links, bases))
        bound(Values(links), plan.tree("condition"))
        return Relation(columns, links, left.reads + reads)

    def _full(
        self, plan: Tree, left: Relation, right: Relation, links: Links, more: list[Read]
    ) -> Relation:
        """A row of either side; whichever it is of, the first of two linked times tells."""
        pairs = [
            (x, y)
            for x in terms_of(links, left)
            for y, span in links.spans.get(x, {}).items()
            if span.bounded and set(columns_of(y)) & set(right.columns)
        ]
        apart = left.links.copy()
        apart.merge(right.links)
        reads = []
        for read in left.reads + right.reads + more:
            within: dict[Term, Span] = {}
            for x, y in pairs:
                seen = seen_from(read, links.around(x)).either(seen_from(read, links.around(y)))
                for order in ((x, y), (y, x)):
                    either = Call("Coalesce", order, coalesce_detail(len(order)))
                    if seen.tells:
                        within[either] = seen
                        size = links.steps.get(x, 1)
                        if size == links.steps.get(y, 1):
                            apart.step(either, size)
            reads.append(Read(read.source, within))
        columns = tuple(Attribute(each.number) for each in output(plan))
        return Relation(columns, apart, reads)

    def _union(self, plan: Tree) -> Relation:
        below = [self.read(child) for child in plan.children]
        columns = below[0].columns
        # A column that the first branch has twice has one number, and no values of its own.
        single = [at for at, column in enumerate(columns) if columns.count(column) == 1]
        firsts = [Call("union", (columns[at],)) for at in single]
        reads: list[Read] = []
        choices = []
        for branch in below:
            moved = branch.links.copy()
            for at, first in zip(single, firsts, strict=True):
                mine = branch.columns[at]
                moved.add(first, mine, SAME)
                if mine in moved.steps:
                    moved.step(first, moved.steps[mine])
            reads += [
                Read(read.source, {unmoved(term): span for term, span in read.within.items()})
                for read in rebased(branch.reads, moved, [*firsts, *outer_terms(branch)])
            ]
            choices.append((moved, firsts))
        return Relation(columns, in_every_branch(choices), reads)

    def _compared(self, plan: Tree) -> Relation:
        """EXCEPT and INTERSECT: whole rows, compared with those of the other side."""
        union = self._union(plan)
        left = self.read(plan.children[0])
        return Relation(left.columns, left.links, union.reads)

    # ---- subqueries ----

    def _in_expressions(self, plan: Tree, links: Links) -> list[Read]:
        """What subqueries in the expressions of an operator read."""
        asked = set()
        if plan.kind == "Filter":
            asked = {id(each) for each in conjuncts(plan.tree("condition"))}
        return [
            read
            for expression in plan.expressions()
            for each in subqueries(expression, asked)
            for read in self._correlated(each, links)
        ]

    def _correlated(self, subquery: Subquery, around: Links) -> list[Read]:
        """The reads of a subquery, told from terms of the query around."""
        inner = self.read(subquery.plan)
        links = inner.links.copy()
        held = subquery.compared(around, links)
        return [
            Read(
                read.source,
                {
                    held.get(term) or in_query_around(term): span
                    for term, span in read.within.items()
                },
            )
            for read in rebased(inner.reads, links, [*outer_terms(inner), *held])
        ]


def _attribute(column: Tree) -> Attribute:
    return Attribute(column.number)


def makes_sessions(column: Tree) -> bool:
    """Whether a column holds windows that Spark widens to sessions when it groups by them.

    They are then no function of the row alone; sessions are made of rows that are alike in what is
    grouped by beside them. Spark marks it with metadata, which it does not write, and this name.
    """
    struct = column.children[0].kind == "CreateNamedStruct" if column.children else False
    return column.kind == "Alias" and struct and column.text("name") == "session_window"
