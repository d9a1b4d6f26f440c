"""A run on a terminal: one table that keeps up with it, notices above."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from freshline.core.errors import FreshlineError
from freshline.project.model import Project
from freshline.render.log_observer import Counting, is_told_by_notice, update_line
from freshline.render.output import clock, console, counted
from freshline.render.status import StatusTable, headline
from freshline.runtime.notices import Level
from freshline.runtime.status.status import TableStatus, read_status
from freshline.runtime.tracks import Outcome

_TIMES_A_SECOND = 2.0
_OTHER_LINES = 5
"""Of the run, the table's heads, what is left out, the counts, and one to spare."""


class LiveObserver(Counting):
    """Draws what ``freshline status`` would say, twice a second, while the warehouse runs."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._console = console(stderr=True)
        self._live = Live(
            console=self._console,
            get_renderable=self._drawn,
            refresh_per_second=_TIMES_A_SECOND,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """What was committed shows in the table; a failure is told above it."""
        super().ended(outcome, retry_in_s)
        if outcome.result is None and not (is_told_by_notice(outcome) or self.told_before(outcome)):
            self.notice(update_line(outcome, retry_in_s, time.time()))

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """A line above the table."""
        self._live.console.print(Text(f"{clock(time.time())} {text}"))

    def _drawn(self) -> Group:
        try:
            found = read_status(self.project, time.time())
        except FreshlineError as error:  # the table is a courtesy: the run goes on
            return Group(Text(error.render()))
        counts = f"{self.done} updates, {self.rows:,} rows, {self.failed} failed attempts"
        shown = fitted(found.tables, self._console.height - _OTHER_LINES)
        rows: list[RenderableType] = [
            Text(headline(found)),
            StatusTable(replace(found, tables=shown)),
        ]
        if len(shown) < len(found.tables):
            many = f"{len(shown)} of {counted(len(found.tables), 'table')}"
            rows.append(
                Text(
                    f"{many}, those in trouble and late ones first; `freshline status` shows all",
                    "yellow",
                )
            )
        return Group(*rows, Text(counts, "dim"))


def fitted(tables: Sequence[TableStatus], most: int) -> tuple[TableStatus, ...]:
    """The tables for which there is room, in their order: first those that somebody should see."""
    if len(tables) <= most:
        return tuple(tables)
    ranked = sorted(range(len(tables)), key=lambda at: _rank(tables[at]))
    return tuple(tables[at] for at in sorted(ranked[: max(1, most)]))


def _rank(table: TableStatus) -> int:
    if table.state == "dropped":
        return 4
    if table.wrong is not None or table.failures or table.troubles:
        return 0
    if table.within_target is False:
        return 1
    return 2 if table.state == "running" else 3
