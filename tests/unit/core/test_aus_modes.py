"""The state machine of modes: its table, and the picture drawn from it."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from freshline.core.aus.modes import TRANSITIONS, Mode, Signal, after
from freshline.core.errors import InternalError


def test_a_round_through_the_machine():
    mode = Mode.NORMAL
    passed = []
    for signal in (Signal.FELL_BEHIND, Signal.ADMITTED, Signal.FRESH, Signal.DEADLINE):
        mode = after(mode, signal)
        passed.append((mode.value, mode.two))
    assert passed == [
        ("waiting", "normal"),
        ("recovery", "recovery"),
        ("caught up", "recovery"),
        ("normal", "normal"),
    ]
    assert after(Mode.WAITING, Signal.EASED) is Mode.NORMAL


@pytest.mark.parametrize(
    ("mode", "signal"), [pair for pair in product(Mode, Signal) if pair not in TRANSITIONS]
)
def test_what_the_table_does_not_say_cannot_happen(mode, signal):
    with pytest.raises(InternalError, match=f"'{mode.value}' cannot meet"):
        after(mode, signal)


def test_every_mode_is_reached_and_left():
    assert {mode for mode, _ in TRANSITIONS} == set(Mode)
    assert set(TRANSITIONS.values()) == set(Mode)


def test_the_documentation_shows_this_machine():
    script = Path(__file__).parents[3] / "scripts" / "draw_modes.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0
