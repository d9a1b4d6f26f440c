"""One report in progress: what arrived, what was processed, and how it ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from freshline.core.errors import FreshlineError, UserError
from freshline.core.model import Table
from freshline.executor.report_records import Window
from freshline.project.model import TableDef
from freshline.reports.events import Reached
from freshline.reports.joint.together import Stretch, slack_s
from freshline.reports.learned import FIRST_BATCH, FIRST_FINAL
from freshline.runtime.reports.outlook import MARGIN, Outlook
from freshline.runtime.reports.store import WantedReport

MOST_FAILURES = 5
_HOPELESS = {"window-overtaken", "arrivals-rewritten", "log-gap"}
"""Codes of errors of the platform that stay, however often it is tried."""
_FIRST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 300.0
_MOST_IN_THE_WAY = 12
"""Failures one after another while the next window waits: with their pauses some 25 minutes."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What the first plan that was in time counted with.

    Attributes:
        outlook: Costs, and when rows were expected.
        taken_rows: What had been worked off before.
    """

    outlook: Outlook
    taken_rows: int


@dataclass(slots=True)
class ReportInProgress:
    """A report between its submission and its result.

    Attributes:
        parents: The core's tables that it reads.
        outlook: What was expected when the planner was told of it last; None: not yet.
        key: The planner's name for it, a new one whenever costs or rows are told anew.
        told_rows: Rows taken before the planner was told.
        arrived_rows, taken_rows, batches, cost_s: So far.
        running_rows: That the batch which runs works off.
        units: Units that the planner knows to be there.
        reached: How far it knows the streams to be.
        closed, closed_told: Nothing more is waited for, and the planner knows.
        probing: Its first batch runs as soon as there is data, to measure its cost.
        once: The query cannot be cut; ``code`` says why.
        foreseen: The first plan that knew of rows missed the deadline already; None: there was
            none yet.
        guessed: A plan was in time, but by costs that nobody had measured.
        promise: What that plan counted with, where it was in time.
        restarted, slower, waited, late_input: What happened that a plan cannot know.
        failures: Batches that failed one after another, up to now.
        failed: Whether any batch failed.
        not_before_s: Nothing of it starts before: it failed lately.
        stale: The planner is to be told anew.
    """

    wanted: WantedReport
    table: TableDef
    window: Window
    parents: Sequence[Table]
    outlook: Outlook | None = None
    key: str = ""
    told_rows: int = 0
    arrived_rows: int = 0
    taken_rows: int = 0
    running_rows: int = 0
    batches: int = 0
    cost_s: float = 0.0
    units: int = 0
    reached: Reached | None = None
    closed: bool = False
    closed_told: bool = False
    probing: bool = False
    once: bool = False
    code: str = ""
    foreseen: bool | None = None
    guessed: bool = False
    promise: Promise | None = None
    restarted: bool = False
    slower: bool = False
    waited: bool = False
    late_input: bool = False
    failures: int = 0
    failed: bool = False
    not_before_s: float = float("-inf")
    stale: bool = True

    @property
    def name(self) -> str:
        """The report's."""
        return self.wanted.name

    @property
    def has_data(self) -> bool:
        """Whether every parent has a version to read."""
        return all(table.version is not None for table in self.parents)

    @property
    def complete(self) -> bool:
        """Whether every parent has all data up to the window's end; older files may be to come."""
        end_s = self.window.end_s
        return all(
            table.version is not None and table.complete_s >= end_s for table in self.parents
        )

    def latest_start_s(self, batch_s: float, final_s: float) -> float:
        """When what is left must start, with the margin."""
        return self.wanted.deadline_s - MARGIN * (batch_s + final_s)

    def close_by_s(self) -> float:
        """When what came and neither ran nor runs must start: until then the rest is waited for."""
        if self.outlook is None:
            return self.latest_start_s(FIRST_BATCH.overhead_s, FIRST_FINAL.overhead_s)
        begun = self._units(self.taken_rows + self.running_rows, closed=False)
        # At least one: the last batch looks for rows, though it may find none.
        return self._latest_start_s(max(1, self._units(self.arrived_rows, closed=True) - begun))

    def slack_s(self, now_s: float, plan: Sequence[Stretch]) -> float | None:
        """What is left of the deadline; None: nothing is known yet.

        The less of two: if all that is to do runs in one batch with the margin (equation 2), and
        if the track stands still while others want it, too
        (`freshline.reports.joint.together.slack_s`).
        Both from the window's end on, or from when its rows should be there, or from now,
        whichever is last.

        Args:
            plan: Of all reports.
        """
        if self.outlook is None:
            return None
        predicted_s = self.outlook.report.predicted_s
        taken = self._units(self.taken_rows, closed=False)
        units = max(self._units(self.arrived_rows, closed=True), len(predicted_s)) - taken
        there_s = max(now_s, self.window.end_s)
        if not self.closed and self.reached is not None and predicted_s:
            there_s = max(there_s, predicted_s[-1] + self.reached.lag_s)
        alone_s = self._latest_start_s(units) - there_s
        if not any(each.name == self.key for each in plan):
            return alone_s
        return min(alone_s, slack_s(plan, self.key, there_s, self.wanted.deadline_s))

    def final_s(self) -> float:
        """Seconds that the final should take."""
        if self.outlook is None:
            return FIRST_FINAL.overhead_s
        return self.outlook.report.final(self.batches + 1)

    def _units(self, rows: int, *, closed: bool) -> int:
        """Of so many rows of the window, the planner's units."""
        assert self.outlook is not None
        return self.outlook.units(max(0, rows - self.told_rows), closed=closed)

    def _latest_start_s(self, units: int) -> float:
        assert self.outlook is not None
        return self.latest_start_s(self.outlook.report.cost(max(0, units)), self.final_s())

    def pause(self, now_s: float) -> None:
        """After a failure: wait, each time twice as long, up to five minutes."""
        self.failures += 1
        self.failed = True
        pause_s = _FIRST_PAUSE_S * 2.0 ** min(self.failures - 1, 30)
        self.not_before_s = now_s + min(pause_s, _LONGEST_PAUSE_S)

    @property
    def failed_often(self) -> bool:
        """Whether it failed so often, one time after another, that it may go on to fail."""
        return self.failures >= MOST_FAILURES

    def is_hopeless(
        self, error: Exception, now_s: float, others: Iterable[ReportInProgress]
    ) -> bool:
        """Whether it is given up for ``error``: it cannot be made, or failed often and is late.

        Before its deadline a store that does not answer for some minutes is no reason to give
        up a result that is wanted tomorrow; unless that goes on, and the next window of its view,
        which waits for it, is over.
        """
        if isinstance(error, UserError):
            return True
        if isinstance(error, FreshlineError) and error.code in _HOPELESS:
            return True
        is_in_the_way = self.failures >= _MOST_IN_THE_WAY and any(
            each.wanted.view == self.wanted.view
            and each.window.start_s > self.window.start_s
            and each.window.end_s <= now_s
            for each in others
        )
        return self.failed_often and (is_in_the_way or now_s > self.wanted.deadline_s)

    def lateness(self, now_s: float) -> str | None:
        """Why the deadline is missed by a result of now; None: it is met.

        "unexplained" as far as the report itself can tell; ``lateness.py`` knows more.
        """
        if now_s <= self.wanted.deadline_s:
            return None
        reasons = {
            "failed": self.failed,
            "foreseen": bool(self.foreseen),
            "restarted": self.restarted,
            "slower": self.slower,
            "waited": self.waited,
        }
        return next((name for name, there in reasons.items() if there), "unexplained")


@dataclass(slots=True)
class Order:
    """A batch to start when the track is free; wanted by ``due_s``, though it may go before."""

    live: ReportInProgress
    final: bool
    planned: bool
    expected_s: float
    due_s: float = -math.inf


def first_windows(reports: Iterable[ReportInProgress]) -> dict[str, ReportInProgress]:
    """Of each view the earliest window, for which its others wait."""
    every = sorted(reports, key=lambda each: each.wanted.start_s, reverse=True)
    return {each.wanted.view: each for each in every}


def closings_s(reports: Iterable[ReportInProgress], now_s: float) -> dict[str, float]:
    """Until when reports wait for their streams, by name; before a window's end, until that.

    They share one track, so each starts so early that those due later can still follow. The
    table of a view shows its newest window, so a window waits until those before it are made,
    however long that takes: it is not named.
    """
    every = sorted(reports, key=lambda each: each.wanted.start_s)
    first = first_windows(every)
    found: dict[str, float] = {}
    next_s = math.inf
    for each in sorted(every, key=lambda each: each.wanted.deadline_s, reverse=True):
        if each.closed:
            continue
        close_s = each.window.end_s
        if now_s >= close_s:
            alone_s = each.close_by_s()
            close_s = next_s = min(alone_s, next_s - (each.wanted.deadline_s - alone_s))
        if first[each.wanted.view] is each:
            found[each.name] = close_s
    return found


def told(error: Exception) -> str:
    """What went wrong, for the journal and the log."""
    return error.what if isinstance(error, FreshlineError) else f"{type(error).__name__}: {error}"


LATENESS = {
    "failed": "a batch failed and was tried again",
    "foreseen": "no plan could meet it when it was submitted",
    "restarted": "the warehouse was stopped meanwhile",
    "slower": "a batch took longer than its margin allows",
    "waited": "an update was still running on the report's track",
    "input": "the streams were late with the window's end",
    "unmeasured": "its cost was not known when it was planned",
    "more": "more rows came than were expected, or they came later",
    "crowded": "other reports were on the track",
    "unexplained": "nothing unusual was seen",
}
"""Reasons for a missed deadline, by their short names."""
