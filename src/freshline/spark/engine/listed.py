"""The files of a table's version, and their rows, without a Spark job or a query of Delta's.

Delta finds them by replaying the log in a job of its own, one for every version that is read or
replaced: of a small update's processor time a quarter (docs/design/0017). Beside each commit it
writes what that came to, the files themselves while there are at most fifty, and has it in
memory from the commit on.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from freshline.delta.log import commit_mark
from freshline.spark.engine import jvm
from freshline.sql.text.tokens import SqlTextError, Token, tokens

SMALL_BYTES = 64 * 1024 * 1024
"""Up to here to leave files out by their statistics gains less than the job that finds them; within
a file Parquet's own statistics leave out what a query does not need."""

MOST_FILES = 8
"""Each takes some messages to the JVM; many are left to Delta's own reader."""

_UNTOLD = "instr(stats, '\ufffd') > 0"
"""Files with a least or greatest text that Delta could not write down as it is."""

_DOUBTFUL = re.compile(r"\$\{|\\[uU0-3]|\b[xX]\b")
"""In SQL of ASCII: what may yet stand for other letters."""

_OTHER_LETTER = re.compile(r"\\[uU0-3]")
"""In a text of SQL: a letter by its number."""

_ASCII_BYTES = re.compile(r"(?:[0-7][0-9A-Fa-f])*")
"""The bytes of a text, as SQL writes them."""

_MOST_KNOWN = 1024
"""Versions of tables."""

_lock = threading.Lock()
_known: OrderedDict[tuple[str, int, int], bool] = OrderedDict()
"""Whether it has files with such statistics, by what tells a version of a table from others."""

_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)
_LEFT_OUT = ("_", ".")
"""Spark's own reader takes files whose names begin so for notes of some program."""

_DATASOURCES = "org.apache.spark.sql.execution.datasources"


def listed_files(snapshot: Any, limit_bytes: int | None = None) -> Any | None:
    """A Scala sequence of AddFile: all files of Delta's ``snapshot``; None: it has to be asked.

    Not known after a crash between commit and checksum, of many files, or where another writer
    leaves the checksum out; nor where it is of a commit that was there before, since Delta writes
    no checksum over another one. Deletion vectors are left to Delta's own way.

    Args:
        snapshot: Delta's object.
        limit_bytes: Of all files together; None as well where they are larger.
    """
    known = snapshot.checksumOpt()
    if not known.isDefined():
        return None
    checksum = known.get()
    if limit_bytes is not None and int(checksum.tableSizeBytes()) > limit_bytes:
        return None
    if not _is_of_the_commit(checksum, snapshot):
        return None
    files, vectors = checksum.allFiles(), checksum.numDeletionVectorsOpt()
    if not files.isDefined() or (vectors.isDefined() and int(vectors.get()) > 0):
        return None
    listed = files.get()
    return listed if int(listed.size()) == int(checksum.numFiles()) else None


def is_misled(condition: str) -> bool:
    """Whether by Delta's statistics rows may be left out for which a condition is true.

    Statistics have U+FFFD for bytes that are not UTF-8. It sorts elsewhere among texts that are
    not ASCII; to one that is, all these bytes are the same.

    Args:
        condition: SQL, also of a whole query; it may hold texts as their bytes, or letters by their
            numbers. Of a variable, ``${name}``, the value counts as any text. What functions make
            of it is not seen, as chr(233).
    """
    if condition.isascii() and _DOUBTFUL.search(condition) is None:
        return False
    if "${" in condition:
        return True
    try:
        found = tokens(condition)
    except SqlTextError:
        return True
    return any(
        _is_other(token, before, behind)
        for before, token, behind in zip([None, *found], found, [*found[1:], None], strict=False)
        if token.kind == "string"
    )


def _is_other(text: Token, before: Token | None, behind: Token | None) -> bool:
    """Whether a literal of SQL may hold a text that is not ASCII, by the tokens beside it."""
    if before is None or not before.is_word("X"):
        return not text.text.isascii() or _OTHER_LETTER.search(text.text) is not None
    goes_on = behind is not None and behind.kind == "string"
    return goes_on or _ASCII_BYTES.fullmatch(text.text[1:-1]) is None


def untold_files(snapshot: Any) -> Any:
    """A Java list of AddFile: those whose statistics are wrong about their texts."""
    return snapshot.allFiles().filter(_UNTOLD).collectAsList()


def version_key(snapshot: Any) -> tuple[str, int, int]:
    """What tells a version of a table from others, also of a table put back from a copy."""
    return (
        str(snapshot.metadata().id()),
        int(snapshot.version()),
        int(snapshot.logSegment().lastCommitFileModificationTimestamp()),
    )


def has_untold_files(snapshot: Any) -> bool:
    """Whether statistics of a file of a version are wrong about its texts: a job, once a version.

    Without one where no column can hold a text.
    """
    if "string" not in str(snapshot.schema().catalogString()):
        return False
    key = version_key(snapshot)
    with _lock:
        if key in _known:
            return _known[key]
    found = int(snapshot.allFiles().filter(_UNTOLD).limit(1).collectAsList().size()) > 0
    with _lock:
        _known[key] = found
        while len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return found


class ParquetFile(NamedTuple):
    """A file: its URI, its size and when it was written, in milliseconds since the epoch."""

    path: str
    size_bytes: int
    modified_ms: int


def rows_of(session: SparkSession, snapshot: Any, files: Any) -> DataFrame:
    """The rows of some files of a table's version; the table may be of any kind.

    Delta's own reader asks a query which of the files are needed, each time a plan reads them. That
    takes about 10 ms, of an update's 150. A few files of a table that is nothing but Parquet are
    read by Spark's reader. Its list of files is made of what the log says, so none is looked at.

    Args:
        session: The update's own.
        snapshot: Delta's object.
        files: A Scala sequence of AddFile, of this version.
    """
    jvm.activate(session)
    found = _as_parquet(snapshot, files)
    if found is None:
        rows = snapshot.deltaLog().createDataFrame(snapshot, files, False, jvm.none(session))
        return DataFrame(rows, session)
    return rows_of_parquet(session, snapshot.schema(), found)


def _as_parquet(snapshot: Any, files: Any) -> list[ParquetFile] | None:
    """The files as their AddFile say; None: more than Parquet is needed."""
    if not 0 < int(files.size()) <= MOST_FILES:
        return None
    metadata = snapshot.metadata()
    if not _is_plain(str(snapshot.protocol().json()), str(metadata.schemaString())):
        return None
    if (
        int(metadata.partitionColumns().size())
        or str(metadata.columnMappingMode().name()) != "none"
    ):
        return None
    told = [json.loads(str(each.json()))["add"] for each in jvm.elements(files)]
    if any(each.get("deletionVector") or not _PLAIN_PATH.fullmatch(each["path"]) for each in told):
        return None
    if any(each["path"].startswith("/") for each in told):  # of another table
        return None
    if any(is_left_out(each["path"]) for each in told):
        return None
    folder = str(snapshot.deltaLog().dataPath().toString())
    return [
        ParquetFile(f"{folder}/{each['path']}", int(each["size"]), int(each["modificationTime"]))
        for each in told
    ]


def is_left_out(path: str) -> bool:
    """Whether Spark's own reader would leave the file out for its name, which Delta's reads."""
    return path.rpartition("/")[2].startswith(_LEFT_OUT)


@lru_cache(maxsize=4096)
def _is_plain(protocol: str, schema: str) -> bool:
    """Whether a table's files have its rows just as they are, by its protocol and columns."""
    told = json.loads(protocol)["protocol"]
    known = {"timestampNtz"}
    if told.get("minReaderVersion", 1) > 1 and not known.issuperset(
        told.get("readerFeatures") or "?"
    ):
        return False
    if "rowTracking" in (told.get("writerFeatures") or ()):  # columns of the files' metadata
        return False
    return all(is_plain_column(each) for each in json.loads(schema)["fields"])


def is_plain_column(field: dict[str, Any]) -> bool:
    """Whether a column, as JSON, is read as Parquet has it.

    Delta leaves VOID columns out, and takes some notes of columns away; CHAR is filled up.
    """
    noted = set(field.get("metadata") or ()) <= {"comment"}
    return noted and '"void"' not in json.dumps(field["type"])


def rows_of_parquet(session: SparkSession, schema: Any, files: Sequence[ParquetFile]) -> DataFrame:
    """The rows of Parquet files. Nothing asks the storage about them before a task reads them.

    Args:
        session: The update's own.
        schema: Spark's own object of the columns.
        files: At least one.
    """
    nothing, no_entries = jvm.none(session), jvm.scala_map(session, {})
    of_path = jvm.named(session, "org.apache.hadoop.fs.Path")
    of_status = jvm.named(session, "org.apache.hadoop.fs.FileStatus")
    cache = jvm.named(session, f"{_DATASOURCES}.FileStatusCache.getOrCreate")(
        jvm.java_session(session)
    )
    paths = []
    for each in files:
        path = of_path(each.path)
        status = of_status(each.size_bytes, False, 0, 1, each.modified_ms, path)
        cache.putLeafFiles(path, jvm.java_array(session, of_status, [status]))
        paths.append(path)
    empty = jvm.named(session, f"{_DATASOURCES}.PartitionSpec.emptySpec")()
    index = jvm.named(session, f"{_DATASOURCES}.InMemoryFileIndex")(
        jvm.java_session(session),
        jvm.scala_seq(session, paths),
        no_entries,
        jvm.some(session, schema),
        cache,
        jvm.some(session, empty),
        nothing,
    )
    cache.invalidateAll()  # what the index read it keeps itself
    relation = jvm.named(session, f"{_DATASOURCES}.HadoopFsRelation")(
        index,
        empty.partitionColumns(),
        schema,
        nothing,
        jvm.named(session, f"{_DATASOURCES}.parquet.ParquetFileFormat")(),
        no_entries,
        jvm.java_session(session),
    )
    return DataFrame(jvm.java_session(session).baseRelationToDataFrame(relation), session)


def _is_of_the_commit(checksum: Any, snapshot: Any) -> bool:
    """Whether the version's commit is the one that the checksum was written for.

    A table whose newest commits were taken away, as when it is put back, may have kept their
    checksums; its next commits have the same numbers.
    """
    known = checksum.txnId()
    if not known.isDefined():  # ours (trials)
        return True
    mark = mark_of(snapshot)
    return mark is None or mark == str(known.get())


def mark_of(snapshot: Any, version: int | None = None) -> str | None:
    """The mark of a version's commit (:func:`.commit_mark`); None: the log does not tell.

    Args:
        snapshot: Of the table.
        version: None: the snapshot's own.
    """
    path = str(snapshot.deltaLog().dataPath().toString())
    return commit_mark(path, int(snapshot.version()) if version is None else version)
