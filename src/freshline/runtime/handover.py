"""What a successor on another host needs of the journal: one small document in the storage.

Where the storage is a URI the journal is on this host's disk. The tables' logs give back nearly all
of it; here is the rest: what updates cost, what people paused and accepted, what they asked for
and was not answered. Where the journal stands in the storage itself there is no need.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from freshline.core.errors import FreshlineError
from freshline.delta.log import local_log
from freshline.delta.stores import arrow_store
from freshline.project.model import Project
from freshline.runtime.journal.damage import ERRORS
from freshline.runtime.journal.store import Journal

WRITE_S = 30.0
"""The document is written at most so often, and only when it changed."""

_LAST_S = 5.0
"""At the end of a run it waits so long for a store that does not answer."""

_NEVER_S = float("inf")
_NAME = "handover.json"
_COLUMNS = (
    *("alpha_s", "beta", "cost_samples", "cost_error", "period_s", "paused", "full_asked"),
    *("accepted_version", "feed_path"),
)
_LASTING = frozenset({"accepted_version", "feed_path"})
"""Columns that an empty one leaves as they are: what was accepted here meanwhile stands."""

_ASKED = {
    "requests": (("at_s", "kind", "table_name", "argument"), "answered_s IS NULL", "at_s"),
    "backfills": (
        ("table_name", "from_s", "to_s", "asked_s", "state"), "state='waiting'", "asked_s",
    ),
    # Those of views follow from the project.
    "reports": (
        (
            "name", "view", "query", "file", "start_s", "end_s", "deadline_s", "group_rows",
            "state", "asked_s", "definition",
        ),
        "query IS NOT NULL AND state IN ('asked','live')", "asked_s",
    ),
}  # fmt: skip
"""Of each table of requests: its columns, the condition of those that wait, and the time asked."""


class Handover:
    """Keeps the document of one run up to date.

    Args:
        project: Whose storage it is.
        journal: The run's.
        epoch: Of the run's lease.
        check: Raises where this process may not write any more.
    """

    def __init__(
        self, project: Project, journal: Journal, epoch: int, check: Callable[[], None]
    ) -> None:
        self._project = project
        self._journal = journal
        self._epoch = epoch
        self._check = check
        self._written = ""
        self._due_s = 0.0
        self._thread: threading.Thread | None = None

    def step(self) -> None:
        """Write the document if it is due and changed; another thread waits for the store."""
        now_s = time.monotonic()
        if now_s < self._due_s or not _is_remote(self._project):
            return
        if self._thread is not None and self._thread.is_alive():
            return
        self._due_s = now_s + WRITE_S
        text = json.dumps({"epoch": self._epoch} | _said(self._journal))
        if text != self._written:
            self._thread = threading.Thread(
                target=self._write, args=(text,), name="handover", daemon=True
            )
            self._thread.start()

    def finish(self) -> None:
        """At the end of a run: what changed since the last writing is not left behind."""
        if self._thread is not None:
            self._thread.join(_LAST_S)
        self._due_s = 0.0
        with contextlib.suppress(*ERRORS):  # the journal is damaged, which is told
            self.step()
        if self._thread is not None:
            self._thread.join(_LAST_S)

    def _write(self, text: str) -> None:
        try:
            self._check()
            system, base = arrow_store(self._project.own_path)
            with system.open_output_stream(f"{base}/{_NAME}") as out:
                out.write(text.encode())
        except (FreshlineError, OSError):
            return  # it is tried again when it is due
        self._written = text


def inherit(project: Project, journal: Journal, epoch: int) -> bool:
    """Take over what the last leader left, unless this journal was the last leader's.

    Args:
        project: Whose storage it is.
        journal: Of the run that starts; the caller flushes.
        epoch: Of its lease.

    Returns:
        Whether anything was taken over.
    """
    if not _is_remote(project):
        return False
    try:
        system, base = arrow_store(project.own_path)
        with system.open_input_file(f"{base}/{_NAME}") as file:
            found = json.loads(bytes(file.read()))
        last = int(found["epoch"])
        # One of a former version says nothing of reports.
        asked = {name: list(found[name]) for name in _ASKED if name in found}
        tables = dict(found["tables"])
        began_s = found.get("began_s")
        began_s = _NEVER_S if began_s is None else float(began_s)  # one of before says none
    except (OSError, ValueError, KeyError, TypeError):
        return False  # there is none, or nobody knows: costs are learned again
    if last >= epoch or last <= _last_epoch(journal):
        return False
    for name, values in tables.items():
        known = {
            column: values[column]
            for column in _COLUMNS
            if column in values and (values[column] is not None or column not in _LASTING)
        }
        if known:
            journal.put("tables", {"name": name}, **known)
    # What somebody said here since that leader began stands: no process ran here to be asked.
    said_s: dict[str, float] = {}
    for row in journal.rows(
        "SELECT kind, table_name, at_s FROM requests WHERE at_s>=? AND answered_s IS NOT NULL"
        " AND kind IN ('pause','resume') ORDER BY id",
        (began_s,),
    ):
        journal.put("tables", {"name": row["table_name"]}, paused=int(row["kind"] == "pause"))
        said_s[row["table_name"]] = row["at_s"]
    for name, waiting in asked.items():
        columns, still, at = _ASKED[name]
        # What waited in this journal before was done, or given up, by leaders since.
        journal.write(f"DELETE FROM {name} WHERE {still} AND coalesce({at}, 0)<?", (began_s,))
        marks = ", ".join("?" for _ in columns)
        for values in waiting:
            if name == "requests" and _is_outdone(values, said_s):
                continue
            if name == "reports":  # one that ended under its name makes room
                journal.write(f"DELETE FROM reports WHERE name=? AND NOT ({still})", values[:1])
            journal.write(
                f"INSERT OR IGNORE INTO {name} ({', '.join(columns)}) VALUES ({marks})", values
            )
    journal.flush()
    return True


def _is_outdone(request: list[Any], said_s: Mapping[str, float]) -> bool:
    """Whether a pause or resume of the last leader's waited while a later one was answered here."""
    at_s, kind, table, _ = request
    return kind in ("pause", "resume") and at_s < said_s.get(table, -_NEVER_S)


def _said(journal: Journal) -> dict[str, Any]:
    columns = ", ".join(_COLUMNS)
    run = journal.row("SELECT started_s FROM runs ORDER BY id DESC LIMIT 1")
    return {
        "began_s": run["started_s"] if run else None,
        "tables": {
            row["name"]: {column: row[column] for column in _COLUMNS}
            for row in journal.rows(f"SELECT name, {columns} FROM tables WHERE dropped=0")
        },
        **{
            name: [
                list(row)
                for row in journal.rows(
                    f"SELECT {', '.join(asked)} FROM {name} WHERE {still} ORDER BY rowid"
                )
            ]
            for name, (asked, still, _) in _ASKED.items()
        },
    }


def _last_epoch(journal: Journal) -> int:
    """That of the last run in this journal; 0 where none says so."""
    row = journal.row("SELECT setting FROM runs ORDER BY id DESC LIMIT 1")
    try:
        return int(json.loads(row["setting"])["epoch"]) if row else 0
    except (ValueError, KeyError, TypeError):
        return 0


def _is_remote(project: Project) -> bool:
    return local_log(project.own_path) is None
