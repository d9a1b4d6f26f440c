"""What keeps a table from being fresh: itself, its slowest ancestor, a reload that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from freshline.project.model import Project
from freshline.runtime.status.status import TableStatus, WarehouseStatus
from freshline.times import brief_s

IsMet = Callable[[float | None, float], bool]
"""Whether a freshness (seconds since the epoch; None: no version) is enough at an instant."""


class Blame:
    """Says what a table waits for.

    Args:
        project: The tables' project.
        status: How they stand.
        freshness_s: Of each table, seconds since the epoch; None: no version yet.
    """

    def __init__(
        self, project: Project, status: WarehouseStatus, freshness_s: Mapping[str, float | None]
    ) -> None:
        self._project = project
        self._status = status
        self._by_name = {item.name: item for item in status.tables}
        self._freshness_s = freshness_s

    def of(self, name: str, is_met: IsMet) -> str:
        """What table ``name`` waits for to meet ``is_met``, one phrase."""
        waits = ""
        while (worst := self._slowest_parent(name, is_met)) is not None:
            waits += f"waits for {worst}: "
            name = worst
        return waits + self._of_itself(name)

    def _slowest_parent(self, name: str, is_met: IsMet) -> str | None:
        """The parent to blame; None: what the table waits for is its own."""
        if self._own_trouble(self._by_name[name]) is not None:
            return None
        behind = [
            parent
            for parent in self._project.table(name).parents
            if not is_met(self._freshness_s.get(parent), self._status.now_s)
        ]
        return min(behind, key=lambda each: self._freshness_s.get(each) or 0.0, default=None)

    def _of_itself(self, name: str) -> str:
        item, feed = self._by_name[name], self._project.table(name).feed
        trouble = self._own_trouble(item)
        if trouble is not None:
            return trouble
        return item.next if feed is None else self._of_feed(feed, item)

    def _own_trouble(self, item: TableStatus) -> str | None:
        if not self._status.run.running:
            return "no process runs the warehouse"
        if item.state == "paused":
            return item.next
        if item.error and item.failures:
            return f"failing: {item.error}"
        quarantined = [each.name for each in item.troubles if each.state == "quarantined"]
        if quarantined:
            return f"quarantined file {quarantined[0]}; {item.next}"
        return None

    def _of_feed(self, feed: str, item: TableStatus) -> str:
        for source in self._status.looked_at:
            if source.table == item.name and source.error is not None:
                return f"feed {feed}: {source.error}"
        if item.pending_files:
            return item.next
        for each in self._status.feeds:
            if each.name == feed and each.error is not None:
                return f"feed {feed}: {each.error}"
            if each.name == feed and each.silent_since_s is not None:
                return f"feed {feed} is silent{self._silence(each.last_s, each.period_s)}"
        return f"feed {feed} brought no newer data"

    def _silence(self, last_s: float | None, period_s: float | None) -> str:
        parts = []
        if last_s is not None:
            parts.append(f"nothing for {brief_s(max(0.0, self._status.now_s - last_s))}")
        if period_s is not None:
            parts.append(f"expected every {brief_s(period_s)}")
        return f" ({', '.join(parts)})" if parts else ""


def reload_error(item: TableStatus) -> str | None:
    """Why a table's reload came to nothing, which nobody tries again; None: none did.

    It is of a loaded file. Of a file that waits, or is gone, what is told of that file says it.
    """
    if item.failures or item.error is None:
        return None
    others = [each.name for each in item.troubles if each.state != "changed"]
    if any(f"({name}: " in item.error or f"; {name}: " in item.error for name in others):
        return None
    return item.error
