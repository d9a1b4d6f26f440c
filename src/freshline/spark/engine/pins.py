"""What a query reads beside its feed: every Delta table fixed at one version.

A parent's version comes with the request. A static table is fixed at its newest version when
the update starts; the query's text then names that version, so that the whole query sees one
and the commit can record it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from freshline.delta.log import local_log, table_id
from freshline.project.model import Project, StaticRead, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import CHARS
from freshline.spark.engine.in_driver import collected, read_again
from freshline.spark.engine.listed import (
    SMALL_BYTES,
    has_untold_files,
    is_misled,
    listed_files,
    mark_of,
    rows_of,
    version_key,
)
from freshline.spark.engine.own_session import read_every_row, reads_every_row
from freshline.spark.engine.session import is_local
from freshline.spark.engine.sizing import together
from freshline.sql.text.reads import backquoted, quoted, reads_of, rewritten

_SESSION_CATALOG = "spark_catalog"
_STAGED = "_staged_commits"
"""Of a log: where this folder holds files, a catalog decides what is committed."""

_HELD_BYTES, _HELD_FILES = 256 * 1024, 8
"""Of a static table whose rows are held; above, a job that reads it is worth its price."""

_EXACT_DIGITS = 15
"""A double has any number of so many digits exactly."""

_DECIMAL = re.compile(r"\bdecimal\((\d+),")

_MOST_HELD = 64
"""Tables, each at a version."""

_lock = threading.Lock()
_held: WeakKeyDictionary[Any, OrderedDict[Any, Any | None]] = WeakKeyDictionary()
"""Rows of small static tables, by what tells one from another; None: it is not small."""

_UNSEEN = "'\ufffd'"

_VECTORS = '"deletionVectors"'
"""Of a table's protocol, as JSON."""

_DELTA_TABLE = "org.apache.spark.sql.delta.catalog.DeltaTableV2"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A query with its static tables fixed.

    Attributes:
        query: The user's text; only names of static tables and of the feed are replaced.
        versions: Version of every static Delta table, by the name the query uses.
        ids: What Delta tells the same tables from others by.
        marks: The marks of the commits that made these versions, as far as their logs tell.
        names: What was put in the place of which name.
    """

    query: str
    versions: Mapping[str, int] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


def pin_statics(session: SparkSession, table: TableDef, *, fixed: bool = True) -> Pinned:
    """``table``'s query with its static Delta tables fixed at their newest versions.

    A query that fixes a version itself keeps it, and a table that is not Delta's has none:
    their text stays, apart from a relative path, which is made absolute. STREAM feed becomes
    feed.

    Args:
        session: The update's own.
        table: Whose query it is.
        fixed: False: leave versions open, only make the text one that Spark can analyse.
    """
    names = {table.feed: quoted(table.feed)} if table.feed is not None else {}
    versions: dict[str, int] = {}
    ids: dict[str, str] = {}
    marks: dict[str, str] = {}
    first: dict[tuple[str, str], int] = {}
    found = [(read, newest_snapshot(session, read) if fixed else None) for read in table.statics]
    asked = asked_of(table)
    for read, newest in found:
        if fixed and _may_mislead(read, newest, asked):
            read_every_row(session, of_delta=read.format is None or read.format == "delta")
    for read, newest in found:
        name = _absolute(read)
        if newest is not None and not read.time_travel:
            identity = str(newest.metadata().id())
            # A table with two names is read at one version, even if others commit meanwhile.
            of_table = str(newest.deltaLog().dataPath().toString()), identity
            version = first.setdefault(of_table, int(newest.version()))
            versions[read.name], ids[read.name] = version, identity
            mark = mark_of(newest, version)
            if mark is not None:
                marks[read.name] = mark
            is_first = version == int(newest.version())
            small = _held_static(session, table, read, newest) if is_first else None
            names[read.name] = small or static_at(session, read, newest, version)
        elif name != read.name:
            names[read.name] = name
    query = rewritten(table.query, names) if names else table.query
    return Pinned(query, versions, ids, marks, names)


def _held_static(
    session: SparkSession, table: TableDef, read: StaticRead, newest: Any
) -> str | None:
    """The name of a view of a small static table's rows, which the driver holds.

    A table of regions is read by every update of every view that is joined with it. It takes one
    job to find its files and one to send its rows to all tasks: a fifth of a small update. So its
    rows are read once a version.

    Returns:
        None: It is too large, or no view can stand for it in this query.
    """
    if _needs_its_name(table.query, read.name):
        return None
    key = (
        read.name,
        *version_key(newest),
        tuple(sorted(table.settings.items())),  # they may say what a file's values mean
    )
    with _lock:
        known = _held.setdefault(session._jvm, OrderedDict())  # noqa: SLF001 - ends with Spark
        found = key in known
        relation = known.get(key)
        if found:
            known.move_to_end(key)
    if not found:
        relation = _small_rows(session, newest)
        with _lock:
            known[key] = relation
            while len(known) > _MOST_HELD:
                known.popitem(last=False)
    if relation is None:
        return None
    name = f"_freshline_{hashlib.sha256(read.name.encode()).hexdigest()[:16]}"
    # In one task, as small inputs are: grouping what is joined with them needs no further stage.
    jvm.show(read_again(session, relation).coalesce(1), name)
    return quoted(name)


@lru_cache(maxsize=4096)
def _needs_its_name(query: str, name: str) -> bool:
    """Whether a view cannot stand for a table wherever the query names it.

    It names an older version of it, too, or says before a column more than the name's last part.
    """
    mentions = [read for read in reads_of(query) if read.name.lower() == name.lower()]
    if not mentions or any(read.time_travel for read in mentions):
        return True
    parts = mentions[0].parts
    if len(parts) == 1:
        return False
    last = r"\s*\.\s*".join(f"`?{re.escape(part)}`?" for part in parts[-2:])
    return re.search(rf"{last}\s*\.", query, re.IGNORECASE) is not None


def _small_rows(session: SparkSession, newest: Any) -> Any | None:
    """All rows of a table as a relation of Spark's; None where it is not small."""
    files = listed_files(newest, _HELD_BYTES)
    if files is None:
        few = newest.allFiles().limit(_HELD_FILES + 1).collectAsList()
        sizes = [int(few.get(at).size()) for at in range(int(few.size()))]
        if len(sizes) > _HELD_FILES or sum(sizes) > _HELD_BYTES:
            return None
        files = jvm.seq_of(session, few)
    return collected(rows_of(session, newest, files))


def _may_mislead(read: StaticRead, newest: Any | None, asked: str) -> bool:
    """Whether statistics of a static table's files may leave out values that are in the files.

    Of a version that the query chooses, in a table with deletion vectors, they are believed:
    Delta reads it in no other way.

    Args:
        read: The table.
        newest: As it is now; None: it is none of Delta's.
        asked: As of :func:`frame_of`.
    """
    if newest is None:
        return True
    if read.time_travel:
        return not has_vectors(newest)
    if has_doubtful_statistics(newest.schema().catalogString()):
        return True
    return is_misled(asked) and has_untold_files(newest)


def static_at(session: SparkSession, read: StaticRead, newest: Any | None, version: int) -> str:
    """What stands in a query for a static table at a version.

    Args:
        session: In which the query runs. Where it reads every row, and the table can have
            deletion vectors, its rows become a view of this session.
        read: The table.
        newest: Delta's own object for it as it is now; None: there is none.
        version: Which one.
    """
    if newest is None or not (reads_every_row(session) and has_vectors(newest)):
        return f"{_absolute(read)} VERSION AS OF {version}"
    snapshot = newest
    if int(newest.version()) != version:
        nothing = jvm.none(session)
        snapshot = newest.deltaLog().getSnapshotAt(version, nothing, nothing, False)
    key = f"{read.name} {version}"
    name = f"_freshline_{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    jvm.show(_of_all_files(session, snapshot), name)
    return quoted(name)


def newest_snapshot(session: SparkSession, read: StaticRead) -> Any | None:
    """Delta's own object for a static table as it is now; None where it is no Delta table."""
    delta_log = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog")
    java_session = jvm.java_session(session)
    jvm.activate(session)
    if read.path is not None:
        if read.format != "delta":
            return None
        log = delta_log.forTable(java_session, location(read.path))
    else:
        parser = java_session.sessionState().sqlParser()
        parts = [str(part) for part in jvm.elements(parser.parseMultipartIdentifier(read.name))]
        catalog, *parts = _with_catalog(session, parts)
        if catalog.lower() != _SESSION_CATALOG:
            log = _log_elsewhere(session, catalog, parts)
            if log is None:
                return None
        else:
            # The parser of identifiers knows no catalog, also not the session's own.
            name = parser.parseTableIdentifier(".".join(backquoted(part) for part in parts))
            provider = java_session.sessionState().catalog().getTableMetadata(name).provider()
            if not provider.isDefined() or str(provider.get()).lower() != "delta":
                return None
            log = delta_log.forTable(java_session, name)
    snapshot = newest(session, log)
    return snapshot if int(snapshot.version()) >= 0 else None


def replacement_of(
    session: SparkSession, read: StaticRead, version: int, identity: str, mark: str
) -> str | None:
    """What became of a static table since one of its versions was read.

    Args:
        session: Any of this Spark's.
        read: The table.
        version: That was read.
        identity: What Delta told the table from others by.
        mark: Of the version's commit; "": the log did not tell.

    Returns:
        None: it is the same table and went on from there, as far as its log tells.
    """
    snapshot = newest_snapshot(session, read)
    if snapshot is None:
        return None
    if str(snapshot.metadata().id()) != identity:
        return "dropped and created again"
    if int(snapshot.version()) < version:
        return "put back from a copy"
    now = mark_of(snapshot, version)
    return "put back from a copy" if mark and now is not None and now != mark else None


def newest(session: SparkSession, log: Any) -> Any:
    """A table's newest snapshot, listing its log only where something may have been committed."""
    nothing = jvm.none(session)
    known = known_snapshot(log, str(log.dataPath().toString()))
    return known or log.update(False, nothing, nothing)


def _with_catalog(session: SparkSession, parts: list[str]) -> list[str]:
    """A name's parts with its catalog, which is the session's default where it names none."""
    manager = jvm.java_session(session).sessionState().catalogManager()
    if len(parts) > 1:
        if parts[0].lower() == _SESSION_CATALOG or manager.isCatalogRegistered(parts[0]):
            return parts
        return [str(manager.currentCatalog().name()), *parts]
    default = [str(part) for part in manager.currentNamespace()]
    return [str(manager.currentCatalog().name()), *default, *parts]


def _log_elsewhere(session: SparkSession, catalog: str, parts: list[str]) -> Any | None:
    """Delta's log of a table of another catalog; None where it is no Delta table."""
    manager = jvm.java_session(session).sessionState().catalogManager()
    identifier = jvm.named(session, "org.apache.spark.sql.connector.catalog.Identifier.of")
    name = identifier(jvm.text_array(session, parts[:-1]), parts[-1])
    table = manager.catalog(catalog).loadTable(name)
    return table.deltaLog() if str(table.getClass().getName()) == _DELTA_TABLE else None


def asked_of(table: TableDef, more: str = "") -> str:
    """SQL in which all texts stand that a table's query, and the views it needs, compare with.

    For :func:`frame_of` alone. Nobody has the texts in a Python function: one that is not ASCII
    stands for them.

    Args:
        table: Whose query.
        more: SQL that is asked for besides.
    """
    programs = [_UNSEEN if each.query is None else each.query for each in table.programs]
    # An empty line, since the backslash at the end of a comment's line carries it on.
    return "\n\n".join([table.query, *programs, more])


def register_parents(
    session: SparkSession, project: Project, table: TableDef, versions: Mapping[str, int]
) -> None:
    """Make each parent, at its version, what a table's query means by its name in a session."""
    asked = asked_of(table)
    for name, version in versions.items():
        frame = at_version(session, project.table_path(name), version, asked)
        jvm.show(frame, name)


def at_version(session: SparkSession, path: str, version: int, asked: str = "") -> DataFrame:
    """A Delta table's rows at a version.

    Of a small table all files are read, instead of asking first which of them a query needs.

    Args:
        session: In which they are read.
        path: Of the table.
        version: Which one.
        asked: As of :func:`frame_of`.
    """
    return frame_of(session, path, snapshot_at(session, path, version), asked)


def snapshot_at(session: SparkSession, path: str, version: int) -> Any:
    """Delta's own object for a table at a version."""
    nothing = jvm.none(session)
    jvm.activate(session)
    for_table = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog.forTable")
    log = for_table(jvm.java_session(session), location(path))
    # Also of a version it has in mind already: the table can be another one by now.
    snapshot = known_snapshot(log, path) or log.update(False, nothing, nothing)
    if int(snapshot.version()) != version:
        snapshot = log.getSnapshotAt(version, nothing, nothing, False)
    return snapshot


def id_at(session: SparkSession, path: str, version: int) -> str:
    """What tells a Delta table from another one that is made in its place later.

    A checksum file tells it in no time; in an object store, and where another writer left that file
    out, Delta is asked.
    """
    return table_id(path, version) or str(snapshot_at(session, path, version).metadata().id())


def known_snapshot(log: Any, path: str) -> Any | None:
    """The snapshot that Delta has in memory, if it is the newest; None where it may not be.

    Delta finds that out by listing the whole log, with three questions to the file system about
    each name. Two files tell it, too: the commit that it was read from is the same still, and
    there is no commit after it.

    Args:
        log: Delta's own object for the table's log.
        path: Of the table; elsewhere than on this machine Delta is left to ask.
    """
    folder = local_log(path)
    if folder is None:
        return None
    snapshot = log.unsafeVolatileSnapshot()
    version = int(snapshot.version())
    if version < 0:
        return None
    try:
        if (folder / f"{version + 1:020d}.json").exists() or _has_staged(folder):
            return None
        found_ms = (folder / f"{version:020d}.json").stat().st_mtime_ns // 1_000_000
    except OSError:  # Delta will say what is wrong
        return None
    known_ms = int(snapshot.logSegment().lastCommitFileModificationTimestamp())
    return snapshot if found_ms == known_ms else None


def _has_staged(folder: Path) -> bool:
    try:
        return bool(os.listdir(folder / _STAGED))  # noqa: PTH208 - names alone
    except FileNotFoundError:
        return False


def frame_of(session: SparkSession, path: str, snapshot: Any, asked: str = "") -> DataFrame:
    """The rows of :func:`snapshot_at`; of a small table all files are read.

    Args:
        session: In which they are read.
        path: Of the table.
        snapshot: Of it.
        asked: SQL in which all texts stand that a query over them compares with theirs.
    """
    files = listed_files(snapshot, SMALL_BYTES)
    if files is None:
        if reads_every_row(session):
            in_all = has_vectors(snapshot)
        else:
            in_all = is_misled(asked) and has_untold_files(snapshot)
        if in_all:
            return _of_all_files(session, snapshot)
        version = int(snapshot.version())
        return session.read.format("delta").option("versionAsOf", version).load(location(path))
    rows = rows_of(session, snapshot, files)
    checksum = snapshot.checksumOpt().get()
    return together(rows, int(checksum.tableSizeBytes()), int(checksum.numFiles()))


def has_vectors(snapshot: Any) -> bool:
    """Whether files of a table may have deletion vectors."""
    return _VECTORS in str(snapshot.protocol().json())


def _of_all_files(session: SparkSession, snapshot: Any) -> DataFrame:
    """The rows of all files of a snapshot.

    Where files are not to be left out by Delta's statistics, Delta itself refuses to read a table
    that may have deletion vectors: ``Cannot work with a non-pinned table snapshot``.
    """
    jvm.activate(session)
    return rows_of(session, snapshot, jvm.seq_of(session, snapshot.allFiles().collectAsList()))


def columns_of(snapshot: Any) -> StructType:
    """Names and types of a table's columns, as :func:`frame_of` has them, without opening it."""
    stored = StructType.fromJson(json.loads(snapshot.metadata().schemaString()))
    return StructType(
        [
            StructField(
                each.name,
                each.dataType,
                metadata={key: each.metadata[key] for key in (CHARS,) if key in each.metadata},
            )
            for each in stored
        ]
    )


def location(path: str) -> str:
    """A table's path as Spark takes it: never relative to a cluster's default file system."""
    return f"file:{path}" if is_local(path) and path.startswith("/") else path


def has_doubtful_statistics(types: str) -> bool:
    """Whether a column, or a part of one, has a type whose statistics others may have wrong.

    Those of FLOAT and DOUBLE may lack NaN. delta-rs writes those of a DECIMAL as a double, which
    keeps 15 digits.
    """
    if re.search(r"\b(float|double)\b", types) is not None:
        return True
    return any(int(digits) > _EXACT_DIGITS for digits in _DECIMAL.findall(types))


def _absolute(read: StaticRead) -> str:
    if read.path is None or read.format is None:
        return read.name
    return f"{read.format}.{quoted(location(read.path))}"
