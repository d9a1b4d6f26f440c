"""A compiled dbt project, in a folder of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def compiled(tmp_path):
    """A function that writes the project as compiled, with changes to it."""
    target = tmp_path / "shop" / "target"
    target.mkdir(parents=True)

    def make(change=None, **options):
        manifest = json.loads((HERE / "manifest.json").read_text())
        if change is not None:
            change(manifest)
        (target / "manifest.json").write_text(json.dumps(manifest))
        results = json.loads((HERE / "run_results.json").read_text())
        results["args"] |= options
        (target / "run_results.json").write_text(json.dumps(results))
        return target.parent

    return make
