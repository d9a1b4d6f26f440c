"""Scenarios as files, played by the product: what several tests of the queues need."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from freshline.project.yaml.file import YamlFile
from freshline.sim.queues import simulate_queues


def simulate(scenario: dict[str, Any]) -> dict[str, Any]:
    """The printed record of a scenario, read from a file as a user's is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.json")
        path.write_text(json.dumps(scenario))
        return simulate_queues(YamlFile(path))


def steps(*arrivals: int) -> list[list[int]]:
    """Ticks of one queue."""
    return [[number] for number in arrivals]
