"""A session of its own for one table's query, under the settings that hold for it alone."""

from __future__ import annotations

from pyspark.sql import SparkSession

from freshline.project.model import TableDef
from freshline.spark.engine.result_settings import zone_of
from freshline.sql.query.zone import zone

_SKIPPING = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""With these, files that are gone or damaged would be rows that are missing, in silence."""

_TIMES = "spark.sql.parquet.outputTimestampType"
"""With TIMESTAMP_MILLIS Spark would cut times off as it writes them."""

_COUNTED = "spark.databricks.delta.stats.collect"
"""Rows that an update writes are counted from these statistics."""
_IN_FILES = ("spark.sql.parquet.filterPushdown", "spark.sql.orc.filterPushdown")
"""Leave out groups of rows whose least and greatest values, as their file says them, do not fit a
condition."""
_IN_LOGS = (
    "spark.databricks.delta.stats.skipping",
    "spark.databricks.delta.optimizeMetadataQuery.enabled",
)
"""Do so with whole files by what Delta's log says, or take a table's greatest value from it."""
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_UNWRAPS = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"


def own_session(session: SparkSession, table: TableDef) -> SparkSession:
    """A new session with the table's own settings over those of the project.

    Files that cannot be read are an error, rows are counted, and times are written as they are,
    whatever is set. A condition on a cast between instants, wall clocks and dates means what it
    says (docs/design/0420).

    Raises:
        SparkError: Spark does not let a session have one of them.
    """
    own = session.newSession()
    for name, value in table.settings.items():
        own.conf.set(name, value)
    for setting in _SKIPPING:
        own.conf.set(setting, "false")
    own.conf.set(_COUNTED, "true")
    if str(own.conf.get(_TIMES)).upper() == "TIMESTAMP_MILLIS":
        own.conf.set(_TIMES, "TIMESTAMP_MICROS")
    if zone(zone_of(own)).shifts:
        rules = [rule for rule in str(own.conf.get(_EXCLUDED, "")).split(",") if rule]
        own.conf.set(_EXCLUDED, ",".join([*rules, _UNWRAPS]))
    return own


def read_every_row(session: SparkSession, *, of_delta: bool) -> None:
    """Let an update's own session believe no statistics of files that others have written.

    For Spark NaN is greater than every number. Arrow and delta-rs leave it out of the greatest
    value, so that Spark would leave out files with NaN under ``km > 2``, and none of its own.

    Args:
        session: The update's own.
        of_delta: Whether these files are a Delta table's, which has statistics in its log, too.
    """
    for setting in (*_IN_FILES, *_IN_LOGS) if of_delta else _IN_FILES:
        session.conf.set(setting, "false")


def reads_every_row(session: SparkSession) -> bool:
    """Whether :func:`read_every_row` was called for Delta tables of the session."""
    return session.conf.get(_IN_LOGS[0]) == "false"
