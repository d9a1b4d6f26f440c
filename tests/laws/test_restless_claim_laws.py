"""Claims hold whatever files, people and dying processes do, and no file is lost or loaded twice.

A whole scheduler drives a warehouse that knows of each version only which files are in it, as in
``test_claim_laws.py``. Here files cannot be read, vanish, are in quarantine and come back; commits
are made that nobody hears of; tables are rebuilt, backfilled, compacted and tried; tracks are
reserved; periods and priorities change; at a restart tables go, come and get other queries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from hypothesis import HealthCheck, example, given, note, reject
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings, partition_names
from freshline.core.errors import UserError
from freshline.core.events import (
    BackfillRequested,
    PeriodLearned,
    RefreshRequested,
    TablePaused,
    TablePrioritised,
    TableResumed,
    TrackReserved,
    UpkeepOffered,
)
from freshline.core.model import TableSpec
from freshline.core.registry import found_policies
from tests.laws.restless_world import World
from tests.support.examples import examples

NEWEST = (False, False, True)
PERIODS = st.sampled_from([7.0, 60.0, 100.0, 3600.0])
STEP = st.sampled_from([-3.0, -0.5, 0.0, 0.1, 1.0, 1.0, 1.0, 2.5, 40.0])


@st.composite
def graphs(draw: st.DrawFn) -> list[TableSpec]:
    lag = st.sampled_from([None, None, 5.0, 100.0])
    specs = [
        TableSpec(
            f"b{number}",
            (),
            draw(PERIODS),
            newest_first=draw(st.sampled_from(NEWEST)),
            alpha_s=1.0,
            target_lag_s=draw(lag),
        )
        for number in range(draw(st.integers(1, 2)))
    ]
    for number in range(draw(st.integers(1, 4))):
        specs.append(drawn_view(draw, f"v{number}", specs))
    return specs


def drawn_view(draw: st.DrawFn, name: str, specs: Sequence[TableSpec]) -> TableSpec:
    names = [spec.name for spec in specs]
    sources = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    return TableSpec(
        name,
        tuple(sources),
        draw(st.none() | PERIODS),
        alpha_s=1.0,
        beta=0.01,
        target_lag_s=draw(st.sampled_from([None, None, 5.0, 100.0])),
    )


SETTINGS = st.builds(
    PolicySettings,
    policy=st.sampled_from(sorted(found_policies())),
    partition=st.sampled_from(["none", "none", *partition_names()]),
    chop=st.sampled_from([None, None, 1.0, 1.5, 4.0]),
    inherit=st.sampled_from(["none", "max", "sum", "max-plus"]),
    recovery=st.sampled_from(["average", "worst", "simultaneous"]),
    objective=st.sampled_from(["staleness", "staleness", "cost"]),
    backfill_share=st.sampled_from([0.1, 0.5]),
)
OUTCOMES = ["", "", "", "", "slow", "fail", "fail unheard"]


def changed_tables(world: World, kind: str, number: int) -> dict[str, TableSpec]:
    """Other tables for the next process."""
    specs = dict(world.specs)
    if kind == "tables go" and len(specs) > 1:
        gone = {list(specs)[number % len(specs)]}
        for name, spec in specs.items():
            if gone & set(spec.sources):
                gone.add(name)
        left = {name: spec for name, spec in specs.items() if name not in gone}
        return left if any(not spec.sources for spec in left.values()) else specs
    if kind == "tables come":
        for name, spec in world.away.items():
            if set(spec.sources) <= specs.keys():
                specs[name] = spec
        new = f"n{len(world.versions)}"
        source = list(specs)[number % len(specs)]
        specs[new] = TableSpec(new, (source,), None, alpha_s=1.0)
        return specs
    if kind == "other query":
        views = [name for name, spec in specs.items() if spec.sources]
        if views:
            name = views[number % len(views)]
            earlier = [
                other for other in specs if list(specs).index(other) < list(specs).index(name)
            ]
            sources = tuple(
                dict.fromkeys([earlier[number % len(earlier)], *specs[name].sources[:1]])
            )
            specs[name] = dataclasses.replace(specs[name], sources=sources)
    return specs


Played = Callable[[World, str, int, float], None]
"""Of a world, a table, a number and a step."""


def file(world: World, _: str, number: int, step: float) -> None:
    every = [*world.bases, *(name for name, spec in world.away.items() if not spec.sources)]
    world.happens(*world.file(every[number % len(every)], step))


def files(world: World, _: str, __: int, step: float) -> None:
    world.happens(*(e for each in world.bases for _ in range(3) for e in world.file(each, step)))


def full(world: World, name: str, _: int, __: float) -> None:
    loaded = [each for each in world.of(name) if world.state[each] == "loaded"]
    if all(each in world.feed[name] for each in loaded):  # else it is refused
        world.full_asked.add(name)
        world.happens(RefreshRequested(name, full=True))


def pause(world: World, name: str, _: int, __: float) -> None:
    world.paused.add(name)
    world.happens(TablePaused(name))


def resume(world: World, name: str, _: int, __: float) -> None:
    world.paused.discard(name)
    world.happens(TableResumed(name))


def again(world: World, _: str, number: int, step: float) -> None:
    base = of_bases(world, number)
    gone = [each for each in world.of(base) if world.state[each] == "vanished"]
    if gone:
        world.happens(*world.file(base, step, gone[0]))


def backfill(world: World, name: str, number: int, _: float) -> None:
    each = (name, world.now_s - 100.0 * (1 + number), world.now_s)
    if world.versions[name] and each not in world.backfills:
        world.backfills.append(each)
        world.happens(BackfillRequested(*each))


def upkeep(world: World, name: str, number: int, _: float) -> None:
    work, table = ["compact", "vacuum", "verify", "try"][number % 4], world.core.table(name)
    if table.version is not None and not (work == "try" and table.is_base):
        world.happens(UpkeepOffered(name, work, table.number, 1.0))


def period(world: World, _: str, number: int, step: float) -> None:
    base, period_s = of_bases(world, number), abs(step) * 10.0 + 5.0
    world.specs[base] = dataclasses.replace(world.specs[base], period_s=period_s)
    world.happens(PeriodLearned(base, period_s))


def reserve(world: World, _: str, number: int, step: float) -> None:
    from_s, reports = world.now_s + step * 10.0, ((1.0, 1, 60.0, 0.0),)
    world.happens(TrackReserved(number % world.tracks, from_s, reports))


def unreserve(world: World, *_: object) -> None:
    world.happens(*(TrackReserved(track, None, ()) for track in range(world.tracks)))


def others(kind: str, world: World, _: str, number: int, __: float) -> None:
    changed = changed_tables(world, kind, number)
    world.restart(unheard=number % 2 == 1, changed=changed)


def of_bases(world: World, number: int) -> str:
    return world.bases[number % len(world.bases)]


ACTS: dict[str, Played] = {
    "file": file, "files": files, "full": full, "pause": pause, "resume": resume, "again": again,
    "backfill": backfill, "upkeep": upkeep, "period": period, "reserve": reserve,
    "unreserve": unreserve, "wait": lambda *_: None,
    "refresh": lambda world, name, _, __: world.happens(RefreshRequested(name)),
    "retry": lambda world, _, number, __: world.happens(*world.retry(of_bases(world, number))),
    "spoil": lambda world, _, number, __: world.spoil(of_bases(world, number), number),
    "mend": lambda world, _, __, ___: world.bad.clear(),
    "vanish": lambda world, _, number, __: world.vanish(of_bases(world, number), number),
    "priority": lambda world, name, _, step: world.happens(TablePrioritised(name, abs(step) + 0.1)),
    "dies": lambda world, _, __, ___: world.restart(unheard=False),
    "dies unheard": lambda world, _, __, ___: world.restart(unheard=True),
    **{kind: partial(others, kind) for kind in ("tables go", "tables come", "other query")},
}  # fmt: skip
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from([*["file"] * 5, "spoil", *ACTS]),
        st.integers(0, 5),
        STEP,
        st.sampled_from([0.0, 1.0, 30.0]),
    ),
    min_size=1,
    max_size=40,
)


EVENTFUL = given(
    graphs(),
    SETTINGS,
    ACTIONS,
    st.integers(1, 4),
    st.lists(st.sampled_from(OUTCOMES), max_size=40),
)


def world_after(specs, chosen, played, tracks, outcomes) -> World:
    """A world to which all of it happened, and in which nothing hinders any table now."""
    try:
        world = World(specs, tracks, chosen, outcomes)
    except UserError:
        reject()
    for kind, number, step, wait_s in played:
        note(f"--- {kind} {number} {step} {wait_s}")
        ACTS[kind](world, list(world.specs)[number % len(world.specs)], number, step)
        world.go_on(world.now_s + wait_s)
    note("--- the end")
    world.outcomes = iter(())
    world.bad.clear()
    world.paused.clear()
    world.happens(*(TrackReserved(track, None, ()) for track in range(tracks)))
    world.happens(*(TableResumed(name) for name in world.specs))
    world.happens(*(e for name in world.bases for e in world.retry(name)))
    return world


@EVENTFUL
@examples(80, thorough=2_000, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_claims_hold_whatever_happens(specs, chosen, played, tracks, outcomes):
    world = world_after(specs, chosen, played, tracks, outcomes)
    bases = world.bases
    world.happens(*(e for name in bases for e in world.file(name, 1.0)))
    world.go_on(world.now_s + 1e7)
    world.happens(*(e for name in bases for e in world.retry(name)))
    world.go_on(world.now_s + 1e7)
    for name in world.specs:
        assert world.versions[name], name
        assert world.versions[name][-1].files == world.complete(name), name
        assert world.versions[name][-1].query == world.query[name], name
    assert not [each for each in world.backfills if each[0] in world.specs]
    assert not world.full_asked & world.specs.keys()


LOADED_ONCE: tuple[object, ...] = (
    [TableSpec("b0", (), 60.0), TableSpec("b1", (), 60.0), TableSpec("v0", ("b0", "b1"), None)],
    PolicySettings(),
    [("file", 0, 1.0, 30.0), ("file", 1, 40.0, 30.0)],
    1,
    [],
)
"""A dimension that was loaded before the other feed brought anything."""


@EVENTFUL
@example(*LOADED_ONCE)
@examples(80, thorough=2_000, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_nothing_waits_for_files_that_never_come(specs, chosen, played, tracks, outcomes):
    """All feeds fall silent: every view whose sources have data reads their newest versions."""
    world = world_after(specs, chosen, played, tracks, outcomes)
    world.go_on(world.now_s + 1e7)
    world.happens(*(e for name in world.bases for e in world.retry(name)))
    world.go_on(world.now_s + 1e7)
    empty = {name for name in world.bases if not world.versions[name]}
    for name, spec in world.specs.items():  # sources stand before what is derived from them
        if empty & {name, *spec.sources}:
            empty.add(name)
            continue
        assert world.versions[name], name
        assert world.versions[name][-1].files == world.complete(name), name
