"""Scenarios with known answers: every printed key, and every line of the trace in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshline.sim.result import simulate_updates
from freshline.sim.scenario.file import read_scenario
from freshline.sim.trace import Finished

DATA = Path(__file__).parents[2] / "data" / "updates"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in DATA.glob("*.expected.json"))


@pytest.mark.parametrize("name", NAMES)
def test_example(name):
    expected = json.loads((DATA / f"{name}.expected.json").read_text())
    lines = (DATA / f"{name}.trace.jsonl").read_text().splitlines()
    trace: list[Finished] = []
    scenario = read_scenario(DATA / f"{name}.json")
    printed = simulate_updates(scenario, on_finished=trace.append).record()
    assert set(expected) <= set(printed)
    for key, value in expected.items():
        assert printed[key] == near(value), key
    assert [finished.record() for finished in trace] == [json.loads(line) for line in lines]


def near(value):
    """``value`` with every number in it within 1e-9 of itself."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items()}
    return value if value is None else pytest.approx(value, rel=1e-9)
