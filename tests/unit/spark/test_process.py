"""An end at once is the end of Spark's process, too."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

from pyspark import SparkContext

from freshline.spark.engine import process, scratch


def test_spark_s_process_and_its_files_end_with_a_run_that_ends_at_once(tmp_path, monkeypatch):
    (tmp_path / "blockmgr-1").mkdir()
    monkeypatch.setattr(scratch, "_own", (os.getpid(), 0, tmp_path))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as java:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
        process.end_at_once()
        assert java.poll() is not None
    assert not tmp_path.exists()


def test_where_no_spark_was_started_there_is_nothing_to_end(monkeypatch):
    monkeypatch.setattr(scratch, "_own", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    process.end_at_once()
