"""Why a table of a project at rest is late, as the page says it."""

from __future__ import annotations

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.shop import Shop, made_project


@pytest.fixture
def shop(tmp_path):
    tables = {"orders": (), "big": ("orders",), "small": ("orders",)}
    lags = {"orders": 60.0, "big": 60.0}
    shop = Shop(made_project(tmp_path, tables, SchedulerSettings(tracks=1), lags=lags))
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    return shop


@pytest.fixture
def journal(shop):
    journal = Journal(journal_path(shop.project), create=False)
    yield journal
    journal.close()


def reasons(shop, serve, at_s: float) -> dict[str, str | None]:
    with serve(shop.project, clock=lambda: at_s) as ask:
        return {each["name"]: each.get("reason") for each in ask("/v1/ui/tables").json["tables"]}


def test_a_project_at_rest_says_for_how_long_and_what_it_reads_that_is_late(shop, journal, serve):
    (run,) = journal.rows("SELECT stopped_s FROM runs")
    assert reasons(shop, serve, run["stopped_s"] + 7200.0) == {
        "orders": "no warehouse has run for 2 h",
        "big": "no warehouse has run for 2 h; orders, which it reads, is late",
        "small": None,
    }


def test_after_a_kill_nobody_knows_since_when(shop, journal, serve):
    (run,) = journal.rows("SELECT stopped_s FROM runs")
    journal.write("UPDATE runs SET stopped_s=NULL")
    journal.flush()
    told = reasons(shop, serve, run["stopped_s"] + 7200.0)
    assert told["orders"] == "no warehouse runs"


def test_beside_a_run_a_view_names_what_is_behind_it_as_wait_and_alerts_do(shop, journal, serve):
    """The reason is the slowest ancestor's: a silent feed, however far above."""
    (row,) = journal.rows("SELECT freshness_s FROM tables WHERE name='orders'")
    journal.write("UPDATE runs SET stopped_s=NULL")
    journal.write(
        "INSERT OR REPLACE INTO feeds (name, last_s, period_s, jitter_s, silent_since_s)"
        " VALUES ('orders_feed', ?, 5, 1, ?)",
        (row["freshness_s"], row["freshness_s"]),
    )
    journal.flush()
    with WarehouseLock(shop.project.own_folder):
        told = reasons(shop, serve, row["freshness_s"] + 180.0)
    silent = "feed orders_feed is silent (nothing for 3 min, expected every 5.0 s)"
    assert told == {"orders": silent, "big": f"waits for orders: {silent}", "small": None}


def test_what_waits_at_rest_is_told(shop, journal, serve):
    (run,) = journal.rows("SELECT stopped_s FROM runs")
    for number in (2, 3):
        journal.write(
            "INSERT INTO files (table_name, name, state) VALUES ('orders', ?, 'pending')",
            (f"{number}.json",),
        )
    journal.write("UPDATE tables SET trailing_edge_s=freshness_s+90 WHERE name='big'")
    journal.flush()
    told = reasons(shop, serve, run["stopped_s"] + 600.0)
    assert told["orders"] == "no warehouse has run for 10 min; files that wait: 2"
    assert told["big"] == "no warehouse has run for 10 min; its parents are 90 s ahead"
