"""A run's feeds, bounds, recoveries and partition: watched at every instant, shown to people.

What is watched, and how, stands in ``core/oversight``; here are the run's clock and its
journal. Bounds exist under policy aus alone (no theorem speaks of the others); outages and
catching up are shown under every policy, a partition that no longer fits where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from freshline.core.commands import StartUpdate
from freshline.core.events import (
    Event,
    FilesWithdrawn,
    PeriodLearned,
    TablePaused,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import Table
from freshline.core.oversight.bounds import BoundsKept, Limits
from freshline.core.oversight.catching_up import Pace, Recoveries
from freshline.core.oversight.feeds import FeedHealth
from freshline.core.policies.aus import Aus
from freshline.core.scheduler import Scheduler
from freshline.project.model import Project
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
            if feed.kind != "files" or not self._readers[feed.name]:
                continue
            row = known.get(feed.name)
            period_s = feed.period_s or (row["period_s"] if row else None)
            health = FeedHealth(period_s, float("inf"), listing_interval_s(feed))
            if row is not None:
                health.restored(row["last_s"], row["silent_since_s"])
            self._feeds[feed.name] = health
        policy = scheduler.policy
        self._aus = policy if isinstance(policy, Aus) else None
        self._bounds = BoundsKept(scheduler.tables, _LOOP_S)
        self._promised: object = None
        self._recoveries = Recoveries(scheduler.tables, project.scheduler.chop)
        self._written: dict[str, tuple[Any, ...]] = {}
        self._misfit: str | None = None
        journal.write("DELETE FROM watched")
        journal.write("DELETE FROM misfits")
        for name, health in self._feeds.items():
            if health.out_since_s is not None:
                for reader in self._readers[name]:
                    self._bounds.feed_out(reader, now_s)

    # ---- what happens ----

    def listen(self, now_s: float) -> None:
        """What feeds bring is heard from now on, so that silence means something."""
        for health in self._feeds.values():
            health.listened_from(now_s)

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
        return notices

    def instant(
        self, now_s: float, events: Sequence[Event], commands: Sequence[StartUpdate]
    ) -> list[str]:
        """After an instant of the core; what people should hear, a sentence each."""
        notices = []
        for name, health in self._feeds.items():
            if health.look(now_s):
                for reader in self._readers[name]:
                    self._bounds.feed_out(reader, now_s)
            if health.fell_silent(now_s):
                notices.append(f"feed {name} is silent: {_silence(health, now_s)}")
        self._promise()
        for event in events:
            self._heard(event, now_s)
        for command in commands:
            if command.upkeep:
                continue  # nothing is promised of it
            self._bounds.started(command, now_s)
        self._bounds.look(now_s)
        free = self._scheduler.track_count - len(self._scheduler.running())
        self._recoveries.revise(
            now_s, free_tracks=free, pace=lambda table: self._pace(table, now_s)
        )
        notices += self._partition(now_s)
        self._write()
        return notices

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

    def _promise(self) -> None:
        """Take over the bounds when the policy has computed them anew."""
        if self._aus is None or self._promised is self._aus.guarantees:
            return
        self._promised = self._aus.guarantees
        tables = self._scheduler.tables
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
            for table, guarantee in zip(tables, self._aus.guarantees, strict=True)
        )

    def _pace(self, table: Table, now_s: float) -> Pace | None:
        if self._aus is None:
            return None
        guarantee = self._aus.guarantees[table.order]
        bound_s = None
        for name, readers in self._readers.items():
            if table.name in readers and name in self._feeds:
                went_out_s = self._feeds[name].went_out_s
                if went_out_s is not None:
                    bound_s = guarantee.recovery_s(table, now_s - went_out_s)
        share = guarantee.share
        mode = self._aus.standing(table) or "normal"
        return Pace(mode, share.period_s, share.recovery_period_s, bound_s)

    # ---- the journal ----

    def _write(self) -> None:
        for name, health in self._feeds.items():
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
        newest = {violation.table: violation for violation in self._bounds.violations}
        for table in self._scheduler.tables:
            name = table.name
            item = self._recoveries.of(name)
            violation = newest.get(name)
            limits = None if self._aus is None else self._aus.guarantees[table.order]
            fields: dict[str, Any] = {
                "mode": self._scheduler.policy.standing(table),
                "violations": None if limits is None else json.dumps(self._bounds.counts(name)),
                "worst": None if limits is None else json.dumps(self._bounds.worst_s(name)),
                "bounds": None
                if limits is None
                else json.dumps(
                    {
                        "tardiness": limits.tardiness_s,
                        "response": limits.response_s,
                        "staleness": limits.staleness_s,
                    }
                ),
                "last_violation": None
                if violation is None
                else f"{violation.kind.value} {violation.observed_s:.3g} s, "
                f"{violation.bound_s:.3g} s promised: {violation.because or 'no reason seen'}",
                "since_s": None if item is None else item.since_s,
                "backlog_s": None if item is None else round(item.backlog_s, 3),
                "first_s": None if item is None else item.first_s,
                "fresh_s": None if item is None or item.fresh_s is None else round(item.fresh_s, 1),
                "waits": None if item is None else int(item.waits),
                "bound_s": None if item is None else item.bound_s,
                "newest_s": None if table.floor_s is None else table.freshness_s,
            }
            # The worst staleness grows with the clock; it is written with what else changed.
            if self._changed(name, tuple(v for k, v in fields.items() if k != "worst")):
                self._journal.put("watched", {"name": name}, **fields)

    def _changed(self, key: str, values: tuple[Any, ...]) -> bool:
        if self._written.get(key) == values:
            return False
        self._written[key] = values
        return True


def _silence(health: FeedHealth, now_s: float) -> str:
    assert health.last_s is not None
    assert health.period_s is not None
    return (
        f"nothing for {brief_s(now_s - health.last_s)}, expected every {brief_s(health.period_s)}"
    )
