"""``spark-pipelines run`` in the pipeline's folder: its settings, and what each run told.

Delta reaches a pipeline through spark-defaults.conf alone, and its catalog has to be Hive's: with
the default one the second run fails.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.children import environment, program
from benchmarks.pipelined.project import SOURCES
from freshline.project.model import Project
from freshline.spark.engine.session import settings

_STEP = re.compile(r"Flow [\w.]*\.(\w+) (?:is|has) (\w+)")


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Attributes:
        seconds: From the start of its process to the end.
        too_early: Views that began before what they read was complete: ``view before source``.
    """

    seconds: float
    too_early: tuple[str, ...]


class Pipeline:
    """The pipeline under ``spark-pipelines``.

    Args:
        root: The pipeline's folder.
        folder: Becomes that of its tables and settings.
        logging: Settings of the event log.
    """

    def __init__(self, root: Path, folder: Path, logging: Mapping[str, str]) -> None:
        self._root = root
        self._folder = folder
        bare = Project("bench", root, str(root), (), {})
        write_settings(
            folder / "conf",
            {
                "spark.jars": settings(bare)["spark.jars"],
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": (
                    "org.apache.spark.sql.delta.catalog.DeltaCatalog"
                ),
                "spark.sql.catalogImplementation": "hive",
                "spark.sql.sources.default": "delta",
                "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
                "spark.databricks.delta.snapshotPartitions": "2",
                "spark.driver.memory": "1g",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.connect.grpc.binding.address": "127.0.0.1",
                "spark.ui.enabled": "false",
                **logging,
            },
        )

    def table_path(self, table: str) -> Path:
        """Where a table is."""
        return self._folder / "warehouse" / table

    def run(self) -> Run:
        """``spark-pipelines run``, once.

        Raises:
            RuntimeError: It failed.
        """
        found = importlib.util.find_spec("pyspark")
        assert found is not None
        assert found.origin is not None
        began_s = time.monotonic()
        done = subprocess.run(
            [program("spark-pipelines"), "run", "--remote", "local[2]"],
            cwd=self._root,
            env={
                **environment(),
                "SPARK_HOME": str(Path(found.origin).parent),
                "SPARK_CONF_DIR": str(self._folder / "conf"),
                "PATH": f"{Path(program('python')).parent}{os.pathsep}{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        told = done.stdout + done.stderr
        if done.returncode:
            raise RuntimeError(f"spark-pipelines failed:\n{told}"[-4000:])
        return Run(time.monotonic() - began_s, too_early(told))


def write_settings(folder: Path, chosen: Mapping[str, str]) -> None:
    """A spark-defaults.conf in ``folder``, which SPARK_CONF_DIR may name."""
    folder.mkdir(parents=True)
    lines = "".join(f"{name} {value}\n" for name, value in chosen.items())
    (folder / "spark-defaults.conf").write_text(lines)


def too_early(told: str) -> tuple[str, ...]:
    """Of what a run told: the views that began before what they read was complete."""
    done: set[str] = set()
    found = []
    for name, step in _STEP.findall(told):
        if step == "COMPLETED":
            done.add(name)
        if step == "STARTING":
            missing = [source for source in SOURCES.get(name, ()) if source not in done]
            found += [f"{name} before {source}" for source in missing]
    return tuple(found)
