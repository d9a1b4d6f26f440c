"""What updates of a view should take: guessed, learned, tried again, and remembered."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.sql.costs import BUILD, Costs, Sizes

SMALL = Sizes(changed_bytes=10_000, whole_bytes=1_000_000)
LARGE = Sizes(changed_bytes=10_000, whole_bytes=1_000_000_000)


def noted(sizes: Sizes = SMALL, **seconds: float) -> Costs:
    costs = Costs()
    for name, each in seconds.items():
        for _ in range(3):
            costs.note(name.replace("_", "-"), sizes, each)
    return costs


def expected(costs: Costs, strategy: str, sizes: Sizes = SMALL) -> float:
    seconds = costs.expected_s(strategy, sizes)
    assert seconds is not None
    return seconds


def test_guesses_grow_with_what_a_strategy_reads():
    costs = Costs()
    assert expected(costs, "full") < expected(costs, "bucket-recompute")
    assert expected(costs, "full", LARGE) > 10 * expected(costs, "bucket-recompute", LARGE)
    assert expected(costs, "bucket-recompute", LARGE) == expected(costs, "bucket-recompute")
    assert costs.expected_s("full", Sizes(whole_bytes=None)) is None
    assert costs.measured_s("full", SMALL) is None


def test_what_was_measured_replaces_the_guess_and_scales_the_others():
    costs = noted(full=5.5)
    assert expected(costs, "full") == pytest.approx(5.5, rel=0.1)
    before = expected(Costs(), "bucket-recompute")
    # A machine, or a query, ten times as slow as the guess: the other strategy is no bargain.
    assert expected(costs, "bucket-recompute") > 5 * before
    costs.note("full", Sizes(whole_bytes=None), 99.0)  # of unknown size: says nothing
    assert expected(costs, "full") == pytest.approx(5.5, rel=0.1)


def test_what_is_slow_by_its_size_does_not_make_small_updates_look_dear():
    history = Sizes(changed_bytes=10_000, whole_bytes=40_000_000)
    merging = expected(Costs(), "group-merge", history)
    costs = noted(history, full=0.9)  # 0.21 s guessed, 0.12 s of it for size
    assert expected(costs, "full", history) == pytest.approx(0.9, rel=0.1)
    assert expected(costs, "group-merge", history) < 2 * merging
    # So the state is built after two updates, not never.
    assert [costs.state_is_worth_building("group-merge", history, 0.9) for _ in range(2)].count(
        True
    ) >= 1


@given(
    st.sampled_from(["full", "group-merge", "append", BUILD]),
    st.integers(0, 10**9),
    st.floats(0.3, 3.0),
)
def test_the_first_update_is_what_is_expected_of_the_next_like_it(strategy, size_bytes, times):
    sizes, guess = Sizes(size_bytes, size_bytes), Costs()
    seconds = times * expected(guess, strategy, sizes)
    guess.note(strategy, sizes, seconds)
    assert expected(guess, strategy, sizes) == pytest.approx(seconds, rel=0.35)


def test_the_update_that_cuts_a_file_is_not_learned_from_but_once():
    costs = Costs()
    costs.note("bucket-merge", SMALL, 9.0, cuts=True)
    assert costs.measured_s("bucket-merge", SMALL) is None
    costs = Costs(json.loads(json.dumps(costs.facts)))
    costs.note("bucket-merge", SMALL, 9.0, cuts=True)  # it cuts each time, so it costs that
    assert expected(costs, "bucket-merge") == pytest.approx(9.0, rel=0.01)
    costs.note("bucket-recompute", SMALL, 1.0)
    costs.note("bucket-recompute", SMALL, 9.0, cuts=True)
    assert costs.samples("bucket-recompute") == 2


def test_the_size_of_everything_tells_what_a_full_update_will_take():
    costs = Costs()
    for megabytes in range(1, 40):
        whole = Sizes(whole_bytes=megabytes * 1_000_000)
        costs.note("full", whole, 1.0 + 0.1 * megabytes)
    assert expected(costs, "full", Sizes(whole_bytes=100_000_000)) == pytest.approx(11.0, rel=0.05)


def test_a_state_is_built_when_merging_would_have_saved_what_building_takes():
    full_s = expected(Costs(), "full", LARGE)
    assert Costs().state_is_worth_building("group-merge", LARGE, full_s)  # at once
    small, small_s = Costs(), expected(Costs(), "full", SMALL)
    assert not any(small.state_is_worth_building("group-merge", SMALL, small_s) for _ in range(99))
    costs = noted(full=2.0, group_merge=1.5)
    costs.note(BUILD, SMALL, 3.5)
    told = [costs.state_is_worth_building("group-merge", SMALL, 2.0) for _ in range(12)]
    assert told.count(True) >= 2  # 1.5 s more, half a second saved each time
    assert not told[0]
    assert Costs().state_is_worth_building("group-merge", Sizes(whole_bytes=None), 0.0)


def test_the_dearer_strategy_is_tried_rarer_and_rarer():
    costs, tries = Costs(), []
    for number in range(2000):
        if costs.should_try("full", 1.2, 1.0):
            tries.append(number)
            costs.note("full", SMALL, 1.2)
        else:
            costs.note("bucket-recompute", SMALL, 1.0)
    gaps = [later - earlier - 1 for earlier, later in pairwise(tries)]
    assert tries[0] == 8
    assert gaps == [16, 32, 64, 128, 256, 256, 256, 256, 256, 256]
    assert not any(noted(full=9.0).should_try("full", 9.0, 1.0) for _ in range(1000))
    costs.is_best("full")
    for _ in range(8):
        costs.note("bucket-recompute", SMALL, 1.0)
    assert costs.should_try("full", 1.2, 1.0)


@given(st.lists(st.floats(0.01, 3.0), min_size=1, max_size=300), st.floats(0.05, 5.0))
def test_trials_cost_at_most_a_twentieth_of_all_seconds(extras, best_s):
    costs, spent_s, all_s = Costs(), 0.0, 0.0
    for extra_s in extras:
        tried = costs.should_try("full", best_s + extra_s, best_s)
        seconds = best_s + extra_s if tried else best_s
        spent_s += extra_s if tried else 0.0
        assert spent_s <= 0.05 * all_s + 1e-9
        costs.note("full" if tried else "bucket-recompute", SMALL, seconds)
        all_s += seconds


def test_a_commit_carries_all_that_was_learned():
    costs = noted(full=2.0, bucket_recompute=1.0)
    costs.state_is_worth_building("bucket-merge", SMALL, 2.0)
    costs.should_try("full", 1.1, 1.0)
    again = Costs(json.loads(json.dumps(costs.facts)))
    assert again.facts == costs.facts
    for name in ("full", "bucket-recompute", "bucket-merge"):
        assert again.expected_s(name, LARGE) == pytest.approx(
            expected(costs, name, LARGE), rel=1e-3
        )
        assert again.samples(name) == costs.samples(name)
    # A new process, perhaps a new machine: two updates outweigh what the commit said.
    for _ in range(2):
        again.note("full", SMALL, 0.2)
    assert expected(again, "full") < 0.6


def test_merging_into_a_view_that_is_its_own_state_is_guessed_to_be_quicker():
    costs = Costs()
    beside = expected(costs, "group-merge")
    costs.guess_for(own_state=True)
    assert expected(costs, "group-merge") < beside
    costs.guess_for(own_state=False)
    assert expected(costs, "group-merge") == beside
