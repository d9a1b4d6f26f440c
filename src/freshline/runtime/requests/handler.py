"""What people ask of a warehouse from another process: pause, resume, refresh, retry.

A request is a row in the journal. The running warehouse turns it into an event for the core
and writes the answer beside it; where none runs, ``carry_out_offline`` does what can be
done without one.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from freshline.core.errors import FreshlineError, InternalError
from freshline.core.events import (
    BackfillRequested,
    Event,
    OthersAccepted,
    RefreshRequested,
    TablePaused,
    TablePrioritised,
    TableResumed,
)
from freshline.core.scheduler import Scheduler
from freshline.project.model import Project, TableDef
from freshline.runtime.accepting import accept
from freshline.runtime.failures import FailureHandling
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.writer import Ledger, forget_failure, forget_given_up
from freshline.runtime.reports.driver import Reports
from freshline.runtime.reports.requests import SUBMIT, WITHDRAW, not_open, submit
from freshline.runtime.requests.backfills import backfill_look, not_again, note_backfill, range_of
from freshline.runtime.requests.reloading import Look, reload_look

Answer = dict[str, Any]

PAUSES = ("pause", "resume")
"""Of these the last one holds."""

_AT_ONCE_S = 0.05
"""A look at a folder of this machine is waited for."""


class Requests:
    """Reads new requests and answers them."""

    def __init__(
        self,
        project: Project,
        journal: Journal,
        ledger: Ledger,
        scheduler: Scheduler,
        failures: FailureHandling,
        reports: Reports,
    ) -> None:
        self._project = project
        self._journal = journal
        self._ledger = ledger
        self._scheduler = scheduler
        self._failures = failures
        self._reports = reports
        # Also what came while this run, or another leader, could not answer: people were told that
        # it is handled.
        self._seen = 0
        self._looks: list[_Looking] = []

    @property
    def waiting(self) -> bool:
        """Whether a request waits for a look at its table's feed."""
        return bool(self._looks)

    def standing_orders(self) -> list[Event]:
        """What was asked in former runs and still holds: pauses, full refreshes not yet done."""
        known = {table.name for table in self._scheduler.tables}
        paused = self._journal.rows("SELECT name FROM tables WHERE paused=1")
        full = self._journal.rows("SELECT name FROM tables WHERE full_asked=1")
        return [
            *(TablePaused(row["name"]) for row in paused if row["name"] in known),
            *(RefreshRequested(row["name"], full=True) for row in full if row["name"] in known),
        ]

    def new(self, now_s: float) -> list[Event]:
        """Events for the requests that came since; each is answered."""
        events: list[Event] = []
        for looking in [each for each in self._looks if not each.goes_on]:
            self._looks.remove(looking)
            events += self._answered(looking.row, looking.error, now_s)
        for row in self._journal.rows(
            "SELECT * FROM requests WHERE id>? AND answered_s IS NULL ORDER BY id", (self._seen,)
        ):
            self._seen = row["id"]
            later = self._answered_later(row)
            if later is None:
                events += self._request(row, now_s)
            else:
                self._ledger.answer(row["id"], now_s, later)
        return events

    def _answered_later(self, row: Row) -> Answer | None:
        """The answer to a pause or resume that nobody answered before a later one was; else None.

        It came while a run was stopping, and where no run was alive somebody else was answered.
        """
        if row["kind"] not in PAUSES:
            return None
        for later in self._journal.rows(
            "SELECT kind, answer FROM requests WHERE id>? AND table_name=? AND kind IN (?,?)"
            " AND answer IS NOT NULL ORDER BY id DESC",
            (row["id"], row["table_name"], *PAUSES),
        ):
            if json.loads(later["answer"])["ok"]:
                told = f"{row['table_name']} was {later['kind']}d by a later request, which holds"
                return {"ok": False, "message": told}
        return None

    def _request(self, row: Row, now_s: float) -> list[Event]:
        """Answer a request, or look at its feed first, which another thread does."""
        try:
            look = self._look(row["kind"], row["table_name"], row["argument"])
        except FreshlineError as error:
            return self._answered(row, error, now_s)
        if look is None:
            return self._answered(row, None, now_s)
        looking = _Looking(row, look)
        if looking.goes_on:
            self._looks.append(looking)
            return []
        return self._answered(row, looking.error, now_s)

    def _look(self, kind: str, name: str, argument: str) -> Look | None:
        """What has to be seen of a table's feed before a request is carried out."""
        if kind in (SUBMIT, WITHDRAW) or not self._project.has_table(name):
            return None
        if kind == "refresh" and argument == "full":
            return reload_look(self._project, self._journal, name)
        if kind == "backfill":
            return backfill_look(self._project, self._journal, name, *range_of(argument))
        return None

    def _answered(self, row: Row, error: FreshlineError | None, now_s: float) -> list[Event]:
        """Carry a request out, or refuse it because of ``error``, and write down the answer."""
        kind, name, argument = row["kind"], row["table_name"], row["argument"]
        events: list[Event] = []
        if error is not None:
            answer = refusal(error)
        elif kind in (SUBMIT, WITHDRAW):
            answer = self._of_reports(kind, name, argument, now_s)
        else:
            events, answer = self._carry_out(kind, name, argument, now_s)
        self._ledger.answer(row["id"], now_s, answer)
        return events

    def _carry_out(
        self, kind: str, name: str, argument: str, now_s: float
    ) -> tuple[list[Event], Answer]:
        try:
            table = self._scheduler.table(name)
        except KeyError:
            return [], {
                "ok": False,
                "message": f"the run that answers has no table '{name}': it refreshes or repairs"
                " others alone, or started before the table was written; ask again when it has"
                " ended, or start it again",
            }
        if kind in PAUSES:
            # Spark may still be starting, and the core hears of it once it is there.
            self._ledger.pause_asked(name, paused=kind == "pause")
            wanted = TablePaused(name) if kind == "pause" else TableResumed(name)
            return [wanted], {"ok": True, "message": f"{name} is {kind}d"}
        if kind == "prioritise":
            priority = float(argument)
            return [TablePrioritised(name, priority)], {
                "ok": True,
                "message": f"{name} has priority {priority:g} until this run ends",
            }
        if kind == "refresh":
            full = argument == "full"
            if full:
                self._ledger.full_asked(name)
            if not full and not table.has_news and table.running is None:
                message = f"{name} has nothing new; its sources are brought up to date"
            else:
                message = f"{name} is next" + (", rebuilt in full" if full else "")
            return [RefreshRequested(name, full)], {"ok": True, "message": message}
        if kind == "backfill":
            return self._backfill(name, argument, now_s)
        if kind in ("accept", "retry"):
            return self._again(kind, name, now_s)
        return [], {"ok": False, "message": f"this version knows no request '{kind}'"}

    def _again(self, kind: str, name: str, now_s: float) -> tuple[list[Event], Answer]:
        """Try a table again, after accepting what others made of it where that is asked for."""
        version = None
        if kind == "accept":
            try:
                version = accept(self._project, self._journal, self._project.table(name))
            except FreshlineError as error:
                return [], refusal(error)
            self._failures.accept(name, version)
        left_out = ""
        if kind == "retry":  # who accepts what others made says nothing of a backfill
            left_out = not_again(self._journal, name)
            forget_given_up(self._journal, name)
        events, files = self._failures.retry(self._scheduler, name, now_s)
        if version is not None and version >= 0 and self._project.table(name).kind == "base":
            events.append(OthersAccepted(name, version))
        message = f"{name} is tried again; files: {files}{left_out}"
        if version is not None:
            message = accepted_message(self._project.table(name), version)
        return events, {"ok": True, "message": message}

    def _of_reports(self, kind: str, name: str, argument: str, now_s: float) -> Answer:
        if kind == WITHDRAW:
            if self._reports.withdraw(name):
                return {"ok": True, "message": f"{name} is withdrawn"}
            return not_open(name)
        answer = submit(self._journal, argument, now_s)
        self._journal.flush()
        self._reports.submitted()
        return answer

    def _backfill(self, name: str, argument: str, now_s: float) -> tuple[list[Event], Answer]:
        from_s, to_s = range_of(argument)
        note_backfill(self._journal, name, from_s, to_s, now_s)
        message = f"{name}: backfill queued at background priority"
        return [BackfillRequested(name, from_s, to_s)], {"ok": True, "message": message}


class _Looking:
    """A look at a table's feed, in a thread of its own: a store that hangs holds nothing else up.

    Attributes:
        row: The request that waits for it.
        error: What it raised.
    """

    def __init__(self, row: Row, look: Look) -> None:
        self.row = row
        self.error: FreshlineError | None = None
        self._look = look
        self._thread = threading.Thread(
            target=self._work, name=f"look-{row['table_name']}", daemon=True
        )
        self._thread.start()
        self._thread.join(_AT_ONCE_S)

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended."""
        return self._thread.is_alive()

    def _work(self) -> None:
        try:
            self._look()
        except FreshlineError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - else the request would be carried out
            self.error = InternalError("feed-look", f"looking at its feed failed: {error!r}")


def refusal(error: FreshlineError) -> Answer:
    """An error as the answer to a request, from which the asker can raise it again."""
    return {
        "ok": False,
        "message": error.render(),
        "code": error.code,
        "what": error.what,
        "rule": error.rule,
        "next": error.next_step,
        "exit_status": error.exit_status,
    }


def accepted_message(table: TableDef, version: int) -> str:
    """What somebody hears who accepted a table as it is."""
    name = table.name
    if table.kind != "base":
        return f"{name} is computed over version {version}, whose rows it replaces"
    what = "starts empty" if version < 0 else f"goes on from version {version}"
    return f"{name} {what}; files loaded before stay loaded"


def accept_offline(project: Project, journal: Journal, name: str) -> Answer:
    """The same where no warehouse runs."""
    table = project.table(name)
    try:
        version = accept(project, journal, table)
    except FreshlineError as error:
        return refusal(error)
    journal.flush()
    return {"ok": True, "message": accepted_message(table, version)}


def paused_message(kind: str, name: str, why: str) -> str:
    """What somebody hears who paused or resumed a table while no warehouse runs here."""
    return f"{name} is {kind}d; {why}, so it takes effect at the next start"


def carry_out_offline(journal: Journal, kind: str, name: str, now_s: float) -> Answer:
    """Do what ``kind`` asks where no warehouse runs: it holds from the next start.

    Only pause, resume and retry; a refresh needs Spark.
    """
    if kind in PAUSES:
        journal.put("tables", {"name": name}, paused=int(kind == "pause"))
        message = paused_message(kind, name, "no warehouse is running")
    else:
        rows = journal.rows(
            "SELECT name FROM files WHERE table_name=? AND state IN ('quarantined','retrying')",
            (name,),
        )
        journal.write(
            "UPDATE files SET state='pending', attempts=0, retry_s=NULL, reason=NULL,"
            " size_bytes=NULL, modified_s=NULL"
            " WHERE table_name=? AND state IN ('quarantined','retrying')",
            (name,),
        )
        left_out = not_again(journal, name)
        forget_given_up(journal, name)
        forget_failure(journal, name)
        files = "1 file is" if len(rows) == 1 else f"{len(rows)} files are"
        message = f"{name}: {files} tried again at the next start{left_out}"
    at_s = journal.ask(now_s, kind, name)
    answer = {"ok": True, "message": message}
    journal.write(
        "UPDATE requests SET answered_s=?, answer=? WHERE id=?",
        (now_s, json.dumps(answer), at_s),
    )
    journal.flush()
    return answer
