"""How much of the tracks the updates need, by the costs that former runs learned.

Golab et al. 2011, 2.4: a table with period P needs E(P) / P of a track, its period's data in
one update. Above the number of tracks in sum, staleness grows without bound for some table
unless updates are merged.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshline.core.aus.guarantee import graph_of
from freshline.project.model import Project
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.status.measured import known_costs

FEW = 5
"""Updates of a table by which its cost is known roughly."""


@dataclass(frozen=True, slots=True)
class Utilisation:
    """What the tables need.

    Attributes:
        tracks_needed: Sum of E(P) / P over the tables measured.
        by_table: Each one's share, for those measured.
        not_measured: The other tables, in the project's order.
        uncertain: Those measured by fewer than ``FEW`` updates: the first ones load what had
            waited, on a JVM that still compiles.
    """

    tracks_needed: float
    by_table: dict[str, float]
    not_measured: tuple[str, ...]
    uncertain: tuple[str, ...] = ()


def utilisation(project: Project) -> Utilisation:
    """What the project's tables need, as far as the journal knows.

    Raises:
        UserError: A table reads a feed that this version cannot run.
        PlatformError: The journal is there and cannot be read.
    """
    shares: dict[str, float] = {}
    updates: dict[str, int] = {}
    with journal_read(project) as journal:
        if journal is not None:
            costs = known_costs(project, journal)
            rows = journal.rows("SELECT name, updates FROM tables")
            updates = {row["name"]: row["updates"] for row in rows}
            # The periods are those that the project has now, not those of its last run.
            for table in graph_of(costs.specs):
                if table.name in costs.mean and table.period_s > 0.0:
                    alpha_s, beta = costs.mean[table.name]
                    shares[table.name] = (alpha_s + beta * table.period_s) / table.period_s
    known = {table.name: shares[table.name] for table in project.tables if table.name in shares}
    missing = tuple(table.name for table in project.tables if table.name not in shares)
    uncertain = tuple(name for name in known if updates[name] < FEW)
    return Utilisation(sum(known.values()), known, missing, uncertain)
