"""What a table's Delta log says of our updates; read without Spark.

A commit of ours carries the metadata of :mod:`freshline.delta.metadata`; others (the empty
version 0, a VACUUM, somebody's ALTER TABLE) are passed over. The log's JSON files are read
directly: on this machine's file system each takes under a millisecond, elsewhere it is a request.

Delta removes log files older than the table's delta.logRetentionDuration when it makes a
checkpoint. Tables are created with a retention of a hundred years; commits that nobody needs are
removed by :mod:`freshline.spark.upkeep.vacuum`, of a base table once what they loaded is folded
(:mod:`freshline.delta.loaded`). :func:`oldest_version` tells what remains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from freshline.core.errors import PlatformError
from freshline.delta.log_files import FolderLog, StoreLog, unreadable
from freshline.delta.metadata import BACKFILL, COMPACT, decode
from freshline.delta.stores import delta_table

_COMMIT_FILE = re.compile(r"(\d{20})\.json\Z")
_Log = FolderLog | StoreLog

_reached: dict[Path, int] = {}
"""The newest version that was found in each log on this machine."""

_OTHERS = 20
"""Newest commits that are searched for a transaction; Delta itself knows what came before."""


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One commit of ours.

    Attributes:
        version: Its Delta version.
        timestamp_s: When it was made, seconds since the epoch, by the committer's clock.
        metadata: The fields of its userMetadata.
        mark: What tells it from a commit of the same version in another history of the table.
    """

    version: int
    timestamp_s: float
    metadata: Mapping[str, Any]
    mark: str = ""

    @property
    def update(self) -> int:
        """The number of the update that made it."""
        return int(self.metadata["update"])


def application(table: str) -> str:
    """The transaction identifier's application for a table."""
    return f"freshline.{table}"


def last_commit(path: str, until: int | None = None) -> CommitRecord | None:
    """The newest commit of ours; None where there is no table, or none of ours in it.

    Args:
        path: Of the table.
        until: The version up to which; None: the newest.

    Raises:
        PlatformError: The log cannot be read.
    """
    return next(_newest_first(path, until), None)


def last_update(path: str, until: int | None = None) -> CommitRecord | None:
    """The newest commit of ours that changed rows; None where there is none any more.

    Args:
        path: Of the table.
        until: The version up to which; None: the newest.

    Raises:
        PlatformError: The log cannot be read.
    """
    ours = _newest_first(path, until)
    return next((each for each in ours if each.metadata.get("strategy") != COMPACT), None)


def since_update(path: str, last: CommitRecord, until: int) -> list[tuple[int, int]]:
    """Where others may have committed about our last update: spans above one version, to another.

    Just before it, too: Delta lets a commit follow another one that does not touch what it read.

    Args:
        path: Of the table.
        last: A commit of ours. A fence or a compaction says of itself alone what it came after,
            so the update in front of it counts.
        until: The version up to which.

    Raises:
        PlatformError: The log cannot be read.
    """
    made = last
    if last.metadata.get("strategy") == COMPACT:
        made = last_update(path, last.version) or last
    after = int(made.metadata.get("after", made.version - 1))
    spans = ((after, made.version - 1), (made.version, until))
    return [(since, upto) for since, upto in spans if since < upto]


def last_load(path: str) -> CommitRecord | None:
    """The newest commit of a base table that loaded what it had not; None: none is there.

    Raises:
        PlatformError: The log cannot be read.
    """
    ours = _newest_first(path)
    others = (COMPACT, BACKFILL)
    return next((each for each in ours if each.metadata.get("strategy") not in others), None)


def commit_of(path: str, number: int) -> CommitRecord | None:
    """The commit that update ``number`` made; None where it made none that is still known.

    Raises:
        PlatformError: The log cannot be read.
    """
    for record in _newest_first(path):
        if record.update == number:
            return record
        if record.update < number:
            return None
    return None


def commit_at(path: str, number: int) -> CommitRecord | None:
    """The commit that made version ``number``; None where it is not ours, or gone.

    Raises:
        PlatformError: The log cannot be read.
    """
    found = next(_infos(_log(path), [number]), None)
    return None if found is None or found[1] is None else _ours(number, found[1])


def commit_mark(path: str, number: int) -> str | None:
    """The mark of any commit; None where it is gone, or the log is not on this machine.

    A table that was put back from a copy has other commits under numbers that it had before.

    Raises:
        PlatformError: The log cannot be read.
    """
    if local_log(path) is None:
        return None
    found = next(_infos(_log(path), [number]), None)
    return None if found is None or found[1] is None else _mark(found[1])


def commits(path: str, since: int = -1) -> Iterator[CommitRecord]:
    """Commits of ours with a version above ``since``, oldest first.

    The oldest may have been cleaned up.

    Raises:
        PlatformError: The log cannot be read, or commits are missing between others.
    """
    return _commits(path, since, _refuse_gap)


def commits_there(path: str, since: int = -1) -> Iterator[CommitRecord]:
    """The same, also where commits are missing: for whoever asks for the versions of those.

    Raises:
        PlatformError: The log cannot be read.
    """
    return _commits(path, since, lambda *_: None)


def whole_since(path: str, since: int) -> int:
    """The version after which every commit is there: ``since``, or the last that is missing.

    Raises:
        PlatformError: The log cannot be read.
    """
    there = set(_versions(_log(path)))
    number = max(there, default=since)
    while number > since and number in there:
        number -= 1
    return max(number, since)


def _commits(
    path: str, since: int, on_gap: Callable[[_Log, int, int], None]
) -> Iterator[CommitRecord]:
    log = _log(path)
    number = since + 1
    while True:
        for reached, info in _infos(log, count(number)):  # until one is not there
            number = reached + 1
            record = None if info is None else _ours(reached, info)
            if record is not None:
                yield record
        newest = _newest(log)
        if newest is None or newest < number:
            return
        if log.exists(number):
            continue  # it came this moment
        there = _versions(log)
        following = min((version for version in there if version > number), default=None)
        if following is None:
            return
        if number > since + 1 or min(there) < number:
            on_gap(log, number, following - 1)
        number = following


def _refuse_gap(log: _Log, first: int, last: int) -> None:
    raise PlatformError(
        "log-gap",
        f"commits {first} to {last} are missing in {log.folder}, between others",
        rule="what is in a table is known by all of its commits",
        next_step="Put them back from a copy; or move those before them away, if a copy that was"
        " laid over the table brought them. If a clean-up runs this moment, try again.",
    )


def newest_transaction(path: str, application: str) -> int | None:
    """The number of the newest transaction under an application's name; -1 where there is none.

    None: the newest commits do not tell, or the log is not on this machine.

    Raises:
        PlatformError: The log cannot be read.
    """
    if local_log(path) is None:
        return None
    log = _log(path)
    newest = _newest(log)
    if newest is None:
        return -1
    try:
        for version in range(newest, max(-1, newest - _OTHERS), -1):
            for said in _said(log, version, log.lines(version), "txn"):
                if said.get("appId") == application:
                    return int(said["version"])
    except FileNotFoundError:
        return None  # cleaned up
    return -1 if newest < _OTHERS else None


def last_transaction(path: str, application: str) -> int | None:
    """The number of the newest transaction under an application's name, as delta-rs finds it.

    It is known for ever, whatever commits were cleaned up. None: none is known, or delta-rs cannot
    read such a table.
    """
    from deltalake.exceptions import DeltaError

    try:
        found = delta_table(path).transaction_version(application)
    except (DeltaError, OSError):
        return None
    return None if found is None else int(found)


def same_rows(path: str, older: int, newer: int) -> bool:
    """Whether version ``newer`` has the rows of ``older``: only compactions lie between.

    Raises:
        PlatformError: The log cannot be read.
    """
    reached = older
    if reached < newer:
        for record in commits_there(path, since=older):
            if record.version != reached + 1 or record.metadata.get("strategy") != COMPACT:
                return False
            reached += 1
            if reached == newer:
                break
    return reached == newer


def version(path: str) -> int | None:
    """The table's newest version; None where there is no table.

    Raises:
        PlatformError: The log cannot be read.
    """
    return _newest(_log(path))


def size_bytes(path: str, version: int) -> int | None:
    """Size of the data files of one version, from its checksum file; None: not known.

    For estimates only: after a crash a version may lack the file.
    """
    size = _checksum(path, version).get("tableSizeBytes")
    return None if size is None else int(size)


def table_id(path: str, version: int) -> str | None:
    """What tells the table from another one made later in its place; None: not known.

    From the version's checksum file, which other writers and a crash can leave out.
    """
    told = (_checksum(path, version).get("metadata") or {}).get("id")
    return None if told is None else str(told)


def checksum_rows(path: str, version: int) -> int | None:
    """Rows of one version as its checksum file tells, which it does of not too many files.

    For estimates only, as :func:`size_bytes`.
    """
    told = _told_rows(path, version)
    return None if told is None or None in told else sum(each or 0 for each in told)


def row_count(path: str, version: int) -> int | None:
    """Rows of one version, from its files' statistics; None where the log does not tell.

    To be shown only: rows that deletion vectors leave out are counted too.
    """
    if _told_rows(path, version) is not None:
        return checksum_rows(path, version)
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    try:
        actions = delta_table(path, version).get_add_actions(flatten=False)
        counts = pa.table(actions)["num_records"].to_pylist()
    except (DeltaError, OSError, KeyError):
        return None
    return None if None in counts else sum(counts)


def _told_rows(path: str, version: int) -> list[int | None] | None:
    """Rows of each file of a version; None: its checksum file does not list them all."""
    known = _checksum(path, version)
    files = known.get("allFiles")  # while there are not too many
    if files is None or len(files) != known.get("numFiles"):
        return None
    return [json.loads(file.get("stats") or "{}").get("numRecords") for file in files]


def _checksum(path: str, version: int) -> dict[str, Any]:
    """What Delta writes beside a commit of the version's sum of files; empty: it is not there."""
    folder = local_log(path)
    if folder is None:
        return {}
    try:
        found = json.loads((folder / f"{version:020d}.crc").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def oldest_version(path: str) -> int | None:
    """The oldest version whose commit can still be read; 0 where nothing was cleaned up.

    Raises:
        PlatformError: The log cannot be read.
    """
    return min(_versions(_log(path)), default=None)


def local_log(path: str) -> Path | None:
    """The folder of the log when the table is on this machine's file system.

    Args:
        path: A path, a URI (``file:///a%20b``), or as Hadoop writes it (``file:/a b``).
    """
    if path.startswith("file:/") and not path.startswith("file://"):
        return Path(path.removeprefix("file:")) / "_delta_log"
    parts = urlsplit(path)
    if path.startswith("/") or not parts.scheme:
        return Path(path) / "_delta_log"
    if parts.scheme == "file":
        return Path(unquote(parts.path)) / "_delta_log"
    return None


def _log(path: str) -> _Log:
    folder = local_log(path)
    return StoreLog(path) if folder is None else FolderLog(folder)


def _versions(log: _Log) -> list[int]:
    """All versions that have a commit file, in no order."""
    found = (_COMMIT_FILE.match(name) for name in log.names())
    return [int(match[1]) for match in found if match]


def _newest_first(path: str, until: int | None = None) -> Iterator[CommitRecord]:
    log = _log(path)
    newest = _newest(log)
    first = -1 if newest is None else newest if until is None else min(newest, until)
    for number, info in _infos(log, range(first, -1, -1)):
        record = None if info is None else _ours(number, info)
        if record is not None:
            yield record


def _newest(log: _Log) -> int | None:
    """The newest version that has a commit file.

    A log may hold a hundred thousand names, so one with a checkpoint is listed once in a process:
    a copy that was laid over it brings back the note of an older checkpoint, and the commits that
    follow that end before the table's newest. Of a log in a store delta-rs tells it.
    """
    if isinstance(log, StoreLog):
        table = _delta_rs(log.path)
        return None if table is None else int(table.version())
    noted, reached = last_checkpoint(log.folder), _reached.get(log.folder)
    is_known = reached is not None and log.exists(reached)
    if noted is None or not is_known or not log.exists(noted):
        known = max(_versions(log), default=None)
    else:
        known = _followed(log, max(noted, reached or 0))
    if known is not None:
        _reached[log.folder] = known
    return known


def _followed(log: FolderLog, known: int) -> int:
    """The newest version that follows one which is there."""
    step = 1
    while log.exists(known + step):
        known, step = known + step, 2 * step
    while step > 1:
        step //= 2
        if log.exists(known + step):
            known += step
    return known


def last_checkpoint(folder: Path) -> int | None:
    """The version of the checkpoint that was written last, by Delta's own note of it in a log."""
    try:
        return int(json.loads((folder / "_last_checkpoint").read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _infos(log: _Log, numbers: Iterable[int]) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """What commits say of themselves, until one is not there."""
    try:
        for number, lines in log.all_lines(numbers):
            # It comes first in Spark's commits; other writers put it last.
            yield number, next(_said(log, number, lines, "commitInfo"), None)
    except FileNotFoundError:
        return


def _said(log: _Log, number: int, lines: Iterable[str], kind: str) -> Iterator[Mapping[str, Any]]:
    """What the commit of a version says of one kind, in order.

    Raises:
        FileNotFoundError: There is no such commit any more.
        PlatformError: It cannot be read.
    """
    try:
        for line in lines:
            if f'"{kind}"' in line and (said := json.loads(line).get(kind)):
                yield said
    except ValueError as error:
        raise unreadable(log.file(number), error) from error


def _ours(number: int, info: Mapping[str, Any]) -> CommitRecord | None:
    fields = decode(info.get("userMetadata"))
    if fields is None:
        return None
    return CommitRecord(number, float(info.get("timestamp", 0)) / 1000, fields, _mark(info))


def _mark(info: Mapping[str, Any]) -> str:
    """Spark gives each commit an identifier of its own; other writers tell its millisecond."""
    return str(info.get("txnId") or info.get("timestamp", ""))


def _delta_rs(path: str) -> Any:
    """The table as delta-rs sees it; None where there is none."""
    from deltalake.exceptions import TableNotFoundError

    try:
        return delta_table(path)
    except TableNotFoundError:
        return None
    except Exception as error:
        raise unreadable(path, error) from error
