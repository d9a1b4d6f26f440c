"""How long an update may run, and what happens to one that runs longer.

An update that is over its limit is cancelled, again and again since it may begin another Spark
job. One that does not end then hangs outside of Spark's jobs: only the end of Spark's process
frees its track. So does a task that neither ends nor can be interrupted (a read from a dead disk):
its update is over, but it keeps its slot, and other updates wait for it until they are cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.core.scheduler import Scheduler
from freshline.runtime.tracks import Outcome, Running
from freshline.times import brief_s

TIMES_ESTIMATE = 20.0
LEAST_S = 600.0
LEAST_UPKEEP_S = 3600.0
"""Nobody knows how long a VACUUM of many files takes."""

CANCEL_EVERY_S = 5.0
PATIENCE_S = 60.0
"""An update that goes on so long after it was cancelled hangs for good."""

CANCELLED_IN_A_ROW = 3
"""So many without a commit of any table: tasks that ignore their end hold Spark's slots."""

TIMEOUT = "update-timeout"
SLOTS_HELD = "slots-held"


@dataclass(slots=True)
class Verdict:
    """What one look at the running updates found.

    Attributes:
        cancel: Updates to cancel, by table and number.
        notices: What people should hear, with the table.
        stuck: Why Spark must be ended; None: nothing is stuck.
    """

    cancel: list[tuple[str, int]] = field(default_factory=list)
    notices: list[tuple[str, str]] = field(default_factory=list)
    stuck: PlatformError | None = None


@dataclass(slots=True)
class _Overdue:
    limit_s: float
    since_s: float
    cancelled_s: float


class Deadlines:
    """Looks at the updates that run.

    Args:
        given_s: The limit of every update, as the user set it; None: by the estimates.
        patience_s: How long a cancelled update may go on.
    """

    def __init__(self, given_s: float | None, patience_s: float = PATIENCE_S) -> None:
        self._given_s = given_s
        self._patience_s = patience_s
        self._overdue: dict[tuple[str, int], _Overdue] = {}
        self._in_a_row: dict[str, int] = {}
        self._since_commit = 0

    def limit_s(self, command: StartUpdate, *, first: bool) -> float | None:
        """After how many seconds an update is cancelled; None: never.

        Each time in a row that a table's update was cancelled doubles what follows from the
        estimate. So an update that really takes that long is made in the end.

        Args:
            command: The update.
            first: It builds its table, so that no estimate is to be trusted.
        """
        if command.upkeep:
            return max(LEAST_UPKEEP_S, TIMES_ESTIMATE * command.expected_s)
        if self._given_s is not None:
            return self._given_s
        if first:
            return None
        least_s = max(LEAST_S, TIMES_ESTIMATE * command.expected_s)
        return least_s * 2.0 ** min(self._in_a_row.get(command.table, 0), 30)

    def look(self, running: Iterable[Running], scheduler: Scheduler, now_s: float) -> Verdict:
        """What is over its limit now.

        Args:
            running: The updates on their tracks.
            scheduler: Knows which of them build a table.
            now_s: Of the monotonic clock.
        """
        verdict, seen = Verdict(), set()
        for each in running:
            command = each.command
            key = command.table, command.number
            seen.add(key)
            overdue = self._overdue.get(key)
            if overdue is None:
                first = scheduler.table(command.table).version is None or command.full
                limit_s = self.limit_s(command, first=first)
                if limit_s is None or now_s - each.started_s < limit_s:
                    continue
                overdue = self._overdue[key] = _Overdue(limit_s, now_s, float("-inf"))
                what = command.upkeep or f"update {command.number}"
                text = f"{command.table}: {what} runs for more than {brief_s(limit_s)} and is"
                verdict.notices.append((command.table, f"{text} cancelled"))
            if now_s - overdue.cancelled_s >= CANCEL_EVERY_S:
                overdue.cancelled_s = now_s
                verdict.cancel.append(key)
            if now_s - overdue.since_s >= self._patience_s:
                verdict.stuck = PlatformError(
                    "update-stuck",
                    f"an update of {command.table} did not end for {brief_s(self._patience_s)}"
                    " after it was cancelled",
                    next_step="Look at what its query and its storage do.",
                )
        if self._since_commit >= CANCELLED_IN_A_ROW:
            self._since_commit = 0
            verdict.stuck = PlatformError(
                "slots-held",
                f"{CANCELLED_IN_A_ROW} updates in a row were cancelled, and none was committed",
                next_step="Look at what their queries and their storage do.",
            )
        for key in self._overdue.keys() - seen:
            del self._overdue[key]
        return verdict

    def ended(self, outcome: Outcome) -> Outcome:
        """An update's end; of one that was cancelled here, with that as the reason."""
        command = outcome.command
        overdue = self._overdue.pop((command.table, command.number), None)
        if outcome.result is not None:
            self._in_a_row.pop(command.table, None)
            self._since_commit = 0
            return outcome
        if overdue is None:
            return outcome
        self._since_commit += 1
        self._in_a_row[command.table] = self._in_a_row.get(command.table, 0) + 1
        error = PlatformError(
            TIMEOUT,
            f"the update was cancelled after {brief_s(outcome.seconds)}",
            rule=f"its limit was {brief_s(overdue.limit_s)}",
            next_step="It is tried again; `spark: {update_timeout: ...}` sets another limit.",
        )
        return Outcome(command, outcome.request, outcome.seconds, None, error)
