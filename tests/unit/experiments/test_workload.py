"""Workloads ask of the machine what their load says, and sweeps measure every policy alike."""

from __future__ import annotations

import pytest

from experiments.common.experiment import with_figures
from experiments.common.size import QUICK
from experiments.common.sweep import BOUND, Lateness, Sweep
from experiments.common.workload import Chains, Workload, evenly
from freshline.core.assembly import PolicySettings
from freshline.sim.driver import play

CHAINS = (Chains(2, (1.0, 5.0)), Chains(3, period_s=1_000.0))


def asked(scenario):
    """Sum of E(P) / P over the tracks, slow stretches in the mean."""
    load = sum(table.alpha_s / table.period_s + table.beta for table in scenario.tables)
    slowdown = scenario.slowdown
    if slowdown is not None:
        lengths_s = slowdown.normal_s + slowdown.slow_s
        load *= (slowdown.normal_s + slowdown.factor * slowdown.slow_s) / lengths_s
    return load / scenario.tracks


@pytest.mark.parametrize(
    "workload",
    [
        Workload(CHAINS),
        Workload(CHAINS, always_slow=True),
        Workload(CHAINS, tracks=2, factor=9.0, normal_s=1_750.0, slow_s=250.0),
        evenly(Workload(CHAINS)),
    ],
)
def test_the_load_is_what_the_tables_ask_of_each_track(workload):
    scenario = workload.scenario(0.7, 1, 1_000)
    assert asked(scenario) == pytest.approx(0.7)


def test_a_chain_is_a_base_table_and_what_is_derived_from_it():
    tables = Workload(CHAINS).scenario(1.0, 1, 1_000).tables
    assert [(table.name, table.sources, table.priority) for table in tables] == [
        ("t1", (), 1.0),
        ("t1.1", ("t1",), 5.0),
        ("t2", (), 1.0),
        ("t2.1", ("t2",), 5.0),
        ("t3", (), 1.0),
        ("t4", (), 1.0),
        ("t5", (), 1.0),
    ]


def test_below_full_load_there_are_as_many_events_as_were_asked_for():
    played = play(evenly(Workload(CHAINS)).scenario(0.2, 1, 2_000))
    assert played.events == pytest.approx(2_000, rel=0.02)


def test_always_slow_keeps_the_costs_and_evenly_has_neither_noise_nor_stretches():
    slow = Workload(CHAINS, always_slow=True).scenario(0.7, 1, 1_000)
    assert (slow.tables[0].alpha_s, slow.tables[0].beta) == (1.0, 0.1)
    even = evenly(Workload(CHAINS)).scenario(0.7, 1, 1_000)
    assert (even.low, even.high, even.slowdown) == (1.0, 1.0, None)


def test_a_partition_that_does_not_fit_has_no_figure_and_the_others_have():
    sweep = Sweep(
        {"even": evenly(Workload((Chains(30),), tracks=1))},
        {
            "partitioned": PolicySettings("edf", "edf-partitioned"),
            "edf": PolicySettings("edf"),
        },
        loads=(0.99,),
        quick_loads=(0.99,),
    )
    rows = sweep.play(QUICK)
    assert rows[0] == {
        "workload": "even",
        "load": "0.99",
        "curve": "partitioned",
        "lateness": "no fit",
        "least": "no fit",
        "largest": "no fit",
    }
    lateness = Lateness(rows)
    assert lateness("even", 0.99, "partitioned") == float("inf")
    assert lateness("even", 0.99, BOUND) < lateness("even", 0.99, "edf")


def test_figures_go_between_the_marks_of_a_page_and_nothing_else_changes():
    page = "# T\n<!-- figures: written from results.csv -->\nold\n<!-- /figures -->\nend\n"
    new = with_figures(page, "new")
    assert new == (
        "# T\n<!-- figures: written from results.csv -->\n\nnew\n\n<!-- /figures -->\nend\n"
    )
    assert with_figures(new, "new") == new
    with pytest.raises(ValueError, match="no marks"):
        with_figures("# T\n", "new")
