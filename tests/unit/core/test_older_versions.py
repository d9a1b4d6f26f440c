"""A view that is cut to size reads older versions of its parents, and never goes back in them."""

from __future__ import annotations

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.events import FileArrived, TablePaused, TableResumed, UpdateFinished
from freshline.core.model import TableSpec


def test_no_version_is_older_than_the_one_read_before():
    specs = [TableSpec("a", (), 5.0), TableSpec("b", (), 5.0), TableSpec("v", ("a", "b"), 5.0)]
    scheduler = make_scheduler(
        specs, tracks=3, settings=PolicySettings(chop=1.0), start_s=200.0, origin_s=None
    )
    newest = dict.fromkeys("abv", -1)
    read: list[tuple[float, dict[str, int]]] = []

    def play(*events: object) -> None:
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
    play(FileArrived("b", 105.0, "b1"), FileArrived("b", 110.0, "b2"))
    play(TableResumed("v"))
    assert read[-2:] == [(105.0, {"a": 2, "b": 1}), (110.0, {"a": 2, "b": 2})]
