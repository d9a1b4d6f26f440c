"""Which ready report gets the idle track: the smallest key, ties by list order.

Source: Chandrasekaran and Sudarshan, section 4.2 and equation 9; rules C12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from freshline.reports.progress import Progress


@dataclass(frozen=True, slots=True)
class Moment:
    """When a choice is made, and the list place of the report served last (-1: none yet)."""

    now_s: float
    served_last: int


Key = Callable[[Progress, Moment], float]
"""Of a ready report; the least is served next."""


def laxity_s(progress: Progress, moment: Moment) -> float:
    """Equation 9: deadline less now less what remains to be worked off."""
    return progress.report.deadline_s - moment.now_s - progress.remaining_s(moment.now_s)


def deadline_s(progress: Progress, _: Moment) -> float:
    """Earliest deadline first."""
    return progress.report.deadline_s


def shortest_s(progress: Progress, moment: Moment) -> float:
    """Least remaining work first."""
    return progress.remaining_s(moment.now_s)


def turn(progress: Progress, moment: Moment) -> float:
    """The next in the list after the one served last; those before it come round again."""
    place = progress.order
    return place if place > moment.served_last else place + _ROUND


_ROUND = 1e12  # more than any list is long


KEYS: Mapping[str, Key] = {
    "llf": laxity_s,
    "edf": deadline_s,
    "sjf": shortest_s,
    "rr": turn,
}


@dataclass(frozen=True, slots=True)
class ReportPolicy:
    """How the scheduler chooses.

    Args:
        name: ``llf``, ``edf``, ``sjf``, ``rr`` or ``joint``.
        slack_factor: delta_RSF; None: chosen by simulation at every submission (``auto``).
        max_batch_time_s: C_max; None: no bound.
        min_batch: False: every tuple makes its report ready (the paper's figure 8).
        reanchor: Shift predicted times by the lag last observed (C13).
        margin: ``joint`` plans with this multiple of the modelled durations.
        eager: ``joint`` starts the batch that is next in its order before its planned start, as
            soon as its planned tuples are there and a track is idle: the cost is the same, and
            what is done early cannot be late.
    """

    name: str = "llf"
    slack_factor: float | None = 0.5
    max_batch_time_s: float | None = 30.0
    min_batch: bool = True
    reanchor: bool = True
    margin: float = 1.0
    eager: bool = False
