"""A session of its own for one table's query, under the settings that hold for it alone."""

from __future__ import annotations

from pyspark.sql import SparkSession

from freshline.project.model import TableDef

_SKIPPING = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""With these, files that are gone or damaged would be rows that are missing, in silence."""


def own_session(session: SparkSession, table: TableDef) -> SparkSession:
    """A new session with the table's own settings over those of the project.

    Files that cannot be read are an error, whatever is set.

    Raises:
        SparkError: Spark does not let a session have one of them.
    """
    own = session.newSession()
    for name, value in table.settings.items():
        own.conf.set(name, value)
    for setting in _SKIPPING:
        own.conf.set(setting, "false")
    return own
