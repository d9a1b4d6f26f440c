"""The graph of tables: order, ancestors, dependents, and the periods that follow from it."""

from __future__ import annotations

from collections.abc import Sequence

from freshline.core.errors import UserError
from freshline.core.model import Table, TableSpec


def connected(specs: Sequence[TableSpec], tables: Sequence[Table]) -> None:
    """Set ``sources`` and ``children`` of every table.

    Raises:
        UserError: Two tables of one name, an unknown source, or a cycle.
    """
    by_name: dict[str, Table] = {}
    for table in tables:
        if table.name in by_name:
            raise UserError("duplicate-table", f"two tables are named '{table.name}'")
        by_name[table.name] = table
    children: dict[str, list[Table]] = {table.name: [] for table in tables}
    for spec, table in zip(specs, tables, strict=True):
        sources = []
        for name in spec.sources:
            if name not in by_name:
                raise UserError(
                    "unknown-source",
                    f"table '{table.name}' has the source '{name}', which is not a table",
                )
            sources.append(by_name[name])
            if table not in children[name]:
                children[name].append(table)
        table.sources = tuple(sources)
    for table in tables:
        table.children = tuple(sorted(children[table.name], key=lambda child: child.order))
    topological(tables)


def topological(tables: Sequence[Table]) -> list[Table]:
    """Sources before what is derived from them, otherwise in table order.

    Raises:
        UserError: A cycle; the message names it whole.
    """
    result: list[Table] = []
    state: dict[str, int] = {}
    for root in tables:
        stack = [(root, iter(root.sources))]
        if state.get(root.name):
            continue
        state[root.name] = 1
        while stack:
            table, rest = stack[-1]
            source = next(rest, None)
            if source is None:
                state[table.name] = 2
                result.append(table)
                stack.pop()
            elif not state.get(source.name):
                state[source.name] = 1
                stack.append((source, iter(source.sources)))
            elif state[source.name] == 1:
                names = [item.name for item, _ in stack]
                cycle = [*names[names.index(source.name) :], source.name]
                raise UserError("cycle", f"tables depend on themselves: {' -> '.join(cycle)}")
    return result


def dependents(table: Table) -> list[Table]:
    """Direct and indirect dependents, each once, in table order (rule of `inherit`)."""
    seen: dict[int, Table] = {}
    stack = list(table.children)
    while stack:
        child = stack.pop()
        if child.order not in seen:
            seen[child.order] = child
            stack.extend(child.children)
    return [seen[order] for order in sorted(seen)]


def ancestors(table: Table) -> list[Table]:
    """Direct and indirect sources, each once, in table order."""
    seen: dict[int, Table] = {}
    stack = list(table.sources)
    while stack:
        source = stack.pop()
        if source.order not in seen:
            seen[source.order] = source
            stack.extend(source.sources)
    return [seen[order] for order in sorted(seen)]


def set_periods(tables: Sequence[Table]) -> None:
    """A derived table without a period has the largest of any ancestor (rule G9)."""
    for table in topological(tables):
        if table.spec.period_s is None and table.sources:
            table.period_s = max(source.period_s for source in ancestors(table))
