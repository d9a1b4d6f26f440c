"""From the core's commands to requests to the executor, and from its results back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshline.core.background.upkeep import COMPACT, TRY, VACUUM, VERIFY
from freshline.core.commands import StartUpdate
from freshline.core.events import UpdateFinished
from freshline.delta.log import commit_of
from freshline.delta.metadata import loaded_names
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.project.definition import definition_of
from freshline.project.model import Project
from freshline.runtime.accepting import feed_path
from freshline.runtime.failures import FailureHandling
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.tracks import Outcome
from freshline.runtime.upkeep.trials import Trials
from freshline.times import seconds


def request_for(
    command: StartUpdate,
    project: Project,
    pending: PendingFiles,
    failures: FailureHandling,
    trials: Trials,
) -> UpdateRequest:
    """What the executor must do for a command."""
    table = project.table(command.table)
    if table.kind == "base" and command.backfill is not None:
        files = pending.loaded_files(command.table)
    elif table.kind == "base" and command.full and project.feeds[table.feed or ""].kind == "delta":
        files = pending.waiting(command.table)  # those before are in the version that is loaded
    elif table.kind == "base" and command.full:
        files = pending.all_files(command.table)
    else:
        files = pending.get(command.table, command.files)
    return UpdateRequest(
        number=command.number,
        table=command.table,
        from_s=command.from_s,
        to_s=command.to_s,
        files=files,
        parents=dict(command.parents),
        full=command.full,
        attempt=failures.attempt(command.table),
        definition=definition_of(table),
        range_s=command.backfill,
        upkeep=command.upkeep,
        accepted=failures.accepted(command.table),
        filled=table.kind == "base" and command.number > 1,
        feed_path=feed_path(project, table),
        trust=trials.trust(command.table),
    )


def finished_event(
    outcome: Outcome, result: UpdateResult, project: Project
) -> tuple[UpdateFinished, tuple[str, ...]]:
    """The event for a committed update, and the names of the files that it loaded.

    A repeated commit was made by an earlier attempt whose end nobody heard; what it loaded
    stands in its metadata and may be less than what this attempt was given.
    """
    request = outcome.request
    if request.upkeep in (TRY, VACUUM, VERIFY):  # they make no version
        return UpdateFinished(request.table, None, outcome.seconds), ()
    # A backfill's files are in the table by the commits that name them.
    names = () if request.range_s else tuple(file.name for file in request.files)
    if result.repeated:
        commit = commit_of(project.table_path(request.table), request.number)
        if commit is not None:
            names = loaded_names(commit.metadata)
            to_s = seconds(commit.metadata["to"])
            pins = commit.metadata.get("parents", {})
            parents = tuple((name, pins[name]) for name in request.parents if name in pins)
            event = UpdateFinished(
                request.table, commit.version, None, to_s, names, parents,
                is_other=_is_other(request, commit.metadata),
            )  # fmt: skip
            return event, names
    return UpdateFinished(request.table, result.version, outcome.seconds), names


def _is_other(request: UpdateRequest, metadata: Mapping[str, Any]) -> bool:
    """Whether a commit was made by an attempt at something else than ``request`` asks for."""
    return (
        (request.full and not metadata.get("full"))
        or (request.range_s is not None and "range" not in metadata)
        or (request.upkeep == COMPACT and metadata.get("strategy") != COMPACT)
    )
