"""What Spark throws, as errors that say in one line what failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from freshline.core.errors import FreshlineError, PlatformError, UserError
from freshline.project.model import Project, TableDef
from freshline.spark.engine.columns import EMPTY_PARTITION, OTHER_PARTITION

SparkError = (PySparkException, Py4JError)
"""What a call into Spark may raise."""

_MOST_CHARACTERS = 300
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_STATE = re.compile(r"SQLSTATE: (\w{5})")
_GONE = re.compile(
    r"FILE_NOT_EXIST|FILE_NOT_FOUND|FileNotFoundException|No such file or directory"
    r"|DELTA_MISSING_CHANGE_DATA|DELTA_MISSING_PART_FILES|DELTA_VERSIONS_NOT_CONTIGUOUS"
    r"|DELTA_VERSION_NOT_FOUND|DELTA_CANNOT_FIND_VERSION|DELTA_CDC_START_VERSION_AFTER_LATEST"
    r"|DELTA_(?:TABLE|PATH|LOG)_[A-Z_]*NOT_(?:FOUND|EXIST)|TIMESTAMP_OUT_OF_RANGE|PATH_NOT_FOUND"
    r"|DELTA_CHANGE_DATA_FEED_INCOMPATIBLE|DELTA_CANNOT_RECONSTRUCT|VERSION_INVALID"
    r"|DELTA_TRUNCATED_TRANSACTION_LOG|load a non-existent version"
)
_OF_STORES = re.compile(
    r"(?:java\.(?:net|io|nio)|javax\.net|org\.apache\.(?:hadoop|http)|com\.amazonaws"
    r"|software\.amazon|com\.microsoft\.azure|com\.azure|com\.google)\."
)
"""Exceptions of the network, of stores and of file systems; others may tell what a row holds."""
_OF_THE_PLATFORM = re.compile(
    r"ExpiredToken|InvalidToken|TokenRefreshRequired|token (?:\w+ )?has expired"
    r"|InvalidAccessKeyId|SignatureDoesNotMatch|RequestTimeTooSkewed|AuthenticationFailed"
    r"|NoAuthWithAWS|NoAwsCredentials|CredentialInitialization|Unable to load .*credentials"
    r"|NoSuchBucket|UnknownStore|[Ss]tatus [Cc]ode:? (?:401|429|5\d\d)|SlowDown"
    r"|Service ?Unavailable"
    r"|AWSServiceThrottled|AWSStatus500|AWSServiceIO|ApiCallTimeout|Unable to execute HTTP request"
    r"|UnknownHost|NoRouteToHost|ConnectException|ConnectTimeout|SocketTimeout|SocketException"
    r"|ConnectionPoolTimeout|Connection (?:refused|reset|timed out)|Read timed out"
    r"|Network is unreachable|No space left on device|Too many open files|Stale file handle"
)
_OF_SPARK = re.compile(r"org\.apache\.spark\.|java\.lang\.IllegalStateException$")
_ENDED = re.compile(
    r"\[SPARK_JOB_CANCELLED|(?:Job|Stage)\b[^:]* SparkContext was shut down"
    r"|SparkContext has been shutdown|Cannot call methods on a stopped SparkContext"
)
_TASK = (
    r"Job aborted due to stage failure: Task [^:]+: Lost task [\d.]+ in stage [\d.]+ \(TID \d+\)"
    r" \([^()]*\): "
)
_LOST = re.compile(rf"{_TASK}ExecutorLostFailure\b")
_OVERTAXED = re.compile(
    rf"{_TASK}[\w.]*(?:OutOfMemoryError|FetchFailed)"
    rf"|(?:{_TASK}[\w.]*SparkException: )?Python worker exited unexpectedly"
    r"|(?:Job aborted due to stage failure: )?\w*Stage \d+ .{0,300}?has failed the maximum"
    r"|Could not execute broadcast in|Not enough memory to build and broadcast"
    r"|Can't acquire \d+ bytes|Could not allocate memory|There is not enough memory",
    re.DOTALL,
)
"""How messages of Spark's own begin that tell of its end, of an executor's, and of its limits.

Further behind may stand what a row holds.
"""
_OF_THE_MACHINE = re.compile(
    r"OutOfMemoryError$|\.FetchFailedException$|^java\.util\.concurrent\.TimeoutException$"
    r"|\bdelta\.(?:\w+\.)*\w*(?:Concurrent|MetadataChanged|ProtocolChanged)\w*$"
)
"""Classes of what is thrown where the machine, or another commit, is in the way."""
_DENIED = re.compile(
    r"AccessDenied|Access Denied|[Ss]tatus [Cc]ode:? 403|: 403 |403 Forbidden"
    r"|AuthorizationPermissionMismatch"
)
_DECORATION = re.compile(r"^\[[A-Z0-9_.]+\]\s*|\s*SQLSTATE: \w+.*$", re.DOTALL)


def condition(error: BaseException) -> str:
    """Spark's name for what happened, such as UNRESOLVED_COLUMN; empty where it has none."""
    found = _CONDITION.match(message(error))
    return found[1] if found else ""


NO_FILES = (
    "a feed's rows do not say here from which file they are: _metadata is a column of Spark's own"
    " readers of files"
)
"""The rule behind :func:`asks_for_files`."""
NO_FILES_STEP = "Leave the column out, or have the files' producer write it into the records."


def asks_for_files(error: BaseException) -> bool:
    """Whether a query names ``_metadata``, which Spark's files have and a feed here has not."""
    return condition(error).startswith("UNRESOLVED_") and "`_metadata`" in message(error)


def sql_state(error: BaseException) -> str:
    """The SQLSTATE of what happened; empty where it has none."""
    found = _STATE.search(message(error))
    return found[1] if found else ""


def one_line(error: BaseException) -> str:
    """The message's first paragraph in one line, without Spark's decoration."""
    text = _DECORATION.sub("", message(error).split("\n==")[0])
    line = " ".join(text.split())
    if len(line) > _MOST_CHARACTERS:
        line = line[: _MOST_CHARACTERS - 1] + "\u2026"
    return line.rstrip(".") or type(error).__name__


def message(error: BaseException) -> str:
    """The message that tells most: the innermost that Spark has a name for, else the innermost.

    Spark wraps what happened in a task into "task failed while writing rows" and the like.
    """
    told = [text for text in _chain(error) if text.strip()]
    named = [text for text in told if _CONDITION.match(text)]
    if not named:
        return told[-1] if told else ""
    if "NO_HINT" in named[-1].split("]")[0]:  # it names the file; what is wrong is below it
        return told[-1]
    return named[-1]


def _thrown(error: BaseException) -> Any:
    """What Java threw; None where nothing was."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None)


def _causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """Class and message of what Java threw, down to its root."""
    cause = _thrown(error)
    while cause is not None:
        yield str(cause.getClass().getName()), str(cause.getMessage() or "").strip()
        cause = cause.getCause()


def _of_stores(error: BaseException) -> list[str]:
    """What exceptions of stores, of the network and of file systems say, each behind its class."""
    told = (f"{kind}: {text}" for kind, text in _causes(error))
    return [text for text in told if _OF_STORES.match(text)]


def _of_spark(error: BaseException) -> list[str]:
    """What exceptions of Spark's own say."""
    if _thrown(error) is None:
        return _chain(error)
    return [text for kind, text in _causes(error) if _OF_SPARK.match(kind)]


def _chain(error: BaseException) -> list[str]:
    """The messages from the exception down to its root."""
    if _thrown(error) is None:
        return [str(error).split("\n\tat ")[0].strip()]
    told = []
    for kind, text in _causes(error):
        if " " not in text:  # of a class that is not found, Java says its name alone
            told.append(f"{kind}: {text}" if text else kind)
        else:
            told.append(text)
    return told


def is_gone(error: BaseException) -> bool:
    """Whether Spark did not find what a table's log promises: VACUUM was there before."""
    return any(_GONE.search(text) for text in _chain(error))


def is_of_the_platform(error: BaseException) -> bool:
    """Whether a store, the network or Spark itself failed, whatever was to be read."""
    if any(map(_OF_THE_PLATFORM.search, _of_stores(error))):
        return True
    return has_lost_executors(error) or any(map(_ENDED.match, _of_spark(error)))


def has_lost_executors(error: BaseException) -> bool:
    """Whether executors ended while they worked: the machine's fault, or what they read is."""
    return any(map(_LOST.match, _of_spark(error)))


def is_of_the_machine(error: BaseException) -> bool:
    """Whether something below the query failed, such as memory or a shuffle, and no row did.

    Not asked the other way round: many errors of rows have neither a SQLSTATE nor a class of
    Spark's (a bad format of ``format_string``, a sequence that ends before it begins).
    """
    if is_of_the_platform(error) or is_denied(error) or isinstance(error, Py4JNetworkError):
        return True
    if any(map(_OVERTAXED.match, _of_spark(error))) or _has_not_read_a_file(error):
        return True
    return any(_OF_THE_MACHINE.search(kind) for kind, _ in _causes(error))


def _has_not_read_a_file(error: BaseException) -> bool:
    """Whether a store did not give out all of a file.

    Not where Java itself cannot make sense of one, which may be an old one that changes are in.
    """
    if not any(text.startswith("[FAILED_READ_FILE") for text in _of_spark(error)):
        return False
    return any(not text.startswith("java.io.IOException: ") for text in _of_stores(error))


def is_denied(error: BaseException) -> bool:
    """Whether a store refused to give something out.

    For a look that has no answer's text S3 says no more where credentials have expired.
    """
    return any(map(_DENIED.search, _of_stores(error)))


def _next_step(table: TableDef, name: str) -> str:
    """What to do about a query that failed with this condition of Spark's."""
    if table.kind == "derived" and name.startswith("UNRESOLVED_COLUMN"):
        # The query may be right: a base table has a new column from its next append on.
        return (
            "Correct the query. If the column was just added to a table that it reads, the view is"
            " built once that table has new rows, or after `freshline refresh TABLE --full`."
        )
    return "Correct the query or the data that it reads."


def _former_partition(table: TableDef, reason: str) -> str | None:
    """What to do about a value of a column that the definition's PARTITIONED BY has no longer."""
    told = reason.lower()
    if any(f"partition column {name.lower()} " in told for name in table.partitioned_by):
        return None
    return (
        "PARTITIONED BY no longer has the column, but the table is divided by it until"
        f" `freshline refresh {table.name} --full`."
    )


def update_failed(project: Project, table: TableDef, error: BaseException) -> FreshlineError:
    """The error to report for an update that Spark could not carry out.

    A fault in the data that the query met (SQLSTATE class 22) or in the query itself (42) is
    the user's to correct; anything else is the platform's.
    """
    reason = one_line(error)
    if any("No space left on device" in text for text in _chain(error)):
        return PlatformError(
            "disk-full",
            f"table {table.name} was not updated: no space left on device",
            next_step="Nothing was lost; the update is tried again. Make room where the"
            " storage or Spark's local directory is.",
        )
    if any(EMPTY_PARTITION in text for text in _chain(error)):
        return UserError(
            "empty-partition",
            f"table {table.name} was not updated: {reason}",
            where=table.query_place,
            rule="a column of PARTITIONED BY holds no empty text",
            next_step=_former_partition(table, reason)
            or "Write nullif(column, '') AS column in the query, or partition by another.",
        )
    if any(OTHER_PARTITION in text for text in _chain(error)):
        return UserError(
            "lost-partition",
            f"table {table.name} was not updated: {reason}",
            where=table.query_place,
            rule="Delta reads a value of a column of PARTITIONED BY from its text",
            next_step=_former_partition(table, reason)
            or "Partition by another column, such as CAST(time AS DATE) AS day.",
        )
    state = sql_state(error)
    name = condition(error)
    if name == "DELTA_BLOCK_COLUMN_MAPPING_AND_CDC_OPERATION":
        path = project.table_path(table.name)
        again = f"delete it; then `freshline refresh {table.name} --full`"
        if table.kind == "base":
            again = f"keep a copy of it, and {again} loads the files that are still in the feed"
        return UserError(
            "columns-mapped",
            f"table {table.name} was not updated: its columns are mapped, and are no longer its"
            " query's",
            where=table.place,
            rule="of a table with mapped columns and a change feed Delta does not drop or rename"
            " columns in a commit with rows",
            next_step=f"The table's folder is {path}: {again}.",
        )
    shown = f"{reason} ({name})" if name else reason
    if state[:2] in ("22", "42"):
        return UserError(
            "query-failed",
            f"the query of table {table.name} failed: {shown}",
            where=table.query_place,
            next_step=_next_step(table, name),
        )
    return PlatformError(
        "update-failed",
        f"table {table.name} was not updated: {shown}",
        where=table.place,
        next_step="The update is tried again.",
    )
