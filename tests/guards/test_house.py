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
