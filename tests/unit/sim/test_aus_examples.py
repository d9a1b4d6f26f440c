"""Scenarios of the adaptive scheduler with known answers: every key, every line in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshline.sim.result import simulate_updates
from freshline.sim.scenario.file import read_scenario
from freshline.sim.trace import Finished

DATA = Path(__file__).parents[2] / "data" / "aus"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in DATA.glob("*.expected.json"))


@pytest.mark.parametrize("name", NAMES)
def test_example(name):
    expected = json.loads((DATA / f"{name}.expected.json").read_text())
    expected_trace = (DATA / f"{name}.trace.jsonl").read_text().splitlines()
    trace: list[Finished] = []
    scenario = read_scenario(DATA / f"{name}.json")
    printed = simulate_updates(scenario, on_finished=trace.append).record()
    for key, value in expected.items():
        assert printed[key] == near(value), key
    assert [finished.record() for finished in trace] == [
        near(json.loads(line)) for line in expected_trace
    ]


def near(value):
    """``value`` with every number in it within 1e-9 of itself."""
    if isinstance(value, dict):
        return {key: near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [near(item) for item in value]
    return pytest.approx(value, rel=1e-9) if isinstance(value, int | float) else value
