"""A pipeline in a test's folder, read with the session that the tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.pipelines import Pipeline

SPEC = "name: mixed\nstorage: kept\nlibraries: [{glob: {include: t/**}}]\n"
SETTINGS = "maintenance: {trials: false, compact: false, vacuum: false, audit: 0}\n"


@pytest.fixture
def shared(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The shared session, which pipelines are read with as well."""
    monkeypatch.setattr("freshline.spark.engine.session.start_session", lambda _, **__: spark)
    return spark


@pytest.fixture
def pipeline(tmp_path: Path, shared: SparkSession) -> Callable[..., Pipeline]:
    """Writes a pipeline of a Python and a SQL file."""
    assert shared is not None

    def write(python: str, sql: str = "") -> Pipeline:
        (tmp_path / "t").mkdir(exist_ok=True)
        (tmp_path / "spark-pipeline.yml").write_text(SPEC)
        (tmp_path / "freshline.yml").write_text(SETTINGS)
        (tmp_path / "t" / "a.py").write_text(python)
        (tmp_path / "t" / "b.sql").write_text(sql)
        return Pipeline(tmp_path)

    return write
