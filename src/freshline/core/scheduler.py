"""The scheduler: a state machine that both the simulator and the warehouse drive.

Everything that happens comes in through ``handle(now_s, events)``: all events of one
instant, in their total order. What should be done comes out as commands. Time is only ever
what the caller says; nothing here reads a clock, rolls dice or does I/O.

    while not source.done():
        now_s, events = source.next(before_s=scheduler.next_wakeup_s())
        for command in scheduler.handle(now_s, events):
            sink.carry_out(command)

At one instant (contract of updates, semantics 2): completions, arrivals, then one choice
for every free track. The waiting tables stand in a heap by (policy's key, table order,
stamp); a table's stamp grows whenever its key changes, so older entries are recognised and
skipped. Every event costs O(log n).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from freshline.core.aus.reservations import Reservations
from freshline.core.background.background import Backfill, Background, Trial
from freshline.core.background.upkeep import TRY, Offer, upkeep_finished
from freshline.core.commands import StartUpdate
from freshline.core.errors import InternalError
from freshline.core.events import (
    BackfillRequested,
    Event,
    FileArrived,
    FilesWithdrawn,
    OthersAccepted,
    PeriodLearned,
    RefreshRequested,
    TablePaused,
    TablePrioritised,
    TableRestored,
    TableResumed,
    TrackReserved,
    UpdateFailed,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.explained import explained
from freshline.core.extent import ALL_PENDING, Extent, NewestFirst
from freshline.core.graph import ancestors, connected, dependents, set_periods, topological
from freshline.core.inheritance import inherit
from freshline.core.model import PendingFile, Running, Table, TableSpec
from freshline.core.placement import Placement
from freshline.core.policy import Policy
from freshline.core.rebuilds import Rebuilds
from freshline.core.staleness import settle

_INFINITY = float("inf")
_UNKNOWN = float("-inf")


class Scheduler:
    """Tables, tracks and a policy.

    Attributes:
        tables: The state of each table, in the order of ``specs``.
        facts_changed: How often a table's cost, priority, period or pause changed.
        background: The background work that waits and runs; None until there is some.

    Args:
        specs: The tables; their order breaks ties.
        tracks: How many updates can run at once (m, p or N in the papers), >= 1.
        policy: The order in which waiting tables start.
        placement: A partition into tracks; None: any table on any track.
        inherit_rule, inherit_factor: Whose priority counts (``inheritance.py``).
        extent: How much one update loads.
        start_s: When the clock starts.
        origin_s: Freshness of every table at the start. None: unknown until the first file
            arrives, then one period before that file's timestamp (a warehouse, whose clock
            did not start at 0).
        learns: Whether costs are learned from finished updates.
        explains: Whether commands carry scores and the candidates passed over.
        background_share: Part of the tracks' time that background work gets (``share.py``).

    Raises:
        UserError: The graph has a cycle, an unknown source or a name twice.
    """

    def __init__(
        self,
        specs: Sequence[TableSpec],
        *,
        tracks: int,
        policy: Policy,
        placement: Placement | None = None,
        inherit_rule: str = "none",
        inherit_factor: float = 1.0,
        extent: Extent = ALL_PENDING,
        start_s: float = 0.0,
        origin_s: float | None = 0.0,
        learns: bool = False,
        explains: bool = False,
        background_share: float = 0.1,
    ) -> None:
        extent = policy.extent(extent)
        newest_first = any(spec.newest_first for spec in specs)
        if newest_first:
            extent = NewestFirst(extent)
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
        self.track_count = tracks
        self.policy = policy
        self._inherit_rule = inherit_rule if policy.inherits else "none"
        self._inherit_factor = inherit_factor
        inherit(self.tables, self._inherit_rule, inherit_factor)
        self.placement = placement
        if placement is not None:
            placement.place(self.tables, tracks)
        self._learns = learns
        self._explains = explains
        kind = type(policy)
        self._chooses = policy.chooses and policy.picks(self.tables)
        self._rebuilds = Rebuilds(policy)
        self._tells = (kind.release_s, kind.mode) != (Policy.release_s, Policy.mode)
        self._on_track: list[Table | None] = [None] * tracks
        self._free = list(range(tracks))
        self.reservations = Reservations()
        self._ready: list[tuple[Any, int, int]] = []
        self._ready_limit = 64 + 4 * len(self.tables)
        self._deferred: list[tuple[float, int]] = []
        self._asked: list[Table] = []
        self._finished_now: list[Table] = []
        self._arrived_now: list[Table] = []
        self._heeds_arrivals = policy.reacts
        self._background_share = background_share
        self.background: Background | None = None
        if newest_first:
            self._wanted_background()
        self._controls: dict[type, Callable[[Any], None]] = {
            UpdateFailed: self._failed,
            FilesWithdrawn: self._withdrawn,
            TableRestored: self._restored,
            PeriodLearned: self._period_learned,
            TablePaused: self._paused,
            TableResumed: self._resumed,
            TablePrioritised: self._prioritised,
            OthersAccepted: self._others_accepted,
            RefreshRequested: self._refresh_requested,
            BackfillRequested: self._backfill_requested,
            UpkeepOffered: self._upkeep_offered,
            TrackReserved: self.reservations.reserve,
        }
        policy.prepare(self)

    # ---- the loop ----

    def handle(self, now_s: float, events: Iterable[Event]) -> list[StartUpdate]:
        """Take in all events of one instant and choose for every free track.

        Args:
            now_s: The instant; never earlier than the one before.
            events: Completions first, by track; then arrivals by table order.

        Raises:
            InternalError: The clock went back, or an event does not fit the state.
        """
        if now_s < self.now_s:
            raise InternalError(
                "clock-went-back", f"an instant at {now_s} came after one at {self.now_s}"
            )
        self.now_s = now_s
        if self.background is not None:
            self.background.share.advance(now_s)
        for event in events:
            kind = type(event)
            if kind is FileArrived:
                self._arrived(event)  # type: ignore[arg-type]
            elif kind is UpdateFinished:
                self._finished(event)  # type: ignore[arg-type]
            else:
                self._controls[kind](event)
        while self._deferred and self._deferred[0][0] <= now_s:
            self.rekey(self.tables[heappop(self._deferred)[1]])
        if self._finished_now or self._heeds_arrivals:
            self.policy.react(self, self._finished_now, self._arrived_now)
            self._finished_now.clear()
            self._arrived_now.clear()
            self._heeds_arrivals = self.policy.heeds_arrivals  # the first instant is for all
        commands: list[StartUpdate] = []
        if self.background is not None or self.reservations.from_s:
            self._start_beside(commands)
        elif self._free:
            self._start_waiting(commands)
        return commands

    def _start_beside(self, commands: list[StartUpdate]) -> None:
        """Fill the free tracks where background work or reservations want them, too."""
        hidden = self.reservations.hide(self._free)
        if self._asked:
            self._start_asked(commands)
        if self.background is not None:
            self._start_background(self.background, commands, self._free)
        if self._free:
            self._start_waiting(commands)
        if self.background is not None:
            self._start_background(self.background, commands, self._free)
        use, seen = self.reservations.use, len(commands)
        commands += use(hidden, self._free, self.now_s, self._wanted, self._start)
        if self.placement is not None and hidden:
            self._start_elsewhere(self.placement, commands)
        if self.background is not None and len(commands) > seen:
            # Fewer wait than background work saw: another account pays, or nobody needs the rest.
            hidden = self.reservations.hide(self._free)
            self._start_background(self.background, commands, self._free)
            self._free += hidden
            heapify(self._free)
        if self.background is not None and len(self.reservations.from_s) == self.track_count:
            self._start_in_time(self.background, commands)
        if self.background is not None:
            self.background.await_lateness(self.now_s)

    def _start_elsewhere(self, placement: Placement, commands: list[StartUpdate]) -> None:
        """What a partition puts on reserved tracks alone takes one that is left over.

        Its update may be longer than any gap between reports' batches: it would never start.
        """
        reserved = self.reservations.from_s
        others = [track for track in range(self.track_count) if track not in reserved]
        for table in self.waiting():
            left = sorted(track for track in self._free if track not in reserved)
            if not left:
                return
            if not placement.assign([table], others):
                self._free.remove(left[0])
                heapify(self._free)
                commands.append(self._start(table, left[0]))

    def _start_in_time(self, background: Background, commands: list[StartUpdate]) -> None:
        """All tracks are reserved: background work starts on one if it ends before its moment."""
        wakeup_s = background.wakeup_s
        for track in sorted(self._free):
            until_s = self.reservations.from_s[track]
            alone = [track]
            if until_s > self.now_s:
                self._start_background(background, commands, alone, until_s)
                wakeup_s = min(wakeup_s, background.wakeup_s)
            if not alone:
                self._free.remove(track)
                heapify(self._free)
        background.wakeup_s = wakeup_s

    def _start_waiting(self, commands: list[StartUpdate]) -> None:
        """Fill the free tracks with what people asked for, then the best of the waiting."""
        if self._asked:
            self._start_asked(commands)
        if self.placement is not None:
            self._start_placed(self.placement, commands)
        elif self._chooses:
            while self._free and (table := self._chosen()) is not None:
                commands.append(self._start(table, heappop(self._free)))
        else:
            ready, tables = self._ready, self.tables
            held: list[tuple[Any, int, int]] = []
            while ready and self._free:
                entry = heappop(ready)
                table = tables[entry[1]]
                if table.stamp != entry[2]:
                    continue
                if table.full and self._rebuilds.let_others_pass(self.running):
                    held.append(entry)
                else:
                    commands.append(self._start(table, heappop(self._free)))
            while held and self._free:  # nothing else waits
                commands.append(self._start(tables[held.pop(0)[1]], heappop(self._free)))
            for entry in held:
                heappush(ready, entry)

    def _chosen(self) -> Table | None:
        """What a policy that chooses wants next; what is to be computed anew goes first."""
        if self._rebuilds.go_first and (first := self.first()) is not None and first.full:
            if not self._rebuilds.let_others_pass(self.running):
                return first
            return next((table for table in self.waiting() if not table.full), first)
        return self.policy.choose(self)

    def wants(self, now_s: float, events: Collection[Event]) -> bool:
        """Whether ``handle`` is to be called: something happened, or an instant is wanted.

        Each call may change a decision, so who looks more often would decide otherwise.
        """
        return bool(events) or self.next_wakeup_s() <= now_s

    def next_wakeup_s(self) -> float:
        """When an instant is wanted although nothing happens; infinite if never."""
        wakeup_s = self.policy.next_wakeup_s() if self.policy.reacts else _INFINITY
        if self.background is not None:
            wakeup_s = min(wakeup_s, self.background.wakeup_s)
        if self.reservations.from_s:
            wakeup_s = min(wakeup_s, self.reservations.wakeup_s)
        return min(wakeup_s, self._deferred[0][0]) if self._deferred else wakeup_s

    def table(self, name: str) -> Table:
        """State of the table ``name``; KeyError if there is none."""
        return self._by_name[name]

    @property
    def merges_all(self) -> bool:
        """Whether an update always loads all that is pending."""
        return self._merges_all

    def running(self) -> list[Table]:
        """The tables with a running update, by track."""
        return [table for table in self._on_track if table is not None]

    def waiting(self) -> list[Table]:
        """Tables that could be started now, best first."""
        tables = self.tables
        entries = sorted(entry for entry in self._ready if tables[entry[1]].stamp == entry[2])
        return [tables[order] for _, order, _ in entries]

    def _wanted(self) -> list[Table]:
        """What people asked for and could be started now, then the waiting."""
        clear: set[int] = set()
        asked = [
            table
            for table in self._asked
            if self.startable(table) and not self._is_below_asked(table, clear)
        ]
        return [*asked, *self.waiting()]

    def first(self) -> Table | None:
        """The best of them; None when nothing waits."""
        ready, tables = self._ready, self.tables
        while ready:
            _, order, stamp = ready[0]
            if tables[order].stamp == stamp:
                return tables[order]
            heappop(ready)
        return None

    # ---- completions and arrivals ----

    def _arrived(self, event: FileArrived) -> None:
        table = self._by_name[event.table]
        timestamp_s = event.timestamp_s
        if timestamp_s > table.trailing_edge_s:
            if table.trailing_edge_s == _UNKNOWN:
                self._originate(table, timestamp_s - (table.period_s or 1.0))
            table.trailing_edge_s = timestamp_s
            table.last_arrival_s = self.now_s
            if self._keeps_files or event.name is not None or not table.pending:
                table.pending.append(PendingFile(timestamp_s, self.now_s, event.name))
        else:
            self._insert(table, PendingFile(timestamp_s, self.now_s, event.name))
        if self._heeds_arrivals:
            self._arrived_now.append(table)
        if table.running is None:
            self.rekey(table)

    def _finished(self, event: UpdateFinished) -> None:
        now_s = self.now_s
        table = self._by_name[event.table]
        running = self._ended(table)
        if running.background or table.floor_s is not None:
            self._finished_beside(table, running, event)
            return
        settle(table, now_s)
        to_s = running.to_s if event.to_s is None else event.to_s
        if to_s > table.freshness_s:  # noqa: PLR1730 - a call costs three times as much
            table.freshness_s = to_s
        if event.files is not None:
            self._as_committed(table, running, set(event.files))
        table.number = running.command.number
        if event.version is not None:
            table.version = event.version
            if self._extent.cuts_derived:
                self._remember_version(table, event.version)
        if self._learns:
            self._learn(table, running, event)
        if self.policy.reacts:
            self._finished_now.append(table)
        for child in table.children:
            if running.late_s > 0.0:
                self._correct(child, running.late_s)
            self._set_edge(child)
        if event.version is not None:
            self._committed(table, running, event)
        if table.trailing_edge_s > table.freshness_s or table.late_s > 0.0 or table.full:
            self.rekey(table)

    def _learn(self, table: Table, running: Running, event: UpdateFinished) -> None:
        """Take what an update took into account, and lay the partition anew where it must be."""
        seconds = event.seconds if event.seconds is not None else self.now_s - running.start_s
        table.cost.learn(running.amount_s, seconds)
        self.facts_changed += 1
        if self.placement is not None and not self.placement.suits(table):
            self.placement.replace(self.tables, self.track_count)

    def _committed(self, table: Table, running: Running, event: UpdateFinished) -> None:
        """What a version means beyond freshness, in a warehouse."""
        table.pins = dict(event.parents or running.command.parents)
        if running.command.full and event.is_other:
            self._make_anew(table)
        elif running.command.full:
            for child in table.children:
                self._correct(child, child.period_s or 1.0)
                self.rekey(child)
        for changed in (table, *table.children):
            self._offer(changed)
            self.rekey(changed)
            if changed.running is None and self._stands_still(changed):
                self._offer_below(changed)

    def _failed(self, event: UpdateFailed) -> None:
        table = self._by_name[event.table]
        running = self._ended(table)
        if running.background:
            again = not event.gives_up
            self._wanted_background().ended(table, running, self.now_s, again=again)
        self._hand_back(table, running)
        table.started_to_s = table.freshness_s
        table.late_s += running.late_s
        table.full = table.full or (running.command.full and not event.gives_up)
        if running.command.full:
            self._without_reload(table)
        self._defer(table, event.retry_s)
        self._offer_below(table)

    def _ended(self, table: Table) -> Running:
        running = table.running
        if running is None:
            raise InternalError("no-update", f"table '{table.name}' has no running update")
        table.running = None
        if running.command.full or self._rebuilds.owed_s:  # a call costs more than to ask
            self._rebuilds.ended(running, self.now_s)
        track = running.command.track
        self._on_track[track] = None
        heappush(self._free, track)
        return running

    # ---- base tables ----

    def _hand_back(self, table: Table, running: Running) -> None:
        """Make the files of an update pending again; older ones may have come meanwhile."""
        if running.background:
            table.gap = _by_timestamp([*running.files, *table.gap])
        else:
            table.pending = _by_timestamp([*running.files, *table.pending])

    def _as_committed(self, table: Table, running: Running, loaded: set[str]) -> float:
        """An earlier attempt's commit has ``loaded``, which may be more or less than this one's.

        What it has is not pending any more, wherever it stands now; what it has not is again, and
        counts as late where it lies at or before F.

        Returns:
            The newest timestamp of what is loaded; F where nothing of it was pending.
        """
        self._hand_back(table, running)
        newest_s = max(
            [file.timestamp_s for file in (*table.gap, *table.pending) if file.name in loaded],
            default=table.freshness_s,
        )
        fresh_s = table.freshness_s
        if table.floor_s is not None:
            table.freshness_s = fresh_s = max(fresh_s, newest_s)
        table.gap = deque([file for file in table.gap if file.name not in loaded])
        table.pending = deque(
            [
                file
                for file in table.pending
                if file.name not in loaded and (file.name is not None or file.timestamp_s > fresh_s)
            ]
        )
        table.started_to_s = fresh_s
        if table.is_base:
            late = sum(file.timestamp_s <= fresh_s for file in table.pending)
            table.late_s = late * (table.period_s or 1.0)
        self._mark(table)
        return newest_s

    def _without_reload(self, table: Table) -> None:
        """A reload failed: what it took of a gap is a gap again, and its own mark is gone."""
        floor_s, fresh_s = table.floor_s, table.freshness_s
        if floor_s is not None:
            older = [file for file in table.pending if floor_s < file.timestamp_s < fresh_s]
            table.gap = _by_timestamp([*table.gap, *older])
            table.pending = deque(
                [file for file in table.pending if not floor_s < file.timestamp_s < fresh_s]
            )
        if not table.full:
            table.pending = deque(
                [
                    file
                    for file in table.pending
                    if file.name is not None or file.timestamp_s > fresh_s or table.late_s > 0.0
                ]
            )

    def _insert(self, table: Table, file: PendingFile) -> None:
        """Take in a file whose timestamp is not the newest of its feed."""
        if file.timestamp_s <= table.started_to_s:
            table.late_s += table.period_s or 1.0
        later: list[PendingFile] = []
        while table.pending and table.pending[-1].timestamp_s > file.timestamp_s:
            later.append(table.pending.pop())
        table.pending.append(file)
        table.pending.extend(reversed(later))

    def _settle_gap(self, table: Table, to_s: float) -> None:
        """A commit says that a table is complete to ``to_s``, which may close its gap.

        Where files of the gap cannot be read, none may be left before any commit says so. Views
        that read the table's versions are as fresh as these say, so it stays as it is until then.
        """
        if table.floor_s is None:
            return
        if not table.gap and to_s >= table.freshness_s:
            table.floor_s = None
        elif not table.gap or table.gap[0].timestamp_s > to_s:  # else an attempt had not all of it
            table.floor_s = max(table.floor_s, to_s)

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
        if not self._has_unread(table):
            return
        for source in table.sources:
            if source.freshness_s <= table.trailing_edge_s and self._goes_on(source):
                return
        self._correct(table, table.period_s or 1.0)
        self.rekey(table)

    def _offer_below(self, table: Table) -> None:
        """``table`` stands still: what waited for it, however far below, is offered the rest."""
        waiting = {each.order for each in dependents(table) if self._has_unread(each)}
        if not waiting:
            return
        going: set[int] = set()
        for each in topological(self.tables):
            comes = [source for source in each.sources if source.order in going]
            if each.order in waiting and all(
                source.freshness_s > each.trailing_edge_s for source in comes
            ):
                self._correct(each, each.period_s or 1.0)
                self.rekey(each)
            if self._works(each) or (comes and not self._stands_still(each)):
                going.add(each.order)

    def _has_unread(self, table: Table) -> bool:
        """Whether a parent has a version that the table has not read, and that is no news yet."""
        if not table.known or table.late_s > 0.0 or table.running is not None:
            return False
        if table.pins is None or table.trailing_edge_s > table.freshness_s:
            return False
        pins = table.pins
        return not all(source.is_newest(pins.get(source.name)) for source in table.sources)

    def _goes_on(self, table: Table) -> bool:
        """Whether it has work to do, or will get some from an ancestor that has."""
        seen, stack = {table.order}, [table]
        while stack:
            item = stack.pop()
            if self._works(item):
                return True
            if self._stands_still(item):
                continue  # what its sources bring ends here
            for source in item.sources:
                if source.order not in seen:
                    seen.add(source.order)
                    stack.append(source)
        return False

    def _works(self, table: Table) -> bool:
        """Whether an update of it runs or could start; upkeep brings no news."""
        running = table.running
        return self.startable(table) if running is None else not running.command.upkeep

    def _stands_still(self, table: Table) -> bool:
        """Whether no update of it starts, whatever news it gets."""
        return table.stands_still(self.now_s) or self.blocked(table)

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
            and not self._stands_still(table)
        )

    def _originate(self, table: Table, origin_s: float) -> None:
        """First news of a table whose freshness was unknown, and of what is derived from it."""
        path = [self._begun_at(table, origin_s)]
        while path:  # no recursion: a chain of views may be longer than Python's stack
            origin_s, children = path[-1]
            child = next(children, None)
            if child is None:
                path.pop()
            elif child.known:
                self._lower(child, origin_s)
            elif all(source.known for source in child.sources):
                from_s = min(_unread_from_s(source) for source in child.sources)
                path.append(self._begun_at(child, from_s))

    def _begun_at(self, table: Table, origin_s: float) -> tuple[float, Iterator[Table]]:
        """A table's data begin at ``origin_s``: that, and the views over it, still to be told."""
        table.freshness_s = table.trailing_edge_s = table.next_to_s = origin_s
        table.started_to_s = origin_s
        table.area_since_s = self.now_s
        return origin_s, iter(table.children)

    def _lower(self, table: Table, most_s: float) -> None:
        """A view has got a parent by another query, whose data begin before it is fresh to."""
        stack = [table]
        while stack:
            lowered = stack.pop()
            if self._lowered(lowered, most_s):
                stack += reversed(lowered.children)

    def _lowered(self, table: Table, most_s: float) -> bool:
        """Whether a table was fresh to more than ``most_s``, to which it is now."""
        if table.running is not None:
            table.running.to_s = min(table.running.to_s, most_s)
        if max(table.freshness_s, table.trailing_edge_s) <= most_s:
            return False
        settle(table, self.now_s)
        table.freshness_s = min(table.freshness_s, most_s)
        table.started_to_s = min(table.started_to_s, most_s)
        table.trailing_edge_s = most_s
        table.versions.clear()  # they are in order of a freshness that some of them have no more
        pending = [file for file in table.pending if file.timestamp_s <= most_s]
        if not pending and (table.full or table.late_s > 0.0):
            pending = [PendingFile(most_s, self.now_s, None)]
        table.pending = deque(pending)
        self.rekey(table)
        return True

    # ---- versions ----

    def _pins(self, table: Table, to_s: float) -> tuple[tuple[str, int], ...]:
        """The version of each parent to read: the newest of the oldest that are fresh to ``to_s``.

        None is older than what was read last: late rows that it brought would go again.
        Where the update is not cut short a parent's newest version is read: it is the one
        that decides the trailing edge, or fresher than it.
        """
        cut = to_s < table.trailing_edge_s
        read = table.pins or {}
        pins = []
        for source in table.sources:
            if source.version is None:
                continue
            version, reached_s = source.version, _INFINITY
            for freshness_s, older in reversed(source.versions if cut else ()):
                if freshness_s < to_s or older < read.get(source.name, older):
                    break
                if freshness_s < reached_s:
                    version, reached_s = older, freshness_s
            pins.append((source.name, version))
        return tuple(pins)

    def _remember_version(self, table: Table, version: int) -> None:
        """Keep what a chopped child may still read: from the newest that every child has."""
        versions = table.versions
        versions.append((table.complete_s, version))
        least_s = min([child.freshness_s for child in table.children], default=_INFINITY)
        while len(versions) > 1 and versions[1][0] <= least_s:
            del versions[0]

    # ---- the waiting tables ----

    def rekey(self, table: Table) -> None:
        """Put ``table`` among the waiting with its present key, or take it out of them."""
        if table.running is not None:
            return
        if self._merges_all:
            table.next_to_s = table.trailing_edge_s
        elif table.known:
            table.next_to_s = self._extent.next_to_s(table)
        # What ``startable`` says, spelt out: this is the hottest line of the program.
        if (
            not (
                table.trailing_edge_s > table.freshness_s
                or table.late_s > 0.0
                or (table.full and table.known)
            )
            or table.paused
            or table.asked
            or table.deferred_until_s > self.now_s
            or (self._versioned and self.blocked(table))
        ):
            key = None
        elif table.full and self._rebuilds.go_first:
            key = -_INFINITY
        else:
            key = self.policy.key(table)
        if key == table.key:
            return
        table.key = key
        table.stamp += 1
        if key is None:
            return
        ready = self._ready
        heappush(ready, (key, table.order, table.stamp))
        if len(ready) > self._ready_limit:
            tables = self.tables
            ready[:] = [entry for entry in ready if tables[entry[1]].stamp == entry[2]]
            heapify(ready)

    def _defer(self, table: Table, until_s: float) -> None:
        table.deferred_until_s = until_s
        heappush(self._deferred, (until_s, table.order))
        self.rekey(table)

    # ---- starting ----

    def _start(self, table: Table, track: int) -> StartUpdate:
        policy = self.policy
        reloads = table.full and table.is_base  # which reads every file, however updates are cut
        from_s, to_s = table.freshness_s, table.trailing_edge_s if reloads else table.next_to_s
        amount_s = to_s - from_s + table.late_s
        cost = table.cost
        expected_s = cost.alpha_s + cost.beta * amount_s
        if self._tells:
            release_s, mode = policy.release_s(table), policy.mode(table)
        else:
            release_s, mode = table.pending[0].arrival_s if table.pending else _INFINITY, None
        score, over = (
            explained(table, self.tables, self._ready, policy) if self._explains else ("", ())
        )
        files = _all_taken(table) if reloads else self._extent.take(table, to_s)
        complete_s = to_s
        if table.floor_s is not None:
            from_s = table.floor_s
            if table.gap:
                # The newest alone: it brings children news, and no freshness.
                complete_s = from_s
                amount_s = min(amount_s, table.period_s or amount_s)
                expected_s = cost.expected_s(amount_s)
        number = table.number + 1
        parents = self._pins(table, to_s) if table.sources else ()
        names = tuple([file.name for file in files if file.name is not None]) if files else ()
        command = StartUpdate(
            table.name,
            number,
            track,
            release_s,
            from_s,
            complete_s,
            expected_s,
            names,
            parents,
            table.full,
            mode,
            score,
            over,
        )
        table.running = Running(command, self.now_s, amount_s, table.late_s, files)
        table.running.to_s = to_s
        table.started_to_s = to_s
        table.late_s = 0.0
        table.full = False
        if table.asked:
            table.running.asked = True
            table.asked = False
            self._asked.remove(table)
        table.stamp += 1
        table.key = None
        self._on_track[track] = table
        if policy.reacts:
            policy.started(table, self.now_s)
        return command

    def _start_placed(self, placement: Placement, commands: list[StartUpdate]) -> None:
        if not self._ready:
            return
        waiting = self.waiting()
        if self._rebuilds.let_others_pass(self.running):
            waiting.sort(key=lambda table: table.full)  # which keeps the order of the others
        if self._chooses and (first := self._chosen()) is not None:
            waiting.remove(first)
            waiting.insert(0, first)
        for table, track in placement.assign(waiting, sorted(self._free)):
            self._free.remove(track)
            heapify(self._free)
            commands.append(self._start(table, track))

    def _start_asked(self, commands: list[StartUpdate]) -> None:
        """Start what people asked for, ahead of the policy, ancestors before dependents.

        A table waits for updates of its ancestors that were asked for, and not for later ones: of
        many ancestors one is always running.
        """
        clear: set[int] = set()
        left = -1
        while len(self._asked) != left:  # one that has nothing to do may stand behind who waits
            left = len(self._asked)
            for table in list(self._asked):
                if self._is_below_asked(table, clear):
                    continue
                if table.running is None and self._is_idle(table):
                    self._asked.remove(table)  # nothing new: it is as fresh as can be
                    table.asked = False
                elif self._free and self.startable(table):
                    commands.append(self._start(table, heappop(self._free)))

    def _is_idle(self, table: Table) -> bool:
        """Whether there is nothing to update it with, or a parent has no data at all yet.

        Once that has some, it is updated anyhow; only of a paused one is the wish remembered.
        """
        return not (table.has_news and table.known) or (self.blocked(table) and not table.paused)

    def _is_below_asked(self, table: Table, clear: set[int]) -> bool:
        """Whether an update of an ancestor was asked for that has not ended, and can start.

        Args:
            table: What was asked for, too.
            clear: Places of ancestors above which there is none; found ones are added.
        """
        seen: set[int] = set()
        stack = list(table.sources)
        while stack:
            item = stack.pop()
            if item.order in clear or item.order in seen:
                continue
            running = item.running
            if (item.asked and not self.blocked(item)) or (running is not None and running.asked):
                return True
            seen.add(item.order)
            stack.extend(item.sources)
        clear |= seen
        return False

    # ---- background work ----

    def _wanted_background(self) -> Background:
        if self.background is None:
            self.background = Background(
                self.tables, self._background_share, self.track_count, self.now_s
            )
        return self.background

    def _start_background(
        self,
        background: Background,
        commands: list[StartUpdate],
        free: list[int],
        until_s: float = _INFINITY,
    ) -> None:
        asked = bool(self._asked)
        started = background.start(self.now_s, free, self.first, asked=asked, until_s=until_s)
        for command in started:
            self._on_track[command.track] = self._by_name[command.table]
        commands += started

    def _finished_beside(self, table: Table, running: Running, event: UpdateFinished) -> None:
        """The end of background work, or of an update of a table with a gap.

        The commit's ``to`` says how far the table is complete, not how far F is. Nothing is
        learned from it: such updates are not like the others.
        """
        if running.command.upkeep and not event.is_other:
            upkeep_finished(table, running, event)
            self._wanted_background().ended(table, running, self.now_s, again=False)
            if event.version is not None and self._extent.cuts_derived:
                self._remember_version(table, event.version)
            self.rekey(table)
            return
        settle(table, self.now_s)
        table.number = running.command.number
        if event.version is not None:
            table.version = event.version
        newest_s = running.to_s
        if event.files is not None:
            if event.to_s is not None and table.floor_s is None:
                table.freshness_s = max(table.freshness_s, event.to_s)
            newest_s = self._as_committed(table, running, set(event.files))
        to_s = running.command.to_s if event.to_s is None else event.to_s
        if running.background:
            self._wanted_background().ended(table, running, self.now_s, again=event.is_other)
            if running.files:
                table.freshness_s = max(table.freshness_s, to_s)
                table.trailing_edge_s = max(table.trailing_edge_s, table.freshness_s)
                self._settle_gap(table, to_s)
        else:
            table.freshness_s = max(table.freshness_s, newest_s)
            self._settle_gap(table, to_s)
            if self.policy.reacts:
                self._finished_now.append(table)
        if event.version is not None and self._extent.cuts_derived:
            self._remember_version(table, event.version)
        for child in table.children:
            self._correct(child, child.period_s or 1.0)
            self._set_edge(child)
        if event.version is not None:
            self._committed(table, running, event)
        self.rekey(table)

    def _backfill_requested(self, event: BackfillRequested) -> None:
        table = self._by_name[event.table]
        self._wanted_background().add(Backfill(table, event.from_s, event.to_s))

    def _upkeep_offered(self, event: UpkeepOffered) -> None:
        table = self._by_name[event.table]
        if event.work == TRY:
            self._wanted_background().add_trial(Trial(table, event.expected_s))
            return
        offer = Offer(table, event.work, event.number, event.expected_s)
        self._wanted_background().upkeep.offer(offer)

    # ---- what people and feeds ask for ----

    def _period_learned(self, event: PeriodLearned) -> None:
        table = self._by_name[event.table]
        table.period_s = event.period_s
        set_periods(self.tables)
        self.facts_changed += 1
        if self.placement is not None:
            self.placement.replace(self.tables, self.track_count)
        for changed in self.tables:
            if changed is table or changed.sources:
                self.rekey(changed)

    def _paused(self, event: TablePaused) -> None:
        table = self._by_name[event.table]
        table.paused = True
        self.facts_changed += 1
        self.rekey(table)
        self._offer_below(table)

    def _resumed(self, event: TableResumed) -> None:
        table = self._by_name[event.table]
        table.paused = False
        self.facts_changed += 1
        table.deferred_until_s = float("-inf")
        self.rekey(table)

    def _prioritised(self, event: TablePrioritised) -> None:
        self._by_name[event.table].priority = event.priority
        self.facts_changed += 1
        before = [table.weight for table in self.tables]
        inherit(self.tables, self._inherit_rule, self._inherit_factor)
        for table, weight in zip(self.tables, before, strict=True):
            if table.weight != weight:
                self.rekey(table)
        if self.policy.reacts:
            self.policy.prioritised(self)

    def _others_accepted(self, event: OthersAccepted) -> None:
        table = self._by_name[event.table]
        if table.version is None:
            return
        if event.version <= table.version:  # maybe of another table in its place
            table.versions.clear()
        table.version, table.same_rows = event.version, None
        if self._extent.cuts_derived:
            self._remember_version(table, event.version)
        for child in table.children:
            self._correct(child, child.period_s or 1.0)
            self.rekey(child)

    def _refresh_requested(self, event: RefreshRequested) -> None:
        wanted = self._by_name[event.table]
        if event.full:
            self._make_anew(wanted)
        for table in [*ancestors(wanted), wanted]:
            if not table.asked and (table is wanted or not table.paused):
                table.asked = True
                table.deferred_until_s = _UNKNOWN
                self._asked.append(table)
                self.rekey(table)
        self._asked.sort(key=lambda table: table.order)

    # ---- what feeds take back and former runs left ----

    def _withdrawn(self, event: FilesWithdrawn) -> None:
        table = self._by_name[event.table]
        gone = set(event.names)
        if table.gap:
            table.gap = deque([file for file in table.gap if file.name not in gone])
        kept = [file for file in table.pending if file.name not in gone]
        late = sum(file.timestamp_s <= table.started_to_s for file in table.pending)
        late_kept = sum(file.timestamp_s <= table.started_to_s for file in kept)
        table.late_s = table.late_s * late_kept / late if late else table.late_s
        table.pending = deque(kept)
        newest_s = max([file.timestamp_s for file in kept], default=table.started_to_s)
        table.trailing_edge_s = max(newest_s, table.started_to_s)
        self._mark(table)
        self.rekey(table)
        self._offer_below(table)

    def _restored(self, event: TableRestored) -> None:
        table = self._by_name[event.table]
        table.number = event.number
        table.version = event.version
        if event.alpha_s is not None and event.beta is not None:
            table.cost.alpha_s, table.cost.beta = event.alpha_s, event.beta
            self.facts_changed += 1
        if event.freshness_s is not None:
            # No fresher than what it reads now: its query may be another one, or a parent put back.
            known = [source.complete_s for source in table.sources if source.known]
            fresh_s = min([event.freshness_s, *known])
            table.freshness_s = table.started_to_s = table.trailing_edge_s = fresh_s
            table.area_since_s = self.now_s
            if event.version is not None and self._extent.cuts_derived:
                self._remember_version(table, event.version)
        elif table.sources and all(source.known for source in table.sources):
            # Never built: it stands where the oldest of its sources' data began.
            self._originate(table, min(s.freshness_s - s.period_s for s in table.sources))
        if table.sources and table.known:
            self._set_edge(table)
            if event.late_s > 0.0:
                self._correct(table, event.late_s)
            elif event.version is not None:  # a view that was never built has read nothing
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
        self.rekey(table)

    def _mark(self, table: Table) -> None:
        """Have work that no pending file stands for wait since now.

        Without one it has no release, and comes after all others for ever.
        """
        if table.known and table.has_news and not table.pending:
            table.pending.append(PendingFile(table.trailing_edge_s, self.now_s, None))

    def _make_anew(self, table: Table) -> None:
        table.full = True
        self._mark(table)


def _by_timestamp(files: Iterable[PendingFile]) -> deque[PendingFile]:
    return deque(sorted(files, key=lambda file: file.timestamp_s))


def _unread_from_s(source: Table) -> float:
    """Before which moment nothing of ``source`` is news to a view that has never read it.

    What was loaded before the view's other sources had any data is news, too: from F on alone the
    view would wait for the source's next file, and a dimension that is loaded once has none.
    """
    if source.version is None:
        return source.freshness_s
    return source.complete_s - (source.period_s or 1.0)


def _all_taken(table: Table) -> list[PendingFile]:
    """Take all that is pending, what stands in the gap as well."""
    taken = [*table.gap, *table.pending]
    table.gap.clear()
    table.pending.clear()
    return taken
