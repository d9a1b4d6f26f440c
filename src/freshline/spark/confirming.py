"""What Spark's own plan of a query shows and its text may not: asked by validate and by runs."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import UserError
from freshline.project.analysis import not_row_wise
from freshline.project.model import Project, TableDef
from freshline.spark.engine.errors import SparkError
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import columns_of, pin_statics, snapshot_at
from freshline.spark.feeds.reader import view_of
from freshline.spark.views.asked import Remembered
from freshline.spark.views.plans import unseen_table
from freshline.spark.views.readings import analysed_tree
from freshline.sql.readings.linearity import row_wise_fault


def confirm(
    project: Project, table: TableDef, session: SparkSession, columns: Mapping[str, StructType]
) -> None:
    """Look at a table's query before its first update of a run: nobody may have validated it.

    Of Python functions Spark was asked when they were read.

    Args:
        project: Of the table.
        table: Whose query it is.
        session: Any; nothing in it is changed.
        columns: Of its feed, or of each table of the project that it reads.

    Raises:
        UserError: It reads a table that it does not name, or a base table's is not row-wise.
    """
    if table.programs:
        return
    asked = Remembered(own_session(session, table))
    for name, schema in columns.items():
        if table.feed is None:
            asked.show(name, schema)
        else:
            empty = asked.empty(schema)
            asked.view(name, view_of(empty, table.query, project.feeds[table.feed]))
    if (error := unseen(asked, table)) is not None:
        raise error
    if table.kind == "derived":
        return
    try:
        frame = asked.sql(pin_statics(asked.session, table, fixed=False).query)
        error = other_than_row_wise(table, frame)
    except SparkError:
        return  # the update says it
    except Exception:  # noqa: BLE001 - a plan of a shape that is not known; validate notes it
        return
    if error is not None:
        raise error


def confirm_view(
    project: Project, table: TableDef, session: SparkSession, versions: Mapping[str, int]
) -> None:
    """The same of a view over these versions of the project's tables."""
    if table.programs:
        return
    columns = {
        name: columns_of(snapshot_at(session, project.table_path(name), version))
        for name, version in versions.items()
    }
    confirm(project, table, session, columns)


def unseen(asked: Remembered, table: TableDef) -> UserError | None:
    """The error of a query for which Spark reads a table that it does not name, or None.

    Args:
        asked: It sees the feed or the tables of the project that the query reads.
        table: Whose query it is; no Python function stands behind it.
    """
    what = unseen_table(asked, table)
    if what is None:
        return None
    return UserError(
        "unseen-table",
        f"Spark reads a table for the query of table {table.name} that is not named in it: {what}",
        where=table.query_place,
        rule="a query names every table that it reads, so that no change of one is missed",
        next_step="Read that table in the query itself, not through a function of the catalog."
        " If the query does name it, report this.",
    )


def other_than_row_wise(table: TableDef, frame: DataFrame) -> UserError | None:
    """The error of a base table whose rows are not made from one record each, or None.

    Args:
        table: The base table.
        frame: Its query over its feed's columns.
    """
    fault = row_wise_fault(analysed_tree(frame), str(table.feed))
    return None if fault is None else not_row_wise(table, f"as Spark reads it, {fault}")
