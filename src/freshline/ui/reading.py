"""Reads of the journal for the page: read-only, in a few threads, each answer shared.

Fifty pages that ask the same within a second cost one read. The threads are few on purpose: they
share the interpreter with the scheduler's loop.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from freshline.core.errors import PlatformError
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.ui.answers import Body, body_of

_THREADS = 2
_KEPT_S = 1.0
_MOST_KEPT = 200


class Reader:
    """Reads for one project.

    Args:
        project: Whose journal is read.
        clock: Wall-clock seconds since the epoch; the end of a recorded run stands still.
    """

    def __init__(self, project: Project, clock: Callable[[], float] = time.time) -> None:
        self.project = project
        self.clock = clock
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ui-read")
        self._answers: dict[Any, tuple[float, asyncio.Future[Body]]] = {}

    def close(self) -> None:
        """Give back the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def body(self, key: Any, compute: Callable[[], Mapping[str, Any]]) -> Body:
        """What ``compute`` answers; for a second the same to everybody who asks by ``key``."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        found = self._answers.get(key)
        if found is None or now_s - found[0] > _KEPT_S:
            if len(self._answers) >= _MOST_KEPT:
                self._answers = {
                    each: kept
                    for each, kept in self._answers.items()
                    if now_s - kept[0] <= _KEPT_S or not kept[1].done()
                }
            future = loop.run_in_executor(self._threads, lambda: body_of(compute()))
            found = self._answers[key] = (now_s, future)
        # Shielded: somebody who goes away does not take the answer from the others.
        return await asyncio.shield(found[1])

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``, done in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    @contextmanager
    def journal(self) -> Iterator[Journal | None]:
        """The journal, for reading; None where there is none yet.

        Raises:
            PlatformError: It is there and cannot be read.
        """
        path = journal_path(self.project)
        if not path.exists():
            yield None
            return
        journal = Journal(path, create=False)
        try:
            journal.row("PRAGMA query_only=ON")
            complete = journal.row("SELECT 1 FROM sqlite_master WHERE name='misfits'")
            yield None if complete is None else journal  # a run is just making it
        except sqlite3.DatabaseError as error:
            raise PlatformError(
                "journal",
                f"cannot read the journal {path}: {error}",
                next_step="A damaged journal may be deleted: the next run rebuilds it.",
            ) from error
        finally:
            journal.close()
