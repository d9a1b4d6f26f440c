"""Bounds that are watched in a warehouse: what they are promised of, and what not."""

from __future__ import annotations

import pytest

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import (
    BackfillRequested,
    Event,
    FileArrived,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.model import TableSpec
from freshline.core.oversight.bounds import BoundsKept, Kind, Limits
from freshline.core.scheduler import Scheduler

START_S = 1.7e9


class Watched:
    """A warehouse under aus, and its bounds: e 1 s, a response within 10 s."""

    def __init__(self, *specs: TableSpec) -> None:
        self.core: Scheduler = make_warehouse_scheduler(
            specs, tracks=1, settings=PolicySettings(policy="aus"), start_s=START_S
        )
        self.kept = BoundsKept(self.core.tables)
        self.kept.promise((spec.name, Limits(1.0, 60.0, 60.0, 10.0, 10.0, 500.0)) for spec in specs)

    def at(self, second: float, *events: Event) -> list[StartUpdate]:
        """One instant, as the warehouse tells it."""
        now_s = START_S + second
        commands = self.core.handle(now_s, events)
        for event in events:
            if isinstance(event, UpdateFinished):
                self.kept.finished(event.table, now_s)
        for command in commands:
            self.kept.started(command, now_s)
        self.kept.look(now_s)
        return commands


def test_no_response_is_promised_of_a_backfill() -> None:
    """Somebody asks for a month, which takes a minute: the table is late by no bound."""
    watched = Watched(TableSpec("orders", (), 60.0, alpha_s=1.0))
    watched.at(0.0, FileArrived("orders", START_S, "f1"))
    watched.at(1.0, UpdateFinished("orders", 0))
    (command,) = watched.at(2.0, BackfillRequested("orders", START_S - 2.6e6, START_S))
    assert command.backfill is not None
    watched.at(62.0, UpdateFinished("orders", 1))
    assert watched.kept.counts("orders") == {}
    assert watched.kept.worst_s("orders")[Kind.RESPONSE.value] == 1.0


def test_of_an_update_that_waits_for_its_track_one_is_and_the_backfill_is_the_reason() -> None:
    orders, other = (TableSpec(name, (), 60.0, alpha_s=1.0) for name in ("orders", "other"))
    watched = Watched(orders, other)
    watched.at(0.0, FileArrived("orders", START_S, "f1"))
    watched.at(1.0, UpdateFinished("orders", 0))
    watched.at(60.0, BackfillRequested("orders", START_S - 2.6e6, START_S))
    watched.at(61.0, FileArrived("other", START_S + 61.0, "g1"))
    (command,) = watched.at(120.0, UpdateFinished("orders", 1))
    assert command.files == ("g1",)
    watched.at(121.0, UpdateFinished("other", 0))
    (violation,) = watched.kept.violations
    assert (violation.table, violation.kind) == ("other", Kind.RESPONSE)
    assert violation.because == "an update of orders took 60 s; 1 s assumed"


@pytest.mark.parametrize("work", ["vacuum", "try"])
def test_work_on_files_that_holds_up_an_update_is_the_reason(work: str) -> None:
    orders, other = (TableSpec(name, (), 60.0, alpha_s=1.0) for name in ("orders", "other"))
    watched = Watched(orders, other)
    watched.at(0.0, FileArrived("orders", START_S, "f1"))
    watched.at(1.0, UpdateFinished("orders", 0))
    (command,) = watched.at(60.0, UpkeepOffered("orders", work, 1, 1.0))
    assert command.upkeep == work
    watched.at(61.0, FileArrived("other", START_S + 61.0, "g1"))
    watched.at(120.0, UpdateFinished("orders", None))
    watched.at(121.0, UpdateFinished("other", 0))
    (violation,) = watched.kept.violations
    assert (violation.table, violation.kind) == ("other", Kind.RESPONSE)
    assert violation.because == f"{work} of orders had a track meanwhile"
