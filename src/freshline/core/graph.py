"""The graph of tables: order, ancestors, dependents, and the periods that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
    by_name = {table.name: table for table in tables}
    names, cycle = _walked({t.name: [source.name for source in t.sources] for t in tables})
    if cycle:
        raise UserError("cycle", f"tables depend on themselves: {' -> '.join(cycle)}")
    return [by_name[name] for name in names]


def cycle_in(sources: Mapping[str, Sequence[str]]) -> list[str]:
    """A cycle, its first name again at the end; empty when there is none.

    Args:
        sources: The names each name depends on; names that are no key are ignored.
    """
    return _walked(sources)[1]


def _walked(sources: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """Names, sources first, and the first cycle met, at which the walk ends."""
    result: list[str] = []
    state: dict[str, int] = {}
    for root in sources:
        if root in state:
            continue
        stack = [(root, iter(sources[root]))]
        state[root] = 1
        while stack:
            name, rest = stack[-1]
            source = next(rest, None)
            if source is None:
                state[name] = 2
                result.append(name)
                stack.pop()
            elif source in sources and source not in state:
                state[source] = 1
                stack.append((source, iter(sources[source])))
            elif state.get(source) == 1:
                path = [item for item, _ in stack]
                return result, [*path[path.index(source) :], source]
    return result, []


def dependents(table: Table) -> list[Table]:
    """Direct and indirect dependents, each once, in table order (rule of `inherit`)."""
    return _reached(table.children, lambda child: child.children)


def ancestors(table: Table) -> list[Table]:
    """Direct and indirect sources, each once, in table order."""
    return _reached(table.sources, lambda source: source.sources)


def _reached(first: Sequence[Table], following: Callable[[Table], Sequence[Table]]) -> list[Table]:
    """``first`` and all that follows from them, each once, in table order."""
    seen: dict[int, Table] = {}
    stack = list(first)
    while stack:
        table = stack.pop()
        if table.order not in seen:
            seen[table.order] = table
            stack.extend(following(table))
    return [seen[order] for order in sorted(seen)]


def set_periods(tables: Sequence[Table]) -> None:
    """A derived table without a period has the largest of any ancestor (rule G9)."""
    longest_s: dict[int, float] = {}
    for table in topological(tables):
        above_s = [max(each.period_s, longest_s[each.order]) for each in table.sources]
        longest_s[table.order] = max(above_s, default=0.0)
        if table.spec.period_s is None and table.sources:
            table.period_s = longest_s[table.order]
