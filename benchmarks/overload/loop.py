"""The loop that a competent engineer writes.

Two threads go through all tables in topological order for ever; a table without news, or
one that the other thread is updating, is skipped. Base tables load what their folder has
gained since, views read their parents' newest versions. How a table is updated is another
matter: by hand (:mod:`benchmarks.overload.plain`), or as freshline does, so that only the
choice of the next table differs from the warehouse's.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Protocol

from freshline.delta.log import version
from freshline.executor.records import FeedFile, UpdateRequest
from freshline.project.model import Project, TableDef
from freshline.runtime.feeds.listing import FeedListing

_PAUSE_S = 0.02
"""Between two rounds in which nothing had news."""


class Version(Protocol):
    """What an update has come to: the table's version."""

    @property
    def version(self) -> int:
        """Of the table, after it."""
        ...


class Runner(Protocol):
    """Carries out updates."""

    def run(self, request: UpdateRequest) -> Version:
        """Carry out one update as one commit, or raise."""
        ...


@dataclass(slots=True)
class _State:
    """What the loop knows of one table."""

    table: TableDef
    listing: FeedListing | None
    pending: list[FeedFile] = field(default_factory=list)
    number: int = 0
    version: int | None = None
    fresh_s: float = float("-inf")
    busy: bool = False


class Loop:
    """Two threads, round and round.

    Args:
        project: Its tables come parents first.
        executor: Carries the updates out.
    """

    def __init__(self, project: Project, executor: Runner) -> None:
        self._executor = executor
        self._states = {
            table.name: _State(
                table, FeedListing(project.feeds[table.feed]) if table.feed else None
            )
            for table in project.tables
        }
        self._order = list(self._states.values())
        for state in self._order:
            there = version(project.table_path(state.table.name))
            if there is not None:  # rows of before
                state.number, state.version, state.fresh_s = there + 1, there, 0.0
        self._cursor = 0
        self._lock = threading.Lock()
        self.updates = 0
        self.failures: list[Exception] = []

    def run(self, until_s: float, threads: int = 2) -> None:
        """Go on until that moment (seconds since the epoch), and finish what then runs."""
        running = [
            threading.Thread(target=self._work, args=(until_s,), name=f"loop-{index}")
            for index in range(threads)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    def _work(self, until_s: float) -> None:
        while time.time() < until_s and not self.failures:
            try:
                worked = self.step()
            except Exception as error:  # noqa: BLE001 - the benchmark tells it
                self.failures.append(error)
                return
            if not worked:
                time.sleep(_PAUSE_S)

    def step(self) -> bool:
        """Update the next table that has news; False when none has."""
        with self._lock:
            request = self._next()
        if request is None:
            return False
        made = self._executor.run(request).version
        with self._lock:
            state = self._states[request.table]
            state.version, state.fresh_s, state.busy = made, request.to_s, False
            self.updates += 1
        return True

    def _next(self) -> UpdateRequest | None:
        """The next table in the order that has news; None when a whole round finds none."""
        for _ in range(len(self._order)):
            state = self._order[self._cursor]
            self._cursor = (self._cursor + 1) % len(self._order)
            if state.busy:
                continue
            request = self._from_feed(state) if state.listing else self._from_parents(state)
            if request is not None:
                state.busy = True
                state.number += 1
                return request
        return None

    def _from_feed(self, state: _State) -> UpdateRequest | None:
        assert state.listing is not None
        files = state.listing.new_files()
        if not files:
            return None
        to_s = max(file.timestamp_s for file in files)
        from_s = state.fresh_s if state.version is not None else files[0].timestamp_s
        return UpdateRequest(state.number + 1, state.table.name, from_s, to_s, tuple(files))

    def _from_parents(self, state: _State) -> UpdateRequest | None:
        parents = [self._states[name] for name in state.table.parents]
        versions = {p.table.name: p.version for p in parents if p.version is not None}
        to_s = min(parent.fresh_s for parent in parents)
        if len(versions) < len(parents) or to_s <= state.fresh_s:
            return None
        from_s = state.fresh_s if state.version is not None else to_s
        return UpdateRequest(state.number + 1, state.table.name, from_s, to_s, parents=versions)
