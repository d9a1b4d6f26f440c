"""Views that no arrival updates: over static tables, or over no table of the project.

A static table has no feed and no updates of ours, so nobody tells of it. While nothing waits, its
newest version is looked up now and then and compared with the one that the view's last commit
names. With work waiting there is no need: each update takes the newest version anyway. Tables that
a query names by a catalog are looked up there by Spark.

A view that reads no table of the project at all is computed when a run starts, and after that once
per its ``freshline.period`` where it has one: as if a file had come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.core.errors import FreshlineError
from freshline.core.events import Event, FileArrived, RefreshRequested
from freshline.core.model import Table
from freshline.core.scheduler import Scheduler
from freshline.delta.histories import is_another_history
from freshline.delta.log import commit_mark, last_commit, table_id, version
from freshline.project.model import Project
from freshline.runtime.feeds.named_statics import LookUps, NamedStatics, Read
from freshline.runtime.notices import Hears, one_line

LOOK_EVERY_S = 15.0
"""Between two looks: a listing of the log's folder for each static table."""

_GLANCE_S = 0.2
_PATIENCE_S = 30.0
"""So long the loop waits for a catalog or a store; a later answer counts at the next look."""


@dataclass(frozen=True, slots=True)
class _Newest:
    version: int
    id: str | None
    mark: str | None

    def is_another_than(self, metadata: Mapping[str, Any], name: str) -> bool:
        """Whether a view's commit names this version, and means one of another table or history."""
        known = metadata.get("ids", {}).get(name)
        if None not in (self.id, known) and self.id != known:
            return True
        return self.mark is not None and is_another_history(metadata, name, self.version, self.mark)


class StaticTables:
    """Looks at the static Delta tables that views read, and has lone views computed.

    Args:
        project: Its views.
        scheduler: Looked at, never changed.
        hears: Told of tables that cannot be looked up.
        executor: Where Spark is, for tables by name; None while it is not there.
        until_idle: The run ends when nothing is to be done, so it waits for catalogs and stores.
    """

    def __init__(
        self,
        project: Project,
        scheduler: Scheduler,
        hears: Hears,
        executor: Callable[[], object | None] = lambda: None,
        *,
        until_idle: bool = False,
    ) -> None:
        patience_s = _PATIENCE_S if until_idle else _GLANCE_S
        self._named = NamedStatics(executor, patience_s)
        self._by_path = LookUps[str, _Newest | None](patience_s)
        self._project = project
        self._scheduler = scheduler
        self._hears = hears
        self._reads = {
            table.name: {
                read.name: read.path
                for read in table.statics
                if (read.format == "delta" or read.path is None) and not read.time_travel
            }
            for table in project.tables
            if table.kind == "derived"
        }
        self._lone_s = {
            table.name: (float("-inf"), table.period_s or float("inf"))
            for table in project.tables
            if table.kind == "derived" and not table.parents
        }
        self._due_s = float("-inf")
        self._asked: dict[str, dict[str, _Newest]] = {}
        self._silent: set[str] = set()

    def changed(self, now_s: float) -> list[Event]:
        """The views to be made again; of those over static tables none while anything waits."""
        lone = [name for name, (due_s, _) in self._lone_s.items() if due_s <= now_s]
        if lone:
            for name in lone:
                self._lone_s[name] = (now_s + self._lone_s[name][1], self._lone_s[name][1])
            return [FileArrived(name, now_s) for name in lone]
        if now_s < self._due_s or self._scheduler.first() is not None:
            return []
        self._due_s = now_s + LOOK_EVERY_S
        at_rest = [
            table.name
            for table in self._scheduler.tables
            if self._reads.get(table.name) and _is_at_rest(table, now_s)
        ]
        newest = self._by_name(at_rest)
        paths = {path for view in at_rest for path in self._reads[view].values() if path}
        by_path = self._by_path.found(paths, _newest)
        for path, told in by_path.items():
            if isinstance(told, FreshlineError):
                self._unnoticed(path, told)
        for view in at_rest:
            for name, read_path in self._reads[view].items():
                at = by_path.get(read_path or "")
                if isinstance(at, _Newest):
                    newest[view, name] = at
        return [
            RefreshRequested(view, full=True) for view in at_rest if self._is_outdated(view, newest)
        ]

    def _by_name(self, views: list[str]) -> dict[Read, _Newest | None]:
        """The tables that views name by a catalog."""
        reads = [(v, name) for v in views for name, path in self._reads[v].items() if path is None]
        newest: dict[Read, _Newest | None] = {}
        for read, told in self._named.found(reads).items():
            if isinstance(told, FreshlineError):
                self._unnoticed(read[1], told)
            elif told is not None:
                newest[read] = _Newest(*told)
        return newest

    def _unnoticed(self, table: str, error: FreshlineError) -> None:
        if table not in self._silent:
            self._silent.add(table)
            self._hears.notice(
                f"static table {table}: changes go unnoticed: {one_line(error)}", level="warning"
            )

    def _is_outdated(self, view: str, newest: dict[Read, _Newest | None]) -> bool:
        """Whether the view was made from another version, and was not yet asked for since."""
        found = {
            name: at for name in self._reads[view] if (at := newest.get((view, name))) is not None
        }
        asked = self._asked.get(view, {})
        if found.items() <= asked.items():  # a store that is slow tells of some at the next look
            return False
        commit = last_commit(self._project.table_path(view))
        self._asked[view] = {**asked, **found}
        if commit is None:
            return False
        pins = commit.metadata.get("parents", {})
        return any(
            name in pins and (pins[name] != at.version or at.is_another_than(commit.metadata, name))
            for name, at in found.items()
        )


def _newest(path: str) -> _Newest | None:
    found = version(path)
    return None if found is None else _at(path, found)


def _at(path: str, number: int) -> _Newest:
    return _Newest(number, table_id(path, number), commit_mark(path, number))


def _is_at_rest(table: Table, now_s: float) -> bool:
    """Whether an update of it could be asked for: it was made, and neither fails nor is paused."""
    return (
        table.version is not None
        and table.running is None
        and not (table.paused or table.asked)
        and table.deferred_until_s <= now_s
    )
