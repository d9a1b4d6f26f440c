"""The engine's settings: its feeds, and sizes with their measured defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from pathlib import Path

import pyarrow as pa

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """One feed of kind push.

    Attributes:
        name: As in freshline.yml; also the name of its folder.
        schema: Of every batch.
        landing: Where its files are landed, usually ``landed/NAME`` in the engine's folder.
        store: The URI of its folder in an object store, into which they go from there.
        quota_bytes: The most it may keep in the log, compressed and not landed yet.
        time_column: The records' own time, which gives a landed file its timestamp; None: the
            moment at which the newest of them was received.
        zones: Of which its times may be where they have none; the earliest reading counts.
    """

    name: str
    schema: pa.Schema
    landing: Path
    quota_bytes: int | None = None
    time_column: str | None = None
    store: str | None = None
    zones: tuple[tzinfo, ...] = (UTC,)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Sizes and times; bytes of the log are compressed ones.

    Attributes:
        memory_bytes: M, for everything that waits: half of it for requests not committed yet
            and their neighbours, half for the queues.
        segment_bytes: A log file is closed when it is this large.
        group_bytes: The most that is committed at once.
        checkpoint_bytes: So much of a segment lies in SQLite's log at most.
        landing_period_s: Records are landed when they are this old,
        landing_bytes: or when there are so many.
        file_bytes: The most in one landed file, as bytes of the log.
        keys_kept_s: How long an idempotency key is remembered.
        ballast_bytes: Held back on the disk, given up when it is full.
        stop: The share of memory or disk at which nothing more is taken in,
        resume: and at which it is again.
    """

    memory_bytes: int = 256_000_000
    segment_bytes: int = 64 * MIB
    group_bytes: int = 4 * MIB
    checkpoint_bytes: int = 4 * MIB
    landing_period_s: float = 5.0
    landing_bytes: int = 16 * MIB
    file_bytes: int = 16 * MIB
    keys_kept_s: float = 25 * 3600.0
    ballast_bytes: int = 32 * MIB
    stop: float = 0.85
    resume: float = 0.75


def fitted(settings: EngineSettings, space_bytes: int) -> EngineSettings:
    """The sizes that a disk of so much room for the log allows.

    Room is made by landing a file and removing its segment. What the ballast gives must be
    enough for that: for the file, and for moving SQLite's log into the segment.
    """
    ballast = min(settings.ballast_bytes, space_bytes // 8)
    segment = max(MIB // 4, min(settings.segment_bytes, space_bytes // 16))
    return replace(
        settings,
        segment_bytes=segment,
        landing_bytes=min(settings.landing_bytes, segment),
        group_bytes=min(settings.group_bytes, segment),
        checkpoint_bytes=min(settings.checkpoint_bytes, segment),
        file_bytes=min(settings.file_bytes, max(ballast // 2, MIB // 4)),
        ballast_bytes=ballast,
    )
