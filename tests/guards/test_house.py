"""Rules about files that no linter has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = sorted((ROOT / "src").rglob("*.py"))
MOST_LINES = 500
# One state machine is one idea, and cutting it makes its base declare its subclass's attributes.
ONE_STATE_MACHINE = {"src/freshline/core/scheduler.py"}


def test_no_module_is_longer_than_one_idea_needs():
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in PYTHON}
    longer = {path: lines for path, lines in lengths.items() if lines > MOST_LINES}
    assert {path: lines for path, lines in longer.items() if path not in ONE_STATE_MACHINE} == {}


def test_no_module_is_a_drawer_for_odds_and_ends():
    drawers = {"util", "utils", "helper", "helpers", "misc", "common"}
    assert [path for path in PYTHON if path.stem in drawers or path.parent.name in drawers] == []


def test_make_lists_every_target():
    shown = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    listed = [line.split()[0] for line in shown.splitlines()]
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert listed == phony[1].split()
    assert all(re.match(r"  \w+ +\S", line) for line in shown.splitlines())


MOST_FILES = 16
FULLER_FLOORS = {
    "cli/commands": "a file for each command",
    "core": "the scheduling core: its rooms are policies, partitions, aus, background, objective",
    "spark/views": "a file for each strategy, and what they share",
}


def test_a_floor_has_few_files():
    source = ROOT / "src" / "freshline"
    floors: dict[str, int] = {}
    for path in PYTHON:
        if path.stem != "__init__":
            floor = str(path.parent.relative_to(source))
            floors[floor] = floors.get(floor, 0) + 1
    full = {floor for floor, files in floors.items() if files > MOST_FILES}
    assert full == set(FULLER_FLOORS), "give the files of one subject a room of their own"
