"""The proof reaches every suite of which make test runs a sample."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = re.compile(r"^from tests\.support\.share import .*\b(WHOLE|share)\b", re.MULTILINE)


def test_every_suite_that_runs_a_sample_is_run_by_the_proof():
    makefile = (ROOT / "Makefile").read_text()
    run = re.search(r'\$\(PYTEST\) -m "([\w ]+)" tests \$\(ARGS\)', makefile)
    assert run is not None
    marks = run[1].split(" or ")
    sampled = [
        path for path in (ROOT / "tests").rglob("test_*.py") if SAMPLES.search(path.read_text())
    ]
    assert len(sampled) > 20
    missed = [
        str(path.relative_to(ROOT))
        for path in sampled
        if not any(f"pytest.mark.{mark}" in path.read_text() for mark in marks)
    ]
    assert missed == []
