"""How large an experiment is played: in a test, on a desk, or as the papers did."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from typing import TypeVar

_Job = TypeVar("_Job")
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Size:
    """How much is played.

    Attributes:
        name: quick, small or full.
        events: Files and updates of one simulation of Golab et al.'s workloads, about.
        seeds: A point is the mean over these.
        processes: Simulations at a time; 1: in this process.
    """

    name: str
    events: int
    seeds: tuple[int, ...]
    processes: int = 2

    @property
    def quick(self) -> bool:
        """Whether it is the size that tests play: fewer points, and nothing is written."""
        return self.name == "quick"


QUICK = Size("quick", 6_000, (1,), processes=1)
SMALL = Size("small", 15_000, (1, 2, 3))
FULL = Size("full", 1_000_000, (1, 2, 3))
"""Golab et al. 2011, 4.1: each point is the result of a million events."""


def chosen(*, full: bool) -> Size:
    """The size that command line and environment (``QUICK=1``) ask for."""
    if os.environ.get("QUICK") == "1":
        return QUICK
    return FULL if full else SMALL


def each(work: Callable[[_Job], _Found], jobs: Sequence[_Job], size: Size) -> list[_Found]:
    """``work`` of every job, in their order, on as many processes as ``size`` says."""
    if size.processes == 1:
        return [work(job) for job in jobs]
    with Pool(size.processes) as pool:
        return pool.map(work, jobs, chunksize=1)
