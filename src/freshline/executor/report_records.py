"""What passes between the runtime and Spark about reports; nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from freshline.project.model import TableDef


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a report: what the streams bring in [start_s, end_s).

    Attributes:
        table: The report; its result is the Delta table of that name.
        start_s, end_s: Seconds since the epoch.
        deadline_s: When the result is wanted.
        definition: A short name for the query, kept with the state and in the result's commit.
        asked_s: When somebody asked for it; None: it is a view's window.
    """

    table: TableDef
    start_s: float
    end_s: float
    deadline_s: float
    definition: str = ""
    asked_s: float | None = None

    @property
    def number(self) -> int:
        """The result's transaction number, in milliseconds.

        Later windows of a view have larger ones; so have later submissions under one name, also
        those of the same window.
        """
        counted_s = self.start_s if self.asked_s is None else max(self.start_s, self.asked_s)
        return max(1, round(counted_s * 1000) + 1)

    @property
    def counted_as(self) -> str:
        """The name under which Delta counts the number.

        Those of a view do not count on from a submission's: a report that was tried, and declared
        as a view under the same name on the same day, would have no window of that day.
        """
        name = self.table.name
        return name if self.asked_s is None else f"{name}.asked"


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Work off what came since the window's last batch.

    Attributes:
        pins: Version of each parent, up to which the batch reads.
        final: Also combine the partials, and commit the window's result.
        complete: Whether the parents have the whole window; the result's commit says so.
    """

    window: Window
    pins: Mapping[str, int]
    final: bool
    complete: bool = True


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What one batch did.

    Attributes:
        batches: Batches of the window that are finished now; 0 for a query that runs once.
        state_rows: Rows of the partials that this batch added.
        seconds: Wall-clock seconds of the batch, without the final.
        final_seconds: Of the final, and its commit; 0 without.
        version: Of the result's table; None unless it was final.
        rows: Of the result.
        code: Why the query runs once, as a short name; empty for one that is cut.
        reason: The same in words.
        repeated: The result was committed before.
        parents: Versions that were read, of the parents and of static Delta tables.
        read: Whether any rows were read; False: those of earlier batches are all there are.
    """

    batches: int
    state_rows: int
    seconds: float
    final_seconds: float = 0.0
    version: int | None = None
    rows: int = 0
    code: str = ""
    reason: str = ""
    repeated: bool = False
    parents: Mapping[str, int] = field(default_factory=dict)
    read: bool = True

    def continues(self, batches: int) -> bool:
        """Whether it read what came since the first so many batches, no more and no less.

        Else a process that died had worked off some of it, or the query was another one then.
        """
        return bool(self.code) or (self.read and self.batches == batches + 1)


class ReportExecutor(Protocol):
    """Runs batches of reports, one a call."""

    def run_batch(self, request: BatchRequest) -> BatchResult:
        """Carry out one batch, and the final with it where that is asked.

        Raises:
            FreshlineError: It failed; finished batches stay, and no result was committed.
        """
        ...
