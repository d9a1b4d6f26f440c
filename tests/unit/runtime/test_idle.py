"""When a run that ends when idle has nothing left to do, and whom it leaves behind."""

from __future__ import annotations

from freshline.core.events import BackfillRequested, FileArrived, UpdateFailed, UpdateFinished
from freshline.core.extent import Batch
from freshline.core.model import TableSpec
from freshline.core.policies.fifo import Fifo
from freshline.core.scheduler import Scheduler
from freshline.runtime.idle import has_work, late_tables


def made(*specs):
    return Scheduler(specs, tracks=1, policy=Fifo(), extent=Batch(1000))


def test_older_files_that_always_fail_are_not_waited_for_and_their_table_is_late():
    core = made(TableSpec("a", period_s=10.0, alpha_s=1.0, newest_first=True))
    core.handle(10.0, [FileArrived("a", 10.0, "f10")])
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(60.0, [FileArrived("a", float(stamp), f"f{stamp}") for stamp in (20, 40, 60)])
    core.handle(61.0, [UpdateFinished("a")])
    core.handle(62.0, [UpdateFailed("a", 70.0)])
    assert has_work(core, lambda _: False)
    assert not has_work(core, lambda _: True)
    assert not core.table("a").has_news
    assert late_tables(core) == {"a"}


def test_a_backfill_of_a_view_that_always_fails_is_not_waited_for():
    view = TableSpec("v", ("a",), alpha_s=1.0)
    core = made(TableSpec("a", period_s=10.0, alpha_s=1.0), view)
    core.handle(10.0, [FileArrived("a", 10.0, "f10")])
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(12.0, [UpdateFailed("v", 20.0), BackfillRequested("v", 0.0, 5.0)])
    assert has_work(core, lambda _: False)
    assert not has_work(core, lambda name: name == "v")
    assert late_tables(core) == {"v"}
