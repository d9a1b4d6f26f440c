"""What each table takes of the tracks: e, u = e/p, and the recovery period p^r.

Leontyev et al. 2009, Definitions 9 and 10 and the heuristics of section III. Rules of
docs/papers.md: L1 ((7) takes the minimum where it prints a maximum),
L2 (the second heuristic is p * U / m),
L4 (which e goes with which heuristic; given recovery periods stand as they are).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from freshline.core.errors import UserError
from freshline.core.model import Table
from freshline.core.placement import interval_s, nominal_s

RECOVERIES = ("average", "worst", "simultaneous", "explicit")
"""How recovery periods are chosen: (7) with mean or with longest times, the second
heuristic, or as given."""


@dataclass(frozen=True, slots=True)
class Share:
    """A table's claim on the tracks in either mode.

    Attributes:
        execution_s: e: what one update takes, as far as the bounds are concerned.
        period_s: p, between two releases in normal mode; infinite while it is unknown.
        recovery_period_s: p^r, the same in recovery mode.
    """

    execution_s: float
    period_s: float
    recovery_period_s: float

    @property
    def utilisation(self) -> float:
        """Its share u = e/p in normal mode (Definition 9)."""
        return self.execution_s / self.period_s

    @property
    def recovery_utilisation(self) -> float:
        """Its share u * p / p^r = e / p^r in recovery mode."""
        return _ratio(self.execution_s, self.recovery_period_s)

    @property
    def gain(self) -> float:
        """By how much its share grows when it switches to recovery."""
        return self.recovery_utilisation - self.utilisation

    @property
    def weight(self) -> float:
        """W = e / (its least period), for Theorem 1."""
        return _ratio(self.execution_s, min(self.period_s, self.recovery_period_s))


def execution_s(table: Table, recovery: str, worst_factor: float) -> float:
    """What one update of a table takes, e: given, or for one period of data (L4).

    Args:
        table: The table.
        recovery: One of ``RECOVERIES``.
        worst_factor: How many times its mean an update takes at worst; counts for ``worst``.
    """
    if table.spec.wcet_s is not None:
        return table.spec.wcet_s
    return nominal_s(table) * (worst_factor if recovery == "worst" else 1.0)


def shares(
    tables: Sequence[Table], *, tracks: float, recovery: str, worst_factor: float = 1.0
) -> list[Share]:
    """The share of every table, in table order.

    Args:
        tables: With their periods set.
        tracks: m, less what is lent to reports.
        recovery: One of ``RECOVERIES``.
        worst_factor: As for ``execution_s``.

    Raises:
        UserError: An unknown heuristic, or ``explicit`` and a table without a recovery period.
    """
    if recovery not in RECOVERIES:
        raise UserError(
            "unknown-recovery",
            f"there is no recovery '{recovery}'",
            rule=f"known are {', '.join(RECOVERIES)}",
        )
    times_s = [execution_s(table, recovery, worst_factor) for table in tables]
    load = utilisation_of(
        time_s / interval_s(table) for table, time_s in zip(tables, times_s, strict=True)
    )
    return [
        Share(time_s, interval_s(table), _recovery_period_s(table, time_s, load, tracks, recovery))
        for table, time_s in zip(tables, times_s, strict=True)
    ]


def utilisation_of(parts: Iterable[float]) -> float:
    """U_sum, exact to the last digit whatever the order of the tables."""
    return fsum(parts)


def _recovery_period_s(
    table: Table, time_s: float, load: float, tracks: float, recovery: str
) -> float:
    period_s = interval_s(table)
    if recovery == "explicit":
        given_s = table.spec.recovery_period_s
        if given_s is None:
            raise UserError(
                "missing-recovery-period",
                f"table '{table.name}' has no 'recovery_period'",
                rule="recovery 'explicit' needs one for every table",
                next_step="Give it one, or use recovery 'average'.",
            )
        return given_s
    if load >= tracks:
        wished_s = period_s
    elif recovery == "simultaneous":
        wished_s = period_s * load / tracks
    else:
        # (7): the fastest that lets this table recover alone; one track at most (L1).
        wished_s = time_s / min(1.0, tracks - (load - time_s / period_s))
    return min(max(time_s, wished_s), period_s)


def _ratio(time_s: float, period_s: float) -> float:
    """A share; an update without cost has none, however often it runs."""
    if time_s == 0.0:
        return 0.0
    return time_s / period_s if period_s > 0.0 else float("inf")
