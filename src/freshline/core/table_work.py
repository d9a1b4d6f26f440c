"""Background work as updates: how it starts, and what its end means for the tables.

An update of background work leaves F, what is pending and the policy's state alone. A backfill
brings a version and no freshness; older files of a table that loads the newest first raise up
to where it is complete; upkeep brings at most a version with the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop

from freshline.core.background.background import (
    Backfill,
    Background,
    GapFill,
    Trial,
    Work,
    any_late,
    taken_from_gap,
)
from freshline.core.background.upkeep import TRY, Offer, upkeep_finished, upkeep_started
from freshline.core.commands import StartUpdate
from freshline.core.events import (
    BackfillRequested,
    UpdateFailed,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.extent import Extent
from freshline.core.instant import INSTANT_S
from freshline.core.model import PendingFile, Running, Table, TableSpec
from freshline.core.policy import Policy
from freshline.core.staleness import settle
from freshline.core.tables import Tables

_INFINITY = float("inf")


class TableWork(Tables):
    """All tables of a scheduler, and the background work on them.

    Attributes:
        background: What is wanted and runs; None until something is.
    """

    policy: Policy
    track_count: int
    _background_share: float
    _asked: list[Table]
    _free: list[int]
    _on_track: list[Table | None]
    _finished_now: list[Table]

    def __init__(
        self,
        specs: Sequence[TableSpec],
        *,
        extent: Extent,
        start_s: float,
        origin_s: float | None,
    ) -> None:
        super().__init__(specs, extent=extent, start_s=start_s, origin_s=origin_s)
        self.background: Background | None = None
        self._background_wakeup_s = _INFINITY

    def _want_background(self) -> Background:
        if self.background is None:
            self.background = Background(
                self.tables, self._background_share, self.track_count, self.now_s
            )
        return self.background

    def first(self) -> Table | None:
        """The best of the tables that wait; None when nothing waits."""
        raise NotImplementedError

    def _committed(self, table: Table, running: Running, event: UpdateFinished) -> None:
        """What a version means beyond freshness."""
        raise NotImplementedError

    def _start_work(self, work: Work, track: int) -> StartUpdate:
        """Start background work: it leaves what is pending, and the policy's state, alone."""
        table = work.table
        if isinstance(work, Trial):
            offer = Offer(table, TRY, table.number, work.expected_s)
            return upkeep_started(offer, track, self.now_s, "its trial is due")
        table.next_to_s = table.freshness_s
        files: list[PendingFile]
        backfill: tuple[float, float] | None
        if isinstance(work, GapFill):
            files = taken_from_gap(table)
            to_s = files[-1].timestamp_s
            if not table.gap:
                to_s = max(to_s, table.freshness_s)
            backfill, score = None, "older files, in the background"
            amount_s = to_s - table.complete_s
        else:
            files, to_s = [], table.complete_s
            backfill, score = (work.from_s, work.to_s), "backfill, in the background"
            amount_s = work.to_s - work.from_s
        from_s = table.complete_s
        command = StartUpdate(
            table.name,
            table.number + 1,
            track,
            min([file.arrival_s for file in files], default=self.now_s),
            from_s,
            to_s,
            table.cost.expected_s(amount_s),
            tuple(file.name for file in files if file.name is not None),
            tuple(sorted((table.pins or {}).items())) if table.sources else (),
            score=score,
            backfill=backfill,
        )
        running = Running(command, self.now_s, amount_s, 0.0, files)
        running.background = True
        running.to_s = table.freshness_s
        table.running = running
        table.stamp += 1
        table.key = None
        return command

    def _finished_apart(self, table: Table, running: Running, event: UpdateFinished) -> None:
        """The end of background work, or of an update of a table with a gap.

        The commit's ``to`` says how far the table is complete, not how far F is. Nothing is
        learned from it: such updates are not like the others.
        """
        if running.command.upkeep:
            upkeep_finished(table, running, event)
            self._upkeep_ended(table, running, again=False)
            if event.version is not None and self._extent.cuts_derived:
                self._remember_version(table, event.version)
            self._settle_gap(table)
            self.rekey(table)
            return
        settle(table, self.now_s)
        table.number = running.command.number
        if event.version is not None:
            table.version = event.version
            if self._extent.cuts_derived:
                self._remember_version(table, event.version)
        if event.files is not None:
            self._hand_back(table, running, except_for=set(event.files))
        if running.background:
            self._want_background().ended(table, running.start_s, self.now_s, again=False)
            if running.files:
                self._filled(table, running)
        else:
            table.freshness_s = max(table.freshness_s, running.to_s)
            self._settle_gap(table)
            if self.policy.reacts:
                self._finished_now.append(table)
        for child in table.children:
            self._correct(child, child.period_s or 1.0)
            self._set_edge(child)
        if event.version is not None:
            self._committed(table, running, event)
        self.rekey(table)

    def _failed_apart(self, table: Table, running: Running, event: UpdateFailed) -> None:
        """Background work failed; upkeep is offered again when it is looked at again."""
        background = self._want_background()
        if running.command.upkeep:
            self._upkeep_ended(table, running, again=not event.gives_up)
        else:
            background.ended(table, running.start_s, self.now_s, again=not event.gives_up)

    def _upkeep_ended(self, table: Table, running: Running, *, again: bool) -> None:
        background = self._want_background()
        if running.command.upkeep == TRY:
            background.ended(table, running.start_s, self.now_s, again=again)
        else:
            background.upkeep.running = False

    def _filled(self, table: Table, running: Running) -> None:
        """Older files are loaded: how far the table is complete now."""
        to_s = running.command.to_s
        if not table.gap:
            table.freshness_s = max(table.freshness_s, to_s)
            table.trailing_edge_s = max(table.trailing_edge_s, table.freshness_s)
            self._settle_gap(table)
        elif table.gap[0].timestamp_s > to_s:  # else an attempt had not loaded them all
            table.floor_s = to_s

    def _start_background(self, background: Background, commands: list[StartUpdate]) -> None:
        """Start background work as far as its share allows; asked before and after the rest.

        Before, others wait or are late and its accounts pay; after, what is free is free.
        Upkeep comes when nothing else is left to start.
        """
        self._start_shared(background, commands)
        if background.active or not self._free or self._asked or self.first() is not None:
            return
        offer = background.upkeep.take(self.now_s)
        if offer is not None:
            command = upkeep_started(offer, heappop(self._free), self.now_s)
            self._on_track[command.track] = offer.table
            commands.append(command)

    def _start_shared(self, background: Background, commands: list[StartUpdate]) -> None:
        """Start backfills and old files as the share allows."""
        self._background_wakeup_s = _INFINITY
        if not background.active:
            background.share.see(wanted=False, others_wait=False, others_late=False)
            return
        others_late = any_late(self.tables, self.now_s)
        while True:
            work = background.next(self.now_s)
            background.share.see(
                wanted=background.wanted,
                others_wait=self.first() is not None,
                others_late=others_late,
            )
            if work is None or not self._free:
                return
            wait_s = background.share.wait_s(background.expected_s(work))
            if wait_s > 0.0:
                # Rounding must not make it wake up a hair too early, again and again.
                self._background_wakeup_s = self.now_s + wait_s + INSTANT_S
                return
            background.started(work)
            command = self._start_work(work, heappop(self._free))
            self._on_track[command.track] = work.table
            commands.append(command)

    def _backfill_requested(self, event: BackfillRequested) -> None:
        table = self._by_name[event.table]
        self._want_background().add(Backfill(table, event.from_s, event.to_s))

    def _upkeep_offered(self, event: UpkeepOffered) -> None:
        if event.work == TRY:
            trial = Trial(self._by_name[event.table], event.expected_s)
            self._want_background().add_trial(trial)
            return
        offer = Offer(self._by_name[event.table], event.work, event.number, event.expected_s)
        self._want_background().upkeep.offer(offer)
