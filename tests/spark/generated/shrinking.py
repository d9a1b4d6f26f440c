"""A failure made small: fewer views, steps, events and clauses, as long as it fails alike."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from freshline.core.errors import FreshlineError
from tests.spark.generated.project import Describer, Generated, View, static_names
from tests.spark.generated.running import Failure, Warehouse
from tests.spark.generated.tables import STREAMS
from tests.spark.views.proving import over_statics, session_in

TRIES = 40
"""How many smaller projects are run for one failure."""


class Shrinking:
    """Runs smaller and smaller projects.

    Args:
        spark: Any session of the JVM.
        folder: For their warehouses.
        tries: How many are run.
    """

    def __init__(self, spark: SparkSession, folder: Path, tries: int = TRIES) -> None:
        self._spark = spark
        self._folder = folder
        self._tries = tries
        self._number = 0
        self.last: Path | None = None

    def fails(self, project: Generated, failure: Failure) -> Failure | None:
        """The failure of the same view and kind, if the project still has it."""
        self._number += 1
        folder = self._folder / f"try{self._number}"
        folder.mkdir(parents=True)
        try:
            found = Warehouse(self._spark, folder, project).run().failures
        except Exception:  # noqa: BLE001 - smaller than what can run: a table without any file
            return None
        same = [each for each in found if (each.view, each.kind) == (failure.view, failure.kind)]
        if same:
            self.last = folder
            return same[0]
        return None

    def shrunk(self, project: Generated, failure: Failure) -> tuple[Generated, Failure]:
        """The smallest project that was found, and how it fails."""
        alone = project.only(failure.view)
        again = self.fails(alone, failure)
        if again is None:
            return project, failure
        project, failure = alone, again
        smaller = True
        while smaller and self._number < self._tries:
            smaller = False
            for other in self._smaller(project, failure):
                if self._number >= self._tries:
                    break
                again = self.fails(other, failure)
                if again is not None:
                    project, failure, smaller = other, again, True
                    break
        return project, failure

    def _smaller(self, project: Generated, failure: Failure) -> Iterator[Generated]:
        if failure.step + 1 < len(project.steps):
            yield replace(project, steps=project.steps[: failure.step + 1])
        for at in range(1, len(project.steps)):
            yield replace(project, steps=(*project.steps[:at], *project.steps[at + 1 :]))
        view = project.views[-1]
        if view.spellings:
            yield _with(project, replace(view, spellings=()))
        describe = Describer(session_in(self._spark, project.zone))
        for parent in project.views[:-1]:
            columns = describe(parent.sql) or {}
            describe.add(parent.name, ", ".join(f"{name} {kind}" for name, kind in columns.items()))
        for query in view.query.smaller():
            other = replace(view, query=query)
            if describe(other.sql):
                yield _with(project, other)
        for at, step in enumerate(project.steps):
            for event in range(len(step)):
                if len(step) > 1:
                    less = (*step[:event], *step[event + 1 :])
                    yield replace(
                        project, steps=(*project.steps[:at], less, *project.steps[at + 1 :])
                    )


def _with(project: Generated, view: View) -> Generated:
    return replace(project, views=(*project.views[:-1], view))


def kept(folder: Path, project: Generated, failure: Failure, last: Path | None) -> None:
    """Writes a project that runs, with its feeds' files, and what is wrong with it.

    Args:
        folder: New.
        project: What fails.
        failure: How.
        last: Where it last failed; its feeds and static tables are copied.
    """
    (folder / "tables").mkdir(parents=True)
    feeds = {}
    for stream in STREAMS:
        if any(stream.name in view.names for view in project.views):
            feeds[f"{stream.name}_feed"] = {
                "kind": "files", "path": f"feed/{stream.name}_feed", "format": "parquet",
                "schema": stream.ddl,
            }  # fmt: skip
            time = f"TBLPROPERTIES ('freshline.time' = '{stream.time}') " if stream.time else ""
            text = f"CREATE STREAMING TABLE {stream.name} {time}AS SELECT * FROM STREAM "
            (folder / "tables" / f"{stream.name}.sql").write_text(f"{text}{stream.name}_feed;\n")
    for view in project.views:
        query = over_statics(view.sql, static_names())
        text = f"CREATE MATERIALIZED VIEW {view.name} TBLPROPERTIES ('freshline.refresh' = "
        text += f"'incremental')\n  AS {query};\n"
        (folder / "tables" / f"{view.name}.sql").write_text(text)
    settings = {
        "name": folder.name.replace("-", "_"), "storage": "warehouse",
        "libraries": [{"glob": {"include": "tables/**/*.sql"}}],
        "configuration": {"spark.sql.session.timeZone": project.zone}, "feeds": feeds,
    }  # fmt: skip
    (folder / "freshline.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
    record = {**project.record(), "failure": failure.__dict__}
    (folder / "failure.json").write_text(json.dumps(record, indent=1, default=str))
    for name in ("feed", "static"):
        if last is not None and (last / name).is_dir():
            shutil.copytree(last / name, folder / name)


Report = Callable[[str], None]


def shrunk_and_kept(
    spark: SparkSession, work: Path, keep: Path, project: Generated, failure: Failure, tries: int
) -> Path:
    """Shrinks a failure and keeps it; returns where."""
    shrinking = Shrinking(spark, work / f"shrink-{failure.view}", tries)
    try:
        project, failure = shrinking.shrunk(project, failure)
    except FreshlineError as error:
        failure = replace(failure, told=f"{failure.told}\nshrinking ended: {error}")
    folder = keep / f"seed{project.seed}-{failure.view}"
    shutil.rmtree(folder, ignore_errors=True)
    kept(folder, project, failure, shrinking.last)
    return folder
