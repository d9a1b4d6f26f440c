"""In a run where nothing broke an assumption no violation is counted; where one did, some are.

Whole scenarios in virtual time: what the warehouse's oversight is told of each instant, told of
the simulator's.
"""

from __future__ import annotations

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from freshline.core.events import FileArrived, UpdateFinished
from freshline.core.oversight.bounds import BoundsKept, Limits, Reason
from freshline.core.oversight.feeds import FeedHealth
from freshline.sim.driver import Driver
from tests.laws.test_aus_laws import HEALTHY, SMALL, bounded
from tests.support.aus_playing import scenario_of


class Overseer:
    """Tells the bounds and the feeds what each instant of a run brings."""

    def attach(self, core, feeds) -> None:
        self.kept = BoundsKept(core.tables)
        self.kept.promise(limits_of(core))
        self.feeds = {
            name: FeedHealth(feed.period_s, 0.0, core.table(name).spec.jitter_s)
            for name, feed in feeds.items()
        }

    def __call__(self, now_s, events, commands) -> None:
        kept = self.kept
        for name, health in self.feeds.items():
            if health.look(now_s):
                kept.feed_out(name, now_s)
        for event in events:
            if isinstance(event, UpdateFinished):
                kept.finished(event.table, now_s)
            elif isinstance(event, FileArrived):
                ended, excess = self.feeds[event.table].arrived(now_s, event.timestamp_s)
                if ended:
                    kept.feed_back(event.table)
                if excess:
                    kept.feed_excess(event.table, now_s, excess)
        for command in commands:
            kept.started(command, now_s)
        kept.look(now_s)


def overseen(given_scenario) -> BoundsKept:
    """The bounds kept over a run of a scenario under aus."""
    scenario = scenario_of(given_scenario)
    overseer = Overseer()
    driver = Driver(scenario, on_instant=overseer)
    overseer.attach(driver.scheduler, scenario.feeds)
    driver.run()
    return overseer.kept


def limits_of(core):
    for table, item in zip(core.tables, core.policy.guarantees, strict=True):
        share = item.share
        yield (
            table.name,
            Limits(
                share.execution_s,
                share.period_s,
                share.recovery_period_s,
                item.tardiness_s,
                item.response_s,
                item.staleness_s,
            ),
        )


@given(bounded(feeds=HEALTHY))
def test_nothing_is_counted_where_nothing_broke(scenario):
    assert list(overseen(scenario).violations) == []


@given(bounded(feeds=st.just("outages")))
def test_an_outage_is_no_violation_of_anybodys_bound(scenario):
    assert list(overseen(scenario).violations) == []


@given(bounded(feeds=st.sampled_from(["periodic", "outages"]), thresholds=SMALL))
def test_nor_is_a_recovery_that_starts_early(scenario):
    assert list(overseen(scenario).violations) == []


def test_updates_ten_times_as_long_are_counted_with_that_reason():
    found = []

    @settings(max_examples=100, phases=[Phase.generate], derandomize=True, database=None)
    @given(bounded(feeds=st.just("periodic"), broken=True))
    def look(scenario):
        found.append([violation.reason for violation in overseen(scenario).violations])

    look()
    reasons = [reason for each in found for reason in each]
    assert sum(bool(each) for each in found) > 50
    assert set(reasons) == {Reason.EXECUTION}


def test_a_feed_that_brings_more_than_its_period_promises_is_the_reason():
    # Files of 40 s of data each, where a period of 10 s is declared: b waits 41 s for a.
    busy = {"name": "a", "alpha": 1.0, "beta": 1.0, "period": 10.0, "wcet": 2.0}
    busy |= {"arrivals": [[10.0, 10.0], [50.0, 50.0], [90.0, 90.0]]}
    healthy = {"name": "b", "alpha": 0.1, "period": 4.0}
    kept = overseen({"horizon": 150.0, "tables": [busy, healthy]})
    assert {violation.table for violation in kept.violations} >= {"b"}
    assert {violation.reason for violation in kept.violations} <= {Reason.DATA, Reason.EXECUTION}
    assert kept.counts("b").get(Reason.DATA.value, 0) > 0
    assert kept.worst_s("b")["response"] > 30.0
