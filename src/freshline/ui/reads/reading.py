"""Reads of the journal for the page: read-only, in a few threads, each answer shared.

Fifty pages that ask the same cost one read. The threads are few on purpose: they
share the interpreter with the scheduler's loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from freshline.project.model import Project
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.status import WarehouseStatus, read_status
from freshline.ui.answers import Body, body_of
from freshline.ui.pace import ASKED_S, SENT_S, kept_s
from freshline.ui.reads.recorded import as_of

_THREADS = 2
_KEPT_S = 1.0


class _Kept:
    """An answer that is being computed, or was."""

    future: Future[Body]

    def __init__(self, asked_s: float) -> None:
        self.asked_s = asked_s
        self.sent = 0
        self.cost_s = 0.0
        self._until_s: float | None = None
        self._least_s: float | None = None

    def computed(
        self,
        compute: Callable[[], Mapping[str, Any]],
        others_s: float,
        sent: int,
    ) -> Body:
        """Compute it; in a reading thread.

        Args:
            compute: Gives the answer.
            others_s: What the answers to other questions cost.
            sent: How many asked for the one before.
        """
        begun_s, used_s = time.monotonic(), time.thread_time()
        least_s = until_s = begun_s
        try:
            body = body_of(compute())
            self.cost_s = time.thread_time() - used_s
            least_s = begun_s + kept_s(self.cost_s + sent * SENT_S, others_s)
            until_s = max(time.monotonic() + _KEPT_S, least_s)
            return body
        finally:
            self._least_s, self._until_s = least_s, until_s

    def newest_for_s(self, now_s: float) -> float:
        """For how long there will be none that is newer, whatever happens."""
        return 0.0 if self._least_s is None else max(0.0, self._least_s - now_s)

    def forget(self) -> None:
        """Something happened since: keep it no longer than its cost demands."""
        self._until_s = self._least_s

    def is_over(self, now_s: float) -> bool:
        """Whether it is too old, or was never an answer."""
        return self._until_s is not None and now_s > self._until_s


class Reader:
    """Reads for one project.

    Args:
        project: Whose journal is read.
        clock: Wall-clock seconds since the epoch; the end of a recorded run stands still.
        run: A recorded run to show as it was at its end; None: what is now.
    """

    def __init__(
        self,
        project: Project,
        clock: Callable[[], float] = time.time,
        *,
        run: int | None = None,
    ) -> None:
        self.project = project
        self.clock = clock
        self.run_number = run
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ui-read")
        self._reading_status = threading.Lock()
        self._statuses: dict[bool, tuple[float, WarehouseStatus]] = {}
        self._least_s: dict[bool, float] = {}
        self._answers: dict[Any, _Kept] = {}

    def close(self) -> None:
        """Give back the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def body(self, key: Any, compute: Callable[[], Mapping[str, Any]]) -> tuple[Body, float]:
        """What ``compute`` answers; for a while the same to everybody who asks by ``key``.

        Returns:
            The answer, and for how many seconds nobody will get a newer one.
        """
        now_s = time.monotonic()
        kept = self._answers.get(key)
        if kept is None or kept.is_over(now_s):
            kept = self._begun(key, compute, now_s, 0 if kept is None else kept.sent)
        kept.asked_s = now_s
        kept.sent += 1
        # Shielded: somebody who goes away does not take the answer from the others.
        body = await asyncio.shield(asyncio.wrap_future(kept.future))
        return body, kept.newest_for_s(time.monotonic())

    def begin(self, key: Any, compute: Callable[[], Mapping[str, Any]]) -> None:
        """Begin to compute an answer before anybody asks; for who starts a server.

        The first who asks does not wait for what is done once: modules, and the journal's pages.
        """
        self._begun(key, compute, time.monotonic(), 0)

    def _begun(
        self, key: Any, compute: Callable[[], Mapping[str, Any]], now_s: float, sent: int
    ) -> _Kept:
        self._answers = {
            each: other
            for each, other in self._answers.items()
            if not other.is_over(now_s) or now_s - other.asked_s < ASKED_S
        }
        others_s = sum(
            other.cost_s + other.sent * SENT_S
            for each, other in self._answers.items()
            if each != key
        )
        kept = self._answers[key] = _Kept(now_s)
        kept.future = self._threads.submit(kept.computed, compute, others_s, sent)
        return kept

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``, done in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def status(self, *, account: bool = False) -> WarehouseStatus:
        """How the tables stand, now or at the end of the run that is shown.

        Raises:
            PlatformError: The journal is there and cannot be read.
        """
        with self._reading_status:
            kept = self._statuses.get(account)
            if kept is not None and time.monotonic() <= kept[0]:
                return kept[1]
            used_s = time.thread_time()
            found = self._status(account=account)
            used_s = time.thread_time() - used_s
            least_s = time.monotonic() + kept_s(used_s, 0.0)
            self._least_s[account] = least_s
            self._statuses[account] = (max(time.monotonic() + _KEPT_S, least_s), found)
            return found

    def forget(self) -> None:
        """Something happened: what is kept is too old, unless computing it again costs too much.

        Called in the server's thread.
        """
        for kept in self._answers.values():
            kept.forget()
        for account, (_, found) in list(self._statuses.items()):
            self._statuses[account] = (self._least_s[account], found)

    def _status(self, *, account: bool) -> WarehouseStatus:
        found = read_status(self.project, self.clock(), account=account)
        if self.run_number is None:
            return found
        with self.journal() as journal:
            return found if journal is None else as_of(found, journal, self.run_number)

    def journal(self) -> AbstractContextManager[Journal | None]:
        """The journal, for reading; None where there is none yet.

        Raises:
            PlatformError: It is there and cannot be read.
        """
        return journal_read(self.project)
