"""The two accesses to disk: each moves one run of neighbours of one queue.

Positions count units (tuples, bytes: the caller's choice) from 0 in the order of arrival. What
a move means for the payloads is the caller's business: where a log already holds every record,
a write drops the copy in memory and a read is one range scan.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Write:
    """Move units ``[start, stop)`` of a queue from memory to disk: one access."""

    queue: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Read:
    """Move units ``[start, stop)`` of a queue from disk to memory: one access."""

    queue: int
    start: int
    stop: int


Move = Write | Read
