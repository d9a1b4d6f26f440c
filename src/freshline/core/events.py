"""What happens to the scheduler: events in.

All events of one instant are handed over together (``Scheduler.handle(now_s, events)``),
because the papers decide only after everything of an instant is known. Their order is
total: completions by track, arrivals by table order, then what people asked for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class UpdateFinished:
    """An update was committed.

    Attributes:
        table: Its table.
        version: The version it committed (warehouse only).
        seconds: What it took, to learn from; None: finish minus start.
        to_s: What freshness it brought, where that differs from what was started (a repeated
            commit whose content was fixed by an earlier attempt).
        files: Names loaded, where they differ from what was started; None: as started.
        parents: Versions read, where they differ from what was started; None: as started.
        is_other: The earlier attempt was of another kind: what was asked for (a reload, a
            backfill, a compaction) is still to be done.
    """

    table: str
    version: int | None = None
    seconds: float | None = None
    to_s: float | None = None
    files: tuple[str, ...] | None = None
    parents: tuple[tuple[str, int], ...] | None = None
    is_other: bool = False


@dataclass(slots=True)
class UpdateFailed:
    """An update failed; nothing of it is visible. Its work is pending again from ``retry_s``.

    Attributes:
        table: Its table.
        retry_s: When it may be tried again.
        gives_up: A backfill or a reload that is not tried again.
    """

    table: str
    retry_s: float
    gives_up: bool = False


@dataclass(slots=True)
class BackfillRequested:
    """Somebody wants the data of [from_s, to_s) loaded or computed again, in the background."""

    table: str
    from_s: float
    to_s: float


@dataclass(slots=True)
class UpkeepOffered:
    """It would pay to work on a table's files, on a track that nobody needs; or a trial is due.

    A trial waits for an idle track or for its share of the tracks' time (``share.py``).

    Attributes:
        table: Of which.
        work: compact, vacuum, verify or try.
        number: The table's update number when it was looked at.
        expected_s: What it should take.
    """

    table: str
    work: str
    number: int
    expected_s: float = 1.0


@dataclass(slots=True)
class FileArrived:
    """A file of a base table's feed is complete.

    Attributes:
        table: The base table.
        timestamp_s: The file's timestamp, at most its arrival.
        name: The file, as the update's command will name it (warehouse only).
    """

    table: str
    timestamp_s: float
    name: str | None = None


@dataclass(slots=True)
class FilesWithdrawn:
    """Files that arrived will not be loaded (vanished, or in quarantine)."""

    table: str
    names: tuple[str, ...]


@dataclass(slots=True)
class TableRestored:
    """State of a table as a former run left it; before any other event of the table.

    Attributes:
        freshness_s: F; None where nothing was ever loaded.
        version: Newest committed version.
        number: Number of its last update.
        alpha_s, beta: Learned costs; None keeps the first guess.
        late_s: Seconds of data at or before its freshness that wait to be loaded.
        stale: Whether it must be rebuilt whatever its freshness (a changed definition).
    """

    table: str
    freshness_s: float | None
    version: int | None
    number: int
    alpha_s: float | None = None
    beta: float | None = None
    late_s: float = 0.0
    stale: bool = False


@dataclass(slots=True)
class PeriodLearned:
    """A feed without a declared period shows one."""

    table: str
    period_s: float


@dataclass(slots=True)
class TablePaused:
    """No update of the table starts until it is resumed."""

    table: str


@dataclass(slots=True)
class TableResumed:
    """Updates of the table may start again; a pending retry is due at once."""

    table: str


@dataclass(slots=True)
class TablePrioritised:
    """The table's own priority changes."""

    table: str
    priority: float


@dataclass(slots=True)
class OthersAccepted:
    """What others made of a table's rows stays; views over it have not read that.

    Attributes:
        version: The one that was accepted.
    """

    table: str
    version: int


@dataclass(slots=True)
class RefreshRequested:
    """Somebody wants the table as fresh as can be now, its ancestors first."""

    table: str
    full: bool = False


@dataclass(slots=True)
class TrackReserved:
    """Reports need a track from a moment on; before it only what ends in time starts there.

    Attributes:
        track: Which.
        from_s: The moment; None: they need it no longer.
        reports: What all of them take of it in the long run: cost (seconds), batches, window and
            delay (seconds) of each, as in ``aus/supply.py``; None: as it was.
    """

    track: int
    from_s: float | None
    reports: tuple[tuple[float, int, float | None, float], ...] | None = None


Event = (
    UpdateFinished
    | UpdateFailed
    | FileArrived
    | FilesWithdrawn
    | TableRestored
    | PeriodLearned
    | TablePaused
    | TableResumed
    | TablePrioritised
    | OthersAccepted
    | RefreshRequested
    | BackfillRequested
    | UpkeepOffered
    | TrackReserved
)
"""Any of them. A tick is an instant without events."""
