"""What the Delta log says changed between two versions of a table; read without Spark.

Where a table only gained rows, the files that its commits added are those rows, and reading
just them is the cheapest way to the changes. Where rows were deleted or rewritten, only the
change feed tells which; the log still says how much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from freshline.delta.log import local_log
from freshline.delta.log_files import unreadable
from freshline.delta.metadata import decode

_GLOB = re.compile(r"[*?\[\]{}\\]")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CUT_OFF_US = 999


_WHOLE_MINUTES_SINCE = datetime(1973, 1, 1, tzinfo=UTC)
"""Statistics tell a zone's offset in minutes; the last that had seconds was Monrovia's in 1972."""


class ChangesGoneError(Exception):
    """What changed can no longer be told: log files, data files or the change feed are gone."""


@dataclass(frozen=True, slots=True)
class _Statistics:
    """What the log says of a column's values in one file: the ends, and which there are at all."""

    first: Any
    last: Any
    nulls: bool
    values: bool


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A data file that a commit added.

    Attributes:
        path: Where it is, or was: VACUUM may have removed it.
        partition: Value of each partition column as text; None for NULL.
        stats: What the log says of its rows, as JSON; empty where it says nothing.
        size_bytes: Of the file.
        modified_ms: When it was written, in milliseconds since the epoch.
    """

    path: str
    partition: Mapping[str, str | None]
    stats: str = ""
    size_bytes: int = 0
    modified_ms: int = 0

    def times_us(self, column: str) -> tuple[tuple[int, int] | None, bool] | None:
        """First and last time that a TIMESTAMP column can have in it, and whether NULL is there.

        Args:
            column: A top-level column, by its name in any case.

        Returns:
            Microseconds since the epoch, not narrower than what is there; None: the log does
            not tell.
        """
        found = self._statistics(column)
        if found is None:
            return None
        if not found.values:
            return None, found.nulls
        try:
            lo, hi = datetime.fromisoformat(found.first), datetime.fromisoformat(found.last)
            first_us, last_us = ((each - _EPOCH) // _MICROSECOND for each in (lo, hi))
        except (TypeError, ValueError):  # no text, no time, or none that names its zone
            return None
        if lo < _WHOLE_MINUTES_SINCE:
            return None
        # Delta cuts both off to milliseconds.
        return (first_us, last_us + _CUT_OFF_US), found.nulls

    def numbers(self, column: str) -> list[tuple[int, int]] | None:
        """The closed interval of the values of a column of whole numbers or dates, NULL apart.

        Args:
            column: A top-level column, by its name in any case.

        Returns:
            Not narrower than what is there, dates as days since 1970; empty where all is NULL;
            None: the log does not tell.
        """
        found = self._statistics(column)
        if found is None:
            return None
        if not found.values:
            return []
        first, last = (_number(each) for each in (found.first, found.last))
        return None if first is None or last is None else [(first, last)]

    def _statistics(self, column: str) -> _Statistics | None:
        stats = json.loads(self.stats) if self.stats else {}
        nulls, rows = _of(stats.get("nullCount"), column), stats.get("numRecords")
        if not isinstance(nulls, int) or rows is None:
            return None
        first, last = (_of(stats.get(each), column) for each in ("minValues", "maxValues"))
        return _Statistics(first, last, nulls=nulls > 0, values=nulls < rows)


@dataclass(frozen=True, slots=True)
class ReplacedTimes:
    """What a commit of ours says of the rows that it replaced.

    Attributes:
        column: A TIMESTAMP column of the table.
        spans_us: Closed intervals in which its values lie, in all of these rows.
        null: Whether it can be NULL in them.
    """

    column: str
    spans_us: tuple[tuple[int, int], ...]
    null: bool


@dataclass(frozen=True, slots=True)
class LoggedChanges:
    """What commits did to a table's rows; compaction, which changes none, is passed over.

    Attributes:
        added: The files added.
        rewrote: Rows were deleted or updated, so the added files are not all there is to say.
        redefined: The columns, the partitioning or the properties changed.
        lost: Columns that were dropped or renamed, so that rows have no longer their values in
            them, in lower case, with what is in front of a nested one; None: it is not told which.
        rows: Change rows: what a commit with a change feed of ours says, else those in the
            files added and removed, the most that there can be.
        size_bytes: Of what has to be read for them: files added, or of the change feed.
        readable: Whether :attr:`added` can be read as they are: no deletion vectors, no
            characters in a path that Spark takes for patterns.
        replaced: What each commit that changed rows says of them; None: not every one does.
    """

    added: tuple[AddedFile, ...] = field(default=())
    rewrote: bool = False
    redefined: bool = False
    lost: frozenset[str] | None = frozenset()
    rows: int = 0
    size_bytes: int = 0
    readable: bool = True
    replaced: tuple[ReplacedTimes, ...] | None = ()

    def __bool__(self) -> bool:
        return bool(self.added) or self.rewrote or self.redefined


def logged_changes(path: str, since: int, until: int) -> LoggedChanges | None:
    """What the commits ``since`` + 1 to ``until`` did; None where the log is not on this machine.

    Raises:
        ChangesGoneError: One of the commits' files was cleaned up.
        PlatformError: The log cannot be read.
    """
    folder = local_log(path)
    if folder is None:
        return None
    tally = _Tally(folder.parent)
    for number in range(since + 1, until + 1):
        file = folder / f"{number:020d}.json"
        try:
            with file.open(encoding="utf-8") as lines:
                tally.take([json.loads(line) for line in lines])
        except FileNotFoundError as error:
            raise ChangesGoneError(f"commit {number} of {path} was cleaned up") from error
        except (OSError, ValueError) as error:
            raise unreadable(file, error) from error
    return tally.result()


class _Tally:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._added: list[AddedFile] = []
        self._rewrote = self._redefined = False
        self._lost: frozenset[str] | None = frozenset()
        self._rows = self._bytes = 0
        self._readable = True
        self._replaced: list[ReplacedTimes] | None = []

    def take(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Take one commit into account."""
        rows = size_bytes = feed_bytes = 0
        told: int | None = None
        fed = changed = False
        facts: Mapping[str, Any] = {}
        for action in actions:
            added, removed = action.get("add"), action.get("remove")
            if added is not None and added.get("dataChange", True):
                changed = True
                self._add(added)
                rows += _rows(added.get("stats"))
                size_bytes += int(added.get("size") or 0)
            elif removed is not None and removed.get("dataChange", True):
                changed = self._rewrote = True
                rows += _rows(removed.get("stats"))
            elif "cdc" in action:
                changed = self._rewrote = fed = True
                feed_bytes += int(action["cdc"].get("size") or 0)
            elif "metaData" in action:
                self._redefined = True
            elif "commitInfo" in action:
                facts = decode(action["commitInfo"].get("userMetadata")) or {}
                told = facts.get("changes")
                if self._lost is not None:
                    lost = _lost(action["commitInfo"])
                    self._lost = None if lost is None else self._lost | lost
        if changed:
            self._tell(facts.get("replaced"))
        # With a change feed the files also hold rows that only moved from one to another.
        self._rows += told if fed and told is not None else rows
        self._bytes += feed_bytes if fed else size_bytes

    def _tell(self, said: Mapping[str, Any] | None) -> None:
        if said is None:
            self._replaced = None
        if said is None or self._replaced is None:
            return
        spans_us = tuple((int(first), int(last)) for first, last in said["us"])
        self._replaced.append(ReplacedTimes(str(said["column"]), spans_us, bool(said["null"])))

    def _add(self, added: Mapping[str, Any]) -> None:
        name = unquote(str(added["path"]))
        self._readable &= ":/" not in name and not _GLOB.search(name)
        # With a deletion vector the file has rows that are not the table's.
        self._readable &= added.get("deletionVector") is None
        # Delta reads an empty partition value as NULL, whichever program wrote it.
        partition = {k: v or None for k, v in (added.get("partitionValues") or {}).items()}
        stats = added.get("stats") or ""
        size_bytes, modified_ms = (
            int(added.get("size") or 0),
            int(added.get("modificationTime") or 0),
        )
        path = str(self._root / name)
        self._added.append(AddedFile(path, partition, stats, size_bytes, modified_ms))

    def result(self) -> LoggedChanges:
        return LoggedChanges(
            tuple(self._added),
            self._rewrote,
            self._redefined,
            self._lost,
            self._rows,
            self._bytes,
            self._readable,
            None if self._replaced is None else tuple(self._replaced),
        )


def _lost(info: Mapping[str, Any]) -> frozenset[str] | None:
    """The columns that a commit dropped or renamed; None: it does not tell which."""
    operation, given = info.get("operation"), info.get("operationParameters") or {}
    try:
        if operation == "DROP COLUMNS":
            columns = [str(each) for each in json.loads(given["columns"])]
        elif operation == "RENAME COLUMN":
            columns = [str(given["oldColumnPath"])]
        else:
            return None if operation == "REPLACE COLUMNS" else frozenset()
    except (KeyError, TypeError, ValueError):
        return None
    # In backquotes a name can have a point of its own.
    return None if "`" in "".join(columns) else frozenset(each.lower() for each in columns)


def _of(values: Any, column: str) -> Any:
    """What statistics say of a column; None where they say nothing."""
    wanted = column.lower()
    return next((each for name, each in (values or {}).items() if name.lower() == wanted), None)


def _number(value: Any) -> int | None:
    """A whole number of statistics, or the days of a date since 1970; None: it is neither."""
    if type(value) is int:
        return value
    try:
        return date.fromisoformat(value).toordinal() - _EPOCH.toordinal()
    except (TypeError, ValueError):
        return None


def _rows(stats: str | None) -> int:
    return int(json.loads(stats).get("numRecords") or 0) if stats else 0
