"""What Spark throws, as errors that say in one line what failed."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from freshline.core.errors import FreshlineError, PlatformError, UserError
from freshline.project.model import TableDef

SparkError = (PySparkException, Py4JError)
"""What a call into Spark may raise."""

_MOST_CHARACTERS = 300
_NOISE = re.compile(r"^\[[A-Z0-9_.]+\]\s*|\s*SQLSTATE: \w+.*$", re.DOTALL)


def condition(error: BaseException) -> str:
    """Spark's name for what happened, such as UNRESOLVED_COLUMN; empty where it has none."""
    if isinstance(error, PySparkException):
        return error.getCondition() or ""
    found = re.search(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]", _text(error))
    return found[1] if found else ""


def one_line(error: BaseException) -> str:
    """The message's first paragraph in one line, without Spark's decoration."""
    text = _text(error)
    text = _NOISE.sub("", text.split("\n\tat ")[0].split("\n==")[0])
    line = " ".join(text.split())
    if len(line) > _MOST_CHARACTERS:
        line = line[: _MOST_CHARACTERS - 1] + "\u2026"
    return line.rstrip(".") or type(error).__name__


def _text(error: BaseException) -> str:
    """The message of the exception, or of the Java exception at its root."""
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        return str(cause.getMessage() or cause.getClass().getName())
    return str(error)


def update_failed(table: TableDef, error: BaseException) -> FreshlineError:
    """The error to report for an update that Spark could not carry out.

    A fault in the data that the query met (SQLSTATE class 22) or in the query itself (42) is
    the user's to correct; anything else is the platform's.
    """
    whole = _text(error)
    reason = one_line(error)
    if "No space left on device" in whole:
        return PlatformError(
            "disk-full",
            f"table {table.name} was not updated: no space left on device",
            next_step="Nothing was lost; the update is tried again. Make room where the"
            " storage or Spark's local directory is.",
        )
    state = error.getSqlState() if isinstance(error, PySparkException) else None
    name = condition(error)
    shown = f"{reason} ({name})" if name else reason
    if state and state[:2] in ("22", "42"):
        return UserError(
            "query-failed",
            f"the query of table {table.name} failed: {shown}",
            where=table.query_place,
            next_step="Correct the query or the data that it reads.",
        )
    return PlatformError(
        "update-failed",
        f"table {table.name} was not updated: {shown}",
        where=table.place,
        next_step="The update is tried again.",
    )
