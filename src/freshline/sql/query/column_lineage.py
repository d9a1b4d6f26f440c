"""Which input columns each output column of a query is made of.

Read from the normalised query, so from what the view means, whatever strategy computed it. A
column reaches an output unchanged (IDENTITY), through an expression (TRANSFORMATION) or through
an aggregate (AGGREGATION). Columns that only decide which rows there are (of join conditions,
filters, groups, orders) affect the whole output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from freshline.sql.query.normal import normalise, source_name
from freshline.sql.query.records import Source
from freshline.sql.query.scopes import items_of
from freshline.sql.text.canonical import is_aggregate

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2}
_CLAUSES = (
    ("where", "FILTER"), ("having", "FILTER"), ("qualify", "FILTER"), ("group", "GROUP_BY"),
    ("order", "SORT"), ("sort", "SORT"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class InputColumn:
    """A column of a table that the query reads; both names in lower case."""

    source: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The lineage of one query.

    Attributes:
        outputs: By output column, in their order: how each input column reaches it.
        rows: Input columns that decide which rows there are, and how: FILTER, JOIN, GROUP_BY, SORT.
    """

    outputs: Mapping[str, Mapping[InputColumn, str]]
    rows: Mapping[InputColumn, frozenset[str]] = field(default_factory=dict)


def column_lineage(query: str, sources: Sequence[Source]) -> ColumnLineage:
    """The lineage of ``query``.

    Args:
        query: As the view has it.
        sources: Every table that it reads, with its columns.

    Raises:
        Unsupported: The query cannot be read, or its names cannot be resolved.
    """
    tree = normalise(query, sources)
    return _Walk(tree).lineage()


class _Walk:
    """One normalised query: every alias in it is unique."""

    def __init__(self, tree: exp.Query) -> None:
        self._tree = tree
        self._relations = {
            item.alias_or_name: item
            for select in tree.find_all(exp.Select)
            for item in items_of(select)
        }

    def lineage(self) -> ColumnLineage:
        outputs = {
            name: self._merged(self._of_expression(item) for item in items)
            for name, items in _columns(self._tree)
        }
        return ColumnLineage(outputs, self._rows())

    def _rows(self) -> dict[InputColumn, frozenset[str]]:
        found: dict[InputColumn, set[str]] = {}

        def add(part: exp.Expr | None, how: str) -> None:
            for column in part.find_all(exp.Column) if part is not None else ():
                for source in self._of_column(column):
                    found.setdefault(source, set()).add(how)

        for query in self._tree.find_all(exp.Query):
            for clause, how in _CLAUSES:
                add(query.args.get(clause), how)
            for join in query.args.get("joins") or []:
                add(join.args.get("on"), "JOIN")
        return {source: frozenset(hows) for source, hows in sorted(found.items())}

    def _of_expression(self, item: exp.Expr) -> dict[InputColumn, str]:
        """How input columns reach one item of a SELECT."""
        inner = item.this if isinstance(item, exp.Alias) else item
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, exp.Column):
            return self._of_column(inner)
        found: dict[InputColumn, str] = {}
        for column in inner.find_all(exp.Column):
            how = AGGREGATION if _is_aggregated(column, inner) else TRANSFORMATION
            for source, before in self._of_column(column).items():
                found[source] = _stronger(found.get(source, IDENTITY), _stronger(how, before))
        return found

    def _of_column(self, column: exp.Column) -> dict[InputColumn, str]:
        relation = self._relations.get(column.table)
        if isinstance(relation, exp.Table) and isinstance(relation.this, exp.Identifier):
            return {InputColumn(source_name(relation), column.name): IDENTITY}
        if isinstance(relation, exp.Subquery):
            return self._merged(
                self._of_expression(item)
                for name, items in _columns(relation)
                if name.lower() == column.name.lower()
                for item in items
            )
        if relation is None:
            return {}
        # A generator: what it makes comes from all that it is given.
        found: dict[InputColumn, str] = {}
        for given in relation.find_all(exp.Column):
            for source, before in self._of_column(given).items():
                found[source] = _stronger(TRANSFORMATION, before)
        return found

    def _merged(self, several: Iterator[dict[InputColumn, str]]) -> dict[InputColumn, str]:
        found: dict[InputColumn, str] = {}
        for each in several:
            for source, how in each.items():
                found[source] = _stronger(found.get(source, IDENTITY), how)
        return dict(sorted(found.items()))


def _columns(query: exp.Expr) -> list[tuple[str, list[exp.Expr]]]:
    """Each output column: its name, and the items of the SELECTs that are put under each other."""
    if isinstance(query, exp.Subquery):
        return _columns(query.this)
    if isinstance(query, exp.SetOperation):
        left, right = _columns(query.left), _columns(query.right)
        if query.args.get("by_name"):
            named = {name.lower(): items for name, items in right}
            return [(name, items + named.get(name.lower(), [])) for name, items in left]
        # A generator in SELECT is one item of several columns, so that a side can seem shorter.
        below = [items for _, items in right] + [[] for _ in left[len(right) :]]
        return [(name, items + below[at]) for at, (name, items) in enumerate(left)]
    assert isinstance(query, exp.Select)
    return [(item.alias_or_name, [item]) for item in query.expressions]


def _is_aggregated(column: exp.Column, top: exp.Expr) -> bool:
    """Whether an aggregate stands around a column, inside ``top``."""
    node: exp.Expr | None = column
    while node is not None:
        if is_aggregate(node):
            return True
        if node is top:
            return False
        node = node.parent
    return False


def _stronger(one: str, other: str) -> str:
    return max(one, other, key=_STRENGTH.__getitem__)
