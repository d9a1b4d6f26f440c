"""A run of a warehouse as its journal recorded it: what happened, and what was commanded."""

from __future__ import annotations

from dataclasses import dataclass

from freshline.core.assembly import PolicySettings
from freshline.core.commands import StartUpdate
from freshline.core.events import Event
from freshline.core.model import TableSpec


@dataclass(frozen=True, slots=True)
class RecordedInstant:
    """One instant: what the core was told, in order, and what it commanded."""

    now_s: float
    events: tuple[Event, ...]
    commands: tuple[StartUpdate, ...]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """All instants of one run that changed something.

    Attributes:
        number: The run's number in its journal.
        start_s: Time of the clock with which its scheduler was made.
        end_s: When it ended, or its last instant where it was killed.
        specs, tracks, settings: What its scheduler was made of.
        instants: In order of time.
    """

    number: int
    start_s: float
    end_s: float
    specs: tuple[TableSpec, ...]
    tracks: int
    settings: PolicySettings
    instants: tuple[RecordedInstant, ...]
