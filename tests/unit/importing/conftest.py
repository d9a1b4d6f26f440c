"""A compiled dbt project and a pipeline, in folders of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from freshline.importing.pipelines.load import collect
from tests.unit.importing.pipeline_texts import SETTINGS, SPEC

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


@pytest.fixture
def pipeline(tmp_path):
    """Writes a pipeline; returns its project and errors."""

    def write(sql, *, spec=SPEC, settings=SETTINGS):
        (tmp_path / "tables").mkdir(exist_ok=True)
        (tmp_path / "spark-pipeline.yml").write_text(spec.format(root=tmp_path))
        if settings is not None:
            (tmp_path / "freshline.yml").write_text(settings)
        (tmp_path / "tables" / "all.sql").write_text(dedent(sql))
        return collect(tmp_path, tmp_path)

    return write
