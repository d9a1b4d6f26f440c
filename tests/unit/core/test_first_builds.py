"""When a view is built for the first time: as soon as all that it reads has a version."""

from __future__ import annotations

import pytest

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.events import (
    FileArrived,
    RefreshRequested,
    TablePaused,
    TableRestored,
    UpdateFinished,
)
from freshline.core.model import TableSpec
from freshline.core.registry import found_policies
from freshline.core.scheduler import Scheduler
from freshline.runtime.idle import has_work

START_S = 1.7e9
SHOPS = TableSpec("shops", (), 3600.0, alpha_s=1.0)
SALES = TableSpec("sales", (), 60.0, alpha_s=1.0)
VIEW = TableSpec("by_shop", ("shops", "sales"), alpha_s=1.0)
ABOVE = TableSpec("top", ("by_shop", "shops"), alpha_s=1.0)
POLICIES = sorted(name for name in found_policies() if name != "group-and-run")


def warehouse(policy: str, *specs: TableSpec) -> Scheduler:
    return make_warehouse_scheduler(
        specs, tracks=1, settings=PolicySettings(policy=policy), start_s=START_S
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("restored", [False, True])
def test_a_dimension_loaded_before_the_other_feed_brings_anything(
    policy: str, restored: bool
) -> None:
    """It brings no more files: the view must not wait for them."""
    core = warehouse(policy, SHOPS, SALES, VIEW, ABOVE)
    if restored:
        unknown = [TableRestored(name, None, None, 0) for name in ("sales", "by_shop", "top")]
        core.handle(START_S, [TableRestored("shops", START_S - 60.0, 7, 8), *unknown])
    else:
        core.handle(START_S, [FileArrived("shops", START_S - 60.0, "s1")])
        assert core.handle(START_S + 1.0, [UpdateFinished("shops", 7)]) == []
    at_s = START_S + 7200.0
    (command,) = core.handle(at_s, [FileArrived("sales", at_s, "f1")])
    assert command.table == "sales"
    (command,) = core.handle(at_s + 1.0, [UpdateFinished("sales", 0)])
    assert command.table == "by_shop"
    assert command.parents == (("shops", 7), ("sales", 0))
    assert command.to_s == START_S - 60.0
    (command,) = core.handle(at_s + 2.0, [UpdateFinished("by_shop", 0)])
    assert command.table == "top"
    assert core.handle(at_s + 3.0, [UpdateFinished("top", 0)]) == []


def test_a_rebuild_asked_for_before_has_waited_since_then() -> None:
    """Its release is a moment: an update of no release would come after all others."""
    core = warehouse("fifo", SHOPS, SALES, VIEW)
    core.handle(START_S, [FileArrived("shops", START_S, "s1"), RefreshRequested("by_shop", True)])
    core.handle(START_S + 1.0, [UpdateFinished("shops", 0)])
    at_s = START_S + 7200.0
    core.handle(at_s, [FileArrived("sales", at_s, "f1")])
    (command,) = core.handle(at_s + 1.0, [UpdateFinished("sales", 0)])
    assert (command.table, command.full, command.release_s) == ("by_shop", True, at_s + 1.0)


def behind_an_empty_table(*, paused: bool) -> Scheduler:
    """w was given the new table p, which has no data yet, by another query; v reads w and a."""
    specs = [
        TableSpec("v", ("w", "a"), alpha_s=1.0),  # the project may name a view first
        *(TableSpec(name, period_s=10.0, alpha_s=1.0) for name in "pab"),
        TableSpec("w", ("b", "p"), alpha_s=1.0),
    ]
    core = warehouse("fifo", *specs)
    restored = [TableRestored(name, START_S, 0, 1, stale=name == "w") for name in "abwv"]
    pauses = [TablePaused("w")] if paused else []
    assert core.handle(START_S, [TableRestored("p", None, None, 0), *restored, *pauses]) == []
    assert core.blocked(core.table("w"))
    return core


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize(
    ("asked", "feeds"),
    [((), "a"), ((), "ab"), (("v",), "a"), (("w", "v"), "a")],
    ids=["one feed goes on", "both do", "asked for", "the one above, too"],
)
def test_a_view_is_given_a_parents_news_while_the_other_waits_for_its_first_data(
    asked: tuple[str, ...], feeds: str, paused: bool
) -> None:
    core = behind_an_empty_table(paused=paused)
    assert core.handle(START_S + 5.0, [RefreshRequested(name) for name in asked]) == []
    versions: dict[str, int] = {}
    started: list[str] = []
    for number in range(1, 4):
        now_s = START_S + 10.0 * number
        commands = core.handle(
            now_s, [FileArrived(name, now_s, f"{name}{number}") for name in feeds]
        )
        while commands:
            now_s += 1.0
            started += [command.table for command in commands]
            ends = []
            for name in [command.table for command in commands]:
                versions[name] = versions.get(name, 0) + 1
                ends.append(UpdateFinished(name, versions[name]))
            commands = core.handle(now_s, ends)
    assert started.count("v") == 3
    assert has_work(core, lambda _: False) is False
    # Once the new table has data, the view over it is made; a paused one if somebody asked.
    commands = core.handle(START_S + 50.0, [FileArrived("p", START_S + 50.0, "p1")])
    assert [command.table for command in commands] == ["p"]
    commands = core.handle(START_S + 51.0, [UpdateFinished("p", 0)])
    assert [command.table for command in commands] == (["w"] if not paused or "w" in asked else [])
