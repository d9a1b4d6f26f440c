"""What a plan chooses freely among rows that tie, and what all rows share that one choice decides.

``row_number`` numbers rows that tie in any way, ``max_by`` takes any of them, and the next run may
choose otherwise. So a bucket may be computed alone only if it holds all rows that one choice
decides: if its time follows from what these rows share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from freshline.sql.readings.conditions import bound, conjuncts
from freshline.sql.readings.deciding import chosen_in_groups, chosen_in_window
from freshline.sql.readings.groups import coalesce_detail, in_all_sets
from freshline.sql.readings.linearity import mentioned
from freshline.sql.readings.operators import Reader, makes_sessions
from freshline.sql.readings.plans import output
from freshline.sql.readings.relations import (
    columns_of,
    following,
    in_query_around,
    renamed,
    shown,
)
from freshline.sql.readings.subqueries import Subquery, outer_only, outer_values, subqueries
from freshline.sql.readings.terms import SAME, Attribute, Call, Links, Term
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values


@dataclass(frozen=True, slots=True)
class Choice:
    """A free choice among rows that tie.

    Attributes:
        what: Spark's name of what chooses.
        shared: Terms; each has one and the same value in all rows that the choice decides.
        seen: Numbers of the columns that show it; None: it decides which rows there are.
    """

    what: str
    shared: frozenset[Term]
    seen: frozenset[int] | None


class Chooser:
    """Finds the choices of a simplified plan.

    Args:
        reader: Knows what holds of the rows of its operators.
        changing: Names of the sources that change, lower case.
    """

    def __init__(self, reader: Reader, changing: Collection[str]) -> None:
        self._reader = reader
        self._changing = changing
        self._operators: Mapping[str, Callable[[Tree, Links], list[Choice]]] = {
            "Project": self._project,
            "Filter": self._filter,
            "Join": self._join,
            "LateralJoin": self._lateral,
            "Aggregate": self._aggregate,
            "Distinct": self._whole_rows,
            "Window": self._window,
            "Expand": self._expand,
            "Generate": self._generate,
            "Union": self._union,
            "Intersect": self._union,
            "Except": self._union,
            "Sort": self._same,
        }

    def split(self, plan: Tree, at: Attribute) -> list[str]:
        """What chooses among rows that can have several values of a column of the plan."""
        links = self._reader.read(plan).links
        return [
            choice.what for choice in self.read(plan) if at not in following(links, choice.shared)
        ]

    def read(self, plan: Tree) -> list[Choice]:
        """The choices that a plan's rows show."""
        if plan.kind == "View" or not plan.children:
            return []
        links = self._links(plan)
        found = self._operators.get(plan.kind, self._anything)(plan, links)
        found += self._in_expressions(plan, links)
        kept = _columns(plan)
        numbers = {each.number for each in kept}
        restricted = (
            replace(
                choice,
                shared=shown(links, choice.shared, kept),
                seen=None if choice.seen is None else choice.seen & numbers,
            )
            for choice in found
        )
        return list(dict.fromkeys(each for each in restricted if each.seen != frozenset()))

    def _links(self, plan: Tree) -> Links:
        """What holds within an operator, of the rows below it and of its columns."""
        links = Links()
        for child in plan.children:
            links.merge(self._reader.read(child).links)
        values = Values(links)
        inner = plan.text("joinType") in ("Inner", "Cross", "LeftSemi")
        if plan.kind == "Filter" or (plan.kind == "Join" and inner):
            bound(values, plan.tree("condition"))
        for column in (*plan.trees("projectList"), *plan.trees("aggregateExpressions")):
            if column.kind == "Alias" and not makes_sessions(column):
                values.named(column)
        return links

    # ---- one child ----

    def _below(self, plan: Tree) -> list[Choice]:
        return [choice for child in plan.children for choice in self.read(child)]

    def _same(self, plan: Tree, _links: Links) -> list[Choice]:
        return self._below(plan)

    def _whole_rows(self, plan: Tree, _links: Links) -> list[Choice]:
        return [replace(choice, seen=None) for choice in self._below(plan)]

    def _anything(self, plan: Tree, links: Links) -> list[Choice]:
        """Of LIMIT, and of what is not known: all rows see what one of them shows."""
        found = [
            Choice(each.what, outer_only(following(links, each.shared)), None)
            for each in self._below(plan)
        ]
        if mentioned(plan, self._changing):
            found.append(Choice(plan.kind, outer_values(plan), None))
        return found

    def _project(self, plan: Tree, _links: Links) -> list[Choice]:
        return [_in_columns(each, plan.trees("projectList")) for each in self._below(plan)]

    def _filter(self, plan: Tree, _links: Links) -> list[Choice]:
        return [_asked(each, plan.tree("condition")) for each in self._below(plan)]

    def _generate(self, plan: Tree, _links: Links) -> list[Choice]:
        return [_asked(each, plan.tree("generator")) for each in self._below(plan)]

    def _expand(self, plan: Tree, links: Links) -> list[Choice]:
        in_all_sets(plan, links)
        return self._whole_rows(plan, links)

    def _aggregate(self, plan: Tree, links: Links) -> list[Choice]:
        columns = plan.trees("aggregateExpressions")
        found = [
            _in_columns(_asked(each, *plan.trees("groupingExpressions")), columns)
            for each in self._below(plan)
        ]
        shared = outer_values(plan) | {Attribute(each.number) for each in columns}
        for column in columns:
            seen = frozenset({column.number})
            found += [Choice(what, shared, seen) for what in chosen_in_groups(column, links)]
        return found

    def _window(self, plan: Tree, links: Links) -> list[Choice]:
        values = Values(links)
        by = [term for each in plan.trees("partitionSpec") if (term := values.term(each))]
        found = self._below(plan)
        asked = [replace(each, seen=None) for each in self._in_expressions(plan, links)]
        below = found + asked
        unique = self._unique(plan.children[0])
        for column in plan.trees("windowExpressions"):
            seen = frozenset({column.number})
            looked_at = _numbers((column, *plan.trees("partitionSpec"), *plan.trees("orderSpec")))
            for each in below:
                if each.seen is None or each.seen & looked_at:
                    mine = following(links, each.shared, by)
                    near = following(links, {*by, *outer_only(mine)}, mine)
                    found.append(Choice(each.what, frozenset(mine & near), seen))
            chosen = chosen_in_window(plan, column, links, unique)
            if chosen is not None:
                found.append(Choice(chosen[0], chosen[1] | outer_values(plan), seen))
        return found

    def _unique(self, plan: Tree) -> frozenset[Term] | None:
        """Columns by which no two rows of a plan are equal, where that is known."""
        if plan.kind == "Distinct":
            return frozenset(Attribute(each.number) for each in output(plan))
        if plan.kind in ("Filter", "Sort", "Window"):
            return self._unique(plan.children[0])
        links = self._links(plan)
        if plan.kind == "Aggregate":
            keys = map(Values(links).term, plan.trees("groupingExpressions"))
            held: frozenset[Term] | None = frozenset(key for key in keys if key is not None)
        else:
            held = self._unique(plan.children[0]) if plan.kind == "Project" else None
        if held is None:
            return None
        names = [shown(links, [each], _columns(plan)) for each in held]
        columns = [
            next((each for each in own if isinstance(each, Attribute)), None) for own in names
        ]
        known = frozenset(each for each in columns if each is not None)
        return known if None not in columns else None

    # ---- several children ----

    def _join(self, plan: Tree, links: Links) -> list[Choice]:
        condition, kind = plan.tree("condition"), plan.text("joinType")
        left, right = ([_asked(c, condition) for c in self.read(child)] for child in plan.children)
        if kind in ("Inner", "Cross"):
            return left + right
        sides = [_columns(child) for child in plan.children]
        if kind == "RightOuter":
            left, right, kind = right, left, "LeftOuter"
            sides.reverse()
        matched = links.copy()
        bound(Values(matched), condition)
        if kind == "FullOuter":
            return [self._either_side(each, matched, sides) for each in left + right]
        if kind not in ("LeftOuter", "LeftSemi", "LeftAnti"):
            return self._anything(plan, links)
        # A row without a match has none of the other side's values.
        return left + [
            replace(each, shared=shown(matched, each.shared, sides[0]))
            if each.seen is None
            else replace(each, shared=frozenset(following(matched, each.shared)))
            for each in right
        ]

    def _either_side(
        self, choice: Choice, links: Links, sides: Sequence[Sequence[Attribute]]
    ) -> Choice:
        """Of a full join: what a row has of whichever side it is of."""
        mine = following(links, choice.shared)
        pairs = [
            (x, y)
            for x in mine
            for y, span in links.around(x).items()
            if span == SAME and _is_of(x, sides[0]) and _is_of(y, sides[1])
        ]
        both = {
            Call("Coalesce", order, coalesce_detail(len(order)))
            for x, y in pairs
            for order in ((x, y), (y, x))
        }
        return replace(choice, shared=frozenset(both) | outer_only(mine))

    def _lateral(self, plan: Tree, links: Links) -> list[Choice]:
        subquery = plan.tree("right")
        inner = subquery.tree("plan") if subquery is not None else None
        if inner is None or plan.text("joinType") not in ("Inner", "Cross", "LeftOuter"):
            return self._anything(plan, links)
        found = [
            _asked(each, subquery, plan.tree("condition")) for each in self.read(plan.children[0])
        ]
        known = self._reader.read(inner).links
        kept = _columns(plan.children[0])
        for each in self.read(inner):
            terms = {in_query_around(term) for term in following(known, each.shared)}
            if plan.text("joinType") == "LeftOuter":
                terms = {term for term in terms if _is_of(term, kept)}
            found.append(replace(_asked(each, plan.tree("condition")), shared=frozenset(terms)))
        return found

    def _union(self, plan: Tree, _links: Links) -> list[Choice]:
        """Whole rows of all branches, which the other set operations compare."""
        first = [each.number for each in output(plan.children[0])]
        found = []
        for child in plan.children:
            # A column that the first branch has twice has one number, and no values of its own.
            names: dict[Term, Term] = {
                Attribute(each.number): Attribute(number)
                for each, number in zip(output(child), first, strict=True)
                if first.count(number) == 1
            }
            links = self._reader.read(child).links
            for each in self.read(child):
                terms = {
                    told
                    for term in following(links, each.shared)
                    if (told := renamed(term, names)) is not None
                }
                found.append(Choice(each.what, frozenset(terms), None))
        return found

    # ---- subqueries ----

    def _in_expressions(self, plan: Tree, links: Links) -> list[Choice]:
        """What subqueries in the expressions of an operator choose."""
        asked = {id(each) for each in conjuncts(plan.tree("condition"))}
        found = []
        beside = plan.tree("right")
        for expression in plan.expressions():
            if expression is beside:
                continue  # a lateral join's own
            of_column = expression.kind == "Alias"
            seen = frozenset({expression.number}) if of_column else None
            for each in subqueries(expression, asked):
                for what, shared in self._around(each, links):
                    found.append(Choice(what, shared, seen))
        return found

    def _around(self, subquery: Subquery, around: Links) -> Iterator[tuple[str, frozenset[Term]]]:
        """The choices of a subquery, by what rows of the query around share that see one."""
        links = self._reader.read(subquery.plan).links.copy()
        held = subquery.compared(around, links)
        for choice in self.read(subquery.plan):
            if subquery.exists and choice.seen is not None:
                continue
            terms = outer_only(following(links, choice.shared))
            yield choice.what, frozenset(held.get(term) or in_query_around(term) for term in terms)


def _in_columns(choice: Choice, columns: Iterable[Tree]) -> Choice:
    """A choice seen through columns that are made of those which show it."""
    if choice.seen is None:
        return choice
    made = {each.number for each in columns if _numbers([each]) & choice.seen}
    return replace(choice, seen=frozenset(made))


def _asked(choice: Choice, *conditions: Tree | None) -> Choice:
    """A choice below conditions: it decides which rows there are if they ask for it."""
    asked = _numbers([each for each in conditions if each is not None])
    return choice if choice.seen is None or not choice.seen & asked else replace(choice, seen=None)


def _numbers(trees: Iterable[Tree]) -> set[int]:
    """The columns that trees and their subqueries read."""
    return {
        each.number for tree in trees for each in tree.walk() if each.kind == "AttributeReference"
    }


def _is_of(term: Term, columns: Collection[Attribute]) -> bool:
    """Whether a term is made of these columns, and of at least one."""
    own = columns_of(term)
    return bool(own) and all(each in columns for each in own)


def _columns(plan: Tree) -> list[Attribute]:
    return [Attribute(each.number) for each in output(plan)]
