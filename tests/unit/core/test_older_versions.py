"""A view that is cut to size reads older versions of its parents, and never goes back in them."""

from __future__ import annotations

from typing import Any

import pytest

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.events import (
    FileArrived,
    TablePaused,
    TableRestored,
    TableResumed,
    UpdateFinished,
)
from freshline.core.model import TableSpec


@pytest.mark.parametrize(
    ("stamps_s", "expected"),
    [
        ((105.0, 110.0), [(105.0, {"a": 2, "b": 1}), (110.0, {"a": 2, "b": 2})]),
        ((110.0,), [(110.0, {"a": 2, "b": 1})]),
    ],
)
def test_no_version_is_older_than_the_one_read_before(stamps_s, expected):
    specs = [TableSpec("a", (), 5.0), TableSpec("b", (), 5.0), TableSpec("v", ("a", "b"), 5.0)]
    scheduler = make_scheduler(
        specs, tracks=3, settings=PolicySettings(chop=1.0), start_s=200.0, origin_s=None
    )
    newest = dict.fromkeys("abv", -1)
    read: list[tuple[float, dict[str, int]]] = []

    def play(*events: Any) -> None:
        commands = scheduler.handle(scheduler.now_s + 1.0, events)
        while commands:
            ended = []
            for command in commands:
                newest[command.table] += 1
                ended.append(UpdateFinished(command.table, newest[command.table]))
                if command.table == "v":
                    read.append((command.to_s, dict(command.parents)))
            commands = scheduler.handle(scheduler.now_s + 1.0, ended)

    play(FileArrived("a", 100.0, "a0"), FileArrived("b", 100.0, "b0"))
    play(FileArrived("a", 105.0, "a1"))
    play(FileArrived("a", 110.0, "a2"))  # b stands still: both are read although v gains nothing
    assert read[-1] == (100.0, {"a": 2, "b": 0})
    play(TablePaused("v"))
    play(*(FileArrived("b", stamp_s, f"b{stamp_s}") for stamp_s in stamps_s))
    before = len(read)
    play(TableResumed("v"))
    assert read[before:] == expected


def test_what_reads_a_view_with_a_less_fresh_parent_goes_no_further_than_that_one():
    specs = [
        TableSpec("orders", (), 5.0),
        TableSpec("parts", (), 5.0),
        TableSpec("total", ("orders", "parts"), 5.0),
        TableSpec("below", ("total",), 5.0),
    ]
    scheduler = make_scheduler(
        specs, tracks=1, settings=PolicySettings(chop=1.0), start_s=200.0, origin_s=None
    )
    left = {"orders": (50.0, 3), "parts": (None, None), "total": (50.0, 2), "below": (3.0, 0)}
    scheduler.handle(200.0, [TableRestored(name, *state, number=7) for name, state in left.items()])
    assert scheduler.table("below").trailing_edge_s == 50.0
    scheduler.handle(201.0, [FileArrived("parts", 10.0, "p")])
    for name, fresh_s in (("total", 5.0), ("below", 3.0)):
        table = scheduler.table(name)
        assert (table.freshness_s, table.trailing_edge_s) == (fresh_s, 5.0)
        running = table.running
        assert running is None or running.to_s <= 5.0
