"""A warehouse that drives a scheduler through all that files, people and deaths can do to it.

It knows of each version only which files are in it, and judges each update as it starts: what it
claims, and what it reads. Nothing of the scheduler's own bookkeeping is looked at, but what status
shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import note

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.errors import UserError
from freshline.core.events import (
    BackfillRequested,
    Event,
    FileArrived,
    FilesWithdrawn,
    RefreshRequested,
    TablePaused,
    TableRestored,
    TableResumed,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import TableSpec
from freshline.core.scheduler import Scheduler

START_S = 1e6
MOST_UPDATES = 4_000
ATTEMPTS = 3


@dataclass
class Version:
    """One commit: the files in it, what it claims, and what its metadata says of its update."""

    number: int
    files: frozenset[str]
    fresh_to_s: float
    pins: tuple[tuple[str, int], ...]
    loaded: tuple[str, ...]
    kind: str
    query: int


@dataclass
class Attempt:
    """An update on its track."""

    end_s: float
    command: StartUpdate
    given: frozenset[str]
    pins: tuple[tuple[str, int], ...]


class World:
    """A warehouse, its feeds and its journal, in which updates take a second or twenty."""

    def __init__(
        self,
        specs: Sequence[TableSpec],
        tracks: int,
        chosen: PolicySettings,
        outcomes: Sequence[str],
    ) -> None:
        self.now_s = START_S
        self.specs = {spec.name: spec for spec in specs}
        self.away: dict[str, TableSpec] = {}
        self.tracks, self._settings = tracks, chosen
        self.versions: dict[str, list[Version]] = {spec.name: [] for spec in specs}
        self.query = dict.fromkeys(self.specs, 0)
        self.outcomes = iter(outcomes)
        self._started = self._files = 0
        self._running: list[Attempt] = []
        # Feeds: all that is there, with timestamps; what no reader takes; what the journal knows.
        self.feed: dict[str, dict[str, float]] = {spec.name: {} for spec in specs}
        self.bad: set[str] = set()
        self.state: dict[str, str] = {}
        self.attempts: dict[str, int] = {}
        self._stamps: dict[str, float] = {}
        self._due: list[tuple[float, str, str]] = []
        self._in_order: set[str] = set()
        self._newest_s = dict.fromkeys(self.specs, START_S - 1e5)
        self.paused: set[str] = set()
        self.full_asked: set[str] = set()
        self.backfills: list[tuple[str, float, float]] = []
        self._failures: dict[str, int] = {}
        self._costs: dict[str, tuple[float, float]] = {}
        self.core = self._scheduler()

    def _scheduler(self) -> Scheduler:
        try:
            return self._made()
        except UserError:
            if not self.versions or (self._started == 0 and self.now_s == START_S):
                raise
            # The partition does not fit any more: somebody removes it.
            policy = "fifo" if self._settings.policy == "group-and-run" else self._settings.policy
            self._settings = dataclasses.replace(self._settings, partition="none", policy=policy)
            return self._made()

    def _made(self) -> Scheduler:
        return make_scheduler(
            list(self.specs.values()), tracks=self.tracks, settings=self._settings, guarded=True,
            start_s=self.now_s, origin_s=None, learns=True, explains=True, most_files=3,
        )  # fmt: skip

    @property
    def bases(self) -> list[str]:
        """The base tables that are there."""
        return [name for name, spec in self.specs.items() if not spec.sources]

    # ---- feeds ----

    def file(self, base: str, step: float, name: str | None = None) -> list[Event]:
        """Add a file that many periods after the newest, and tell the table if it is there."""
        period_s = (self.specs.get(base) or self.away[base]).period_s or 60.0
        newest_s, there = self._newest_s[base], self.feed[base]
        timestamp_s = min(self.now_s, newest_s + step * period_s)
        self._files += 1
        name = name or f"{base}/{self._files}"
        there[name] = timestamp_s
        if base not in self.specs:
            return []
        return self._told(base, name)

    def _told(self, base: str, name: str) -> list[Event]:
        timestamp_s = self.feed[base][name]
        if timestamp_s > self._newest_s[base]:
            self._newest_s[base] = timestamp_s
            self._in_order.add(name)
        self.state[name] = "pending"
        self._stamps[name] = timestamp_s
        return [FileArrived(base, timestamp_s, name)]

    def spoil(self, base: str, which: int) -> None:
        """Some file of a feed cannot be read from now on."""
        names = sorted(self.feed[base])
        if names:
            self.bad.add(names[which % len(names)])

    def vanish(self, base: str, which: int) -> None:
        """A file that is not loaded is removed."""
        names = sorted(
            name
            for name in self.feed[base]
            if self.state.get(name, "new") != "loaded"
            and all(name not in each.files for each in self.versions[base])
            and not any(name in each.given and each.command.full for each in self._running)
        )
        if names:
            del self.feed[base][names[which % len(names)]]

    def retry(self, base: str) -> list[Event]:
        """`freshline retry`."""
        again = [n for n in self.of(base) if self.state[n] in ("quarantined", "retrying")]
        self._due = [each for each in self._due if each[2] not in again]
        events: list[Event] = []
        for name in again:
            self.attempts.pop(name, None)
            self.state[name] = "pending"
            events.append(FileArrived(base, self._stamp(base, name), name))
        self._failures.pop(base, None)
        if base not in self.paused:
            events.append(TableResumed(base))
        return events

    def _stamp(self, base: str, name: str) -> float:
        return min(self.now_s, self._stamps[name])

    def of(self, base: str) -> list[str]:
        """All files of a base table that the journal knows."""
        return sorted(name for name in self.state if name.startswith(f"{base}/"))

    # ---- a new process ----

    def restart(self, *, unheard: bool, changed: dict[str, TableSpec] | None = None) -> None:
        """A new process goes on; of what ran nothing is committed, or all without its hearing."""
        for attempt in self._running if unheard else ():
            self._commit(attempt)
        self._running, self._due, self._failures = [], [], {}
        for table in self.core.tables:
            self._costs[table.name] = (table.cost.alpha_s, table.cost.beta)
        self._change(changed or self.specs)
        events: list[Event] = [self._restored(name) for name in self.specs]
        events += [TablePaused(n) for n in sorted(self.paused) if n in self.specs]
        events += [
            RefreshRequested(n, full=True) for n in sorted(self.full_asked & self.specs.keys())
        ]
        events += [each for base in self.bases for each in self._not_loaded(base)]
        events += [BackfillRequested(*each) for each in self.backfills if each[0] in self.specs]
        self.happens(*events)

    def _not_loaded(self, base: str) -> list[Event]:
        """What the journal knows to be waiting, then what the feed's listing finds."""
        for name in self.versions[base][-1].files if self.versions[base] else ():
            self.state[name] = "loaded"
        known = [n for n in self.of(base) if self.state[n] in ("pending", "retrying")]
        events: list[Event] = []
        for name in sorted(known, key=lambda n: (self._stamp(base, n), n)):
            self.state[name] = "pending"
            events.append(FileArrived(base, self._stamp(base, name), name))
        new = [n for n in self.feed[base] if self.state.get(n, "vanished") == "vanished"]
        for name in sorted(new, key=lambda n: (self.feed[base][n], n)):
            events += self._told(base, name)
        return events

    def _change(self, specs: dict[str, TableSpec]) -> None:
        """Start with these tables, where they can be started with."""
        before, self.specs = self.specs, specs
        try:
            self.core = self._scheduler()
        except UserError:
            self.specs = before
            self.core = self._scheduler()
            return
        for name in before.keys() - specs.keys():
            self.away[name] = before[name]
        for name, spec in specs.items():
            self.away.pop(name, None)
            self.versions.setdefault(name, [])
            self.feed.setdefault(name, {})
            self._newest_s.setdefault(name, START_S - 1e5)
            old = self.query.get(name)
            other = name in before and before[name].sources != spec.sources
            self.query[name] = 0 if old is None else old + other

    def _restored(self, name: str) -> TableRestored:
        versions = self.versions[name]
        alpha_s, beta = self._costs.get(name, (None, None))
        if not versions:
            return TableRestored(name, None, None, 0, alpha_s, beta)
        last = versions[-1]
        late_s = 0.0
        pins = dict(last.pins)
        for source in self.specs[name].sources:
            newest = len(self.versions[source]) - 1
            if newest >= 0 and not self._same_rows(source, pins.get(source), newest):
                late_s = 60.0
        stale = last.query != self.query[name]
        return TableRestored(
            name, last.fresh_to_s, len(versions) - 1, last.number, alpha_s, beta, late_s, stale
        )

    def _same_rows(self, name: str, older: int | None, newer: int) -> bool:
        if older is None:
            return False
        return all(each.kind == "compact" for each in self.versions[name][older + 1 : newer + 1])

    # ---- instants ----

    def happens(self, *events: Event) -> None:
        """Tell the scheduler, and start what it wants."""
        due = [each for each in self._due if each[0] <= self.now_s]
        self._due = [each for each in self._due if each[0] > self.now_s]
        for _, base, name in due:
            self.state[name] = "pending"
            events = (*events, FileArrived(base, self._stamp(base, name), name))
        for event in events:
            note(f"{self.now_s}: {event}")
        for command in self.core.handle(self.now_s, events):
            self._started += 1
            assert self._started < MOST_UPDATES, "updates without end"
            note(
                f"{self.now_s}: START {command.table} {command.number} to {command.to_s}"
                f" files {command.files} parents {command.parents} full {command.full}"
                f" backfill {command.backfill} upkeep {command.upkeep}"
            )
            self._running.append(self._begun(command))
        for name in self.specs:
            self._shown(name)

    def _shown(self, name: str) -> None:
        """What status shows is never fresher than what the newest version holds."""
        table, versions = self.core.table(name), self.versions[name]
        if not table.known or not versions:
            return
        if table.is_base:
            assert self._must_hold(name, table.complete_s) <= versions[-1].files, (
                name,
                table.complete_s,
            )
        if table.spec.newest_first or not table.is_base:
            assert table.complete_s <= versions[-1].fresh_to_s + 1e-6, (name, table.complete_s)

    def _must_hold(self, base: str, to_s: float) -> set[str]:
        """The files that a table must hold to claim that it is fresh to ``to_s``."""
        there = {name for name in self.of(base) if self.state[name] in ("pending", "loaded")}
        return {name for name in self._in_order & there if self._stamps[name] <= to_s}

    def go_on(self, until_s: float) -> None:
        """Let updates end, in the order in which they do, up to a moment."""
        while (at_s := self._next_s()) <= until_s:
            self.now_s = at_s
            ended = [each for each in self._running if each.end_s <= at_s]
            self._running = [each for each in self._running if each.end_s > at_s]
            events = [event for each in ended for event in self._end(each)]
            self.happens(*events)
        self.now_s = max(self.now_s, until_s)

    def _next_s(self) -> float:
        ends = [each.end_s for each in self._running] + [each[0] for each in self._due]
        return min([max(self.now_s, self.core.next_wakeup_s()), *ends])

    # ---- updates ----

    def _begun(self, command: StartUpdate) -> Attempt:
        name = command.table
        pins = command.parents
        given = frozenset(command.files)
        if not self.specs[name].sources:
            assert len(given) == len(command.files), "a file is named twice"
            for file in command.files:
                assert self.state.get(file) == "pending", (file, self.state.get(file))
            if command.full or command.backfill is not None:
                states = ("loaded", "pending") if command.full else ("loaded",)
                given = frozenset(n for n in self.of(name) if self.state[n] in states)
                if command.full:
                    assert set(command.files) <= given
        elif not command.upkeep:
            assert {n for n, _ in pins} == set(self.specs[name].sources), "a parent is left out"
        if self._repeats(command) is None and not command.upkeep:
            self._judge(command, given)
        slow = next(self.outcomes, "")
        return Attempt(self.now_s + (20.0 if slow == "slow" else 1.0), command, given, pins)

    def _repeats(self, command: StartUpdate) -> Version | None:
        versions = self.versions[command.table]
        if versions and versions[-1].number >= command.number:
            assert versions[-1].number == command.number, "a number was given twice"
            return versions[-1]
        return None

    def _judge(self, command: StartUpdate, given: frozenset[str]) -> None:
        """The claim of an update about to start, and what it reads."""
        name, before = command.table, self.versions[command.table]
        old = before[-1] if before else None
        if not self.specs[name].sources:
            if command.backfill:
                assert old
                assert command.to_s <= old.fresh_to_s + 1e-6
                return
            content = given if command.full else given | (old.files if old else frozenset())
            if old and not (command.full or command.backfill):
                assert not given & old.files, "a file is loaded twice"
            due = self._must_hold(name, command.to_s)
            assert due <= content, f"files that had come are missing: {due - content}"
            return
        read = [self.versions[parent][version] for parent, version in command.parents]
        assert command.to_s <= min(each.fresh_to_s for each in read) + 1e-6, "no parent is as fresh"
        if old and not command.full and not command.backfill:
            assert command.parents != old.pins, "all of it was read before"
        if not any(self.query.values()):
            assert not old or old.files <= self._content(command), "rows go back"

    def _content(self, command: StartUpdate) -> frozenset[str]:
        read = [self.versions[parent][version] for parent, version in command.parents]
        return frozenset().union(*(each.files for each in read))

    def _commit(self, attempt: Attempt) -> Version | None:
        """The commit of an attempt, if it makes one."""
        command, versions = attempt.command, self.versions[attempt.command.table]
        last = versions[-1] if versions else None
        if self._repeats(command) is not None or command.upkeep in ("vacuum", "verify", "try"):
            return None
        query = self.query[command.table]
        if command.upkeep:
            assert last is not None
            made = dataclasses.replace(last, number=command.number, loaded=(), kind="compact")
        elif self.specs[command.table].sources:
            kind = "full" if command.full else "range" if command.backfill else "update"
            made = Version(
                command.number, self._content(command), command.to_s, command.parents, (),
                kind, query,
            )  # fmt: skip
        else:
            kind = "full" if command.full else "range" if command.backfill else "update"
            bad = attempt.given & self.bad
            if bad or any(n not in self.feed[command.table] for n in attempt.given):
                return None
            old = last.files if last else frozenset()
            files = attempt.given if kind != "update" else old | attempt.given
            loaded = () if kind == "range" else tuple(sorted(attempt.given))
            made = Version(command.number, files, command.to_s, (), loaded, kind, query)
        versions.append(made)
        return made

    def _end(self, attempt: Attempt) -> list[Event]:
        command, name = attempt.command, attempt.command.table
        outcome = next(self.outcomes, "")
        if command.upkeep in ("vacuum", "verify", "try"):
            if outcome.startswith("fail"):
                return [UpdateFailed(name, self.now_s)]
            return [UpdateFinished(name, None, 1.0)]
        repeated = self._repeats(command)
        if repeated is not None:
            return self._heard(attempt, repeated, repeated=True)
        base = not self.specs[name].sources
        unreadable = (
            sorted(n for n in attempt.given if n in self.bad or n not in self.feed[name])
            if base and not command.upkeep
            else []
        )
        if unreadable and command.backfill is None:
            return self._cannot_read(attempt, unreadable)
        if outcome == "fail" or unreadable:
            return self._failed(attempt)
        made = self._commit(attempt)
        assert made is not None
        if outcome == "fail unheard":
            return self._failed(attempt)
        return self._heard(attempt, made, repeated=False)

    def _heard(self, attempt: Attempt, made: Version, *, repeated: bool) -> list[Event]:
        command, name = attempt.command, attempt.command.table
        number = len(self.versions[name]) - 1
        assert self.versions[name][number] is made
        loaded = (
            made.loaded if repeated else () if command.backfill else tuple(sorted(attempt.given))
        )
        is_other = repeated and (
            (command.full and not (made.kind == "full" and not self.specs[name].sources))
            or (command.backfill is not None and made.kind != "range")
            or (command.upkeep == "compact" and made.kind != "compact")
        )
        for file in loaded:
            self.state[file] = "loaded"
        self._failures.pop(name, None)
        if command.full and not is_other:
            self.full_asked.discard(name)
        if command.backfill is not None and not is_other:
            self.backfills = [b for b in self.backfills if b != (name, *command.backfill)]
        if not repeated:
            return [UpdateFinished(name, number, 1.0)]
        return [
            UpdateFinished(
                name, number, None, made.fresh_to_s, loaded, made.pins, is_other=is_other
            )
        ]

    def _failed(self, attempt: Attempt) -> list[Event]:
        command, name = attempt.command, attempt.command.table
        if command.upkeep:
            return [UpdateFailed(name, self.now_s)]
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        gives_up = command.backfill is not None and failures >= ATTEMPTS
        if gives_up:
            self._failures.pop(name)
            self.backfills = [b for b in self.backfills if b != (name, *(command.backfill or ()))]
        return [UpdateFailed(name, self.now_s + 5.0, gives_up)]

    def _cannot_read(self, attempt: Attempt, names: list[str]) -> list[Event]:
        name = attempt.command.table
        waiting = [n for n in names if self.state[n] == "pending"]
        loaded = [n for n in names if n not in waiting]
        for file in waiting:
            self._in_order.discard(file)  # freshness may pass it
            if file not in self.feed[name]:
                self.state[file] = "vanished"
                continue
            self.attempts[file] = self.attempts.get(file, 0) + 1
            if self.attempts[file] >= ATTEMPTS:
                self.state[file] = "quarantined"
            else:
                self.state[file] = "retrying"
                self._due.append((self.now_s + 5.0 * self.attempts[file], name, file))
        if loaded:
            self.full_asked.discard(name)
        return [
            UpdateFailed(name, self.now_s, gives_up=bool(loaded)),
            FilesWithdrawn(name, tuple(waiting)),
        ]

    # ---- the end ----

    def complete(self, table: str) -> set[str]:
        """The files that a table holds when all is done."""
        sources = self.specs[table].sources
        if not sources:
            return {*self.feed[table], *(n for n in self.of(table) if self.state[n] == "loaded")}
        return set().union(*(self.complete(name) for name in sources))
