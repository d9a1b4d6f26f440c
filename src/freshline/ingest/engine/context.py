"""What one engine consists of: recovery fills it, and the two threads share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from freshline.ingest.engine.backlog import Backlog
from freshline.ingest.engine.counters import Counters
from freshline.ingest.engine.settings import EngineSettings, FeedSpec
from freshline.ingest.engine.store_landing import StoreLanding
from freshline.ingest.log.commit_marker import Witness
from freshline.ingest.log.disk import Ballast, DiskAdmission
from freshline.ingest.log.log import Log
from freshline.ingest.log.quarantine import Quarantine


@dataclass(frozen=True, slots=True)
class EngineContext:
    """``settings`` are those that fit the disk; ``clock`` says seconds since the epoch.

    Attributes:
        stores: Of the feeds whose files go into an object store.
    """

    folder: Path
    feeds: Mapping[str, FeedSpec]
    settings: EngineSettings
    clock: Callable[[], float]
    log: Log
    backlog: Backlog
    witness: Witness
    quarantine: Quarantine
    gate: DiskAdmission
    ballast: Ballast
    counters: Counters
    stores: Mapping[str, StoreLanding] = field(default_factory=dict)
