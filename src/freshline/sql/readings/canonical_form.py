"""A plan as text that is the same for two texts of one query.

Names of columns and tables mean nothing in it, nor does it matter whether a column is handed on as
it is or under another name: each expression is written in columns of the sources, and what can
matter for the result stands in its order. So two texts between which names were resolved, and
nothing else was done, are one query if their forms are equal; two equal queries can still have
different forms. Not in it is what Spark leaves out of a plan's JSON: options of ``from_json``, the
patterns of LIKE ANY, rows of VALUES, whether a cast is one that tries.
"""

from __future__ import annotations

import itertools

from freshline.sql.readings.conditions import conjuncts
from freshline.sql.readings.plans import output
from freshline.sql.readings.trees import Tree

_UNTOLD = frozenset({"exprId", "name", "aggregateExpressions", "data"})
"""Names, since a struct's field is told by its place; and the list of aggregates, each of which is
told where it is used. Spark adds aggregates to it that only a window above needs. Of the rows of
VALUES not all are known."""
_COMPARING_ROWS = ("Union", "Except", "Intersect", "Distinct", "Deduplicate")


def canonical_form(plan: Tree) -> str:
    """A simplified plan as text."""
    writer = _Writer()
    body = writer.plan(plan)
    return f"{body} shows {writer.columns(output(plan))}"


class _Writer:
    """Writes a plan, each relation before the expressions over it.

    Spark numbers every column of a plan, and no two have one number.
    """

    def __init__(self) -> None:
        self._columns: dict[int, str] = {}
        self._plain: set[str] = set()  # columns of sources
        self._at = ""  # the relation whose expressions are written
        self._count = itertools.count()
        self._unknown = itertools.count()

    def plan(self, plan: Tree) -> str:
        """A relation and everything below it, with what it does to rows."""
        if plan.kind == "View":
            name = f"{plan.text('desc').lower()}#{next(self._count)}"
            for each in output(plan):
                self._columns[each.number] = f"{name}.{each.text('name').lower()}"
                self._plain.add(self._columns[each.number])
            return name
        if _keeps_rows(plan):
            base, told = self._kept(plan)
            return f"{base} where {' and '.join(sorted(told))}" if told else base
        below = [self.plan(child) for child in plan.children]
        number = self._at = f"#{next(self._count)}"
        said = self._fields(plan)
        if plan.kind in _COMPARING_ROWS:
            rows = [self.columns(output(child)) for child in plan.children]
            said += f" of {' and '.join(rows)}"
        if plan.kind == "Union":
            self._number(output(plan), number)
        self._name(plan.trees("aggregateExpressions"), number)
        self._name(plan.trees("windowExpressions"), number)
        for made in ("generatorOutput", "output"):
            self._number(plan.trees(made), number)
        self._mark_missing(plan, number)
        return f"{plan.kind}{number}({said})[{', '.join(below)}]"

    def _kept(self, plan: Tree) -> tuple[str, list[str]]:
        """A relation, and which of its rows are kept: whichever of them is asked first."""
        if not _keeps_rows(plan):
            return self.plan(plan), []
        base, told = self._kept(plan.children[0])
        self._at = ""
        if plan.kind == "Project":
            self._name(plan.trees("projectList"), "")
        elif plan.kind == "Filter":
            told += [self._condition(each) for each in conjuncts(plan.tree("condition"))]
        else:
            asked = self._asked(plan.children[1], plan.tree("condition"))
            told.append(asked if plan.text("joinType") == "LeftSemi" else f"not {asked}")
        return base, told

    def _condition(self, tree: Tree) -> str:
        is_turned = tree.kind == "Not" and tree.children[0].kind == "Exists"
        plan = (tree.children[0] if is_turned else tree).tree("plan")
        if plan is None or not (is_turned or tree.kind == "Exists"):
            return self._expression(tree)
        asked = self._asked(plan, None)
        return f"not {asked}" if is_turned else asked

    def _asked(self, plan: Tree, condition: Tree | None) -> str:
        """Whether a relation has a row, as a SEMI join and EXISTS ask it."""
        base, told = self._kept(plan)
        told += [self._condition(each) for each in conjuncts(condition)]
        return f"exists({base} where {' and '.join(sorted(told))})"

    def columns(self, columns: tuple[Tree, ...]) -> str:
        """Columns of a result, by what they come from."""
        return ", ".join(
            self._columns.get(each.number) or self._expression(each) for each in columns
        )

    def _name(self, made: tuple[Tree, ...], number: str) -> None:
        """Notes what new columns are made of."""
        self._at = number
        for each in made:
            if each.kind == "Alias":
                self._columns[each.number] = self._expression(each)

    def _mark_missing(self, plan: Tree, number: str) -> None:
        """What is computed on a side of an outer join is NULL where that side is missing."""
        kind = plan.text("joinType")
        sides = {"LeftOuter": (1,), "RightOuter": (0,), "FullOuter": (0, 1)}.get(kind, ())
        beside = [plan.children[side] for side in sides if side < len(plan.children)]
        columns = [column for each in beside for column in output(each)]
        if plan.kind == "LateralJoin" and sides:
            columns = list(output(plan))[len(output(plan.children[0])) :]
        for each in columns:
            text = self._columns.get(each.number)
            if text is not None and text not in self._plain:
                self._columns[each.number] = f"{number}:{text}"

    def _number(self, made: tuple[Tree, ...], number: str) -> None:
        for at, each in enumerate(made):
            self._columns[each.number] = f"{number}.{at}"

    def _expression(self, tree: Tree) -> str:
        if tree.kind == "Alias":
            return self._expression(tree.children[0])
        outer = tree.tree("e") if tree.kind == "OuterReference" else None
        if outer is not None:
            return self._expression(outer)
        if "exprId" in tree.fields and not tree.children and tree.tree("plan") is None:
            if tree.number not in self._columns:  # a lambda's variable
                self._columns[tree.number] = f"new#{next(self._unknown)}"
            return self._columns[tree.number]
        children = ", ".join(self._expression(child) for child in tree.children)
        # An aggregate or a window is that of one relation.
        at = f"{self._at}:" if tree.kind in ("AggregateExpression", "WindowExpression") else ""
        return f"{at}{tree.kind}({self._fields(tree)})[{children}]"

    def _fields(self, tree: Tree) -> str:
        told = sorted(set(tree.fields) - _UNTOLD)
        return " ".join(f"{name}={self._value(tree.fields[name], name)}" for name in told)

    def _value(self, value: object, name: str) -> str:
        if (name, value) == ("joinType", "Cross"):
            return repr("Inner")  # as ``FROM a, b`` is called
        if isinstance(value, tuple):
            return f"({', '.join(self._value(each, name) for each in value)})"
        if not isinstance(value, Tree):
            return repr(value)
        if name == "plan":
            around = self._at
            told = f"{self.plan(value)} shows {self.columns(output(value))}"
            self._at = around
            return told
        return self._expression(value)


def _keeps_rows(plan: Tree) -> bool:
    """Whether a plan has rows of its first child as they are, or with other columns."""
    is_asking = plan.kind == "Join" and plan.text("joinType") in ("LeftSemi", "LeftAnti")
    return is_asking or plan.kind in ("Project", "Filter")
