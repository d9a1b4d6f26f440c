"""The lease of a storage as a state machine: who may run its warehouse.

The lease is one record in the storage that is replaced by compare-and-swap alone. The holder
replaces it every :data:`RENEW_S`. A candidate that saw the same record for :data:`LAPSE_S` by its
own clock replaces it with one of its own, whose epoch is larger by one. Clocks of two processes
are never compared, only durations by one clock each.

Why two never hold it at once: the holder counts from before it asks for a renewal, a candidate
from after it saw that renewal, and the swap fails where another one came between. So a
candidate succeeds at the earliest :data:`LAPSE_S` after the holder began the last renewal that
succeeded, and the holder stops :data:`MARGIN_S` before that (clocks may run at slightly different
rates).

Like the scheduler's, this machine has no clock and no I/O: the driver
(``runtime/lease/leadership.py``) carries out one action after the other and hands in what came of
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

RENEW_S = 5.0
"""Seconds between the holder's renewals."""
LAPSE_S = 15.0
"""Seconds without a renewal after which others may take the lease."""
MARGIN_S = 1.0
"""The holder gives up so much earlier than others may take the lease."""
LOOK_S = 1.0
"""Seconds between looks of a candidate, and between tries while the store does not answer."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process.

    Attributes:
        id: Tells it from every other process that ever was.
        host, pid: For people.
        machine: Tells the processes among which the number ``pid`` means something.
    """

    id: str
    host: str
    pid: int
    machine: str = ""

    def __str__(self) -> str:
        """As people are told of it."""
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Record:
    """What stands in the storage.

    Attributes:
        holder: Who has, or had, the lease.
        epoch: Grows by one with every change of hands.
        since_s: When the holder took it, seconds since the epoch by the holder's clock.
        renewals: How often it was renewed.
        released: The holder gave it back.
        fenced: No process before the holder can commit any more. False: it was taken from one that
            may wake up, and not all tables are fenced off from that yet.
    """

    holder: Holder
    epoch: int
    since_s: float
    renewals: int = 0
    released: bool = False
    fenced: bool = True


# ---- events ----


@dataclass(frozen=True, slots=True)
class Woke:
    """The wait is over, or the machine starts."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a read found.

    Attributes:
        record: None where there is none.
        tag: What the next swap compares with.
        dead: The record's holder is known to be gone.
        floor: Where there is no record: the largest epoch that anything in the storage has.
        now_s: Seconds since the epoch, for :attr:`Record.since_s`.
    """

    record: Record | None
    tag: str | None
    dead: bool = False
    floor: int = 0
    now_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Swapped:
    """The swap succeeded.

    Attributes:
        tag: That of the new record.
    """

    tag: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """The swap failed: the record is not the one that was compared with."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The store did not answer; whether a swap took place is not known."""


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The process ends: give the lease back."""


Event: TypeAlias = Woke | Found | Swapped | Refused | Unreachable | StopAsked

# ---- actions ----


@dataclass(frozen=True, slots=True)
class Read:
    """Read the record."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Replace the record that has ``tag`` (None: there is none)."""

    record: Record
    tag: str | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until then, by the clock of ``handle``."""

    until_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more is to be done.

    Attributes:
        reason: ``lost``: another process took the lease. ``occupied``: another process holds and
            renews it. ``stopped``: as asked.
        by: The record of that process.
    """

    reason: str
    by: Record | None = None


Action: TypeAlias = Read | Swap | Wait | Ended


class Lease:
    """One process' part in the lease.

    Args:
        me: This process.
        patient: Wait for the lease however long it takes; otherwise end as soon as another
            process is seen to renew it.

    Attributes:
        epoch: Of this process' record; 0 before it has the lease.
        held: Whether this process took the lease and has not lost it. Only until
            :attr:`valid_until_s` may it act on that.
        valid_until_s: By the clock of :meth:`handle`.
        lapsed: The lease was taken from a process that did not give it back and is not known to
            be gone, so it may wake up; or from one that had taken it so and did not get to fence
            all tables off. Until :meth:`all_fenced`.
        seen: The record seen last, whoever's.
    """

    def __init__(self, me: Holder, *, patient: bool) -> None:
        self.me = me
        self.patient = patient
        self.epoch = 0
        self.held = False
        self.valid_until_s = float("-inf")
        self.lapsed = False
        self.seen: Record | None = None
        self._tag: str | None = None
        self._seen_s: float | None = None
        """When the record was first seen as it is."""
        self._pending: Record | None = None
        self._pending_lapsed = False
        self._began_s = 0.0
        self._stopping = False

    def handle(self, now_s: float, event: Event) -> Action:
        """What to do next.

        Args:
            now_s: Seconds by a clock that never stops or jumps, this process' own.
            event: What came of the last action, or StopAsked.
        """
        match event:
            case Woke():
                return self._due(now_s)
            case Found():
                return self._found(now_s, event)
            case Swapped(tag):
                return self._swapped(tag)
            case Refused():
                self._pending = None
                return Ended("stopped") if self._stopping else Read()
            case Unreachable():
                return Ended("stopped") if self._stopping else Wait(now_s + LOOK_S)
            case StopAsked():
                return self._stop(now_s)
            case _:
                assert_never(event)

    def all_fenced(self) -> None:
        """No process before this one can commit any more; its next renewal says so."""
        self.lapsed = False

    def _due(self, now_s: float) -> Action:
        if not self.held or self._pending is not None:
            return Read()  # a renewal whose answer never came may be there
        return self._renewed(now_s)

    def _renewed(self, now_s: float) -> Action:
        assert self.seen is not None
        return self._swap(now_s, self._mine(renewals=self.seen.renewals + 1), self._tag)

    def _mine(self, **changed: Any) -> Record:
        assert self.seen is not None
        return replace(self.seen, fenced=not self.lapsed, **changed)

    def _swap(self, now_s: float, record: Record, tag: str | None) -> Action:
        self._pending, self._began_s = record, now_s
        return Swap(record, tag)

    def _swapped(self, tag: str | None) -> Action:
        assert self._pending is not None
        self.seen, self._tag, self._pending = self._pending, tag, None
        if self.seen.released:
            return Ended("stopped")
        if not self.held:
            self.held, self.epoch, self.lapsed = True, self.seen.epoch, self._pending_lapsed
        self.valid_until_s = self._began_s + LAPSE_S - MARGIN_S
        return Wait(self._began_s + RENEW_S)

    def _found(self, now_s: float, found: Found) -> Action:
        record = found.record
        if self._pending is not None and record == self._pending:
            return self._swapped(found.tag)  # it took place, though nobody answered
        self._pending = None
        if self.held:
            return self._found_as_holder(now_s, found)
        if record is not None and record.holder.id == self.me.id:
            # An earlier swap took place after all, nobody knows when: valid once it is renewed.
            self.held, self.epoch, self.lapsed = True, record.epoch, True
            return self._found_as_holder(now_s, found)
        is_new = self._seen_s is None or found.tag != self._tag
        if is_new and self._seen_s is not None and not self.patient and _lives(found):
            return Ended("occupied", record)
        if is_new:
            self.seen, self._tag, self._seen_s = record, found.tag, now_s
        assert self._seen_s is not None
        has_lapsed = _lives(found) and now_s - self._seen_s >= LAPSE_S
        if not _lives(found) or has_lapsed:
            epoch = (found.floor if record is None else record.epoch) + 1
            self._pending_lapsed = has_lapsed or (record is not None and not record.fenced)
            fenced = not self._pending_lapsed
            mine = Record(self.me, epoch, found.now_s, fenced=fenced)
            return self._swap(now_s, mine, found.tag)
        return Wait(min(now_s + LOOK_S, self._seen_s + LAPSE_S))

    def _found_as_holder(self, now_s: float, found: Found) -> Action:
        record = found.record
        if record is not None and record.holder.id != self.me.id:
            self.held, self.valid_until_s = False, float("-inf")
            return Ended("lost", record)
        self._tag = found.tag  # None: somebody deleted it; who writes it first has it
        if record is not None:
            self.seen = record
        return self._renewed(now_s)

    def _stop(self, now_s: float) -> Action:
        self._stopping = True
        if not self.held or self.seen is None:
            return Ended("stopped")
        # What is not known to have been written cannot be compared with.
        return self._swap(now_s, self._mine(released=True), self._tag)


def _lives(found: Found) -> bool:
    """Whether somebody else may have the lease."""
    return found.record is not None and not found.record.released and not found.dead
