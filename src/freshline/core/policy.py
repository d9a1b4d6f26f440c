"""What a policy is: an order in which waiting tables are started.

Most policies are one formula: ``key(table)``, smaller first, which changes only when
something happens to that table. The scheduler keeps the keys in a heap, so a decision costs
O(log n). A policy with more to say sets one of the flags below and overrides what goes
with it; the loop asks nobody who has nothing to say.

A policy is one file in ``core/policies`` with a class attribute ``name``. The folder is
scanned (``registry.py``), so a new file needs no second edit. Dataclass fields are its
parameters, taken from the scenario's or project's ``policy`` keys of the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from freshline.core.aus.reservations import Reservations
from freshline.core.extent import Extent
from freshline.core.model import Table

Key = Any
"""Comparable; keys of one policy compare with each other. None: not startable yet."""


class View(Protocol):
    """What a policy may see of the scheduler."""

    @property
    def tables(self) -> Sequence[Table]:
        """All tables, in table order."""

    @property
    def track_count(self) -> int:
        """How many updates can run at once."""

    @property
    def now_s(self) -> float:
        """The instant being handled."""

    @property
    def facts_changed(self) -> int:
        """How often a table's cost, priority, period or pause changed."""

    @property
    def reservations(self) -> Reservations:
        """What reports take of the tracks."""

    def waiting(self) -> list[Table]:
        """Tables that could be started now, best first by the policy's key."""

    def first(self) -> Table | None:
        """The best of them; None when nothing waits."""

    def rekey(self, table: Table) -> None:
        """Ask for ``table``'s key anew (its policy state changed)."""


class Policy:
    """Base of all policies: what none of them needs to repeat."""

    name: ClassVar[str]
    also_called: ClassVar[tuple[str, ...]] = ()
    """Other names by which it can be asked for."""
    eager: ClassVar[bool] = True
    """Never leaves a track idle while a startable update waits (Bateni et al. 3)."""
    chooses: ClassVar[bool] = False
    """Overrides ``choose``: its first pick is not always the smallest key."""
    reacts: ClassVar[bool] = False
    """Overrides ``react`` (``started``, ``prioritised``, ``next_wakeup_s``): has own state."""
    heeds_arrivals: ClassVar[bool] = False
    """``react`` is called at every instant, not only at the first and where updates finished."""
    ranks_by_gain: ClassVar[bool] = False
    """Its key is what an update gains by its new data: one without any would come last for ever.

    A table that is to be computed anew, since its query changed, goes ahead of its order.
    """
    inherits: ClassVar[bool] = True
    """Whether inherited priorities apply."""
    partitioned: ClassVar[bool] = True
    """Whether a partition into tracks applies; where not, the setting is ignored."""
    own_partition: ClassVar[str | None] = None
    """The partition that is part of the policy; no other can be asked for beside it."""

    def prepare(self, view: View) -> None:
        """Called once, before the first event, and again when tables' costs were reset.

        Raises:
            UserError: The tables do not fit the policy.
        """

    def extent(self, given: Extent) -> Extent:
        """How much one update loads; ``given`` is what the settings ask for."""
        return given

    def key(self, table: Table) -> Key:
        """Place of a table that has news among the waiting: smaller is started first."""
        raise NotImplementedError

    def score(self, table: Table) -> str:
        """The key in words, for people."""
        return f"{self.key(table)}"

    def picks(self, tables: Sequence[Table], *, held_back: bool = False) -> bool:
        """Whether ``choose`` is asked (only where ``chooses``).

        Args:
            tables: All tables.
            held_back: Whether tables with news wait until they are due (objective ``cost``).
        """
        return True

    def choose(self, view: View) -> Table | None:
        """The table to start next (only asked where ``chooses`` and ``picks``)."""
        raise NotImplementedError

    def react(self, view: View, finished: Sequence[Table], arrived: Sequence[Table]) -> None:
        """After all events of an instant, before the choice (only where ``reacts``).

        Called at the first instant, at every one at which updates finished and, where
        ``heeds_arrivals``, at all others too.

        Args:
            view: The scheduler.
            finished: Tables whose update finished at this instant.
            arrived: Base tables for which a file arrived.
        """

    def started(self, table: Table, now_s: float) -> None:
        """An update of ``table`` starts (only where ``reacts``)."""

    def prioritised(self, view: View) -> None:
        """Somebody gave a table another priority (only where ``reacts``)."""

    def release_s(self, table: Table) -> float:
        """Release of the work about to start, as the trace shows it."""
        return table.release_s

    def mode(self, table: Table) -> str | None:
        """The mode of the update about to start; None where the policy has none."""
        return None

    def standing(self, table: Table) -> str | None:
        """The mode that ``table`` is in now, in words; None where the policy has none."""
        return None

    def findings(self) -> dict[str, Any]:
        """What it has to tell at the end of a simulation, beside what all policies have."""
        return {}

    def next_wakeup_s(self) -> float:
        """When it wants an instant of its own, at the latest (only where ``reacts``)."""
        return float("inf")
