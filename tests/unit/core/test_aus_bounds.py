"""Execution times, recovery periods, and the bounds of Theorem 1, Lemma 1, Definition 13, 4."""

from __future__ import annotations

import pytest

from freshline.core.aus.assessment import assessed
from freshline.core.aus.bounds import tardiness_bounds_s
from freshline.core.aus.guarantee import graph_of, guarantees_of, tracks_needed
from freshline.core.aus.shares import Share, shares
from freshline.core.errors import UserError
from freshline.core.model import TableSpec


def base(name, period_s, seconds, **keys):
    return TableSpec(name, period_s=period_s, alpha_s=seconds, **keys)


def periods(specs, tracks, recovery, **keys):
    claims = shares(graph_of(specs), tracks=tracks, recovery=recovery, **keys)
    return [claim.recovery_period_s for claim in claims]


def section_7():
    """Seven tables of 300 s and seven of 900 s: e = .01 p + .1 p, two tracks."""
    return [
        TableSpec(f"V{number}", period_s=period_s, alpha_s=0.01 * period_s, beta=0.1)
        for number, period_s in enumerate([300.0] * 7 + [900.0] * 7, 1)
    ]


def test_section_7_recovery_periods_are_a_fifth_and_not_a_third_of_the_period():
    # L1: p/5.18 with the minimum in (7). L3: the worst case gives p/2.152, not about p/3.
    average = periods(section_7(), 2, "average")
    worst = periods(section_7(), 2, "worst", worst_factor=1.2)
    assert average[0] == pytest.approx(300 / 5.1818, rel=1e-4)
    assert worst[0] == pytest.approx(300 / 2.1515, rel=1e-4)
    assert average[7] == pytest.approx(3 * average[0])


def test_simultaneous_recovery_periods_use_all_tracks_together():
    # L2: max(e, p * U / m), at most p. U = 1/2 + 1/4.
    specs = [base("a", 4.0, 2.0), base("b", 8.0, 2.0)]
    assert periods(specs, 1, "simultaneous") == [3.0, 6.0]
    assert periods(specs, 4, "simultaneous") == [2.0, 2.0]


def test_without_capacity_left_recovery_is_no_faster_than_normal():
    specs = [base("a", 4.0, 3.0), base("b", 4.0, 3.0)]
    assert periods(specs, 1, "average") == [4.0, 4.0]
    assert periods(specs, 1, "simultaneous") == [4.0, 4.0]


def test_given_recovery_periods_stand_even_outside_the_execution_time_and_the_period():
    specs = [
        base("a", 4.0, 2.0, recovery_period_s=1.0),
        base("b", 4.0, 2.0, recovery_period_s=9.0),
    ]
    assert periods(specs, 1, "explicit") == [1.0, 9.0]


def test_explicit_needs_a_period_for_every_table():
    with pytest.raises(UserError, match="table 'a' has no 'recovery_period'"):
        periods([base("a", 4.0, 2.0)], 1, "explicit")


def test_only_worst_counts_with_longest_times_and_a_given_time_wins():
    specs = [base("a", 10.0, 2.0), base("b", 10.0, 2.0, wcet_s=3.0)]
    for recovery, expected in [("average", [2.0, 3.0]), ("worst", [3.0, 3.0])]:
        claims = shares(graph_of(specs), tracks=1, recovery=recovery, worst_factor=1.5)
        assert [claim.execution_s for claim in claims] == expected


def test_theorem_1_by_hand():
    # m = 2: Y_i = e_i + (3 + 2 - 1) / (2 - 3/4), W = e / min(p, p^r).
    claims = [Share(1.0, 4.0, 2.0), Share(2.0, 8.0, 4.0), Share(3.0, 8.0, 4.0)]
    assert tardiness_bounds_s(claims, 2) == [pytest.approx(e + 4 / 1.25) for e in (1, 2, 3)]
    # One table on two tracks: E and X hold that one alone; 1 + (1 - 1) / (2 - 1/2).
    assert tardiness_bounds_s(claims[:1], 2) == [1.0]


def test_nothing_is_promised_where_theorem_1_s_denominator_is_not_positive():
    specs = [
        base("a", 4.0, 2.0, recovery_period_s=1.0),
        base("b", 4.0, 2.0, recovery_period_s=1.0),
    ]
    (first, _) = guarantees_of(graph_of(specs), tracks=2, recovery="explicit")
    assert first.record() == {
        "e": 2.0,
        "utilisation": 0.5,
        "recovery_period": 1.0,
        "threshold": None,
        "tardiness_bound": None,
        "response_bound": None,
        "staleness_bound": None,
    }


@pytest.mark.parametrize(
    ("specs", "tracks"),
    [
        ([base("a", 10.0, 6.0), base("b", 10.0, 6.0)], 1),  # more than the track
        ([base("a", 10.0, 11.0), base("b", 100.0, 1.0)], 3),  # an update longer than its period
    ],
)
def test_nothing_is_promised_of_tables_that_the_tracks_cannot_carry(specs, tracks):
    tables = graph_of(specs)
    found = guarantees_of(tables, tracks=tracks, recovery="average")
    held = [each.promised for each in found]
    assert [(each.tardiness_s, each.response_s, each.staleness_s) for each in held] == [
        (None, None, None)
    ] * 2
    assert [each.recovery_s(table, 5.0) for each, table in zip(held, tables, strict=True)] == [
        None
    ] * 2
    assert all(each.threshold_s is not None for each in found), "when they ask for recovery"
    assert all(each.record()["staleness_bound"] is not None for each in found), "the formula's"


def test_staleness_adds_up_along_the_graph_and_counts_jitter_or_phase():
    # One track: Y = e + 2 - 1; Theta = p + Y. A = Theta + p + max(phase, p + J + kappa).
    specs = [
        base("a", 4.0, 1.0, jitter_s=2.0, timestamp_jitter_s=0.5),
        base("b", 8.0, 1.0, phase_s=11.0),
        TableSpec("c", ("a", "b"), alpha_s=2.0),
    ]
    found = guarantees_of(graph_of(specs), tracks=1, recovery="average")
    assert [item.response_s for item in found] == [6.0, 10.0, 11.0]
    assert [item.staleness_s for item in found] == [6 + 4 + 6.5, 10 + 8 + 11, 11 + 8 + 29]
    assert [item.threshold_s for item in found] == [item.staleness_s for item in found]


def test_theorem_4_bounds_the_recovery_of_base_tables():
    # x = (Theta * p + (lambda + J + p) * p^r) / (p - p^r), Theta = 8 + 2 + (2 - 2).
    specs = [
        base("a", 8.0, 2.0, recovery_period_s=4.0),
        TableSpec("v", ("a",), recovery_period_s=8.0, alpha_s=2.0),
    ]
    found = assessed(graph_of(specs), tracks=1, recovery="explicit", outage_s=100.0)
    assert found.recovery_s == ((10 * 8 + 108 * 4) / 4, None)


def test_a_table_that_recovers_no_faster_never_clears_its_backlog():
    spec = base("a", 8.0, 2.0, recovery_period_s=8.0)
    found = assessed(graph_of([spec]), tracks=1, recovery="explicit", outage_s=100.0)
    assert found.recovery_s == (None,)


def test_tracks_needed_is_the_least_number_with_which_everything_is_bounded():
    assert tracks_needed(graph_of([base("a", 4.0, 1.0)]), recovery="average") == 1
    # Ten times a tenth: the sum of rounded tenths is no reason for an eleventh.
    tenths = [base(f"t{number}", 1.0, 0.1) for number in range(10)]
    assert tracks_needed(graph_of(tenths), recovery="average") == 1
    busy = [base(f"t{number}", 4.0, 3.0) for number in range(5)]
    assert tracks_needed(graph_of(busy), recovery="average") == 4
    too_long = [base("a", 4.0, 5.0)]
    assert tracks_needed(graph_of(too_long), recovery="average") is None


def test_recovery_periods_below_the_execution_time_ask_for_more_tracks():
    # Theorem 1 wants m > the sum of the m - 1 largest e/p^r, and both together are 4.
    specs = [base("a", 4.0, 2.0, recovery_period_s=1.0), base("b", 4.0, 2.0, recovery_period_s=1.0)]
    assert tracks_needed(graph_of(specs), recovery="explicit") == 1
    specs = [*specs, base("c", 4.0, 2.0, recovery_period_s=1.0)]
    assert tracks_needed(graph_of(specs), recovery="explicit") == 7
