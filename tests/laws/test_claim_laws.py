"""What a commit says it is fresh to holds of its rows, and no update reads what was read before.

A whole scheduler drives a warehouse that knows of each version only which files are in it. Files
come late, several at once and after gaps; views have periods of their own; updates are cut, fail
and are asked for in full. Nothing of the scheduler's own bookkeeping is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hypothesis import given, note, settings
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import (
    Event,
    FileArrived,
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
MOST_UPDATES = 3_000


@dataclass
class Version:
    """One commit: the files in it, and what it says it is fresh to."""

    files: frozenset[str]
    fresh_to_s: float
    pins: tuple[tuple[str, int], ...] = ()


class World:
    """A warehouse and its feeds, in which every update takes a second."""

    def __init__(
        self,
        specs: Sequence[TableSpec],
        tracks: int,
        chosen: PolicySettings,
        failures: Iterable[bool],
    ) -> None:
        self.now_s = START_S
        self.specs = {spec.name: spec for spec in specs}
        self.versions: dict[str, list[Version]] = {spec.name: [] for spec in specs}
        self._tracks, self._settings = tracks, chosen
        self._core = self._scheduler()
        self._fails = iter(failures)
        self._running: list[tuple[float, StartUpdate, Version]] = []
        self._started = 0
        self._arrived: dict[str, dict[str, float]] = {spec.name: {} for spec in specs}
        self._in_order: set[str] = set()  # newer than all before; a claim says nothing of others
        self._newest_s = dict.fromkeys(self.specs, START_S - 1e5)

    def _scheduler(self) -> Scheduler:
        return make_scheduler(
            list(self.specs.values()), tracks=self._tracks, settings=self._settings, guarded=True,
            start_s=self.now_s, origin_s=None, learns=True, explains=True, most_files=3,
        )  # fmt: skip

    def restart(self, *, unheard: bool) -> None:
        """A new process goes on; of what ran nothing is committed, or all without its hearing."""
        for _, command, version in self._running if unheard else ():
            self.versions[command.table].append(version)
        self._running = []
        self._core = self._scheduler()
        self.happens(*self._restored(), *self._not_loaded())

    def _restored(self) -> Iterator[Event]:
        for name in self.specs:
            versions = self.versions[name]
            if not versions:
                yield TableRestored(name, None, None, 0)
                continue
            pins = versions[-1].pins
            unread = any(version < len(self.versions[parent]) - 1 for parent, version in pins)
            number, late_s = len(versions), 60.0 if unread else 0.0
            fresh_s = versions[-1].fresh_to_s
            yield TableRestored(name, fresh_s, number - 1, number, late_s=late_s)

    def _not_loaded(self) -> Iterator[Event]:
        for table, arrived in self._arrived.items():
            loaded = self.versions[table][-1].files if self.versions[table] else ()
            for name in arrived.keys() - loaded:
                yield FileArrived(table, arrived[name], name)

    def file(self, spec: TableSpec, step: float) -> Event:
        """A file comes, so many periods after the newest."""
        assert spec.period_s is not None
        newest_s, arrived = self._newest_s[spec.name], self._arrived[spec.name]
        timestamp_s = min(self.now_s, newest_s + step * spec.period_s)
        name = f"{spec.name}/{len(arrived)}"
        arrived[name] = timestamp_s
        if timestamp_s > newest_s:
            self._newest_s[spec.name] = timestamp_s
            self._in_order.add(name)
        return FileArrived(spec.name, timestamp_s, name)

    def happens(self, *events: Event) -> None:
        """Tell the scheduler, and start what it wants."""
        for command in self._core.handle(self.now_s, events):
            self._started += 1
            assert self._started < MOST_UPDATES, "updates without end"
            note(f"{self.now_s}: {command.table} to {command.to_s} of {command.parents}")
            self._running.append((self.now_s + 1.0, command, self._made(command)))

    def go_on(self, until_s: float) -> None:
        """Let updates end, in the order in which they do, up to a moment."""
        while (at_s := self._next_s()) <= until_s:
            self.now_s = at_s
            ended = [each for each in self._running if each[0] <= at_s]
            self._running = [each for each in self._running if each[0] > at_s]
            self.happens(*(self._end(command, version) for _, command, version in ended))
        self.now_s = until_s

    def complete(self, table: str) -> set[str]:
        """The files that a table holds when all is done."""
        sources = self.specs[table].sources
        found = (self.complete(name) for name in sources) if sources else [self._arrived[table]]
        return set().union(*found)

    def _next_s(self) -> float:
        ends = [end_s for end_s, _, _ in self._running]
        return min([max(self.now_s, self._core.next_wakeup_s()), *ends])

    def _end(self, command: StartUpdate, version: Version) -> Event:
        if next(self._fails, False):
            return UpdateFailed(command.table, self.now_s + 5.0)
        self.versions[command.table].append(version)
        number = len(self.versions[command.table]) - 1
        return UpdateFinished(command.table, number, seconds=1.0)

    def _made(self, command: StartUpdate) -> Version:
        """The version that an update makes, its claim checked."""
        table, before = command.table, self.versions[command.table]
        if not self.specs[table].sources:
            arrived = self._arrived[table]
            files = arrived.keys() if command.full else before[-1].files if before else ()
            files = frozenset({*files, *command.files})
            due = {
                name for name in self._in_order & arrived.keys() if arrived[name] <= command.to_s
            }
            assert due <= files, "files that had come are missing"
            return Version(files, command.to_s)
        assert {name for name, _ in command.parents} == set(self.specs[table].sources)
        read = [self.versions[name][version] for name, version in command.parents]
        assert command.to_s <= min(each.fresh_to_s for each in read), "no parent is as fresh"
        if before and not command.full:
            assert command.parents != before[-1].pins, "all of it was read before"
        files = frozenset().union(*(each.files for each in read))
        return Version(files, command.to_s, command.parents)


NEWEST = (False, False, True)
PERIODS = st.sampled_from([7.0, 60.0, 100.0, 3600.0])
STEP = st.sampled_from([-3.0, -0.5, 0.0, 0.1, 1.0, 1.0, 1.0, 2.5, 40.0])
"""A file's timestamp after the newest one's, in periods of its feed."""


@st.composite
def graphs(draw: st.DrawFn) -> list[TableSpec]:
    specs = [
        TableSpec(f"b{number}", (), draw(PERIODS), newest_first=draw(st.sampled_from(NEWEST)))
        for number in range(draw(st.integers(1, 3)))
    ]
    for number in range(draw(st.integers(1, 4))):
        names = [spec.name for spec in specs]
        sources = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        period_s = draw(st.none() | PERIODS)
        specs.append(TableSpec(f"v{number}", tuple(sources), period_s, beta=0.01))
    return specs


SETTINGS = st.builds(
    PolicySettings,
    policy=st.sampled_from(["fifo", "edf", "edf-p", "max-benefit", "whittle", "aus", "lookahead"]),
    chop=st.sampled_from([None, 1.0, 1.0, 1.5, 4.0]),
    inherit=st.sampled_from(["none", "max", "sum"]),
)
WORDS = ("files", "full", "pause", "resume", "wait", "dies", "dies unheard")
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from([*["file"] * 4, *WORDS]),
        st.integers(0, 5),
        STEP,
        st.sampled_from([0.0, 1.0, 30.0]),
    ),
    min_size=1,
    max_size=40,
)


@given(graphs(), SETTINGS, ACTIONS, st.integers(1, 3), st.lists(st.booleans(), max_size=30))
@settings(max_examples=400, deadline=None)
def test_what_a_version_claims_is_in_it(specs, chosen, actions, tracks, failures):
    world = World(specs, tracks, chosen, failures)
    bases = [spec for spec in specs if not spec.sources]
    for kind, number, step, wait_s in actions:
        base, table = bases[number % len(bases)], specs[number % len(specs)].name
        match kind:
            case "file":
                world.happens(world.file(base, step))
            case "files":
                world.happens(*(world.file(each, step) for each in bases for _ in range(3)))
            case "full":
                world.happens(RefreshRequested(table, full=True))
            case "pause":
                world.happens(TablePaused(table))
            case "resume":
                world.happens(TableResumed(table))
            case "dies":
                world.restart(unheard=False)
            case "dies unheard":
                world.restart(unheard=True)
        world.go_on(world.now_s + wait_s)
    world.happens(*(TableResumed(spec.name) for spec in specs))
    world.happens(*(world.file(spec, 1.0) for spec in bases))
    world.go_on(world.now_s + 1e7)
    for spec in specs:
        assert world.versions[spec.name][-1].files == world.complete(spec.name), spec.name
