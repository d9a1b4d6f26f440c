"""The virtual warehouse for tests of policies: what it plays is what the simulator plays."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.errors import UserError
from freshline.core.events import TablePaused
from freshline.core.model import Table
from freshline.core.policies.fifo import Fifo
from freshline.core.policies.max_benefit import MaxBenefit
from freshline.core.policy import Policy
from freshline.sim.driver import Driver
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.trace import Finished
from freshline.testing import Update, VirtualWarehouse, base, view


class Shortest(Policy):
    """The quickest update first, as somebody's own policy."""

    name: ClassVar[str] = "shortest"

    def key(self, table: Table) -> float:
        return table.expected_s

    def score(self, table: Table) -> str:
        return f"{table.expected_s:g} s"


def test_a_policy_of_ones_own_decides_and_says_why():
    tables = [base("slow", takes_s=3.0), base("quick"), view("both", "slow", "quick")]
    warehouse = VirtualWarehouse(Shortest(), tables)
    for table in ("slow", "quick"):
        warehouse.arrive(table, at_s=10.0)
    assert warehouse.run() == [
        Update("quick", 0, 10.0, 11.0, 0.0, 10.0, "1 s"),
        Update("slow", 0, 11.0, 14.0, 0.0, 10.0, "3 s"),
        Update("both", 0, 14.0, 15.0, 0.0, 10.0, "1 s"),
    ]
    assert (warehouse.now_s, warehouse.freshness_s("both")) == (15.0, 10.0)


def test_what_fails_is_tried_again_and_what_is_paused_waits():
    warehouse = VirtualWarehouse(Fifo(), [base("a"), base("b", takes_more=0.5)])
    warehouse.fail("a", retry_after_s=5.0)
    warehouse.arrive("a", at_s=1.0)
    warehouse.arrive("b", at_s=1.0, timestamp_s=0.5)
    warehouse.happen(TablePaused("b"), at_s=0.5)
    ended = warehouse.run()
    assert [(each.table, each.start_s, each.finish_s, each.failed) for each in ended] == [
        ("a", 1.0, 2.0, True),
        ("a", 7.0, 8.0, False),
    ]


def test_time_stops_where_it_is_told_to():
    warehouse = VirtualWarehouse(Fifo(), [base("a", period_s=4.0)])
    warehouse.arrive_every("a", until_s=12.0)
    assert [each.finish_s for each in warehouse.run(6.0)] == [5.0]
    assert warehouse.now_s == 6.0
    assert [each.finish_s for each in warehouse.run()] == [9.0, 13.0]
    with pytest.raises(UserError, match=r"it is 13 s, and 12 s is past"):
        warehouse.arrive("a", at_s=12.0)


def test_files_arrive_for_base_tables_only():
    warehouse = VirtualWarehouse(Fifo(), [base("a"), view("v", "a")])
    once = partial(warehouse.arrive, at_s=1.0)
    often = partial(warehouse.arrive_every, until_s=30.0)
    for name, arrive in product(("v", "nobody"), (once, often)):
        with pytest.raises(UserError) as refused:
            arrive(name)
        assert (refused.value.code, refused.value.rule) == ("no-feed", "base tables here are a")


HALVES = st.integers(1, 12).map(lambda halves: halves / 2)


@given(
    st.lists(st.tuples(HALVES, HALVES, st.integers(0, 4)), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(1, 3),
    st.sampled_from(["fifo", "max-benefit"]),
)
def test_it_plays_what_the_simulator_plays(bases, views, tracks, policy):
    tables = [
        base(f"b{n}", period_s=period_s, takes_s=takes_s / 4, priority=float(priority))
        for n, (period_s, takes_s, priority) in enumerate(bases)
    ]
    for n in range(views):
        tables.append(view(f"v{n}", tables[n % len(tables)].name, tables[-1].name))
    horizon_s = 20.0
    kind = {"fifo": Fifo, "max-benefit": MaxBenefit}[policy]
    warehouse = VirtualWarehouse(kind(), tables, tracks=tracks)
    feeds = {}
    for spec in tables:
        if not spec.sources:
            warehouse.arrive_every(spec.name, until_s=horizon_s)
            period_s = spec.period_s or 0.0
            feeds[spec.name] = FeedSpec(period_s, period_s)
    settings = PolicySettings(policy=policy)
    scenario = Scenario(horizon_s, 1, tracks, settings, 1.0, 1.0, None, tuple(tables), feeds)
    finished: list[Finished] = []
    driver = Driver(scenario, on_finished=finished.append)
    driver.scheduler = make_scheduler(tables, tracks=tracks, settings=settings)
    driver.run()
    assert [
        (each.table, each.track, each.start_s, each.finish_s, each.from_s, each.to_s)
        for each in warehouse.run(horizon_s)
        if each.start_s < horizon_s
    ] == [
        (each.table, each.track, each.start_s, each.finish_s, each.from_s, each.to_s)
        for each in finished
    ]
