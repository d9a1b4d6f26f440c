"""Many versions verified, each in a session of its own, several tables at once."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from freshline.executor.verified import SKIPPED, VersionCheck
from freshline.project.model import Project, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.own_session import own_session
from freshline.spark.verification.bases import Walk
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

    def check(table: TableDef, version: int, walk: Walk | None = None) -> VersionCheck:
        own = own_session(session, table)
        try:
            return verifier.check(own, table, version, walk)
        finally:
            jvm.java_session(own).sessionState().catalog().clearTempTables()

    def in_order(table: TableDef, versions: Sequence[int]) -> list[VersionCheck]:
        """A base table's versions, each by what it changed, the newest as a whole as well."""
        *earlier, newest = versions
        walk = Walk(project.table_path(table.name))
        return [*(check(table, each, walk) for each in earlier), check(table, newest)]

    def checks(item: tuple[TableDef, Sequence[int]]) -> list[VersionCheck]:
        table, versions = item
        if table.kind == "base":
            return in_order(table, versions)
        return [check(table, version) for version in versions]

    asked: list[tuple[TableDef, Sequence[int]]] = []
    for table in tables:
        found, skipped = versions_of(project, table, wanted)
        for version, reason in skipped.items():
            yield VersionCheck(table.name, version, SKIPPED, reason=reason)
        if table.kind == "base" and found:
            asked.append((table, found))
        else:
            asked += [(table, (version,)) for version in found]
    number = 0
    with ThreadPoolExecutor(max(1, project.scheduler.tracks)) as threads:
        for found_out in threads.map(checks, asked):
            for each in found_out:
                number += 1
                if number % _COLLECTED_EVERY == 0:
                    gc.collect()  # py4j's objects: with them the JVM lets go what versions hold
                yield each
