"""Asking the warehouse for something: the process that runs it, or its journal."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from freshline.core.errors import FreshlineError, PlatformError, UserError
from freshline.project.model import Project
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.store import Journal
from freshline.runtime.lease.leader import leader_look
from freshline.runtime.requests.handler import (
    PAUSES,
    Answer,
    accept_offline,
    carry_out_offline,
    paused_message,
)

_PATIENCE_S = 5.0
_LOOK_S = 0.05
_OFFLINE = ("pause", "resume", "retry", "accept")


def running_process(project: Project) -> int | None:
    """The process that runs the project's warehouse, None if none does."""
    return holder(own_folder(project))


def no_run_here(project: Project) -> str:
    """That no warehouse runs here; one that runs elsewhere hears of nothing that is asked here.

    Asked for after what was to be done: a storage that hangs holds only the words up, for a while.
    """
    look = leader_look(project)
    if not look.is_known:  # what was asked is done all the same
        return "no warehouse is running here"
    record = look.leader()
    if record is None:
        return "no warehouse is running"
    return f"no warehouse is running here ({record.holder} has the lease, and is not told)"


def ask(project: Project, kind: str, names: Iterable[str], argument: str = "") -> dict[str, Answer]:
    """Ask for one thing for each of some tables.

    Returns:
        The answer for each table. Where no warehouse runs, what can be done in the journal
        is done there.

    Raises:
        UserError: None runs, and the journal cannot do it (``not-running``).
        PlatformError: The running warehouse does not answer, or the journal cannot be
            written.
    """
    pid = running_process(project)
    if pid is None:
        return _offline(project, kind, names)
    with closing(opened_journal(project, create=False)) as journal:
        try:
            asked = {name: journal.ask(time.time(), kind, name, argument) for name in names}
            return _answers(journal, asked, pid)
        except sqlite3.OperationalError as error:
            raise _unwritten(journal, f": {error}") from error


def _offline(project: Project, kind: str, names: Iterable[str]) -> dict[str, Answer]:
    if kind not in _OFFLINE:
        raise UserError(
            "not-running",
            "the process that ran this warehouse has just ended",
            next_step="Ask again.",
        )
    with kept_journal(project) as journal:
        if kind == "accept":
            return {name: accept_offline(project, journal, name) for name in names}
        answers = {name: carry_out_offline(journal, kind, name, time.time()) for name in names}
    if kind in PAUSES:
        why = no_run_here(project)
        for name, answer in answers.items():
            answer["message"] = paused_message(kind, name, why)
    return answers


@contextmanager
def kept_journal(project: Project) -> Iterator[Journal]:
    """The journal where no process runs the warehouse, for what the next run is to do.

    Raises:
        PlatformError: It cannot be opened, or what was told to it cannot be written.
    """
    with closing(opened_journal(project, create=True)) as journal:
        try:
            yield journal
        except sqlite3.OperationalError as error:
            raise _unwritten(journal, f": {error}") from error
    if journal.behind:  # a run tries again later; here nobody does
        raise _unwritten(journal, ": its disk is full, or another process holds it")


def _unwritten(journal: Journal, why: str) -> PlatformError:
    return PlatformError(
        "journal",
        f"cannot write {journal.path}{why}",
        next_step="Check the disk and the permissions, then ask again.",
    )


def opened_journal(project: Project, *, create: bool) -> Journal:
    """The journal, to be written; made, or mended, only where no process runs the warehouse.

    Raises:
        PlatformError: It cannot be opened.
    """
    journal = Journal(journal_path(project), create=create)
    if journal.moved_aside is not None:
        sys.stderr.write(
            f"the journal was damaged: it is kept as {journal.moved_aside}, and the next"
            " `freshline run` rebuilds it from the tables' logs\n"
        )
    return journal


def _answers(journal: Journal, asked: dict[str, int], pid: int) -> dict[str, Answer]:
    answers: dict[str, Any] = {}
    end_s = time.monotonic() + _PATIENCE_S
    while len(answers) < len(asked):
        for name, request in asked.items():
            if name not in answers and (answer := journal.answer_to(request)) is not None:
                answers[name] = answer
        if len(answers) < len(asked):
            if time.monotonic() > end_s:
                raise _no_answer(pid)
            time.sleep(_LOOK_S)
    return {name: answers[name] for name in asked}


def _no_answer(pid: int) -> FreshlineError:
    return PlatformError(
        "no-answer",
        f"process {pid}, which runs this warehouse, did not answer within {_PATIENCE_S:g} s",
        rule="it looks for requests several times a second, also while Spark starts",
        next_step="It handles the request when it gets to it; see `freshline status`.",
    )


def must_run(project: Project, what: str, otherwise: str) -> None:
    """Refuse what only a running warehouse can do.

    Raises:
        UserError: None runs (``not-running``).
    """
    if running_process(project) is None:
        raise UserError(
            "not-running",
            f"{what}, and no warehouse runs here",
            next_step=otherwise,
        )
