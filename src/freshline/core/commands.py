"""What the scheduler wants done: commands out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Candidate:
    """A table that could have been started instead, and how it scored."""

    table: str
    score: str


@dataclass(slots=True)
class StartUpdate:
    """Start one update, now, on a free track; its end comes back as an event.

    Attributes:
        table: What to update.
        number: The table's update number: 1, 2, ...; a retry has its predecessor's.
        track: Where, counted from 0.
        release_s: Since when the work was waiting.
        from_s, to_s: The freshness before and after: data of (from_s, to_s] is loaded.
        expected_s: What it should take.
        files: Names to load (base tables of a warehouse).
        parents: Each parent with the version to read (derived tables of a warehouse).
        full: Make it anew from all its data.
        mode: "normal" or "recovery" under the adaptive scheduler.
        score: The chosen table's score in the policy's words (only when explaining).
        over: The next best candidates (only when explaining).
        backfill: The range to load or compute again, which brings no freshness; else None.
        upkeep: compact, vacuum, verify or try: work on the table that changes no row; else empty.
    """

    table: str
    number: int
    track: int
    release_s: float
    from_s: float
    to_s: float
    expected_s: float
    files: tuple[str, ...] = ()
    parents: tuple[tuple[str, int], ...] = ()
    full: bool = False
    mode: str | None = None
    score: str = ""
    over: tuple[Candidate, ...] = ()
    backfill: tuple[float, float] | None = None
    upkeep: str = ""


Command = StartUpdate
