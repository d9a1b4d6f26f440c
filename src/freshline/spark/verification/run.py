"""Many versions verified, each in a session of its own, several at once."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from freshline.executor.verified import SKIPPED, VersionCheck
from freshline.project.model import Project, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.own_session import own_session
from freshline.spark.verification.versions import Verifier, versions_of

_COLLECTED_EVERY = 8  # checks


def verified(
    session: SparkSession,
    project: Project,
    tables: Iterable[TableDef],
    wanted: str | int,
) -> Iterator[VersionCheck]:
    """Verify versions of tables, in the order of the tables and versions.

    Args:
        session: A running session.
        project: The tables'.
        tables: Those to verify.
        wanted: newest, all, or how many of the newest versions of each.

    Raises:
        FreshlineError: Spark failed, or a table's log cannot be read.
    """
    verifier = Verifier(project)

    def check(item: tuple[TableDef, int]) -> VersionCheck:
        table, version = item
        own = own_session(session, table)
        try:
            return verifier.check(own, table, version)
        finally:
            jvm.java_session(own).sessionState().catalog().clearTempTables()

    asked = []
    for table in tables:
        found, skipped = versions_of(project, table, wanted)
        for version, reason in skipped.items():
            yield VersionCheck(table.name, version, SKIPPED, reason=reason)
        asked += [(table, version) for version in found]
    with ThreadPoolExecutor(max(1, project.scheduler.tracks)) as threads:
        for number, found_out in enumerate(threads.map(check, asked), 1):
            if number % _COLLECTED_EVERY == 0:
                gc.collect()  # py4j's objects: with them the JVM lets go what versions hold
            yield found_out
