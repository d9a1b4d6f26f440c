"""What a table's Delta log says of our updates; read without Spark.

A commit of ours carries the metadata of :mod:`freshline.delta.metadata`; others (the empty
version 0, a VACUUM, somebody's ALTER TABLE) are passed over. On this machine's file system
the log's JSON files are read directly, which takes under a millisecond; elsewhere delta-rs
reads them.

Delta removes log files older than the table's delta.logRetentionDuration when it makes a
checkpoint. Tables are created with a retention of a hundred years; commits that nobody needs are
removed by :mod:`freshline.spark.upkeep.vacuum`, of a base table once what they loaded is folded
(:mod:`freshline.delta.loaded`). :func:`oldest_version` tells what remains.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from freshline.core.errors import PlatformError
from freshline.delta.metadata import BACKFILL, COMPACT, decode
from freshline.delta.stores import delta_table

_COMMIT_FILE = re.compile(r"(\d{20})\.json\Z")

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
    ours = _newest_first(path)
    return next((each for each in ours if until is None or each.version <= until), None)


def last_update(path: str) -> CommitRecord | None:
    """The newest commit of ours that changed rows; None where there is none any more.

    Raises:
        PlatformError: The log cannot be read.
    """
    ours = _newest_first(path)
    return next((each for each in ours if each.metadata.get("strategy") != COMPACT), None)


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
    folder = local_log(path)
    if folder is not None:
        try:
            return _record(folder, number)
        except FileNotFoundError:
            return None
    return next((each for each in _by_delta_rs(path, None) if each.version == number), None)


def commit_mark(path: str, number: int) -> str | None:
    """The mark of any commit; None where it is gone, or the log is not on this machine.

    A table that was put back from a copy has other commits under numbers that it had before.

    Raises:
        PlatformError: The log cannot be read.
    """
    folder = local_log(path)
    if folder is None:
        return None
    try:
        info = next(_actions(folder, number, "commitInfo"), None)
    except FileNotFoundError:
        return None
    return None if info is None else _mark(info)


def commits(path: str, since: int = -1) -> Iterator[CommitRecord]:
    """Commits of ours with a version above ``since``, oldest first.

    Raises:
        PlatformError: The log cannot be read.
    """
    folder = local_log(path)
    if folder is None:
        yield from sorted(
            (record for record in _by_delta_rs(path, None) if record.version > since),
            key=lambda record: record.version,
        )
        return
    number = since + 1
    if not _exists(folder, number):  # none came since, or the oldest were cleaned up
        newest = _newest(folder)
        if newest is None or newest <= since:
            return
        number = min(version for version in _versions(folder) if version > since)
    while True:
        try:
            record = _record(folder, number)
        except FileNotFoundError:
            return
        if record is not None:
            yield record
        number += 1


def newest_transaction(path: str, application: str) -> int | None:
    """The number of the newest transaction under an application's name; -1 where there is none.

    None: the newest commits do not tell, or the log is not on this machine.

    Raises:
        PlatformError: The log cannot be read.
    """
    folder = local_log(path)
    if folder is None:
        return None
    newest = _newest(folder)
    if newest is None:
        return -1
    try:
        for version in range(newest, max(-1, newest - _OTHERS), -1):
            for said in _actions(folder, version, "txn"):
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
        for record in commits(path, since=older):
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
    folder = local_log(path)
    if folder is not None:
        return _newest(folder)
    table = _delta_rs(path)
    return None if table is None else int(table.version())


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
    folder = local_log(path)
    if folder is not None:
        return min(_versions(folder), default=None)
    table = _delta_rs(path)
    return None if table is None else min(int(entry["version"]) for entry in table.history())


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


def _versions(folder: Path) -> list[int]:
    """All versions that have a commit file, in no order."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names alone, thousands of them
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(folder, error) from error
    found = (_COMMIT_FILE.match(name) for name in names)
    return [int(match[1]) for match in found if match]


def _newest_first(path: str) -> Iterator[CommitRecord]:
    folder = local_log(path)
    if folder is None:
        yield from _by_delta_rs(path, 20)
        return
    newest = _newest(folder)
    for number in range(-1 if newest is None else newest, -1, -1):
        try:
            record = _record(folder, number)
        except FileNotFoundError:
            return  # the older ones were cleaned up
        if record is not None:
            yield record


def _newest(folder: Path) -> int | None:
    """The newest version that has a commit file.

    A log is listed only while it has no checkpoint: it may hold a hundred thousand names, and
    versions follow each other without gaps.
    """
    known = last_checkpoint(folder)
    if known is None or not _exists(folder, known):
        return max(_versions(folder), default=None)
    step = 1
    while _exists(folder, known + step):
        known, step = known + step, 2 * step
    while step > 1:
        step //= 2
        if _exists(folder, known + step):
            known += step
    return known


def last_checkpoint(folder: Path) -> int | None:
    """The version of the checkpoint that was written last, by Delta's own note of it in a log."""
    try:
        return int(json.loads((folder / "_last_checkpoint").read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _commit_file(folder: Path, number: int) -> Path:
    return folder / f"{number:020d}.json"


def _exists(folder: Path, number: int) -> bool:
    try:
        return _commit_file(folder, number).exists()
    except OSError as error:
        raise unreadable(folder, error) from error


def _record(folder: Path, number: int) -> CommitRecord | None:
    """The commit of that version if it is ours.

    Raises:
        FileNotFoundError: There is no such commit any more.
        PlatformError: It cannot be read.
    """
    # It comes first in Spark's commits; other writers put it last.
    info = next(_actions(folder, number, "commitInfo"), None)
    return None if info is None else _ours(number, info)


def _actions(folder: Path, version: int, kind: str) -> Iterator[Mapping[str, Any]]:
    """What the commit of a version says of one kind, in order.

    Raises:
        FileNotFoundError: There is no such commit any more.
        PlatformError: It cannot be read.
    """
    file = _commit_file(folder, version)
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if f'"{kind}"' in line and (said := json.loads(line).get(kind)):
                    yield said
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from error


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


def _by_delta_rs(path: str, at_first: int | None) -> Iterator[CommitRecord]:
    """Commits of ours, newest first; ``at_first`` entries are tried before all are fetched."""
    table = _delta_rs(path)
    if table is None:
        return
    entries: Iterable[Mapping[str, Any]] = table.history(at_first)
    lowest = None
    for entry in entries:
        lowest = int(entry["version"])
        record = _ours(lowest, entry)
        if record is not None:
            yield record
    if at_first is None or lowest is None:
        return
    for entry in table.history():
        if int(entry["version"]) < lowest:
            record = _ours(int(entry["version"]), entry)
            if record is not None:
                yield record


def unreadable(where: Path | str, error: Exception) -> PlatformError:
    """The error to raise when a log cannot be read."""
    return PlatformError(
        "log-unreadable",
        f"the Delta log at {where} cannot be read: {error}",
        next_step="Check that the storage can be reached and the file is whole.",
    )
