"""A session of its own for one table's query, under the settings that hold for it alone."""

from __future__ import annotations

from pyspark.sql import SparkSession

from freshline.project.model import TableDef

_SKIPPING = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""With these, files that are gone or damaged would be rows that are missing, in silence."""

_BY_STATISTICS = (
    "spark.sql.parquet.filterPushdown",
    "spark.sql.orc.filterPushdown",
    "spark.databricks.delta.stats.skipping",
    "spark.databricks.delta.optimizeMetadataQuery.enabled",
)
"""Leave out files and groups of rows whose least and greatest values do not fit a condition; or
take a table's greatest value from them."""
_OF_DELTA = 2


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
    if table.feed is not None:
        read_every_row(own)
    return own


def read_every_row(session: SparkSession, *, of_delta: bool = True) -> None:
    """Let an update's own session believe no statistics of files that others have written.

    For Spark NaN is greater than every number. Arrow and delta-rs leave it out of the greatest
    value, so that Spark would leave out files with NaN under ``km > 2``, and none of its own.

    Args:
        session: The update's own.
        of_delta: Whether a table of others is Delta's, which has statistics in its log, too.
    """
    for setting in _BY_STATISTICS if of_delta else _BY_STATISTICS[:-_OF_DELTA]:
        session.conf.set(setting, "false")
