"""What a run recorded, played again as it was, is what happened: for every policy of ``run``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from freshline.core.background.upkeep import COMPACT, TRY, VACUUM
from freshline.core.chance import stream, uniform
from freshline.core.errors import UserError
from freshline.core.events import (
    BackfillRequested,
    FileArrived,
    RefreshRequested,
    TablePaused,
    TablePrioritised,
    TableResumed,
    TrackReserved,
    UpkeepOffered,
)
from freshline.core.objective.just_in_time import OBJECTIVES
from freshline.core.registry import found_policies
from freshline.sim.whatif.history import history_of
from freshline.sim.whatif.recorded import conforming
from freshline.sim.whatif.what_if import Variations, compared
from tests.support.examples import examples
from tests.support.recorded_runs import START_S, recorded
from tests.support.update_scenarios import eighths, scenarios

OVERHEADS_S = (0.0, 0.125, 0.01)
"""The last is none that floating point adds exactly: a real clock's times are like that."""


@st.composite
def runs(draw, policy, *, again=True):
    """A recorded run of random tables, files, wishes, pauses, background work, reports' tracks.

    Args:
        draw: Given by Hypothesis.
        policy: Of the run.
        again: It is to be played again: no update fails, and no upkeep is offered.
    """
    scenario = draw(scenarios((policy,)))
    chosen = scenario.settings
    if found_policies()[policy].own_partition is not None:
        chosen = replace(chosen, partition="none")
    if policy != "aus":
        chosen = replace(chosen, objective=draw(st.sampled_from(OBJECTIVES)))
    specs = [replace(spec, phase_s=None) for spec in scenario.tables]
    specs = [replace(spec, target_lag_s=draw(st.sampled_from([None, 8.0]))) for spec in specs]
    happenings: list[tuple[float, Any]] = []
    for spec in specs:
        if spec.sources:
            happenings.append((START_S + draw(eighths(0, 40)), TablePrioritised(spec.name, 3.0)))
        else:
            dates_s = sorted(draw(st.lists(eighths(0, 60), min_size=1, max_size=12)))
            happenings += [
                (START_S + at_s, FileArrived(spec.name, START_S + at_s, f"{spec.name}-{number}"))
                for number, at_s in enumerate(dates_s)
            ]
    names = st.sampled_from([spec.name for spec in specs])
    offers = st.builds(
        UpkeepOffered,
        names,
        st.sampled_from([TRY, COMPACT, VACUUM]),
        st.integers(1, 4),
        st.sampled_from([0.5, 4.0]),
    )
    last = scenario.tracks - 1
    for at_s in draw(st.lists(eighths(0, 60), max_size=6)):
        reserved_s = draw(st.one_of(st.none(), eighths(0, 40)))
        from_s = None if reserved_s is None else START_S + at_s + reserved_s
        event = draw(
            st.one_of(
                st.builds(RefreshRequested, names, st.booleans()),
                st.builds(TablePaused, names),
                st.builds(TableResumed, names),
                st.builds(
                    BackfillRequested, names, st.just(900.0), st.sampled_from([910.0, 990.0])
                ),
                st.just(TrackReserved(last, from_s)),
                *([] if again else [offers]),
            )
        )
        happenings.append((START_S + at_s, event))
    happenings.sort(key=lambda each: each[0])
    costs = {spec.name: spec.alpha_s + 0.125 for spec in specs}
    seed = draw(st.integers(0, 3))
    failing = 0.0 if again else 0.25
    begun: Counter[str] = Counter()

    def seconds(table, number):
        begun[table] += 1
        took_s = costs[table] * (0.5 + uniform(stream(seed, "seconds", table), number))
        return -took_s if uniform(stream(seed, "fails", table), begun[table]) < failing else took_s

    try:
        return recorded(
            specs,
            happenings,
            seconds=seconds,
            tracks=scenario.tracks,
            end_s=START_S + 99.9,  # nothing else happens then
            overhead_s=draw(st.sampled_from(OVERHEADS_S)),
            settings=chosen,
            look_s=draw(st.sampled_from([inf, 0.37])),
        )
    except UserError:
        assume(False)  # the partition needs more tracks than there are
        raise


@pytest.mark.parametrize("policy", sorted(found_policies()))
@examples(12)
@given(data=st.data())
def test_a_run_played_as_it_was_is_what_happened(policy, data):
    run = data.draw(runs(policy))
    try:
        assert conforming(history_of(run, {})) is None
        found = compared(run, Variations())
    except UserError as error:
        assert error.code == "nothing-updated"  # noqa: PT017
        assume(False)
    (again,) = found.played
    assert again.tables == found.happened.tables
    assert again.modelled == 0
    assert again.recorded == sum(len(instant.commands) for instant in run.instants)


@examples(40)
@given(data=st.data())
def test_nothing_is_left_to_a_look_where_updates_fail_and_upkeep_is_offered(data):
    """The harness looks; such a run is not played again, so this is no part of the above."""
    policy = data.draw(st.sampled_from(sorted(found_policies())))
    run = data.draw(runs(policy, again=False))
    try:
        assert conforming(history_of(run, {})) is None
    except UserError as error:
        assert error.code == "nothing-updated"  # noqa: PT017
