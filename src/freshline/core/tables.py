"""The state of all tables, and how news flows through the graph of them.

A file of a feed, the end of a parent's update, a file taken back, what a former run left:
each changes what is pending where. Which table is started next is not decided here but in
``scheduler.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from freshline.core.events import FilesWithdrawn, TableRestored
from freshline.core.extent import ALL_PENDING, Extent
from freshline.core.graph import ancestors, connected, set_periods
from freshline.core.model import PendingFile, Running, Table, TableSpec

_INFINITY = float("inf")


class Tables:
    """All tables of a scheduler and what is pending for each.

    Attributes:
        facts_changed: How often a table's cost, priority, period or pause changed.

    Args:
        specs: The tables; their order breaks ties.
        extent: How much one update loads: how much must be remembered depends on it.
        start_s, origin_s: As the scheduler's.

    Raises:
        UserError: The graph has a cycle, an unknown source or a name twice.
    """

    def __init__(
        self,
        specs: Sequence[TableSpec],
        *,
        extent: Extent,
        start_s: float,
        origin_s: float | None,
    ) -> None:
        self.now_s = start_s
        self.facts_changed = 0
        self.tables: tuple[Table, ...] = tuple(
            Table(spec, order, origin_s, start_s) for order, spec in enumerate(specs)
        )
        self._by_name = {table.name: table for table in self.tables}
        connected(specs, self.tables)
        set_periods(self.tables)
        self._extent = extent
        self._merges_all = extent is ALL_PENDING
        self._keeps_files = extent.keeps_files
        self._versioned = origin_s is None

    def table(self, name: str) -> Table:
        """State of the table ``name``; KeyError if there is none."""
        return self._by_name[name]

    @property
    def merges_all(self) -> bool:
        """Whether an update always loads all that is pending."""
        return self._merges_all

    def rekey(self, table: Table) -> None:
        """Something about ``table`` changed that its place among the waiting hangs on."""
        raise NotImplementedError

    # ---- base tables ----

    def _hand_back(self, table: Table, running: Running, except_for: set[str]) -> None:
        """Make the files of an update pending again that were not loaded after all."""
        back = [file for file in running.files if file.name not in except_for]
        (table.gap if running.background else table.pending).extendleft(reversed(back))

    def _insert(self, table: Table, file: PendingFile) -> None:
        """Take in a file whose timestamp is not the newest of its feed."""
        if file.timestamp_s <= table.started_to_s:
            table.late_s += table.period_s or 1.0
        later: list[PendingFile] = []
        while table.pending and table.pending[-1].timestamp_s > file.timestamp_s:
            later.append(table.pending.pop())
        table.pending.append(file)
        table.pending.extend(reversed(later))

    def _settle_gap(self, table: Table) -> None:
        """A table without a gap is complete to its F again, and its children may see that."""
        running = table.running
        if table.floor_s is None or table.gap or (running is not None and running.background):
            return
        table.floor_s = None
        for child in table.children:
            self._set_edge(child)

    # ---- derived tables ----

    def _set_edge(self, table: Table) -> None:
        """Move a derived table's trailing edge to the least of its sources' freshness."""
        edge_s = min([source.complete_s for source in table.sources])
        if edge_s > table.trailing_edge_s:
            table.trailing_edge_s = edge_s
            if self._keeps_files or not table.pending:
                table.pending.append(PendingFile(edge_s, self.now_s, None))
        elif not table.late_s > 0.0:
            return
        if table.running is None:
            self.rekey(table)

    def _correct(self, table: Table, amount_s: float) -> None:
        """A parent changed at or before this table's freshness."""
        if not table.known:
            return
        table.late_s += amount_s
        if not table.pending:
            table.pending.append(PendingFile(table.trailing_edge_s, self.now_s, None))

    def _offer(self, table: Table) -> None:
        """Make a view pending for parents' newer versions that bring it no freshness.

        The least fresh parent holds the trailing edge. While that one has work to do, the
        view waits for it: one update then takes up all of them. Where it stands still (a
        dimension loaded once, a feed in an outage, a table that fails or is paused), the
        others' news would never be taken up, so they count like late data.
        """
        if not table.known or table.late_s > 0.0 or table.running is not None:
            return
        if table.pins is None or table.trailing_edge_s > table.freshness_s:
            return
        if all(source.is_newest(table.pins.get(source.name)) for source in table.sources):
            return
        for source in table.sources:
            if source.freshness_s <= table.trailing_edge_s and any(
                (item.running is not None and not item.running.command.upkeep)
                or self.startable(item)
                for item in (source, *ancestors(source))
            ):
                return
        self._correct(table, table.period_s or 1.0)
        self.rekey(table)

    def blocked(self, table: Table) -> bool:
        """Whether it reads a table of which there is no version yet (warehouse only)."""
        return self._versioned and any(source.version is None for source in table.sources)

    def startable(self, table: Table) -> bool:
        """Whether an update of it could start now, were a track free and the policy willing."""
        return (
            (
                table.trailing_edge_s > table.freshness_s
                or table.late_s > 0.0
                or (table.full and table.known)
            )
            and table.running is None
            and (not table.paused or table.asked)
            and table.deferred_until_s <= self.now_s
            and not self.blocked(table)
        )

    def _originate(self, table: Table, origin_s: float) -> None:
        """First news of a table whose freshness was unknown, and of what is derived from it."""
        table.freshness_s = table.trailing_edge_s = table.next_to_s = origin_s
        table.started_to_s = origin_s
        table.area_since_s = self.now_s
        for child in table.children:
            if not child.known and all(source.known for source in child.sources):
                self._originate(child, min(source.freshness_s for source in child.sources))

    # ---- versions ----

    def _pins(self, table: Table, to_s: float) -> tuple[tuple[str, int], ...]:
        """The version of each parent to read: its newest whose freshness is at most ``to_s``.

        Where the update is not cut short a parent's newest version is read: it is the one
        that decides the trailing edge, or fresher than it.
        """
        cut = to_s < table.trailing_edge_s
        pins = []
        for source in table.sources:
            if source.version is None:
                continue
            version = source.version
            for freshness_s, older in reversed(source.versions if cut else ()):
                version = older
                if freshness_s <= to_s:
                    break
            pins.append((source.name, version))
        return tuple(pins)

    def _remember_version(self, table: Table, version: int) -> None:
        """Keep what a chopped child may still read: from the newest that every child has."""
        versions = table.versions
        versions.append((table.freshness_s, version))
        least_s = min([child.freshness_s for child in table.children], default=_INFINITY)
        while len(versions) > 1 and versions[1][0] <= least_s:
            del versions[0]

    # ---- what feeds take back and former runs left ----

    def _withdrawn(self, event: FilesWithdrawn) -> None:
        table = self._by_name[event.table]
        gone = set(event.names)
        if table.gap:
            table.gap = deque([file for file in table.gap if file.name not in gone])
            self._settle_gap(table)
        kept = [file for file in table.pending if file.name not in gone]
        late = sum(file.timestamp_s <= table.started_to_s for file in table.pending)
        late_kept = sum(file.timestamp_s <= table.started_to_s for file in kept)
        table.late_s = table.late_s * late_kept / late if late else table.late_s
        table.pending = deque(kept)
        newest_s = max([file.timestamp_s for file in kept], default=table.started_to_s)
        table.trailing_edge_s = max(newest_s, table.started_to_s)
        self.rekey(table)
        for child in table.children:
            self._offer(child)

    def _restored(self, event: TableRestored) -> None:
        table = self._by_name[event.table]
        table.number = event.number
        table.version = event.version
        if event.alpha_s is not None and event.beta is not None:
            table.cost.alpha_s, table.cost.beta = event.alpha_s, event.beta
            self.facts_changed += 1
        if event.freshness_s is not None:
            table.freshness_s = table.started_to_s = event.freshness_s
            table.trailing_edge_s = event.freshness_s
            table.area_since_s = self.now_s
            if event.version is not None and self._extent.cuts_derived:
                self._remember_version(table, event.version)
        if table.sources and table.known:
            self._set_edge(table)
            if event.late_s > 0.0:
                self._correct(table, event.late_s)
            else:
                table.pins = {
                    source.name: source.version
                    for source in table.sources
                    if source.version is not None
                }
        if event.stale:
            self._make_anew(table)
        for child in table.children:
            if child.known:
                self._set_edge(child)
            elif all(source.known for source in child.sources):
                # Never built: it stands where the oldest of its sources' data began.
                self._originate(child, min(s.freshness_s - s.period_s for s in child.sources))
                self._set_edge(child)
        self.rekey(table)

    def _make_anew(self, table: Table) -> None:
        table.full = True
        if not table.pending and table.known:
            table.pending.append(PendingFile(table.trailing_edge_s, self.now_s, None))
