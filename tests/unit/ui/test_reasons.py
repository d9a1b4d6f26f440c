"""Why a table of a project at rest is late, as the page says it."""

from __future__ import annotations

import pytest

from freshline.core.assembly import SchedulerSettings
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
