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
from dataclasses import dataclass
from typing import Any

from freshline.project.model import Project
from freshline.runtime.journal.reading import journal_shown
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.run import RunStatus, read_run
from freshline.runtime.status.status import (
    WarehouseStatus,
    read_status,
)
from freshline.ui.answers import Answer, Body, body_of
from freshline.ui.pace import ASKED_S, SENT_S, kept_s
from freshline.ui.reads.recorded import as_of, run_as_of

_THREADS = 2
_KEPT_S = 1.0


@dataclass(slots=True)
class _Age:
    """How old something is that was read, and for how long it is kept.

    Attributes:
        read_at: How often something had happened when it was read.
        least_s: It is kept until then whatever happens: reading it again costs too much.
        until_s: It is kept until then if nothing happens.
    """

    read_at: int
    least_s: float
    until_s: float

    def is_over(self, now_s: float, happened: int) -> bool:
        """Whether it is too old to be shown again."""
        return now_s > (self.least_s if self.read_at < happened else self.until_s)


class _Kept:
    """An answer that is being computed, or was; ``age`` is None until then."""

    future: Future[Body]

    def __init__(self, asked_s: float) -> None:
        self.asked_s = asked_s
        self.sent = 0
        self.cost_s = 0.0
        self.age: _Age | None = None

    def is_over(self, now_s: float, happened: int) -> bool:
        """Whether it is too old, or was never an answer."""
        return self.age is not None and self.age.is_over(now_s, happened)


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
        self._statuses: dict[bool, tuple[_Age, WarehouseStatus]] = {}
        self._answers: dict[Any, _Kept] = {}
        self._happened = 0
        self._oldest_read = threading.local()

    def close(self) -> None:
        """Give back the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def body(self, key: Any, compute: Callable[[], Mapping[str, Any]]) -> Answer:
        """What ``compute`` answers; for a while the same to everybody who asks by ``key``."""
        now_s = time.monotonic()
        kept = self._answers.get(key)
        if kept is None or kept.is_over(now_s, self._happened):
            kept = self._begun(key, compute, now_s, 0 if kept is None else kept.sent)
        kept.asked_s = now_s
        kept.sent += 1
        # Shielded: somebody who goes away does not take the answer from the others.
        body = await asyncio.shield(asyncio.wrap_future(kept.future))
        assert kept.age is not None, "it is there"
        left_s = max(0.0, kept.age.least_s - time.monotonic())
        return Answer(body, left_s, outdated=kept.age.read_at < self._happened)

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
            if not other.is_over(now_s, self._happened) or now_s - other.asked_s < ASKED_S
        }
        others_s = sum(
            other.cost_s + other.sent * SENT_S
            for each, other in self._answers.items()
            if each != key
        )
        kept = self._answers[key] = _Kept(now_s)
        kept.future = self._threads.submit(self._computed, kept, compute, others_s, sent)
        return kept

    def _computed(
        self, kept: _Kept, compute: Callable[[], Mapping[str, Any]], others_s: float, sent: int
    ) -> Body:
        """Compute an answer; in a reading thread.

        Args:
            kept: What is kept of it.
            compute: Gives the answer.
            others_s: What the answers to other questions cost.
            sent: How many asked for the one before.
        """
        begun_s, used_s = time.monotonic(), time.thread_time()
        self._oldest_read.happened = self._happened
        least_s = until_s = begun_s
        try:
            body = body_of(compute())
            kept.cost_s = time.thread_time() - used_s
            least_s = begun_s + kept_s(kept.cost_s + sent * SENT_S, others_s)
            until_s = max(time.monotonic() + _KEPT_S, least_s)
            return body
        finally:
            kept.age = _Age(self._oldest_read.happened, least_s, until_s)

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result of ``work``, done in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def status(self, *, account: bool = False) -> WarehouseStatus:
        """How the tables stand, now or at the end of the run that is shown.

        Raises:
            PlatformError: The journal is there and cannot be read.
        """
        with self._reading_status:
            age, found = self._statuses.get(account, (None, None))
            if age is None or found is None or age.is_over(time.monotonic(), self._happened):
                happened, used_s = self._happened, time.thread_time()
                found = self._status(account=account)
                used_s = time.thread_time() - used_s
                least_s = time.monotonic() + kept_s(used_s, 0.0)
                age = _Age(happened, least_s, max(time.monotonic() + _KEPT_S, least_s))
                self._statuses[account] = age, found
        # An answer is as old as the oldest that it is made of.
        before = getattr(self._oldest_read, "happened", age.read_at)
        self._oldest_read.happened = min(before, age.read_at)
        return found

    def run_now(self) -> RunStatus:
        """The run that goes on, or the last one; of a recorded run, that. Read now: never kept.

        Raises:
            PlatformError: The journal is there and cannot be read.
        """
        with self.journal() as journal:
            found = read_run(self.project, journal)
            if self.run_number is None or journal is None:
                return found
            return run_as_of(found, journal, self.run_number)

    def forget(self) -> None:
        """Something happened: what was read before is too old.

        It is read again as soon as somebody asks, or as its cost allows.
        """
        self._happened += 1

    def _status(self, *, account: bool) -> WarehouseStatus:
        found = read_status(self.project, self.clock(), account=account)
        if self.run_number is None:
            return found
        with self.journal() as journal:
            return found if journal is None else as_of(found, journal, self.run_number)

    def journal(self) -> AbstractContextManager[Journal | None]:
        """The journal, now or at the end of the run that is shown; None where there is none yet.

        Raises:
            PlatformError: It is there and cannot be read.
        """
        return journal_shown(self.project, self.run_number)
