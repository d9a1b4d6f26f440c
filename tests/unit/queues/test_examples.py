"""The contract's examples, and what `freshline simulate` says about queues."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshline.core.errors import UserError
from freshline.project.yaml.file import YamlFile
from freshline.sim.queues import render_queues, simulate_queues
from tests.support.queue_playing import simulate, steps

DATA = Path(__file__).parents[2] / "data" / "queues"
EXAMPLES = sorted(path for path in DATA.glob("*.json") if ".expected" not in path.name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_gives_exactly_its_record(path):
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    if "error" in expected:
        with pytest.raises(UserError) as caught:
            simulate_queues(YamlFile(path))
        assert caught.value.what == expected["error"]
        assert caught.value.exit_status == 2
    else:
        result = simulate_queues(YamlFile(path))
        assert result == expected
        assert list(result) == list(expected)


def test_there_are_examples():
    assert len(EXAMPLES) == 8


def test_an_overflowing_queue_is_told_in_words():
    result = simulate({"memory": 4, "algorithm": "half", "ticks": steps(4, 3), "cost": {"c0": 2}})
    assert render_queues(result) == (
        "writes         2 (4 tuples)\n"
        "reads          2 (4 tuples)\n"
        "unit cost      4\n"
        "extended cost  8\n"
        "acyclic        yes\n"
        "peak memory    4 tuples"
    )


def test_a_cyclic_run_is_told_as_such():
    result = simulate({"memory": 8, "algorithm": "lru", "ticks": steps(4, 4, 4, 4, 4, 4)})
    assert "acyclic        no: tuples were written more than once\n" in render_queues(result)


def test_without_drain_only_what_the_ticks_ask_for_is_consumed():
    scenario = {"memory": 4, "algorithm": "greedy", "ticks": steps(6), "drain": False}
    assert simulate(scenario)["reads"] == 0
    assert simulate({**scenario, "drain": True})["reads"] == 2


def test_a_consumption_list_longer_than_the_ticks_goes_on_consuming():
    scenario = {"memory": 4, "algorithm": "greedy", "ticks": steps(6), "drain": False}
    assert simulate({**scenario, "consume": [0]})["reads"] == 0
    assert simulate({**scenario, "consume": [0] * 4})["reads"] == 1
    assert simulate({**scenario, "consume": [0] * 4 + [None, 0]})["reads"] == 2


def test_extended_cost_counts_accesses_and_tuples():
    result = simulate(
        {"memory": 8, "algorithm": "hybrid", "cost": {"c0": 2.5, "c1": 0.5}, "ticks": steps(12)}
    )
    assert (result["writes"], result["moved_out"]) == (2, 8)
    assert (result["reads"], result["moved_in"]) == (2, 8)
    assert result["extended_cost"] == 2.5 * 4 + 0.5 * 16
