"""Makes every table alias of a qualified query the only one of its name.

Inner queries may use an alias that an outer one has too; then a predicate cannot be moved or
read without its scope. Afterwards an alias alone says which relation a column belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp


def with_unique_aliases(tree: exp.Query) -> exp.Query:
    """``tree``, in which every column names its relation's alias, with all aliases different.

    The first relation of a name keeps it; the next ones are called name_2, name_3, ...
    """
    _Renaming().query(tree, {})
    return tree


class _Renaming:
    def __init__(self) -> None:
        self.taken: set[str] = set()

    def query(self, node: exp.Expr, outer: Mapping[str, str]) -> None:
        """Renames within a query, whose columns may also mean aliases of ``outer``."""
        if isinstance(node, exp.Subquery):
            self._others(node, outer, frozenset())
            self.query(node.this, outer)
        elif isinstance(node, exp.SetOperation):
            self.query(node.left, outer)
            self.query(node.right, outer)
        elif isinstance(node, exp.Select):
            self._select(node, outer)

    def _select(self, select: exp.Select, outer: Mapping[str, str]) -> None:
        seen = dict(outer)
        relations = list(_relations(select))
        for relation in relations:
            if isinstance(relation, exp.Subquery):
                self.query(relation.this, outer)
        for relation in relations:
            alias = relation.args.get("alias")
            if alias is None or not isinstance(alias.this, exp.Identifier):
                continue
            old = alias.name
            seen[old] = self._unique(old)
            alias.set("this", exp.to_identifier(seen[old], quoted=alias.this.quoted))
        self._others(select, seen, frozenset(id(relation) for relation in relations))

    def _others(self, node: exp.Expr, seen: Mapping[str, str], done: frozenset[int]) -> None:
        """Renames columns below ``node`` outside the relations that are done."""
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Subquery) and id(child) in done:
                continue
            if isinstance(node, exp.Subquery) and child is node.this:
                continue
            if isinstance(child, exp.Query):
                self.query(child, seen)
                continue
            if isinstance(child, exp.Column) and child.table in seen:
                child.set("table", exp.to_identifier(seen[child.table]))
            self._others(child, seen, done)

    def _unique(self, name: str) -> str:
        candidate, count = name, 1
        while candidate in self.taken:
            count += 1
            candidate = f"{name}_{count}"
        self.taken.add(candidate)
        return candidate


def _relations(select: exp.Select) -> Iterator[exp.Expr]:
    """What the FROM clause of ``select`` names, in the order of the text."""
    source = select.args.get("from_")
    first = [source.this] if source is not None else []
    joins = [join.this for join in select.args.get("joins") or []]
    for relation in (*first, *joins):
        yield relation
        yield from relation.args.get("laterals") or []
        for join in relation.args.get("joins") or []:
            yield join.this
    yield from select.args.get("laterals") or []
