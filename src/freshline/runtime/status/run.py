"""The run that goes on, or the last one, and what it was set up with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from freshline.project.model import Project
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import own_folder
from freshline.runtime.journal.store import Journal, Row


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The run that goes on, or the last one.

    Attributes:
        running: Whether a process holds the warehouse.
        pid: That process, or the last one's.
        since_s: When it started.
        ready_s: When Spark was there; None: not yet.
        stopped_s: When it ended by itself; None: it goes on, or was killed.
    """

    running: bool
    pid: int | None
    since_s: float | None
    ready_s: float | None
    stopped_s: float | None
    tracks: int
    policy: str


def read_run(project: Project, journal: Journal | None) -> RunStatus:
    """The run that goes on, or the last one; a small part of the status."""
    pid = holder(own_folder(project))
    return run_status(project, None if journal is None else last_run(journal), pid)


def last_run(journal: Journal) -> Row | None:
    """Its row."""
    return journal.row("SELECT * FROM runs ORDER BY id DESC LIMIT 1")


def run_status(project: Project, last: Row | None, pid: int | None) -> RunStatus:
    """The record of a run's row, where process ``pid`` holds the warehouse (None: nobody does)."""
    tracks, policy = project.scheduler.tracks, project.scheduler.policy
    if last is None or (pid is not None and pid not in (last["pid"], -1)):
        # The lock is taken before the run is written down.
        return RunStatus(pid is not None, pid, None, None, None, tracks, policy)
    if pid is not None and (chosen := _chosen(last["setting"] or "{}")) is not None:
        tracks, policy = chosen  # the project may have been changed since: a run reads it once
    return RunStatus(
        pid is not None, last["pid"], last["started_s"], last["ready_s"], last["stopped_s"],
        tracks, policy,
    )  # fmt: skip


@lru_cache(maxsize=2)
def _chosen(setting: str) -> tuple[int, str] | None:
    """Tracks and policy of a run's setting; all its tables stand there, too: it is read once."""
    chosen = json.loads(setting).get("scheduler")
    return None if chosen is None else (int(chosen["tracks"]), str(chosen["policy"]))
