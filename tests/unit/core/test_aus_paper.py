"""Leontyev et al. 2009, worked examples 1 to 10, with the corrections of the reading notes."""

from __future__ import annotations

import pytest

from freshline.core.aus.guarantee import graph_of
from freshline.core.aus.shares import Share, shares
from freshline.core.model import TableSpec
from freshline.sim.driver import Driver
from tests.support.aus_playing import lines, played, scenario_of, switches

LATE_FEED = [[1, 1], [10, 4], [10, 7], [10, 10], *([t, t] for t in range(13, 31, 3))]
"""D_1 of example 1: down in [4, 10). Correction L14: arr = 10 for j = 2..4 only."""


def healthy(name, **keys):
    return {"name": name, "alpha": 1.0, "period": 3.0, "phase": 1.0, **keys}


def late(name, **keys):
    return healthy(name, arrivals=LATE_FEED, **keys)


def pair(period):
    """Examples 4 to 7: V_1 is updated every ``period``, V_2 every 3, one track, V_1 first."""
    first = late("V1", recovery_threshold=99.0) | {"period": period}
    return {"horizon": 16.0, "tables": [first, healthy("V2")]}


def example_8():
    """Both feeds were down."""
    keys = {"recovery_period": 1.5, "recovery_threshold": 8.0}
    tables = [late("V1", **keys), late("V2", **keys)]
    return {"horizon": 30.25, "recovery": "explicit", "tables": tables}


def test_example_1_trailing_edge_and_backlog_after_an_outage():
    seen: dict[float, tuple[float, list[float]]] = {}

    def look(now_s, *_):
        table = driver.scheduler.table("V1")
        seen[now_s] = (table.trailing_edge_s, [file.timestamp_s for file in table.pending])

    driver = Driver(scenario_of(pair(1.5) | {"horizon": 10.0}), on_instant=look)
    driver.run()
    # At 10 the file of 4 is being loaded.
    assert [seen[1], seen[10]] == [(1, []), (10, [7, 10])]


def test_example_2_a_derived_table_loads_what_all_its_sources_have():
    # V_4 stands at 5, V_2 at 8, V_3 at 9: the update that starts at 12 loads (5, 8].
    source = {"alpha": 1.0, "period": 5.0}
    tables = [
        {"name": "V2", "arrivals": [[5, 5], [8, 8]], **source},
        {"name": "V3", "arrivals": [[5, 5], [9, 9]], **source},
        {"name": "V4", "sources": ["V2", "V3"], "alpha": 2.0, "period": 5.0},
    ]
    _, trace = played({"horizon": 20.0, "tables": tables})
    assert lines(trace, "V4") == [("V4", 7, 7, 9, 5, "normal"), ("V4", 12, 12, 14, 8, "normal")]
    assert trace[-1].from_s == 5


@pytest.mark.parametrize(
    ("inset", "seconds", "arrives", "released"),
    [
        ("a: done before d, the next file is there at d", 2.0, 3.0, 5.0),
        ("b: done after d, the next file is there", 6.0, 3.0, 5.0),
        ("c: done before d, fresh at d", 2.0, 6.0, 6.0),
        ("d: done after d, fresh then", 6.0, 8.0, 8.0),
    ],
)
def test_example_3_the_cases_of_equation_4(inset, seconds, arrives, released):
    table = {"name": "V", "alpha": seconds, "period": 4.0, "arrivals": [[1, 1], [arrives, 2]]}
    _, trace = played({"horizon": 20.0, "tables": [table]})
    assert [line.release_s for line in trace] == [1.0, released], inset


@pytest.mark.parametrize("period", [1.0, 1.5])
def test_example_4_first_releases_and_deadlines(period):
    # Correction L14: T_1 goes first. d_1,1 = 1 + p and d_2,1 = 4, so it does.
    _, trace = played(pair(period))
    assert lines(trace)[:2] == [("V1", 1, 1, 2, 1, "normal"), ("V2", 1, 2, 3, 1, "normal")]


@pytest.mark.parametrize(("period", "released"), [(1.0, 11.0), (1.5, 11.5)])
def test_example_5_the_next_release_of_a_table_that_is_not_fresh(period, released):
    _, trace = played(pair(period))
    second, third = lines(trace, "V1")[1:3]
    assert second == ("V1", 10, 10, 11, 4, "normal")
    assert third[1] == released


def test_examples_6_and_7_slower_recovery_leaves_the_healthy_table_alone():
    # Staleness of V_2: 2 at its first finish, and with p = 1.5 again 2 at 12. Correction L14:
    # figure 5 shows fixed priorities; by deadlines V_1 delays V_2 to 14 with p = 1, not to 15.
    _, fast = played(pair(1.0))
    _, slow = played(pair(1.5))
    first = lines(slow, "V2")[0]
    assert first[3] - first[4] == 2
    assert lines(slow, "V2")[3] == ("V2", 10, 11, 12, 10, "normal")
    assert lines(fast, "V2")[3] == ("V2", 10, 13, 14, 10, "normal")
    # Example 7 speaks of V_2 where it prints V_1 (L14): the longer recovery is V_1's price.
    caught_up = [next(line[3] for line in lines(t, "V1") if line[4] == 10) for t in (fast, slow)]
    assert caught_up == [13, 14]


def test_example_8_first_deadlines_in_normal_mode():
    _, trace = played(example_8())
    assert lines(trace)[:2] == [("V1", 1, 1, 2, 1, "normal"), ("V2", 1, 2, 3, 1, "normal")]
    # d = 1 + 3: without an outage the next file, due at 4, would have been released then.


def test_example_9_one_of_two_switches_and_is_released_at_once():
    # Both are 9 behind, above 8; recovery takes 1 - 1/3 more, and only 1/3 is left for (6).
    # Correction L14: the release at 10 is rule (ii)'s, an update was released before; and
    # the gain u*p/p^r - u is subtracted for RN.
    result, trace = played(example_8())
    assert switches(result)[0] == (10, "V1", "recovery")
    assert [line[1] for line in lines(trace, "V1")[1:6]] == [10, 11.5, 13, 14.5, 16]
    assert [line[1] for line in lines(trace, "V2")[1:4]] == [10, 13, 16]


def test_example_9_the_threshold_lies_below_the_bound_that_it_should_be():
    # Correction L14: 8 is below A = 10, so healthy tables may switch too.
    result, _ = played(example_8())
    assert result.findings["aus"]["tables"]["V1"]["staleness_bound"] == 10.0


def test_example_9_recovery_periods_need_the_minimum_in_equation_7():
    # Correction L1: p^r = 1.5 comes from e / min(1, m - U + u); printed is max, giving 1, which
    # (6) refuses: 1/1 + 1/3 > 1.
    tables = graph_of([TableSpec(name, period_s=3.0, alpha_s=1.0) for name in ("V1", "V2")])
    for share in shares(tables, tracks=1, recovery="average"):
        assert share.recovery_period_s == pytest.approx(1.5)
        assert share.recovery_utilisation + 1 / 3 == pytest.approx(1.0)
    assert Share(1.0, 3.0, 1.0).recovery_utilisation + 1 / 3 > 1.0


def test_example_10_return_reweighting_and_the_end():
    result, trace = played(example_8())
    # V_1 is fresh at 17, returns at d = 17.5, and is next released by its file of 19.
    assert ("V1", 16, 16, 17, 16, "recovery") in lines(trace)
    assert ("V1", 19, 19.5, 20.5, 19, "normal") in lines(trace)
    # V_2 executes at 17.5 and ends at 18: (vii) 18 * 1/2 + 16 * 1/2 + 1.5 = 18.5.
    assert lines(trace, "V2")[3:5] == [
        ("V2", 16, 17, 18, 10, "normal"),
        ("V2", 18.5, 18.5, 19.5, 13, "recovery"),
    ]
    assert switches(result) == [
        (10, "V1", "recovery"),
        (17.5, "V1", "normal"),
        (17.5, "V2", "recovery"),
        (24.5, "V2", "normal"),
    ]
    assert [line[1] for line in lines(trace) if line[2] >= 25] == [25, 25, 28, 28]
