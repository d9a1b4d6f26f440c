"""What the scheduler knows of a table: its definition, its state and its running update.

Times are seconds on one clock (virtual or wall), amounts of data are seconds of feed time
("freshness delta" in Golab et al. 2011, 2.4). Definitions are immutable; ``Table`` is the
state that only the scheduler writes and policies read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from freshline.core.commands import StartUpdate
from freshline.core.cost import LearnedCost


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table as the scheduler needs it.

    Attributes:
        name: Unique among all tables.
        sources: Tables it is derived from; empty for a base table, which has a feed.
        period_s: How often a file of its feed is due. None for a derived table: the largest
            period of any ancestor (Golab et al. 2.4, rule G9).
        priority: Weight of its staleness, > 0 or 0.
        alpha_s: Start-up seconds of one update (2.4).
        beta: Seconds per second of feed time loaded (2.4).
        wcet_s, recovery_period_s, recovery_threshold_s, phase_s, jitter_s,
            timestamp_jitter_s: Parameters of the adaptive scheduler (Leontyev et al. II-V).
        health_phase_s: The phase that its bounds count with (Definition 13) where the feed has
            no calendar of that phase; None: ``phase_s``, and without one the period.
        target_lag_s: The staleness that it shall not exceed; None: none is stated.
        target_downstream: It is to be as fresh as what is derived from it needs, no fresher.
        newest_first: Of a backlog the newest file is loaded first, the rest in the background.
    """

    name: str
    sources: tuple[str, ...] = ()
    period_s: float | None = None
    priority: float = 1.0
    alpha_s: float = 0.0
    beta: float = 0.0
    wcet_s: float | None = None
    recovery_period_s: float | None = None
    recovery_threshold_s: float | None = None
    phase_s: float | None = None
    jitter_s: float = 0.0
    timestamp_jitter_s: float = 0.0
    health_phase_s: float | None = None
    target_lag_s: float | None = None
    target_downstream: bool = False
    newest_first: bool = False


class PendingFile(NamedTuple):
    """A file that arrived and is not loaded; for a derived table a move of its trailing edge."""

    timestamp_s: float
    arrival_s: float
    name: str | None


class Running:
    """The update that a table is running: what was started, and what its end will need.

    Attributes:
        command: As it was given out.
        start_s: When.
        amount_s: Amount of data it loads, late data included.
        late_s: Amount of that at or before the table's freshness.
        files: What it took from the table's pending work.
        background: A backfill, or older files of a table that loads the newest first.
        asked: Somebody asked for it.
    """

    __slots__ = ("amount_s", "asked", "background", "command", "files", "late_s", "start_s", "to_s")

    def __init__(
        self,
        command: StartUpdate,
        start_s: float,
        amount_s: float,
        late_s: float,
        files: Sequence[PendingFile],
    ) -> None:
        self.command = command
        self.to_s = command.to_s
        self.start_s = start_s
        self.amount_s = amount_s
        self.late_s = late_s
        self.files = files
        self.background = False
        self.asked = False


class Table:
    """State of one table. Policies read it; only the scheduler writes it.

    Attributes:
        order: Place in the project; breaks every tie.
        weight: Inherited priority, what orderings use; ``priority`` is its own (rule G3).
        freshness_s: F; -infinity while nothing is known of its data (warehouse only).
        trailing_edge_s: TE: what could be loaded at most (Golab et al. 2.2).
        next_to_s: Where the next update would bring F: TE, or less with chopping.
        last_arrival_s: When the newest file with new data arrived; None before the first.
        key: The policy's key with which it stands among the waiting; None: it does not.
        late_s: Amount of pending data at or before F: late files, and parents' corrections.
        release_s: Arrival of the oldest work not loaded by a finished or running update (G8).
        pending: That work, oldest first; only its first entry where no update is cut to size.
        version: Newest committed version, None without one (warehouse only).
        pins: Version of each parent that it was made of; None where that is not known.
        gap: Files older than what is loaded, which the background loads, oldest first.
        floor_s: While there is a gap: up to where the table is complete; else None.
        same_rows: First and last of versions that a compaction left with the same rows; it
            says something only while the last of them is the newest version.
    """

    __slots__ = (
        "area_since_s",
        "asked",
        "children",
        "cost",
        "deferred_until_s",
        "floor_s",
        "freshness_s",
        "full",
        "gap",
        "is_base",
        "key",
        "last_arrival_s",
        "late_s",
        "max_staleness_s",
        "name",
        "next_to_s",
        "number",
        "order",
        "paused",
        "pending",
        "period_s",
        "pins",
        "priority",
        "running",
        "same_rows",
        "sources",
        "spec",
        "staleness_area_s2",
        "stamp",
        "started_to_s",
        "trailing_edge_s",
        "version",
        "versions",
        "weight",
    )

    def __init__(self, spec: TableSpec, order: int, origin_s: float | None, start_s: float) -> None:
        self.spec = spec
        self.name = spec.name
        self.order = order
        self.is_base = not spec.sources
        self.sources: tuple[Table, ...] = ()
        self.children: tuple[Table, ...] = ()
        self.period_s = spec.period_s or 0.0
        self.priority = spec.priority
        self.weight = spec.priority
        self.cost = LearnedCost(spec.alpha_s, spec.beta)
        self.freshness_s = float("-inf") if origin_s is None else origin_s
        self.trailing_edge_s = self.freshness_s
        self.next_to_s = self.freshness_s
        self.started_to_s = self.freshness_s
        self.last_arrival_s: float | None = None
        self.late_s = 0.0
        self.pending: deque[PendingFile] = deque()
        self.running: Running | None = None
        self.number = 0
        self.version: int | None = None
        self.same_rows: tuple[int, int] | None = None
        self.pins: dict[str, int] | None = None
        self.versions: list[tuple[float, int]] = []
        self.paused = False
        self.asked = False
        self.full = False
        self.gap: deque[PendingFile] = deque()
        self.floor_s: float | None = None
        self.deferred_until_s = float("-inf")
        self.stamp = 0
        self.key: Any = None
        self.area_since_s = start_s
        self.staleness_area_s2 = 0.0
        self.max_staleness_s = 0.0

    @property
    def known(self) -> bool:
        """Whether anything is known of its data (F is a number)."""
        return self.freshness_s != float("-inf")

    def stands_still(self, now_s: float) -> bool:
        """Whether no update starts: it is paused and none was asked for, or one just failed."""
        return (self.paused and not self.asked) or self.deferred_until_s > now_s

    @property
    def complete_s(self) -> float:
        """Up to where all data is in it: F, or less while older files are still to come."""
        return self.freshness_s if self.floor_s is None else self.floor_s

    def is_newest(self, version: int | None) -> bool:
        """Whether who has read ``version`` has read the rows of the newest one."""
        if version == self.version or version is None or self.same_rows is None:
            return version == self.version
        first, last = self.same_rows
        return last == self.version and first <= version <= last

    @property
    def has_news(self) -> bool:
        """Whether an update would change it: TE > F, late data, or asked to be made anew."""
        return self.trailing_edge_s > self.freshness_s or self.late_s > 0.0 or self.full

    @property
    def release_s(self) -> float:
        """Release r of the pending work (rule G8); infinite when there is none."""
        return self.pending[0].arrival_s if self.pending else float("inf")

    @property
    def amount_s(self) -> float:
        """Amount of data that its next update would load, seconds of feed time."""
        return self.next_to_s - self.freshness_s + self.late_s

    @property
    def expected_s(self) -> float:
        """Seconds that its next update is expected to take, E = alpha + beta * amount."""
        cost = self.cost
        return cost.alpha_s + cost.beta * (self.next_to_s - self.freshness_s + self.late_s)

    def __repr__(self) -> str:
        return f"<Table {self.name} F={self.freshness_s} TE={self.trailing_edge_s}>"
