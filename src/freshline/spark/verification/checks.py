"""The checks of tables' rows, over the newest version of each table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.delta.log import version as newest_version
from freshline.executor.verified import RIGHT, SKIPPED, WRONG, RowCheck
from freshline.project.model import DataCheck, Project, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.pins import at_version
from freshline.sql.checks import wrong_rows

SAMPLE_ROWS = 5
_AS_JSON = {"ignoreNullFields": "false"}


def checked(
    session: SparkSession, project: Project, tables: Iterable[TableDef]
) -> Iterator[RowCheck]:
    """Each check of the tables, in the order of the tables and of freshline.yml.

    A check that cannot be run, since a column is not there for instance, is wrong with Spark's
    reason. One of a table without a version is skipped.

    Raises:
        PlatformError: A table's log cannot be read.
    """
    for table in tables:
        for check in project.checks.get(table.name, ()):
            own = session.newSession()
            try:
                yield _outcome(own, project, table, check)
            finally:
                jvm.java_session(own).sessionState().catalog().clearTempTables()


def _outcome(
    session: SparkSession, project: Project, table: TableDef, check: DataCheck
) -> RowCheck:
    versions = {}
    for name in (table.name, check.to):
        if name is None or "." in name:
            continue
        version = newest_version(project.table_path(name))
        if version is None:
            reason = f"{name} has no version yet"
            return RowCheck(table.name, check.name, SKIPPED, check.warns, reason=reason)
        versions[name] = version
    try:
        wanted = wrong_rows(check, table.name)
        for name, version in versions.items():
            frame = at_version(session, project.table_path(name), version, wanted)
            frame.createOrReplaceTempView(name)
        found = session.sql(wanted)
        as_json = F.to_json(F.struct("*"), _AS_JSON)
        rows = [row[0] for row in found.select(as_json).limit(SAMPLE_ROWS + 1).collect()]
        failing = found.count() if len(rows) > SAMPLE_ROWS else len(rows)
    except SparkError as error:
        reason = f"it cannot be run: {one_line(error)}"
        return RowCheck(table.name, check.name, WRONG, check.warns, reason=reason)
    return RowCheck(
        table.name,
        check.name,
        WRONG if failing else RIGHT,
        check.warns,
        failing,
        tuple(json.loads(row) for row in rows[:SAMPLE_ROWS]),
        versions=versions,
    )
