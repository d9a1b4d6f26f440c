"""Updates as an engineer writes them by hand, with PySpark and Delta alone.

A base table appends its new files; a view is computed anew from the newest versions of its
parents and overwritten. The session has every setting of ours (few partitions, no adaptive
execution, the local file system without checksums), unless the variant says otherwise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql import SparkSession

from freshline.delta.log import version
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project, TableDef
from freshline.spark.commits.transaction import TABLE_PROPERTIES


@dataclass(frozen=True, slots=True)
class Written:
    """The table's version after an update."""

    version: int


class PlainExecutor:
    """Carries out the loop's updates.

    Args:
        project: Its tables, without versions of parents.
        session: Shared by the loop's threads.
    """

    def __init__(self, project: Project, session: SparkSession) -> None:
        self._project = project
        self._session = session

    def run(self, request: UpdateRequest) -> Written:
        """Carry out one update."""
        table = self._project.table(request.table)
        if table.feed is not None:
            self._append(table, table.feed, request)
        else:
            recompute(self._project, self._session, table)
        made = version(self._project.table_path(table.name))
        assert made is not None, "an update has just written it"
        return Written(made)

    def _append(self, table: TableDef, name: str, request: UpdateRequest) -> None:
        feed = self._project.feeds[name]
        assert feed.schema is not None
        reader = self._session.read.format(feed.format).schema(feed.schema)
        rows = reader.load([f"{feed.path}/{file.name}" for file in request.files])
        writer = rows.coalesce(1).write.format("delta").mode("append")
        writer.options(**TABLE_PROPERTIES).save(self._project.table_path(table.name))


def recompute(project: Project, session: SparkSession, table: TableDef) -> None:
    """Overwrite a view; for measuring, its commit says what versions of its parents there were."""
    pins = {}
    for name in table.parents:
        path = project.table_path(name)
        pins[name] = version(path)
        session.read.format("delta").load(path).createOrReplaceTempView(name)
    rows = session.sql(table.query).coalesce(1)
    writer = rows.write.format("delta").mode("overwrite").options(**TABLE_PROPERTIES)
    writer = writer.option("userMetadata", json.dumps({"parents": pins}))
    writer.save(project.table_path(table.name))
