"""A run's feeds, bounds, recoveries and partition: watched at every instant, shown to people.

What is watched, and how, stands in ``core/oversight``; here are the run's clock and its
journal. Bounds exist under policy aus alone (no theorem speaks of the others); outages and
catching up are shown under every policy, a partition that no longer fits where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

from freshline.core.aus.guarantee import Guarantee
from freshline.core.commands import StartUpdate
from freshline.core.events import (
    Event,
    FilesWithdrawn,
    PeriodLearned,
    TablePaused,
    TrackReserved,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import Table
from freshline.core.oversight.bounds import BoundsKept, Limits, Violation
from freshline.core.oversight.catching_up import Pace, Recoveries
from freshline.core.oversight.feeds import FeedHealth
from freshline.core.policies.aus import Aus
from freshline.core.scheduler import Scheduler
from freshline.project.model import Feed, Project
from freshline.runtime.feeds.watcher import listing_interval_s
from freshline.runtime.journal.store import Journal
from freshline.times import brief_s

_LOOP_S = 0.5
"""A wall clock's loop comes so much too late without anybody's fault."""


class Oversight:
    """Of one run.

    Args:
        project: Its feeds, and the chop.
        journal: Where it is kept; the caller flushes.
        scheduler: Read only.
        now_s: When the run began.
    """

    def __init__(
        self, project: Project, journal: Journal, scheduler: Scheduler, now_s: float
    ) -> None:
        self._journal = journal
        self._scheduler = scheduler
        self._readers = {
            feed.name: tuple(table.name for table in project.tables if table.feed == feed.name)
            for feed in project.feeds.values()
        }
        known = {row["name"]: row for row in journal.rows("SELECT * FROM feeds")}
        self._feeds: dict[str, FeedHealth] = {}
        for feed in project.feeds.values():
            row = known.get(feed.name)
            if not _is_watched(feed):
                if row is not None and row["silent_since_s"] is not None:
                    journal.put("feeds", {"name": feed.name}, silent_since_s=None)
                continue
            if not self._readers[feed.name]:
                continue  # a run of some tables ends no silence of other feeds
            period_s = feed.period_s or (row["period_s"] if row else None)
            slack_s = listing_interval_s(feed)
            if feed.kind == "push" and project.ingest is not None:
                slack_s += project.ingest.land_after_s
            health = FeedHealth(period_s, float("inf"), slack_s)
            if row is not None:
                health.restored(row["last_s"], row["silent_since_s"])
            self._feeds[feed.name] = health
        policy = scheduler.policy
        self._aus = policy if isinstance(policy, Aus) else None
        self._bounds = BoundsKept(scheduler.tables, _LOOP_S)
        self._promised: object = None
        self._recoveries = Recoveries(scheduler.tables, project.scheduler.chop)
        self._feed_of = {
            reader: self._feeds[name]
            for name, readers in self._readers.items()
            if name in self._feeds
            for reader in readers
        }
        self._looks: list[tuple[float, str]] = []
        self._look_s: dict[str, float] = {}
        self._changed_feeds = set(self._feeds)
        self._changed_tables = {table.name for table in scheduler.tables}
        self._written: dict[str, tuple[Any, ...]] = {}
        self._misfit: str | None = None
        for name, health in self._feeds.items():
            if health.out_since_s is not None:
                for reader in self._readers[name]:
                    self._bounds.feed_out(reader, now_s)
        for table in scheduler.tables:
            seen = self._feed_of.get(table.name)
            # A view over no table of the project, too: it is computed once, and never due.
            if table.is_base and (seen is None or seen.period_s is None):
                self._bounds.unwatched(table.name)

    # ---- what happens ----

    def listen(self, now_s: float) -> None:
        """What feeds bring is heard from now on, so that silence means something."""
        for name, health in self._feeds.items():
            health.listened_from(now_s)
            self._feed_changed(name)

    def files(self, feed: str, now_s: float, timestamps_s: Iterable[float]) -> list[str]:
        """New files of a feed; what people should hear of it, a sentence each."""
        health = self._feeds.get(feed)
        notices: list[str] = []
        if health is None:
            return notices
        for timestamp_s in timestamps_s:
            silent_since_s = health.silent_since_s
            ended, excess = health.arrived(now_s, timestamp_s)
            for reader in self._readers[feed]:
                if ended:
                    self._bounds.feed_out(reader, now_s)
                    self._bounds.feed_back(reader)
                    self._recoveries.began(reader, now_s)
                if excess:
                    self._bounds.feed_excess(reader, now_s, excess)
            if silent_since_s is not None:
                notices.append(f"feed {feed} is back")
                self._journal.write(
                    "INSERT INTO gaps (feed, from_s, to_s) VALUES (?,?,?)",
                    (feed, silent_since_s, now_s),
                )
        self._feed_changed(feed)
        return notices

    def instant(
        self, now_s: float, events: Sequence[Event], commands: Sequence[StartUpdate]
    ) -> list[str]:
        """After an instant of the core; what people should hear, a sentence each."""
        notices = self._silences(now_s)
        self._promise()
        for event in events:
            if not isinstance(event, TrackReserved):
                self._heard(event, now_s)
                self._changed_tables.add(event.table)
        self._changed_tables.update(command.table for command in commands)
        for command in commands:
            self._bounds.started(command, now_s)
        if self._aus is not None:  # nothing is promised under others
            self._bounds.look(now_s)
        free = self._scheduler.track_count - len(self._scheduler.running())
        pace = None if self._aus is None else partial(self._pace, self._aus, now_s)
        self._changed_tables.update(self._recoveries.revise(now_s, free_tracks=free, pace=pace))
        self._changed_tables.update(self._recoveries.names)
        notices += self._partition(now_s)
        self._write()
        return notices

    def _silences(self, now_s: float) -> list[str]:
        """Look at the feeds from which something was due; what people should hear of them."""
        notices = []
        while self._looks and self._looks[0][0] < now_s:
            look_s, name = heappop(self._looks)
            if self._look_s.get(name) != look_s:
                continue  # it was to be looked at earlier, and was
            del self._look_s[name]
            health = self._feeds[name]
            if health.look(now_s):
                for reader in self._readers[name]:
                    self._bounds.feed_out(reader, now_s)
            if health.fell_silent(now_s):
                notices.append(f"feed {name} is silent: {_silence(health, now_s)}")
            self._feed_changed(name)
        return notices

    def _feed_changed(self, name: str) -> None:
        """A feed brought something, or did not, or another period holds for it."""
        self._changed_feeds.add(name)
        next_s = self._feeds[name].next_s
        if next_s < self._look_s.get(name, float("inf")):
            self._look_s[name] = next_s
            heappush(self._looks, (next_s, name))

    def _partition(self, now_s: float) -> list[str]:
        """Whether the partition into tracks still fits what updates cost; told when it changes."""
        placement = self._scheduler.placement
        if placement is None or placement.misfit == self._misfit:
            return []
        self._misfit = what = placement.misfit
        if what is None:
            self._journal.write("DELETE FROM misfits")
            notice = f"partition {placement.name} fits what updates cost again"
            return [f"{notice}; tables were assigned to tracks again"]
        self._journal.put("misfits", {"partition": placement.name}, since_s=now_s, what=what)
        notice = (
            f"partition {placement.name} no longer fits what updates cost: {what}; the present one"
            " stays, and the next start will be refused unless it fits again"
        )
        return [notice]

    def _heard(self, event: Event, now_s: float) -> None:
        if isinstance(event, UpdateFinished):
            self._bounds.finished(event.table, now_s)
        elif isinstance(event, UpdateFailed):
            self._bounds.failed(event.table, now_s)
        elif isinstance(event, FilesWithdrawn):
            self._bounds.fault(event.table, now_s, "files could not be read")
        elif isinstance(event, TablePaused):
            self._bounds.fault(event.table, now_s, "somebody paused it")
        elif isinstance(event, PeriodLearned):
            for name, readers in self._readers.items():
                if event.table in readers and name in self._feeds:
                    self._feeds[name].period_s = event.period_s
                    self._feed_changed(name)
                    if self._feeds[name].out_since_s is None:
                        self._bounds.feed_back(event.table)

    def _promise(self) -> None:
        """Take over the bounds when the policy has computed them anew."""
        if self._aus is None or self._promised is self._aus.guarantees:
            return
        self._promised = self._aus.guarantees
        tables = self._scheduler.tables
        guarantees = [guarantee.promised for guarantee in self._aus.guarantees]
        self._bounds.promise(
            (
                table.name,
                Limits(
                    guarantee.share.execution_s,
                    guarantee.share.period_s,
                    guarantee.share.recovery_period_s,
                    guarantee.tardiness_s,
                    guarantee.response_s,
                    guarantee.staleness_s,
                ),
            )
            for table, guarantee in zip(tables, guarantees, strict=True)
        )

    def _pace(self, aus: Aus, now_s: float, table: Table) -> Pace:
        guarantee = aus.guarantees[table.order].promised
        health, bound_s = self._feed_of.get(table.name), None
        if health is not None and health.went_out_s is not None:
            bound_s = guarantee.recovery_s(table, now_s - health.went_out_s)
        share = guarantee.share
        mode = aus.standing(table) or "normal"
        return Pace(mode, share.period_s, share.recovery_period_s, bound_s)

    # ---- the journal ----

    def _write(self) -> None:
        """What is not as it was written last, of feeds and tables that something happened to."""
        for name in self._changed_feeds:
            health = self._feeds[name]
            values = (
                health.last_s,
                health.period_s,
                health.jitter_s,
                health.silent_since_s,
                health.came_back_s,
            )
            if self._changed(f"feed {name}", values):
                names = ("last_s", "period_s", "jitter_s", "silent_since_s", "came_back_s")
                row = dict(zip(names, values, strict=True))
                self._journal.put("feeds", {"name": name}, **row)
        scheduler = self._scheduler
        newest = {violation.table: violation for violation in self._bounds.violations}
        changed: Iterable[Table] = map(scheduler.table, self._changed_tables)
        if self._aus is not None:  # modes, and what is stale, change by the clock
            changed = scheduler.tables
        for table in changed:
            standing = self._standing(table, newest.get(table.name))
            if self._changed(table.name, standing):
                self._journal.put("watched", {"name": table.name}, **self._row(table, *standing))
        self._changed_feeds.clear()
        self._changed_tables.clear()

    def _standing(self, table: Table, violation: Violation | None) -> tuple[Any, ...]:
        """What a table's row is made of.

        Without its worst staleness, which grows with the clock: it is written with what else
        changed.
        """
        item = self._recoveries.of(table.name)
        limits = counts = caught_up = None
        if self._aus is not None:
            limits = self._aus.guarantees[table.order].promised
            counts = self._bounds.counts(table.name)
        if item is not None:
            fresh_s = None if item.fresh_s is None else round(item.fresh_s, 1)
            backlog_s = round(item.backlog_s, 3)
            caught_up = (item.since_s, backlog_s, item.first_s, fresh_s, item.waits, item.bound_s)
        mode = self._scheduler.policy.standing(table)
        newest_s = None if table.floor_s is None else table.freshness_s
        return mode, limits, counts, violation, caught_up, newest_s

    def _row(
        self,
        table: Table,
        mode: str | None,
        limits: Guarantee | None,
        counts: dict[str, int] | None,
        violation: Violation | None,
        caught_up: tuple[Any, ...] | None,
        newest_s: float | None,
    ) -> dict[str, Any]:
        """A table's row in the journal."""
        since_s, backlog_s, first_s, fresh_s, waits, bound_s = caught_up or (None,) * 6
        worst = bounds = last = None
        if limits is not None:
            worst = json.dumps(self._bounds.worst_s(table.name))
            bounds = json.dumps(
                {
                    "tardiness": limits.tardiness_s,
                    "response": limits.response_s,
                    "staleness": limits.staleness_s,
                }
            )
        if violation is not None:
            last = (
                f"{violation.kind.value} {violation.observed_s:.3g} s, "
                f"{violation.bound_s:.3g} s promised: {violation.because or 'no reason seen'}"
            )
        return {
            "mode": mode,
            "violations": None if counts is None else json.dumps(counts),
            "worst": worst,
            "bounds": bounds,
            "last_violation": last,
            "since_s": since_s,
            "backlog_s": backlog_s,
            "first_s": first_s,
            "fresh_s": fresh_s,
            "waits": None if waits is None else int(waits),
            "bound_s": bound_s,
            "newest_s": newest_s,
        }

    def _changed(self, key: str, values: tuple[Any, ...]) -> bool:
        if self._written.get(key) == values:
            return False
        self._written[key] = values
        return True


def _is_watched(feed: Feed) -> bool:
    """Whether a feed's silence means something.

    Each reader of a topic or a table looks by itself. Of pushed records a period that is learned
    says how often they are landed, and not how often somebody pushes.
    """
    return feed.kind == "files" or (feed.kind == "push" and feed.period_s is not None)


def _silence(health: FeedHealth, now_s: float) -> str:
    assert health.last_s is not None
    assert health.period_s is not None
    return (
        f"nothing for {brief_s(now_s - health.last_s)}, expected every {brief_s(health.period_s)}"
    )
