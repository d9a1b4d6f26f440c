"""Every wrong queue scenario is refused with its file, its line and the rule."""

from __future__ import annotations

import pytest

from freshline.core.errors import UserError
from freshline.project.yaml.file import YamlFile
from freshline.sim.queues import simulate_queues

RIGHT = {
    "memory": "8",
    "queues": "2",
    "algorithm": "buffered-head",
    "cost": "{c0: 1, c1: 0}",
    "block": "null",
    "consume": "round-robin",
    "drain": "true",
    "ticks": "[[1, 1], [2, 0]]",
    "note": "any",
}


def refusal(tmp_path, **changes):
    """The message for RIGHT with changes; a value of None leaves the key out."""
    path = tmp_path / "queues.yml"
    lines = {key: value for key, value in {**RIGHT, **changes}.items() if value is not None}
    path.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    with pytest.raises(UserError) as caught:
        simulate_queues(YamlFile(path, shown_as="queues.yml"))
    assert caught.value.exit_status == 2
    return caught.value.render()


def test_the_scenario_that_the_others_change_is_right(tmp_path):
    path = tmp_path / "queues.yml"
    path.write_text("".join(f"{key}: {value}\n" for key, value in RIGHT.items()))
    assert simulate_queues(YamlFile(path))["peak_memory"] == 2


def test_only_memory_algorithm_and_ticks_must_be_given(tmp_path):
    path = tmp_path / "queues.yml"
    path.write_text("memory: 2\nalgorithm: half\nticks: [[3]]\n")
    assert simulate_queues(YamlFile(path))["extended_cost"] == 4


def test_a_whole_message(tmp_path):
    assert refusal(tmp_path, memory="-1") == (
        "[bad-value] queues.yml:1: memory is -1; memory is a whole number of at least 1."
        " Correct the scenario."
    )


@pytest.mark.parametrize(
    ("changes", "line", "words"),
    [
        ({"memory": "8.5"}, 1, "memory is 8.5"),
        ({"memory": "true"}, 1, "memory is True"),
        ({"memory": None}, 1, "the key 'memory' is missing"),
        ({"memory": "3"}, 1, "buffered-head needs a memory of at least 4, not 3"),
        ({"queues": "0"}, 2, "queues is 0"),
        ({"algorithm": "fifo"}, 3, "there is no queue algorithm 'fifo'"),
        ({"algorithm": "[half]"}, 3, "there is no queue algorithm ['half']"),
        ({"algorithm": None}, 1, "the key 'algorithm' is missing"),
        ({"cost": "3"}, 4, "cost is 3"),
        ({"cost": "{c0: -1}"}, 4, "c0 is -1"),
        ({"cost": "{c1: .inf}"}, 4, "c1 is inf"),
        ({"cost": "{c1: .nan}"}, 4, "c1 is nan"),
        ({"cost": "{c2: 1}"}, 4, "cost has no key 'c2'"),
        ({"block": "0"}, 5, "block is 0"),
        ({"block": "4"}, 5, "2 protected heads of 4 leave no room in a memory of 8"),
        ({"consume": "fair"}, 6, "consume is 'fair'"),
        ({"consume": "[0]"}, 6, "consume names 1 ticks of 2"),
        ({"consume": "[0, 2]"}, 6, "tick 1 consumes from 2"),
        ({"consume": "[0, -1]"}, 6, "tick 1 consumes from -1"),
        ({"drain": "1"}, 7, "drain is 1"),
        ({"ticks": "8"}, 8, "ticks is no list"),
        ({"ticks": None}, 1, "the key 'ticks' is missing"),
        ({"ticks": "[[1, 1], [1]]"}, 8, "tick 1 is [1]"),
        ({"ticks": "[1, 1]"}, 8, "tick 0 is 1"),
        ({"ticks": "[[1, -1]]"}, 8, "tick 0 is [1, -1]"),
        ({"ticks": "[[1, 1.0]]"}, 8, "tick 0 is [1, 1.0]"),
        ({"seed": "1"}, 10, "a queue scenario has no key 'seed'"),
    ],
    ids=lambda value: "" if isinstance(value, int) else None,
)
def test_a_wrong_value_is_named_with_its_line(tmp_path, changes, line, words):
    assert f"queues.yml:{line}: {words};" in refusal(tmp_path, **changes)


@pytest.mark.parametrize("name", ["half", "half-lazy", "greedy", "greedy-chunk", "hybrid"])
def test_an_algorithm_of_one_queue_refuses_two(tmp_path, name):
    message = refusal(tmp_path, algorithm=name)
    assert f"queues.yml:2: {name} is defined for one queue only;" in message


@pytest.mark.parametrize("name", ["half", "half-lazy", "greedy", "hybrid", "lru"])
def test_a_memory_of_one_tuple_is_refused(tmp_path, name):
    message = refusal(tmp_path, algorithm=name, memory="1", queues="1", ticks="[[1]]")
    assert f"queues.yml:1: {name} needs a memory of at least 2, not 1;" in message


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("{c0: 1, c1: 0}", "greedy-chunk is not defined for c1 = 0"),
        ("{c0: 5, c1: 1}", "blocks of c0/c1 tuples are too large for a memory of 8"),
        ("{c0: 1.0e+299, c1: 1.0e-299}", "blocks of c0/c1 tuples are too large for a memory of 8"),
    ],
)
def test_greedy_chunk_refuses_blocks_that_do_not_fit_twice(tmp_path, cost, words):
    one = {"queues": "1", "ticks": "[[9]]", "algorithm": "greedy-chunk"}
    assert f"queues.yml:4: {words};" in refusal(tmp_path, **one, cost=cost)


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    message = refusal(tmp_path, memory="none", drain="2", cost="{c0: x}")
    assert [line.split(": ")[0] for line in message.splitlines()] == [
        "[bad-value] queues.yml:1",
        "[bad-value] queues.yml:4",
        "[bad-value] queues.yml:7",
    ]


def test_a_million_wrong_ticks_give_twenty_messages(tmp_path):
    assert len(refusal(tmp_path, ticks=str([[0]] * 1000)).splitlines()) == 20


def test_a_list_is_no_scenario(tmp_path):
    path = tmp_path / "queues.yml"
    path.write_text("- ticks\n")
    with pytest.raises(UserError, match="a queue scenario is a mapping of keys"):
        simulate_queues(YamlFile(path))


def test_more_tuples_than_can_be_played_are_refused(tmp_path):
    refused = refusal(tmp_path, ticks=f"[[{10**18}, 0]]")
    assert "[out-of-range] queues.yml:8: 1,000,000,000,000,000,000 tuples enter" in refused
    assert "at most 100,000,000 are played" in refused
