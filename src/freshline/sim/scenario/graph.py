"""Which tables of a scenario are derived from which: names that exist, and no cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freshline.core.graph import cycle_in
from freshline.core.model import TableSpec
from freshline.sim.scenario.checks import Checks


def check_graph(checks: Checks, specs: Sequence[TableSpec], index_of: Mapping[str, int]) -> None:
    """Note unknown sources, and a cycle.

    Args:
        checks: Takes the errors.
        specs: The tables.
        index_of: Each table's place in the file's list.
    """
    graph = {spec.name: spec.sources for spec in specs}
    for spec in specs:
        for number, source in enumerate(spec.sources):
            if source not in index_of:
                checks.error(
                    ("tables", index_of[spec.name], "sources", number),
                    "unknown-source",
                    f"'sources' of table '{spec.name}' has '{source}', which is not a table",
                    next_step="Correct the name, or add the table.",
                )
    cycle = cycle_in(graph)
    if cycle:
        checks.error(
            ("tables", index_of[cycle[0]], "sources"),
            "cycle",
            f"'sources' of table '{cycle[0]}' lead back to it: {' -> '.join(cycle)}",
            next_step="Remove one of these sources.",
        )
