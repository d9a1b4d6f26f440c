"""How targets were kept in the last day, from a journal's updates."""

from __future__ import annotations

import time

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.recorded_run import recorded_run
from freshline.runtime.status.replay import replay
from freshline.runtime.status.target_history import WINDOW_S, lately
from freshline.runtime.warehouse import Warehouse
from freshline.sim.whatif.history import history_of
from freshline.sim.whatif.recorded import conforming
from tests.support.shop import LiveRun, Shop, made_project

NOW_S = 1_767_312_180.0
"""Three minutes after midnight of the files' day."""


@pytest.fixture
def journal(tmp_path):
    opened = Journal(tmp_path / "journal.sqlite", create=True)
    yield opened
    opened.close()


def update(journal, number, finish_s, to_s, *, from_s=0.0, seconds=2.0, state="done"):
    journal.put(
        "updates",
        {"id": number},
        table_name="t",
        number=number,
        start_s=finish_s - seconds,
        finish_s=finish_s,
        from_s=from_s,
        to_s=to_s,
        seconds=seconds,
        state=state,
    )
    journal.flush()


def test_a_table_without_updates_has_neither_share_nor_seconds(journal):
    found = lately(journal, "t", 10.0, 100.0)
    assert (found.within, found.executor_s, found.window_s) == (None, 0.0, 0.0)


def test_the_share_counts_from_the_first_version_and_seconds_of_failures_too(journal):
    update(journal, 1, 1000.0, 990.0)
    update(journal, 2, 1010.0, 0.0, seconds=3.0, state="failed")
    update(journal, 3, 1050.0, 1045.0, from_s=990.0)
    # Beyond 990 + 30 until 1050, and beyond 1045 + 30 until 1100: 30 + 25 of 100 seconds.
    found = lately(journal, "t", 30.0, 1100.0)
    assert found.within == pytest.approx(0.45)
    assert (found.executor_s, found.window_s) == (7.0, 100.0)
    assert lately(journal, "t", None, 1100.0).within is None


def test_what_is_older_than_a_day_tells_how_fresh_the_table_was_then(journal):
    update(journal, 1, 900.0, 890.0)
    update(journal, 2, 1000.0, 990.0, from_s=890.0)
    now_s = 1000.0 + WINDOW_S + 500.0
    standing = lately(journal, "t", WINDOW_S, now_s)
    # The window begins at 1500; the target is missed from 990 + a day on.
    assert standing.window_s == WINDOW_S
    assert standing.executor_s == 0.0
    assert standing.within == pytest.approx(1.0 - 510.0 / WINDOW_S)


def test_of_very_many_updates_the_newest_are_looked_at(journal):
    for number in range(1, 700):
        update(journal, number, 1000.0 + number, 999.0 + number, from_s=998.0 + number)
    found = lately(journal, "t", 5.0, 1699.0)
    # Five hundred: 1200 to 1699, the oldest of them as the state to begin with.
    assert (found.window_s, found.executor_s, found.within) == (499.0, 998.0, 1.0)


class Shifted(Shop):
    """A shop whose clock stands at the files' day, so that they are not months old."""

    def warehouse(self, options=None):
        shift_s = time.time() - NOW_S
        return Warehouse(
            self.project, lambda: self.executor, self.recorder, options,
            clock=lambda: time.time() - shift_s, backoff=self.backoff,
        )  # fmt: skip


def test_a_live_run_waits_for_its_targets_and_can_be_told_again(tmp_path):
    settings = SchedulerSettings(objective="cost")
    lag_s = 4.0
    project = made_project(tmp_path, {"orders": (), "view": ("orders",)}, settings,
                           lags={"view": lag_s})  # fmt: skip
    shop = Shifted(project)
    shop.file("orders", 3, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done view")
        shop.file("orders", 600, [2])  # stamped later than it comes: as fresh as now
        shop.recorder.wait_for("done view", 2)
    first, second = shop.journal_rows("SELECT * FROM updates WHERE table_name='view' ORDER BY id")
    alone = shop.journal_rows("SELECT * FROM updates WHERE table_name='orders' ORDER BY id")
    assert [row["number"] for row in alone] == [1, 2]
    # The first at once; the second not before a good part of its lag is over.
    assert second["start_s"] - first["to_s"] > lag_s / 4.0
    assert second["score"].startswith("due since ")
    journal = Journal(journal_path(project), create=False)
    try:
        assert replay(journal).mismatches == ()
        assert conforming(history_of(recorded_run(journal), {})) is None
    finally:
        journal.close()


def test_a_run_until_idle_waits_for_no_latest_start(tmp_path):
    tables, hours = {"orders": (), "view": ("orders",)}, {"view": 7200.0}
    shop = Shifted(made_project(tmp_path, tables, SchedulerSettings(objective="cost"), lags=hours))
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    assert shop.executor.numbers("view") == [1, 2]
