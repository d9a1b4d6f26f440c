"""This process' hold on the storage's lease: taken before a run, renewed beside it, given back.

The state machine is :mod:`freshline.core.lease`; here are its clock, its I/O and its thread. On
this machine the lock of the run's own folder is held as well: it tells at once that a process is
gone, and keeps two runs from one journal.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from freshline.core.errors import PlatformError, UserError
from freshline.core.lease import (
    LAPSE_S,
    Action,
    Ended,
    Event,
    Found,
    Holder,
    Lease,
    Read,
    Record,
    Refused,
    StopAsked,
    Swap,
    Swapped,
    Unreachable,
    Woke,
)
from freshline.delta.log import last_commit
from freshline.executor.fence import fenced
from freshline.project.model import Project
from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.succession import finish_leaving, leave_behind
from freshline.runtime.lease.machine import has_ended, this_machine
from freshline.runtime.lease.place import store_of
from freshline.runtime.lease.store import LeaseStore, SwapRefusedError
from freshline.runtime.lease.succession import fence_tables


def boot_s() -> float:
    """Seconds since this machine started, those included in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leadership:
    """The right of this process to run a project's warehouse.

    Args:
        project: Whose storage it is.
        standby: Wait for the lease while another process has it, however long.
        tell: Told what people should hear.
        seen: Told of each look at which another process has the lease, while this one waits.
        store: Where the lease stands; by the project's storage where none is given.
        clock: Seconds by a clock that never stops or jumps.

    Attributes:
        epoch: Of the lease, once it was taken.
        beside: It was taken from a process of this machine that still exists and does not turn.
        from_afar: The one who had it before was a process of another machine, for which standbys
            of this one may serve.
    """

    def __init__(
        self,
        project: Project,
        *,
        standby: bool = False,
        tell: Callable[[str], None] = lambda _: None,
        seen: Callable[[Holder], None] = lambda _: None,
        store: LeaseStore | None = None,
        clock: Callable[[], float] = boot_s,
    ) -> None:
        self._project = project
        self._folder = own_folder(project)
        self._tell = tell
        self._seen = seen
        self._clock = clock
        self._store = store_of(project) if store is None else store
        self._me = Holder(uuid.uuid4().hex, socket.gethostname(), os.getpid(), this_machine())
        self._standby = standby
        self._lease = Lease(self._me, patient=standby)
        self._lock: WarehouseLock | None = None
        self._told: tuple[str, int] | None = None
        self._lost: Record | None = None
        self._no_more = threading.Event()
        """Ends the wait for the lease."""
        self._stop = threading.Event()
        """Ends the renewals, and commits."""
        self._thread: threading.Thread | None = None
        self._fence = contextlib.ExitStack()
        self.epoch = 0
        self.beside = False
        self.from_afar = False

    # ---- taking it ----

    def take(self) -> bool:
        """Take the lease.

        Returns:
            False where :meth:`stop` was called before it was to be had.

        Raises:
            UserError: Another process runs the warehouse (``already-running``) and this one is no
                standby.
            PlatformError: The folder cannot be made, or a table's log cannot be read.
        """
        if self._thread is not None:
            return True
        if not self._standby:
            self._lock = WarehouseLock(self._folder)
        action: Action = Read()
        while not self._lease.held:
            event = self._carried_out(action)
            action = self._lease.handle(self._clock(), event)
            if isinstance(action, Ended):
                if action.reason == "occupied" and action.by is not None:
                    raise self._occupied(action.by)
                return False
        self.epoch = self._lease.epoch
        self.beside = self._lock is None
        if self._lock is None:
            self._lock = WarehouseLock.in_place_of(self._folder)
        self._thread = threading.Thread(
            target=self._keep, args=(action,), name="lease", daemon=True
        )
        self._thread.start()
        if self._standby:
            self._lock.lead()
        journal = journal_path(self._project)
        if self.beside:
            text = leave_behind(journal)
            if text is not None:
                self._tell(text)
        else:
            finish_leaving(journal)
        if self._lease.lapsed:
            for text in fence_tables(self._project, self.epoch):
                self._tell(text)
            self._lease.all_fenced()
        self._fence.enter_context(fenced(self))
        return True

    def stop(self) -> None:
        """End the wait for the lease; safe from signal handlers and threads."""
        self._no_more.set()

    def leads(self) -> bool:
        """Whether this process may commit now, as far as it knows."""
        return self._lost is None and self._clock() < self._lease.valid_until_s

    def _carried_out(self, action: Action) -> Event:
        try:
            match action:
                case Read():
                    return self._found()
                case Swap(record, tag):
                    return Swapped(self._store.swap(record, tag))
                case _:
                    assert not isinstance(action, Ended)
                    stop = self._stop if self._lease.held else self._no_more
                    stop.wait(max(0.0, action.until_s - self._clock()))
                    return StopAsked() if stop.is_set() else Woke()
        except SwapRefusedError:
            return Refused()
        except OSError as error:
            self._tell_once("lease-unreachable", 0, f"the lease {self._store.place}: {error}")
            return Unreachable()

    def _found(self) -> Event:
        record, tag = self._store.read()
        floor = 0
        if not self._lease.held:
            if self._lock is None:
                with contextlib.suppress(UserError):
                    self._lock = WarehouseLock(self._folder, leads=not self._standby)
            self.from_afar = record is not None and record.holder.machine != self._me.machine
            if record is None:
                floor = self._highest_epoch()
            elif record.holder.id != self._me.id and not record.released:
                self._tell_of(record)
                if self._standby:
                    self._seen(record.holder)
        return Found(record, tag, self._is_gone(record), floor, round(time.time(), 6))

    def _is_gone(self, record: Record | None) -> bool:
        """Whether the process of a record is known to be gone."""
        if record is None or record.holder.id == self._me.id:
            return False
        here = record.holder.machine == self._me.machine
        if here and has_ended(record.holder.pid):
            return True
        # Whoever runs the warehouse of this folder has its lock.
        is_local = self._folder == Path(self._project.own_path)
        return is_local and self._lock is not None and record.holder.host == self._me.host

    def _highest_epoch(self) -> int:
        """The largest epoch that a table's last commit was made under."""
        commits = (last_commit(self._project.table_path(each.name)) for each in
                   self._project.tables)  # fmt: skip
        return max((int(each.metadata.get("epoch", 0)) for each in commits if each), default=0)

    def _tell_of(self, record: Record) -> None:
        if self._standby:
            text = f"standing by: {record.holder} runs this warehouse (epoch {record.epoch})"
        else:
            text = (
                f"{record.holder} ran this warehouse and did not give the lease back; if it does"
                f" not renew it within {LAPSE_S:.0f} s, it is taken over"
            )
        if not self._is_gone(record):
            self._tell_once(record.holder.id, record.epoch, text)

    def _tell_once(self, what: str, number: int, text: str) -> None:
        if self._told != (what, number):
            self._told = (what, number)
            self._tell(text)

    def _occupied(self, record: Record) -> UserError:
        self.release()
        return UserError(
            "already-running",
            f"process {record.holder.pid} on {record.holder.host} runs this warehouse already",
            rule=f"one run per storage; it holds {self._store.place}",
            next_step="Stop it, use `freshline status`, or start with --standby to take over when"
            " it ends.",
        )

    # ---- keeping it ----

    def _keep(self, action: Action) -> None:
        """Renew the lease until it is lost or given back; in a thread of its own."""
        while True:
            event = self._carried_out(action)
            action = self._lease.handle(self._clock(), event)
            if isinstance(action, Ended):
                if action.reason == "lost":
                    self._lost = action.by
                return

    def check(self) -> None:
        """Make sure that no other process took over; microseconds.

        Raises:
            PlatformError: One did (``lease-lost``), or could (``lock-lost``).
        """
        if self._lost is None and self._store.cheap:
            with contextlib.suppress(OSError):
                record, _ = self._store.read()
                if record is not None and record.holder.id != self._me.id:
                    self._lost = record
        if self._lost is not None:
            raise self._taken_over(self._lost)
        if self._lock is not None:
            self._lock.check()

    def check_commit(self) -> None:
        """Make sure that this process may commit now.

        Raises:
            PlatformError: Another process took over, or could have: the lease was not renewed in
                time, or the run has ended and given it back (``lease-lapsed``).
        """
        self.check()
        if self._stop.is_set():
            raise PlatformError(
                "lease-lapsed",
                f"the run has ended and given the lease {self._store.place} back, so nothing is"
                " committed any more",
                rule="another process may lead from then on",
                next_step="The next run does it.",
            )
        late_s = self._clock() - self._lease.valid_until_s
        if late_s > 0:
            raise PlatformError(
                "lease-lapsed",
                f"the lease {self._store.place} was not renewed in time, so nothing is committed",
                rule=f"after {LAPSE_S:.0f} s without a renewal another process may take over",
                next_step="It is tried again; check that the storage can be reached.",
            )

    def _taken_over(self, record: Record) -> PlatformError:
        return PlatformError(
            "lease-lost",
            f"process {record.holder.pid} on {record.holder.host} took this warehouse over"
            f" (epoch {record.epoch}): this process did not renew the lease in time",
            rule="one run per storage",
            next_step="Nothing committed is lost. Start `freshline run --standby` to follow the"
            " other process.",
        )

    # ---- giving it back ----

    def release(self) -> None:
        """Give the lease back, so that another process need not wait; and the lock."""
        self._stop.set()
        self._fence.close()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def held(
    lease: Leadership | None, project: Project, tell: Callable[[str], None]
) -> AbstractContextManager[Leadership]:
    """The caller's lease, which the caller gives back, or one that ends with the block.

    The run's server is closed before the lease is given back, so that a successor finds the
    address free.
    """
    return Leadership(project, tell=tell) if lease is None else contextlib.nullcontext(lease)
