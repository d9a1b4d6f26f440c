"""Why a table is late, in half a sentence."""

from __future__ import annotations

from freshline.project.model import Project
from freshline.render.output import shortened
from freshline.runtime.status.blame import Blame
from freshline.runtime.status.status import TableStatus, WarehouseStatus
from freshline.runtime.status.waiting import Goal
from freshline.times import brief_s

_MOST_NAME = 60
_MOST_TEXT = 160


class Reasons:
    """The reasons of one moment.

    Args:
        project: What the tables are made of.
        found: How they stand.
    """

    def __init__(self, project: Project, found: WarehouseStatus) -> None:
        self._tables = {table.name: table for table in project.tables}
        self._found = found
        self._items = {each.name: each for each in found.tables}
        self._blame = Blame(project, found, {each.name: each.freshness_s for each in found.tables})

    def reason(self, item: TableStatus) -> str | None:
        """Why ``item`` is late; None: it is not."""
        if item.within_target is not False or item.name not in self._tables:
            return None
        if item.error is not None and item.failures:
            return "its updates fail"
        if item.state == "paused":
            return "it is paused"
        if not self._found.run.running:
            return self._at_rest(item)
        if self._found.run.ready_s is None:
            return "Spark is starting"
        if item.state == "running":
            return item.next if item.upkeep else f"being updated: {item.next}"
        lag_s = item.target_lag_s or 0.0
        return shortened(self._blame.of(item.name, Goal(within_s=lag_s).is_met), _MOST_TEXT)

    def _at_rest(self, item: TableStatus) -> str:
        """Nobody updates it; what there is to do, as far as the last run has seen it."""
        stopped_s = self._found.run.stopped_s
        told = "no warehouse runs"
        if stopped_s is not None:
            ago_s = self._found.now_s - stopped_s
            # A recorded run is shown as it was at its end.
            told = f"no warehouse has run for {brief_s(ago_s)}" if ago_s > 0.0 else "the run ended"
        if item.pending_files:
            return f"{told}; files that wait: {item.pending_files}"
        if item.pending_s:
            return f"{told}; its parents are {brief_s(item.pending_s)} ahead"
        late = [
            parent
            for name in self._tables[item.name].parents
            if (parent := self._items.get(name)) is not None and parent.within_target is False
        ]
        if not late:
            return told
        oldest = min(late, key=lambda each: each.freshness_s or 0.0)
        return f"{told}; {shortened(oldest.name, _MOST_NAME)}, which it reads, is late"
