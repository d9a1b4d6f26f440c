"""What `make test` leaves out is run by the proof, and what it runs whole is not run twice."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.share import is_run

ROOT = Path(__file__).parents[2]
PLAIN = SimpleNamespace(subject=1)
SAMPLED = SimpleNamespace(WHOLE=False)


def item(module: SimpleNamespace, *marks: str) -> SimpleNamespace:
    return SimpleNamespace(module=module, get_closest_marker=lambda mark: mark in marks or None)


@pytest.mark.parametrize(
    ("test", "is_tested", "is_proved"),
    [
        (item(PLAIN, "spark"), True, False),
        (item(PLAIN, "spark", "proof"), False, True),
        (item(SAMPLED), True, True),
        (item(SAMPLED, "proof"), False, True),
    ],
)
def test_a_test_is_run_by_one_of_both_at_least(test, is_tested, is_proved):
    assert is_run(test, in_proof=False) is is_tested
    assert is_run(test, in_proof=True) is is_proved


def test_the_proof_chooses_by_nothing_else():
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^proof: .*?\n\n", makefile, re.DOTALL | re.MULTILINE)
    assert "$(PYTEST) $(ARGS)" in recipe
    assert " -m " not in recipe.replace("$(PY) -m", "")
