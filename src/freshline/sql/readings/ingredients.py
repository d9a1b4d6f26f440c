"""What a query consists of, in columns of its sources, so that two queries can be compared.

The texts that are made from a user's query have other names, other groups and other aggregates,
but the same conditions, joins, frames and limits over the same columns of the same tables. Each
column of their result comes from the same columns, and each key of the user's groups is a key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from freshline.sql.readings.conditions import conjuncts
from freshline.sql.readings.plans import output
from freshline.sql.readings.trees import Tree

Columns = frozenset[str]
"""Columns of sources, as ``table.column``."""

_AGGREGATE = "aggregate "
_FUNCTION = "function "
_REWRITTEN = (
    "Alias", "Cast", "Coalesce", "KnownNullable", "KnownNotNull", "If", "CaseWhen", "NullIf",
    "With", "CommonExpressionDef", "CommonExpressionRef", "PreciseTimestampConversion",
    "ParseToDate", "ParseToTimestamp", "TypedNullLiteral", "GetStructField", "Not", "UnaryMinus",
    "UnaryPositive",
)  # fmt: skip
"""Expressions that are written otherwise for the same value."""
_AROUND_CONSTANTS = ("Cast", "UnaryMinus", "UnaryPositive")
"""-1D and DATE '2026-01-01' are written as casts of a number and of a text."""
_BY_UNIT = ("TruncTimestamp", "TruncDate")
"""Their unit means the same in small letters and in capitals; other constants may not."""
_OPPOSITES = {"IsNotNull": "IsNull"}
"""What is the other with a NOT, which is not told either."""
_INNER = ("Inner", "Cross")
_COMPARING = ("EqualTo", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "In",
              "Like", "RLike")  # fmt: skip
_BLOCK = "freshline_block"
_NUMBERS = {
    _BLOCK: "Sequence(0, IntegralDivide(Subtract(count, 1), 1000))",
    "freshline_copy": "Sequence(1, Least(1000, Subtract(count, Multiply(1000, block))))",
}
"""How a group becomes as many rows as came: blocks of a thousand, and the rows of each."""
_COUNTED = {f"{_AGGREGATE}Count", f"{_AGGREGATE}Sum"}
"""What the count of a group's rows comes from, put together from states."""
_SET_OPERATIONS = ("Except", "Intersect")
_LIMITS = ("GlobalLimit", "Offset", "Tail")
_ADDED_KEYS = ("spark_grouping_id", "_gen_grouping_pos")
"""Keys by which Spark tells the rows of one grouping set from those of another."""
_OF_DISTINCT = " of distinct"
_OF_GROUPS = " of groups"
_SAME_TWICE = ("Min", "Max", "MinBy", "MaxBy", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg")
"""DISTINCT means nothing in them."""


_STATES = {
    "Count": ("Count", "Sum"),
    "CountIf": ("CountIf", "Sum"),
    "Average": ("Sum", "Count"),
    "Sum": ("Sum", "Count"),  # of rows that a static table repeats
    "MaxBy": ("MaxBy", "Max"),
    "MinBy": ("MinBy", "Min"),
} | {
    kind: (kind,)
    for kind in (
        "Min", "Max", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg",
        "CollectSet", "Count of distinct", "CountIf of distinct", "Sum of distinct",
        "Average of distinct", "BitXorAgg of distinct",
    )
}  # fmt: skip
"""By kind of aggregate: those by which states of it are made and merged, the first needed."""


@dataclass(slots=True)
class Ingredients:
    """What a plan is made of.

    Attributes:
        shown: Of each column of the result: what it comes from.
        parts: Everything else, a line of text each, without how often.
        keys: Of each key of groups and of distinct rows: what it comes from.
    """

    shown: list[Columns] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)
    keys: set[Columns] = field(default_factory=set)


def ingredients(
    plan: Tree, inner: Collection[str] = (), changing: Collection[str] | None = None
) -> Ingredients:
    """What a simplified plan is made of.

    Args:
        plan: The plan.
        inner: Names of views that are a part of the query and not sources of it.
        changing: Names of the views whose rows change; None: any may. What is aggregated of
            others, no state holds.
    """
    names = None if changing is None else {name.lower() for name in changing}
    reader = _Reader({name.lower() for name in inner}, names)
    held = reader.read(plan, {})
    return Ingredients([held[each.number] for each in output(plan)], reader.parts, reader.keys)


def same_origin(wanted: Columns, made: Columns) -> bool:
    """Whether a column that is put together from states comes from what it should.

    Args:
        wanted: What the column of the user's query comes from.
        made: What the one that is put together comes from.
    """
    if _merges(_of_any_rows(wanted), _of_any_rows(made)):
        return True
    # What is aggregated of groups stands above their states as the user has it.
    above = {each for each in wanted if each.endswith(_OF_GROUPS)}
    same = above == {each for each in made if each.endswith(_OF_GROUPS)}
    return bool(above) and same and _merges(wanted - above, made - above)


def _of_any_rows(columns: Columns) -> Columns:
    return frozenset(each.removesuffix(_OF_GROUPS) for each in columns)


def _merges(wanted: Columns, made: Columns) -> bool:
    """Whether aggregates are put together from their states, and nothing else is used."""
    if _plain(wanted) != _plain(made):
        return False
    kinds, used = _aggregates(wanted), _aggregates(made)
    if not kinds and wanted != made:
        return False
    if any(each.endswith(_OF_DISTINCT) for each in kinds - _STATES.keys()):
        return False
    if not kinds <= _STATES.keys():
        return True  # made of other functions altogether
    needed = {_STATES[kind][0] for kind in kinds}
    return needed <= used <= {each for kind in kinds for each in _STATES[kind]}


def _plain(columns: Columns) -> set[str]:
    return {each for each in columns if not each.startswith((_AGGREGATE, _FUNCTION))}


def _aggregates(columns: Columns) -> set[str]:
    return {each.removeprefix(_AGGREGATE) for each in columns if each.startswith(_AGGREGATE)}


Held = Mapping[int, Columns]


class _Reader:
    def __init__(self, inner: set[str], changing: set[str] | None) -> None:
        self._inner = inner
        self._changing = changing
        self._over_static = self._over_groups = False
        self._orders: dict[int, list[str]] = {}
        self.parts: set[str] = set()
        self.keys: set[Columns] = set()

    def read(self, plan: Tree, around: Held) -> dict[int, Columns]:
        """What each column of a plan comes from; its parts are noted."""
        if plan.kind == "View" and plan.text("desc").lower() not in self._inner:
            name = plan.text("desc").lower()
            return {each.number: frozenset({f"{name}.{each.text('name').lower()}"})
                    for each in output(plan)}  # fmt: skip
        below = [self.read(child, around) for child in plan.children]
        known = dict(around)
        for each in below:
            known |= each
        if plan.kind in ("Union", *_SET_OPERATIONS):
            return self._together(plan, below)
        self._over_static = plan.kind == "Aggregate" and not self._has_changing_rows(plan)
        self._over_groups = plan.kind == "Aggregate" and any(map(_has_groups, plan.children))
        if not self._repeats_rows(plan, known):
            self._note(plan, known)
        if plan.kind == "Distinct":
            self.keys.update(known[each.number] for each in output(plan))
        self.keys.update(self._of([each], known) for each in plan.trees("groupingExpressions"))
        projections = plan.fields.get("projections") or ()
        # Spark leaves them out now and then. A column of grouping sets is then that of its number
        # below, or NULL, which comes from nothing.
        if plan.kind == "Expand" and projections:
            return {
                column.number: self._of([row[at] for row in projections], known)
                for at, column in enumerate(plan.trees("output"))
            }
        if plan.kind == "Generate":
            generator = plan.tree("generator")
            made = self._of([] if generator is None else [generator], known)
            known |= {each.number: made for each in plan.trees("generatorOutput")}
        if plan.kind == "Window":
            known |= {
                each.number: self._of(each.children, known)
                for each in plan.trees("windowExpressions")
            }
        lateral = plan.tree("right")
        beside = lateral.tree("plan") if lateral is not None else None
        if beside is not None:
            known |= self.read(beside, known)
        defines = plan.kind in ("Project", "Aggregate")
        return {
            each.number: self._of(each.children, known)
            if defines and each.kind == "Alias"
            else known.get(each.number, frozenset())
            for each in output(plan)
        }

    def _repeats_rows(self, plan: Tree, known: Held) -> bool:
        """Whether groups become as many rows as came: a state's way to hold rows, no part."""
        made = plan.tree("generator") if plan.kind == "Generate" else None
        names = [each.text("name") for each in plan.trees("generatorOutput")]
        if made is None or not self._inner or made.kind != "Explode" or len(names) != 1:
            return False
        counts = [
            each.number
            for each in made.walk()
            if each.kind == "AttributeReference" and each.text("name") != _BLOCK
        ]
        counted = all(_of_any_rows(known.get(each, frozenset())) == _COUNTED for each in counts)
        return counted and _shape(made.children[0]) == _NUMBERS.get(names[0])

    def _has_changing_rows(self, plan: Tree) -> bool:
        """Whether rows of a plan come from a table that changes: not whether it asks one."""
        if self._changing is None:
            return True
        if plan.kind == "View":
            return plan.text("desc").lower() in self._changing
        asks = plan.kind == "Join" and plan.text("joinType") in ("LeftSemi", "LeftAnti")
        return any(self._has_changing_rows(each) for each in plan.children[: 1 if asks else None])

    def _together(self, plan: Tree, below: list[dict[int, Columns]]) -> dict[int, Columns]:
        columns = [output(child) for child in plan.children]
        found: dict[int, Columns] = {}
        for at, first in enumerate(columns[0]):
            parts = (held[own[at].number] for held, own in zip(below, columns, strict=True))
            found[first.number] = frozenset().union(*parts)
        if plan.kind in _SET_OPERATIONS:
            self.parts.add(f"{plan.kind} all={plan.text('isAll')}")
        return found

    def _of(self, trees: Collection[Tree], known: Held) -> Columns:
        """The columns that expressions are made of, subqueries' results included."""
        found: set[str] = set()
        static, groups = self._over_static, self._over_groups  # a subquery sets its own
        for tree in trees:
            plan = tree.tree("plan")
            if tree.kind == "AttributeReference":
                found |= known.get(tree.number, frozenset())
            elif plan is not None:
                held = self.read(plan, known)
                self._over_static, self._over_groups = static, groups
                if tree.kind != "Exists":
                    found |= frozenset().union(*(held[each.number] for each in output(plan)))
            elif tree.kind == "OuterReference":
                found |= self._of(list(tree.expressions()), known)
            elif tree.kind == "AggregateExpression":
                # Over rows that never change it is no state's: both queries have it as it is.
                kind = _aggregated(tree)
                of = _OF_GROUPS if groups else ""
                found |= {f"{kind} over static rows" if static else f"{_AGGREGATE}{kind}{of}"}
                found |= self._of([*tree.children[0].children, *tree.children[1:]], known)
            elif tree.kind == "WindowExpression" and tree.children[0].kind == "AggregateExpression":
                # Over the groups, so of no state: the query and what is made of states have it.
                inside, *others = tree.children
                found |= {*_function(tree), f"{_aggregated(inside)} over a window"}
                found |= self._of([*inside.children[0].children, *inside.children[1:]], known)
                found |= self._of(others, known)
            else:
                found |= _function(tree)
                found |= self._of([*tree.children, *_unseen(tree)], known)
        return frozenset(found)

    # ---- parts ----

    def _note(self, plan: Tree, known: Held) -> None:
        if plan.kind == "Filter":
            self._filtered(plan.tree("condition"), known)
        elif plan.kind == "Join":
            self._joined(plan, known)
        elif plan.kind == "LateralJoin":
            kind = plan.text("joinType")
            self.parts.add(f"{'Inner' if kind in _INNER else kind} lateral join")
            self._filtered(plan.tree("condition"), known)
        elif plan.kind == "Sort":
            # Told here: above it columns can be gone that only the order needs.
            self._orders[id(plan)] = self._order(plan.trees("order"), known)
        elif plan.kind in _LIMITS:
            self._limit(plan)
        elif plan.kind == "Window":
            self._windows(plan, known)
        elif plan.kind == "Aggregate" and plan.children[0].kind == "Expand":
            self.parts.add(_subtotals(plan))
        elif plan.kind == "Generate":
            made = plan.tree("generator")
            if made is not None:
                told = _listed(self._of([made], known))
                self.parts.add(f"{made.kind} outer={plan.text('outer')} of {told}")

    def _filtered(self, condition: Tree | None, known: Held) -> None:
        for each in conjuncts(condition):
            turned = each.kind == "Not"
            if (each.children[0] if turned else each).kind == "Exists":
                self.parts.add("LeftAnti join" if turned else "LeftSemi join")
                self._of([each], known)
            else:
                self.parts.update(f"condition {told}" for told in self._conditions(each, known))

    def _joined(self, plan: Tree, known: Held) -> None:
        """Of outer joins, what is asked of the other side alone is a condition on its rows."""
        kind, condition = plan.text("joinType"), plan.tree("condition")
        if kind in (*_INNER, "LeftSemi", "LeftAnti"):
            self._filtered(condition, known)
            if kind not in _INNER:
                self.parts.add(f"{kind} join")
            return
        other = {each.number for each in output(plan.children[0 if kind == "RightOuter" else 1])}
        on = []
        for each in conjuncts(condition):
            asked = {a.number for a in each.walk() if a.kind == "AttributeReference"}
            if kind != "FullOuter" and asked <= other:
                self._filtered(each, known)
            else:
                on += list(self._conditions(each, known))
        kind = kind.replace("Right", "Left")
        self.parts.add(f"{kind} join on {'; '.join(sorted(on))}")

    def _conditions(self, condition: Tree | None, known: Held) -> Iterator[str]:
        for each in conjuncts(condition):
            if each.kind == "EqualNullSafe" and self._joins_alike(each, known):
                continue
            if each.kind == "Between":
                for name in ("lower", "upper"):
                    ends = [end for end in (each.tree("input"), each.tree(name)) if end is not None]
                    yield self._told(ends, known)
            else:
                yield self._told([each], known)

    def _told(self, trees: list[Tree], known: Held) -> str:
        literals = sorted({text for tree in trees for text in _literals(tree)})
        return f"of {_computed(self._of(trees, known))} with {', '.join(literals) or 'nothing'}"

    def _joins_alike(self, tree: Tree, known: Held) -> bool:
        """Whether both sides are the same key, as where groups of two states are put together."""
        left, right = (self._of([child], known) for child in tree.children)
        return left == right

    def _limit(self, plan: Tree) -> None:
        amount = next(plan.expressions(), None)
        below = plan.children[0]
        keys: list[str] = []
        while below.kind in ("LocalLimit", "GlobalLimit", "Offset", "Project", "Filter", "Sort"):
            keys = keys or self._orders.get(id(below), [])
            below = below.children[0]
        groups = below.kind in ("Aggregate", "Distinct", "View") and (
            below.kind != "View" or below.text("desc").lower() in self._inner
        )
        said = amount.text("value") if amount is not None else ""
        what = "groups" if groups else "rows"
        self.parts.add(f"{plan.kind} {said} of {what} by {'; '.join(keys)}")

    def _order(self, keys: Collection[Tree], known: Held) -> list[str]:
        return [
            f"{_computed(self._of(each.children[:1], known))} {each.text('direction')}"
            f" {each.text('nullOrdering')}".rstrip()
            for each in keys
        ]

    def _windows(self, plan: Tree, known: Held) -> None:
        for column in plan.trees("windowExpressions"):
            window = next(each for each in column.walk() if each.kind == "WindowExpression")
            function, specification = window.children
            *_, frame = specification.children
            parts = [_computed(self._of([each], known)) for each in plan.trees("partitionSpec")]
            order = self._order(plan.trees("orderSpec"), known)
            ends = [f"{end.kind} {' '.join(_literals(end))}" for end in frame.children]
            kinds = function.children[0] if function.kind == "AggregateExpression" else function
            self.parts.add(
                f"{kinds.kind} of {_listed(self._of([function], known))} in"
                f" {'; '.join(sorted(parts))} by {'; '.join(order)}"
                f" {frame.text('frameType')} {' to '.join(ends)}"
            )


def _shape(tree: Tree) -> str:
    """An expression over a count and the number of a block, without casts."""
    if tree.kind == "Cast":
        return _shape(tree.children[0])
    if tree.kind == "Literal":
        return tree.text("value")
    if tree.kind == "AttributeReference":
        return "block" if tree.text("name") == _BLOCK else "count"
    return f"{tree.kind}({', '.join(_shape(each) for each in tree.children)})"


def _aggregated(tree: Tree) -> str:
    """The kind of an aggregate."""
    kind = tree.children[0].kind
    distinct = tree.fields.get("isDistinct") and kind not in _SAME_TWICE
    return f"{kind}{_OF_DISTINCT if distinct else ''}"


def _function(tree: Tree) -> set[str]:
    """A function with its constants, as what a column comes from."""
    if not tree.children or tree.kind in _REWRITTEN or "replacement" in tree.fields:
        return set()
    held = [each for each in tree.children if _is_constant(each)]
    constants = [text for each in held for text in _literals(each)]
    if tree.kind in _BY_UNIT:
        constants = [text.upper() for text in constants]
    kind = _OPPOSITES.get(tree.kind, tree.kind)
    return {f"{_FUNCTION}{kind} {' '.join(constants)}".strip()}


def _subtotals(plan: Tree) -> str:
    """How many keys ROLLUP, CUBE or GROUPING SETS have, and which of them columns show together.

    Two texts can be one key: ``a + b`` and ``b + a`` are to Spark.
    """
    keys = [
        each.number
        for each in plan.trees("groupingExpressions")
        if each.text("name") not in _ADDED_KEYS
    ]
    shown = {
        tuple(at for at, key in enumerate(keys) if key in _shown_plainly(each))
        for each in plan.trees("aggregateExpressions")
    }
    return f"subtotals by {len(keys)} keys, shown as {sorted(shown - {()})}"


def _shown_plainly(tree: Tree) -> set[int]:
    """The attributes in an expression that no aggregate is made of."""
    if tree.kind == "AggregateExpression":
        return set()
    if tree.kind == "AttributeReference":
        return {tree.number}
    return {number for each in tree.children for number in _shown_plainly(each)}


def _has_groups(plan: Tree) -> bool:
    """Whether rows of a plan are groups, of tables or of states."""
    if plan.kind == "View":
        return False
    return plan.kind in ("Aggregate", "Distinct") or any(map(_has_groups, plan.children))


def _is_constant(tree: Tree) -> bool:
    while tree.kind in _AROUND_CONSTANTS:
        (tree,) = tree.children
    return tree.kind == "Literal"


def _unseen(tree: Tree) -> list[Tree]:
    """Trees in the fields that are not among the children."""
    return [] if tree.children else list(tree.expressions())


def _listed(columns: Columns) -> str:
    return "+".join(sorted(_plain(columns))) or "nothing"


def _computed(columns: Columns) -> str:
    """With its functions, unless those are of an aggregate, which states put together otherwise."""
    functions = {each for each in columns if each.startswith(_FUNCTION)}
    return "+".join([_listed(columns), *sorted(() if _aggregates(columns) else functions)])


def _literals(tree: Tree) -> list[str]:
    """Constants with which something is compared, as text."""
    if tree.kind == "Literal":
        return [_constant(tree)]
    if tree.kind in (*_AROUND_CONSTANTS, "Alias", "KnownNullable") and tree.children:
        held = _literals(tree.children[0])
        return [f"-{each}" for each in held] if tree.kind == "UnaryMinus" else held
    found = []
    for child in tree.children:
        if tree.kind in _COMPARING or child.kind not in ("Literal", *_AROUND_CONSTANTS):
            found += _literals(child) if tree.kind in (*_COMPARING, "And", "Or", "Not") else []
    return found


def _constant(literal: Tree) -> str:
    """A constant's text, the same for one number; times are written in too many ways."""
    value = literal.text("value")
    if literal.text("dataType") == "binary":
        return "bytes"  # the value is the name of a Java object, which no two plans share
    if re.match(r"\d{4}-\d{1,2}-\d{1,2}", value):
        return "a time"
    if re.fullmatch(r"-?\d+\.\d*", value):
        return value.rstrip("0").rstrip(".")
    return value
