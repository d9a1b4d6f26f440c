"""One version of a table, verified against its query over exactly what its commit names.

A view: its query over the parents' versions, under the settings of the session that made it. With
final emission the buckets shown count. A base table: its query over all the files that its
commits name. What cannot be verified is skipped with the reason, never passed over.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from freshline.delta.changelog import ChangesGoneError
from freshline.delta.log import commits_there
from freshline.delta.log import version as newest_version
from freshline.executor.verified import VersionCheck
from freshline.project.model import Project, TableDef
from freshline.spark.engine.errors import SparkError, is_gone, one_line, sql_state, update_failed
from freshline.spark.verification.bases import BaseCheck, Walk
from freshline.spark.verification.check import Check, SkippedError
from freshline.spark.verification.views import ViewCheck


def versions_of(
    project: Project, table: TableDef, wanted: str | int
) -> tuple[list[int], dict[int, str]]:
    """Versions of a table to verify, oldest first, and those that cannot be, with reasons.

    Args:
        project: Of the table.
        table: The table.
        wanted: newest, all, or how many of the newest.

    Raises:
        PlatformError: The log cannot be read.
    """
    path = project.table_path(table.name)
    newest = newest_version(path)
    if newest is None:
        return [], {}
    ours = [record.version for record in commits_there(path)]
    found = ours if not ours or newest == ours[-1] else [*ours, newest]
    if wanted != "all":
        return found[-(1 if wanted == "newest" else int(wanted)) :], {}
    known, skipped = set(found), {}
    oldest = min(known, default=newest + 1)
    for version in range(newest + 1):
        if version not in known:
            skipped[version] = (
                "its commit was removed from the log, or is not freshline's"
                if version < oldest
                else "its commit is not freshline's"
            )
    return found, skipped


class Verifier:
    """Verifies versions of a project's tables.

    Args:
        project: The tables.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def check(
        self, session: SparkSession, table: TableDef, version: int, walk: Walk | None = None
    ) -> VersionCheck:
        """Verify one version.

        Args:
            session: One for this check alone.
            table: The table.
            version: The Delta version.
            walk: Of a base table's versions before this one, see :class:`Walk`; None: whatever
                is known of others does not count.

        Raises:
            FreshlineError: Spark failed, or was told to stop; nothing is known then.
        """
        check: Check
        if table.kind == "base":
            check = BaseCheck(self._project, session, table, version, walk)
        else:
            check = ViewCheck(self._project, session, table, version)
        try:
            return check.done()
        except (SkippedError, ChangesGoneError) as error:
            return check.skipped(str(error))
        except SparkError as error:
            if is_gone(error):
                return check.skipped(f"what it was made of is gone: {one_line(error)}")
            if sql_state(error)[:2] in ("22", "42"):
                return check.skipped(f"its query fails: {one_line(error)}")
            raise update_failed(self._project, table, error) from error
