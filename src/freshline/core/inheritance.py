"""Inherited priorities: what a table is worth to the tables derived from it.

Golab et al. 2011, 3.3: updating a source first lets its dependents become fresher, so a
source inherits priority from them. Orderings use the inherited priority (``Table.weight``),
the weighted staleness each table's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from freshline.core.graph import dependents, topological
from freshline.core.model import Table

RULES = ("none", "sum", "max", "max-plus")


def inherit(tables: Sequence[Table], rule: str, factor: float) -> None:
    """Set every table's ``weight``.

    Args:
        tables: All tables.
        rule: none: its own; sum: own plus all dependents' own, each once; max: the largest
            of its own and all dependents'; max-plus: the larger of its own and ``factor``
            times the largest inherited priority of a direct dependent (rule G3).
        factor: K of max-plus.
    """
    for table in reversed(topological(tables)):
        if rule == "sum":
            table.weight = table.priority + sum(item.priority for item in dependents(table))
        elif rule == "max":
            table.weight = max([table.priority, *(child.weight for child in table.children)])
        elif rule == "max-plus":
            table.weight = max(
                [table.priority, *(factor * child.weight for child in table.children)]
            )
        else:
            table.weight = table.priority
