"""How long updates of each table take, from former runs, and how much of the tracks they need.

How long: the mean, or a quantile.

The mean is the learned line alpha + beta * data (``core/cost.py``). A quantile scales that line:
of each recorded update, its seconds over what the line says for its data; of these ratios the
quantile asked for, by nearest rank, and never below 1. Updates that made a table anew, and the
first ones of a process that had to warm up, are what they are: they are among the ratios
unless their row says that they loaded everything again.

How much of the tracks: Golab et al. 2011, 2.4: a table with period P needs E(P) / P of a track, its
period's data in one update. Above the number of tracks in sum, staleness grows without bound for
some table unless updates are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from freshline.core.aus.guarantee import graph_of
from freshline.core.errors import UserError
from freshline.core.model import TableSpec
from freshline.delta.metadata import BACKFILL
from freshline.project.model import Project
from freshline.project.names import listed
from freshline.runtime.assembly import specs_for
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP

MOST_UPDATES = 1000
"""Of each table the newest so many count: what a table cost a year ago says little."""

FEW = 5
"""Updates of a table by which its cost is known roughly."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A project's tables with their costs.

    Attributes:
        specs: In the project's order; ``alpha_s`` and ``beta`` at the quantile asked for.
        mean: alpha (seconds) and beta (seconds per second of data) as learned, by name.
        factor: What the learned line was multiplied by, by name; 1 for the mean.
        updates: Recorded updates that the factor comes from, by name.
    """

    specs: tuple[TableSpec, ...]
    mean: dict[str, tuple[float, float]]
    factor: dict[str, float]
    updates: dict[str, int]


def measured(project: Project, *, quantile: float | None = None) -> Measured:
    """The costs of ``project`` as far as the journal knows them; unknown ones have no entry.

    Args:
        project: Its tables.
        quantile: Part of the updates that shall take no longer, in (0, 1); None: the mean.

    Raises:
        UserError: Nothing was recorded of some table.
        PlatformError: The journal is there and cannot be opened.
    """
    with journal_read(project) as journal:
        if journal is None:
            raise not_measured([table.name for table in project.tables])
        found = known_costs(project, journal, quantile=quantile)
    missing = [spec.name for spec in found.specs if spec.name not in found.mean]
    if missing:
        raise not_measured(missing)
    return found


def known_costs(project: Project, journal: Journal, *, quantile: float | None = None) -> Measured:
    """The same from an open journal; tables never updated keep the first guess.

    Raises:
        UserError: A table reads a feed that this version cannot run.
    """
    mean = {
        row["name"]: (float(row["alpha_s"]), float(row["beta"] or 0.0))
        for row in journal.rows(
            "SELECT name, alpha_s, beta FROM tables"
            " WHERE updates>0 AND dropped=0 AND alpha_s IS NOT NULL"
        )
    }
    specs, factors, updates = [], {}, {}
    for spec in specs_for(project, journal):
        if spec.name in mean:
            alpha_s, beta = mean[spec.name]
            factor = 1.0
            if quantile is not None:
                ratios = _ratios(journal, spec.name, alpha_s, beta)
                updates[spec.name] = len(ratios)
                factor = max(1.0, nearest_rank(ratios, quantile)) if ratios else 1.0
            factors[spec.name] = factor
            spec = replace(spec, alpha_s=alpha_s * factor, beta=beta * factor)  # noqa: PLW2901
        specs.append(spec)
    return Measured(tuple(specs), mean, factors, updates)


def nearest_rank(values: Sequence[float], quantile: float) -> float:
    """The least of ``values`` that at least the part ``quantile`` of them does not exceed."""
    ascending = sorted(values)
    rank = ceil(quantile * len(ascending) - 1e-9)
    return ascending[max(0, min(len(ascending), rank) - 1)]


def not_measured(names: Sequence[str]) -> UserError:
    """Nothing is known of what updates of ``names`` cost."""
    return UserError(
        "not-measured",
        f"no update was measured yet of {listed(names)}",
        rule="bounds and curves are computed from the costs that runs have measured",
        next_step="Run the project until each table was updated, or give a scenario's file.",
    )


def _ratios(journal: Journal, name: str, alpha_s: float, beta: float) -> list[float]:
    """Seconds of each recorded update over what the learned line says for its data.

    A backfill brings no freshness, and nothing is learned from it.
    """
    ratios = []
    for row in journal.rows(
        "SELECT seconds, from_s, to_s FROM updates WHERE table_name=? AND state='done'"
        " AND seconds IS NOT NULL AND NOT coalesce(full, 0)"
        f" AND {NO_UPKEEP} AND strategy IS NOT '{BACKFILL}' ORDER BY id DESC LIMIT ?",
        (name, MOST_UPDATES),
    ):
        expected_s = alpha_s + beta * max(0.0, row["to_s"] - row["from_s"])
        if expected_s > 0.0:
            ratios.append(row["seconds"] / expected_s)
    return ratios


# ---- of the tracks ----


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
