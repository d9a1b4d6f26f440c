"""A plan as text that is the same for two texts of one query.

Names of columns and tables mean nothing in it, nor does it matter whether a column is handed on as
it is or under another name: each expression is written in columns of the sources. What can matter
for the result is all in it, in the order in which it stands, so equal texts are equal queries; two
equal queries can still have different texts. Only what Spark leaves out of a plan's JSON is not in
it: whether a cast or an addition is one that tries (``try_cast``).
"""

from __future__ import annotations

import itertools

from freshline.sql.readings.plans import output
from freshline.sql.readings.trees import Tree

_UNTOLD = frozenset({"exprId", "name", "isTempView", "aggregateExpressions"})
"""Fields that say how something is called, a struct's field being told by its place; and what is
aggregated, which is told where it is used. Spark adds what only a window above it needs."""
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
        self._count = itertools.count()
        self._unknown = itertools.count()

    def plan(self, plan: Tree) -> str:
        """A relation and everything below it, with what it does to rows."""
        if plan.kind == "View":
            name = f"{plan.text('desc').lower()}#{next(self._count)}"
            for each in output(plan):
                self._columns[each.number] = f"{name}.{each.text('name').lower()}"
            return name
        below = [self.plan(child) for child in plan.children]
        if plan.kind == "Project":
            self._name(plan.trees("projectList"), "")
            return below[0]
        number = f"#{next(self._count)}"
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
        return f"{plan.kind}{number}({said})[{', '.join(below)}]"

    def columns(self, columns: tuple[Tree, ...]) -> str:
        """Columns of a result, by what they come from."""
        return ", ".join(
            self._columns.get(each.number) or self._expression(each) for each in columns
        )

    def _name(self, made: tuple[Tree, ...], number: str) -> None:
        """Notes what new columns are made of; aggregates and windows are those of one relation."""
        for each in made:
            if each.kind == "Alias":
                text = self._expression(each)
                is_of_rows = any(
                    one.kind in ("AggregateExpression", "WindowExpression") for one in each.walk()
                )
                self._columns[each.number] = f"{number}:{text}" if number and is_of_rows else text

    def _number(self, made: tuple[Tree, ...], number: str) -> None:
        for at, each in enumerate(made):
            self._columns[each.number] = f"{number}.{at}"

    def _expression(self, tree: Tree) -> str:
        if tree.kind == "Alias":
            return self._expression(tree.children[0])
        if "exprId" in tree.fields and not tree.children and tree.tree("plan") is None:
            if tree.number not in self._columns:  # a lambda's variable
                self._columns[tree.number] = f"new#{next(self._unknown)}"
            return self._columns[tree.number]
        children = ", ".join(self._expression(child) for child in tree.children)
        return f"{tree.kind}({self._fields(tree)})[{children}]"

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
            return f"{self.plan(value)} shows {self.columns(output(value))}"
        return self._expression(value)
