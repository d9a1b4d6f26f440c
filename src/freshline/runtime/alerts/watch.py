"""The alerts of a run: a thread that looks at the status, and a sender for each address.

The loop of the warehouse knows nothing of it: the status is read from the journal, and what is
told is written over connections of its own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from freshline.core.errors import FreshlineError
from freshline.project.model import ALERT_KINDS, Project
from freshline.runtime.alerts.changes import Key, Raised, changes
from freshline.runtime.alerts.conditions import Conditions, unbuilt
from freshline.runtime.alerts.sender import Sender
from freshline.runtime.alerts.store import AlertStore
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.health.steady_clock import SteadyClock
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.run import read_run
from freshline.runtime.status.status import WarehouseStatus, read_status

_LOOK_S = 1.0
_LOOK_COST = 20.0
"""The status is read again after so many times the processor's time that reading it took."""

_GRACE_S = 3.0
"""At the end of a run, for events that are not delivered yet."""

_WHILE_RUNNING = ("silent",)
"""Kinds of which a warehouse at rest knows nothing."""

_IN_STORAGE = ("wrong-view",)
"""Kinds of which the storage tells, and nobody while it does not answer."""


@contextmanager
def alerting(project: Project, notice: Callable[[str], None]) -> Iterator[None]:
    """Post changes of state during a run, where the project has alerts."""
    if not project.alerts:
        yield
        return
    alerts = Alerts(project, notice)
    alerts.start()
    try:
        yield
    finally:
        alerts.stop()


class Alerts:
    """The alerts of one run in this process.

    Args:
        project: With its alerts.
        notice: Told what people should hear; from any thread.
        clock: Wall-clock seconds since the epoch; None: a clock that is set holds up no alert.
        backoff: Delays between attempts to deliver.
        look_s: How often to look at the status at most.
    """

    def __init__(
        self,
        project: Project,
        notice: Callable[[str], None],
        *,
        clock: Callable[[], float] | None = None,
        backoff: Backoff | None = None,
        look_s: float = _LOOK_S,
    ) -> None:
        self._project = project
        self._notice = notice
        self._clock = clock or SteadyClock()
        self._backoff = backoff or Backoff()
        self._look_s = look_s
        self._conditions = Conditions(project)
        self._memory: dict[Key, Raised] = {}
        self._store: AlertStore | None = None
        self._senders: list[Sender] = []
        self._faulty = False
        self._is_unposted = False
        self._former_s: float | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="alerts", daemon=True)

    def start(self) -> None:
        """Begin to look, before the run begins; what a former one left undelivered is posted."""
        # In a container each process has the same number, so that alone does not tell the runs.
        with contextlib.suppress(FreshlineError, OSError), journal_read(self._project) as journal:
            self._former_s = read_run(self._project, journal).since_s
        self._thread.start()

    def stop(self) -> None:
        """Look once more, and give deliveries a moment; the rest is kept for the next run."""
        self._stopped.set()
        self._thread.join(_GRACE_S)
        end_s = time.monotonic() + _GRACE_S
        for sender in self._senders:
            sender.stop(max(0.0, end_s - time.monotonic()))

    def _work(self) -> None:
        wait_s = 0.05
        while not self._stopped.wait(wait_s):
            used_s = time.thread_time()  # what it waits for a storage that hangs is no cost
            self._look()
            used_s = time.thread_time() - used_s
            wait_s = max(self._look_s, _LOOK_COST * used_s) if self._store else 0.05
        self._look()
        if self._store is not None:
            self._store.close()

    def _look(self) -> None:
        try:
            status = read_status(self._project, self._clock(), account=False)
            if self._store is None and not self._begin(status):
                return
            self._judge(status)
            self._faulty = False
        except (FreshlineError, sqlite3.Error, OSError) as error:
            self._fault(f"{error}")
        except Exception as error:  # noqa: BLE001 - a thread that ends would tell nothing any more
            self._fault(repr(error))

    def _fault(self, why: str) -> None:
        if not self._faulty:  # once, until it works again
            self._notice(f"alerts: the status cannot be read: {why}")
        self._faulty = True

    def _begin(self, status: WarehouseStatus) -> bool:
        """Open the store once this process's run has made its journal; whether it has."""
        if status.run.pid != os.getpid() or status.run.since_s in (None, self._former_s):
            return False
        store = self._opened()
        urls = list(dict.fromkeys(setting.url for setting in self._project.alerts))
        store.forget_others(urls)
        self._memory = {key: _by_clock(row, status.now_s) for key, row in store.memory().items()}
        self._store = store
        self._senders = [Sender(url, self._opened, self._notice, self._backoff) for url in urls]
        for sender in self._senders:
            sender.start()
        return True

    def _opened(self) -> AlertStore:
        return AlertStore(Journal(journal_path(self._project), create=False))

    def _judge(self, status: WarehouseStatus) -> None:
        assert self._store is not None
        left_out: tuple[str, ...] = () if status.run.running else _WHILE_RUNNING
        if status.wrong_unknown is not None:
            left_out += _IN_STORAGE
        judged = [kind for kind in ALERT_KINDS if kind not in left_out]
        found = changes(
            self._project.name,
            self._project.alerts,
            self._memory,
            self._conditions.now(status),
            status.now_s,
            judged=judged,
            lasting=unbuilt(status),
        )
        for change in found:
            if change.ended:
                del self._memory[change.raised.key]
            else:
                self._memory[change.raised.key] = change.raised
        # What cannot be written now (a full disk) is kept, and written with the next look.
        self._is_unposted |= any(change.event is not None for change in found)
        if self._store.note(found, status.now_s) and self._is_unposted:
            self._is_unposted = False
            for sender in self._senders:
                sender.wake()


def _by_clock(row: Raised, now_s: float) -> Raised:
    """A fault that was seen while the clock was ahead counts as seen now, until it is sent."""
    return row if row.told_s is not None else replace(row, seen_s=min(row.seen_s, now_s))
