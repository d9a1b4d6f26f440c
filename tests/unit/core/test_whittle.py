"""The policy whittle: its keys, what lifts a source, and when it loses patience."""

from __future__ import annotations

import pytest

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.bundles import bundles, shares
from freshline.core.events import FileArrived, TablePrioritised, TableRestored, UpdateFinished
from freshline.core.model import TableSpec
from freshline.core.registry import found_policies, policy_called, policy_names
from freshline.sim.driver import play
from freshline.sim.scenario.model import FeedSpec, Scenario, Slowdown

INDEX = PolicySettings(policy="whittle")


def scheduler(*specs, tracks=1, **more):
    return make_scheduler(specs, tracks=tracks, settings=INDEX, **more)


def bundle_of(*specs):
    tables = scheduler(*specs).tables
    return {
        table.name: (sorted(tables[at].name for at in bundle.members), bundle.priority)
        for table, bundle in zip(tables, bundles(tables, shares(tables)), strict=True)
    }


def weighted(policy, tables, feeds, *, tracks=1, horizon_s=2000.0, slowdown=None):
    scenario = Scenario(horizon_s, 1, tracks, policy, 1.0, 1.0, slowdown, tables, feeds)
    return play(scenario).weighted_staleness_s2


def test_the_wait_counts_squared_where_the_machine_keeps_up():
    """9 * 10 / 10 beats 4 * 20 / 10 for max benefit, but 4 * 20^2 beats 9 * 10^2."""
    specs = (
        TableSpec("dear", period_s=10.0, priority=9.0, alpha_s=10.0),
        TableSpec("late", period_s=10.0, priority=4.0, alpha_s=10.0),
    )
    events = [FileArrived("dear", 10.0), FileArrived("late", 20.0)]
    assert [c.table for c in scheduler(*specs).handle(20.0, events)] == ["late"]
    greedy = make_scheduler(specs, tracks=1, settings=PolicySettings(policy="max-benefit"))
    assert [c.table for c in greedy.handle(20.0, events)] == ["dear"]


def test_without_patience_it_is_max_benefit():
    """beta is 2 tracks' worth and start-up 0: no waiting saves anything."""
    specs = (
        TableSpec("dear", period_s=10.0, priority=9.0, beta=1.0),
        TableSpec("late", period_s=10.0, priority=4.0, beta=1.0),
    )
    events = [FileArrived("dear", 10.0), FileArrived("late", 20.0)]
    assert [c.table for c in scheduler(*specs).handle(20.0, events)] == ["dear"]


def test_a_backlog_that_grows_shortens_the_patience_until_waiting_has_made_up_for_it():
    """99 % of the track is slope, and every update's start-up 0.55 s: R = 1.1 s.

    At intervals of 10 s the track lacks 0.99 + 0.11 - 1 = 0.1, so patience is 11 s; at 40 s it
    lacks 0.0175; at 150 s nothing, and patience is ten rounds of 1.1 / 0.01 s.
    """
    specs = [TableSpec(name, period_s=10.0, alpha_s=0.55, beta=0.495) for name in ("a", "b")]
    core = scheduler(*specs, explains=True)
    patience = []
    now_s = 0.0
    for amount_s in (10.0, 40.0, 150.0, 10.0):
        now_s += amount_s
        to_s = core.tables[0].freshness_s + amount_s
        arrived = [FileArrived("a", to_s), FileArrived("b", to_s)]
        for done, events in (("a", arrived), ("b", [UpdateFinished("a")])):
            (command,) = core.handle(now_s, events)
            assert command.table == done
            patience.append(command.score.rpartition("patience ")[2])
            now_s += command.expected_s
        assert core.handle(now_s, [UpdateFinished("b")]) == []
    assert patience[::2] == ["11 s", "11 s", "62.9 s", "1.1e+03 s"]


def test_a_table_is_not_given_up_where_the_machine_could_serve_it():
    """Slopes take 0.8 of the track, and one file at a time of the important table all of it.

    As long as it is served so often the machine lacks seconds, and who looks at that alone lets
    the other table wait for ever. Served less often both have their turn: the best schedule pays
    1,095 a second (tests/laws/test_whittle_optimum.py).
    """
    tables = (
        TableSpec("dear", period_s=20.0, priority=9.0, alpha_s=12.0, beta=0.4),
        TableSpec("cheap", period_s=20.0, priority=1.0, alpha_s=12.0, beta=0.4),
    )
    feeds = {table.name: FeedSpec(7.0 + 6.0 * i, 20.0) for i, table in enumerate(tables)}
    first, both = (weighted(INDEX, tables, feeds, horizon_s=h) for h in (6000.0, 12000.0))
    assert (both - first) / 6000.0 < 1.25 * 1095.0


def test_seconds_that_no_waiting_saves_count_less_than_start_ups():
    """Both take 10 s for what waits; of one of them all is start-up, of the other nothing is."""
    specs = (
        TableSpec("slow start", period_s=10.0, alpha_s=10.0),
        TableSpec("much data", period_s=10.0, beta=0.5),
    )
    events = [FileArrived("slow start", 20.0), FileArrived("much data", 20.0)]
    assert [c.table for c in scheduler(*specs).handle(20.0, events)] == ["much data"]
    greedy = make_scheduler(specs, tracks=1, settings=PolicySettings(policy="max-benefit"))
    assert [c.table for c in greedy.handle(20.0, events)] == ["slow start"]


def test_the_score_says_what_the_key_is_made_of():
    specs = (
        TableSpec("orders", period_s=10.0, alpha_s=2.0, beta=0.1),
        TableSpec("revenue", ("orders",), priority=9.0, alpha_s=1.0, beta=0.1),
    )
    started = scheduler(*specs, explains=True).handle(10.0, [FileArrived("orders", 10.0)])
    assert started[0].score == (
        "index 209.3: priority 10 with 1 derived from it, 10.000 s of new data, 5.000 s of work, "
        "patience 37.5 s"
    )


def test_nothing_costs_nothing():
    specs = (TableSpec("free", period_s=1.0), TableSpec("worthless", period_s=1.0, priority=0.0))
    started = scheduler(*specs).handle(
        1.0, [FileArrived("free", 1.0), FileArrived("worthless", 1.0)]
    )
    assert [command.table for command in started] == ["free"]


def test_a_dependent_lifts_its_source_only_if_it_is_worth_more_a_second():
    base = TableSpec("base", period_s=10.0, priority=2.0, alpha_s=1.0)
    assert bundle_of(
        base,
        TableSpec("dear", ("base",), priority=9.0, alpha_s=1.0),
        TableSpec("cheap", ("base",), priority=1.0, alpha_s=1.0),
    ) == {
        "base": (["base", "dear"], 11.0),
        "dear": (["dear"], 9.0),
        "cheap": (["cheap"], 1.0),
    }


def test_worth_reaches_a_source_through_a_table_worth_nothing_itself():
    base = TableSpec("base", period_s=10.0, priority=0.0, alpha_s=1.0)
    middle = TableSpec("middle", ("base",), priority=0.0, alpha_s=1.0)
    top = TableSpec("top", ("middle",), priority=3.0, alpha_s=1.0)
    assert bundle_of(base, middle, top) == {
        "base": (["base", "middle", "top"], 3.0),
        "middle": (["middle", "top"], 3.0),
        "top": (["top"], 3.0),
    }


def test_a_grandchild_is_added_when_its_parent_is_in_but_left_it_out():
    """top's ratio, 4, is below middle's own 6, yet above base and middle together, 3.5."""
    base = TableSpec("base", period_s=10.0, priority=1.0, alpha_s=1.0)
    middle = TableSpec("middle", ("base",), priority=6.0, alpha_s=1.0)
    top = TableSpec("top", ("middle",), priority=4.0, alpha_s=1.0)
    assert bundle_of(base, middle, top)["middle"] == (["middle"], 6.0)
    assert bundle_of(base, middle, top)["base"] == (["base", "middle", "top"], 11.0)


def test_both_sources_of_a_diamond_are_lifted_and_its_end_counts_once():
    specs = (
        TableSpec("base", period_s=10.0, priority=1.0, alpha_s=1.0),
        TableSpec("left", ("base",), priority=1.0, alpha_s=0.5),
        TableSpec("right", ("base",), priority=1.0, alpha_s=0.5),
        TableSpec("end", ("left", "right"), priority=9.0, alpha_s=1.0),
    )
    assert bundle_of(*specs)["base"] == (["base", "end", "left", "right"], 12.0)


def test_a_table_of_several_sources_is_shared_out_among_them():
    """left has a half of both; the start-up of both is nobody's, since it runs for right, too."""
    specs = (
        TableSpec("left", period_s=10.0, priority=1.0, alpha_s=1.0),
        TableSpec("right", period_s=10.0, priority=1.0, alpha_s=1.0),
        TableSpec("both", ("left", "right"), priority=4.0, alpha_s=8.0, beta=0.2),
        TableSpec("top", ("both", "left"), priority=4.0, alpha_s=8.0),
    )
    tables = scheduler(*specs).tables
    left, right, _, _ = shares(tables)
    assert left == {0: 1.0, 2: 0.5, 3: 0.75}
    assert right == {1: 1.0, 2: 0.5, 3: 0.25}
    bundle, _, both, _ = bundles(tables, shares(tables))
    assert (bundle.priority, bundle.alpha_s, bundle.beta) == (1.0 + 2.0 + 3.0, 1.0, 0.1)
    assert (both.priority, both.alpha_s) == (4.0 + 2.0, 8.0)


def test_where_all_sources_are_derived_from_it_a_table_is_its_own_entirely():
    """Three thirds do not add up to one exactly; the start-up is paid for all the same."""
    ways = [TableSpec(f"way{i}", ("base",), priority=1.0, alpha_s=0.5) for i in range(3)]
    specs = (
        TableSpec("base", period_s=10.0, priority=1.0, alpha_s=1.0),
        *ways,
        TableSpec("end", tuple(way.name for way in ways), priority=9.0, alpha_s=1.0),
    )
    tables = scheduler(*specs).tables
    assert shares(tables)[0][4] == pytest.approx(1.0)
    assert bundles(tables, shares(tables))[0].alpha_s == pytest.approx(3.5)


def test_what_lies_too_far_below_a_table_takes_no_place_in_its_bundle():
    """Of 600 tables below it the first 300 are looked at: what has no share is no member."""
    near = [
        TableSpec(f"n{i:03d}", ("base",), priority=1.0, alpha_s=1.0 + i / 300) for i in range(300)
    ]
    far = [TableSpec(f"f{i:03d}", (near[i].name,), priority=1.0, alpha_s=900.0) for i in range(300)]
    base = TableSpec("base", period_s=10.0, priority=1.0, alpha_s=900.0)
    members, priority = bundle_of(base, *near, *far)["base"]
    assert members == ["base", *(each.name for each in near[:63])]
    assert priority == 64.0


@pytest.mark.parametrize("objective", ["staleness", "cost"])
def test_a_new_priority_decides_the_next_choice(objective):
    """And not after a round: of 400 tables under overload that takes an hour."""
    specs = tuple(TableSpec(f"t{i}", period_s=10.0, alpha_s=1.0) for i in range(20))
    loop = make_scheduler(
        specs, tracks=1, settings=PolicySettings(policy="whittle", objective=objective)
    )
    started = loop.handle(10.0, [FileArrived(spec.name, 10.0) for spec in specs])
    assert [command.table for command in started] == ["t0"]
    loop.handle(10.5, [TablePrioritised("t19", 1000.0)])
    started = loop.handle(11.0, [UpdateFinished("t0")])
    assert [command.table for command in started] == ["t19"]


def test_a_new_priority_is_taken_in_within_a_round():
    specs = tuple(TableSpec(name, period_s=10.0, alpha_s=1.0) for name in ("a", "b"))
    loop = scheduler(*specs)
    now_s = 10.0
    loop.handle(now_s, [FileArrived("a", now_s), FileArrived("b", now_s)])
    loop.handle(now_s, [TablePrioritised("b", 9.0)])
    for first, name in (("a", "b"), ("b", None)):
        now_s += 1.0
        started = loop.handle(now_s, [UpdateFinished(first)])
        assert [command.table for command in started] == ([name] if name else [])
    started = loop.handle(20.0, [FileArrived("a", 20.0), FileArrived("b", 20.0)])
    assert [command.table for command in started] == ["b"]


def test_learned_costs_decide_after_a_round():
    """Both are unknown at first; ``big`` turns out ten times as dear, for the same data."""
    specs = tuple(TableSpec(name, period_s=100.0, alpha_s=1.0) for name in ("big", "small"))
    loop = scheduler(*specs, learns=True)
    for round_s in (100.0, 200.0, 300.0):
        files = [FileArrived("big", round_s), FileArrived("small", round_s)]
        started = loop.handle(round_s, files)
        order = [started[0].table]
        now_s = round_s
        while started:
            now_s += 10.0 if started[0].table == "big" else 1.0
            started = loop.handle(now_s, [UpdateFinished(started[0].table)])
            order += [command.table for command in started]
        expected = ["big", "small"] if round_s == 100.0 else ["small", "big"]
        assert order == expected


def test_what_a_former_run_learned_counts_from_the_first_instant():
    specs = tuple(TableSpec(name, period_s=100.0, alpha_s=1.0) for name in ("big", "small"))
    loop = scheduler(*specs, learns=True, start_s=1000.0, origin_s=None)
    restored = [
        TableRestored(name, 950.0, 7, 3, alpha_s=alpha_s, beta=0.0)
        for name, alpha_s in (("big", 9.0), ("small", 1.0))
    ]
    files = [FileArrived(name, 990.0, "f") for name in ("big", "small")]
    assert [command.table for command in loop.handle(1000.0, [*restored, *files])] == ["small"]


def test_first_learned_costs_do_not_wait_for_a_whole_round():
    """Of sixteen equal tables two have told what they cost when all have news again."""
    names = [f"t{number:02}" for number in range(16)]
    loop = scheduler(*(TableSpec(name, period_s=100.0, alpha_s=1.0) for name in names), learns=True)
    first = [FileArrived(name, 100.0) for name in names[:2]]
    (dear,) = loop.handle(100.0, first)
    (cheap,) = loop.handle(150.0, [UpdateFinished(dear.table)])  # it took 50 s
    assert (dear.table, cheap.table) == ("t00", "t01")
    news = [FileArrived(name, 200.0) for name in names[:2]]
    (second,) = loop.handle(151.0, [UpdateFinished("t01"), *news])
    assert second.table == "t01"


def test_updates_that_take_longer_than_expected_end_the_patience():
    """Half a load, and stretches in which everything takes three times as long: overload.

    Who waits for a moment there is better served like max benefit serves; the difference to
    an index without end to its patience is what the measured slowness is for.
    """
    tables = tuple(
        TableSpec(f"t{i}", period_s=10.0, priority=float(1 + 4 * (i % 3)), alpha_s=0.05, beta=0.045)
        for i in range(10)
    )
    feeds = {table.name: FeedSpec(1.0 + i, 10.0) for i, table in enumerate(tables)}
    slowdown = Slowdown(3.0, 100.0, 100.0)
    index = weighted(INDEX, tables, feeds, slowdown=slowdown)
    greedy = weighted(PolicySettings(policy="max-benefit"), tables, feeds, slowdown=slowdown)
    fifo = weighted(PolicySettings(policy="fifo"), tables, feeds, slowdown=slowdown)
    assert index <= 1.03 * greedy
    assert index < 0.9 * fifo


@pytest.mark.parametrize("policy", ["fifo", "edf", "max-benefit"])
def test_dear_start_ups_and_wide_priorities_are_where_it_wins(policy):
    tables = tuple(
        TableSpec(f"t{i}", period_s=5.0, priority=float(1 + (i * 7) % 9), alpha_s=2.0, beta=0.02)
        for i in range(20)
    )
    feeds = {table.name: FeedSpec(1.0 + 0.2 * i, 5.0) for i, table in enumerate(tables)}
    other = weighted(PolicySettings(policy=policy), tables, feeds, tracks=2)
    assert weighted(INDEX, tables, feeds, tracks=2) < 0.92 * other


def test_index_is_another_name_of_whittle():
    assert "index" in policy_names()
    assert "index" not in found_policies()
    assert [policy_called(name) for name in ("index", "whittle", "edf")] == [
        "whittle",
        "whittle",
        "edf",
    ]
    tables = [TableSpec("t", period_s=10.0)]
    scheduler = make_scheduler(tables, tracks=1, settings=PolicySettings("index"))
    assert scheduler.policy.name == "whittle"
