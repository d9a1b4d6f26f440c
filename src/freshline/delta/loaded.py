"""What a base table has loaded, folded into one file, so that its old commits may go.

A lost journal is rebuilt from what was loaded: the newest of these files, and the commits after
the version that it names. It is made of the one before and the commits since, by nothing else,
before any commit goes (:mod:`freshline.spark.upkeep.vacuum`). The file before it stays, too.

Each names the commit that it was made at by its mark. A table that was put back from a copy has
other commits under the same numbers, which may have loaded other files: a fold whose commit is
not in the log says nothing of the table (docs/design/0155).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.arrivals import is_version
from freshline.delta.log import (
    commit_at,
    commits,
    commits_there,
    last_commit,
    local_log,
    whole_since,
)
from freshline.delta.metadata import loaded_names
from freshline.delta.stores import arrow_store
from freshline.durable import make_folder, sync_folder
from freshline.executor.offsets import is_range, joined_names
from freshline.executor.source import Held
from freshline.failpoints import failpoint
from freshline.project.model import Project


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a table had loaded at one version.

    Attributes:
        version: The version of its last commit of ours then.
        update: The number of the update that made it.
        mark: Of the commit that made it (:attr:`freshline.delta.log.CommitRecord.mark`).
        table_id: What tells the table from another one in its place; None: not known.
        names: Files, by the number of the update that loaded them; ranges of topics, joined, by
            that of the last update.
    """

    version: int
    update: int
    mark: str
    table_id: str | None
    names: dict[str, int]


def folded(project: Project, table: str) -> Loaded | None:
    """The newest that was folded of a table and is of the table and history that is there now.

    Raises:
        PlatformError: It cannot be read.
    """
    return _Folder(project, table).newest()


def is_of_feed(kind: str, name: str) -> bool:
    """Whether a name stands for something of a feed of that kind.

    A table that read a feed of another kind before has names of that one, too.
    """
    if kind == "kafka":
        return is_range(name)
    if kind == "delta":
        return is_version(name)
    return not (is_range(name) or is_version(name))


def loaded_until_now(project: Project, table: str) -> dict[str, int]:
    """Files that a table holds, by the number of the update that loaded them, as its log says.

    Raises:
        PlatformError: The log, or what was folded of it, cannot be read.
    """
    return _loaded(project.table_path(table), folded(project, table))


def is_covered(project: Project, table: str, since: int) -> bool:
    """Whether the log tells what was loaded above a version: it has every commit since.

    Some may have been cleaned up; or a copy was laid over the table, and some between others are
    gone. Or a later one loaded everything again, so that those before it say nothing any more.

    Raises:
        PlatformError: The log cannot be read.
    """
    path = project.table_path(table)
    whole = whole_since(path, since)
    return whole == since or any(_replaces(record.metadata) for record in commits(path, whole))


def fold(project: Project, table: str) -> int | None:
    """Fold what a table has loaded until now.

    Args:
        project: Of the table.
        table: A base table.

    Returns:
        The version up to which commits are no longer needed; None: nothing may go, since what
        earlier commits loaded is not known.

    Raises:
        PlatformError: Its log cannot be read, or the file not be written.
    """
    path = project.table_path(table)
    last = last_commit(path)
    if last is None:
        return None
    folder = _Folder(project, table)
    before = folder.newest()
    since = -1 if before is None else before.version
    if not is_covered(project, table, since):
        return None
    names = _loaded(path, before, last.version)
    if project.reads_topic(project.table(table)):
        files = {name: number for name, number in names.items() if not is_range(name)}
        ranges = joined_names(name for name in names if name not in files)
        names = files | dict.fromkeys(ranges, last.update)
    made = Loaded(last.version, last.update, last.mark, last.metadata.get("id"), names)
    if made != before:
        failpoint("fold.before")
        folder.write(made)
        failpoint("fold.after")
    return made.version


def _loaded(path: str, before: Loaded | None, until: int | None = None) -> dict[str, int]:
    """What was folded before, and what the commits since have loaded."""
    names = {} if before is None else dict(before.names)
    for record in commits_there(path, -1 if before is None else before.version):
        if until is not None and record.version > until:
            break
        if _replaces(record.metadata):
            names = {}
        elif record.metadata.get("full"):
            # A Delta table took the place of what was loaded, and may show the same rows: files
            # that were loaded before stay so, as in the journal.
            names = {each: number for each, number in names.items() if not is_version(each)}
        names.update(dict.fromkeys(loaded_names(record.metadata), record.update))
    return names


def _replaces(metadata: Mapping[str, Any]) -> bool:
    """Whether a commit loaded all files of its feed again, in place of those before."""
    return bool(metadata.get("full")) and Held.in_commit(metadata) is None


class _Folder:
    """The files of one table."""

    def __init__(self, project: Project, table: str) -> None:
        self._path = f"{project.own_path}/loaded/{table}"
        self._table = project.table_path(table)
        self._local = local_log(self._path) is not None
        self._fs: tuple[Any, str] | None = None
        self._before = ""

    def newest(self) -> Loaded | None:
        """The newest that is of the table and history that is there now."""
        last = last_commit(self._table)
        if last is None:
            return None
        try:
            for name in sorted(self._names(), reverse=True):
                found = self._read(name)
                if _is_of(self._table, found, last.version, last.metadata.get("id")):
                    self._before = name
                    return found
        except Exception as error:
            raise self._fault("read", error) from error
        return None

    def write(self, made: Loaded) -> None:
        """Add one, whole or not at all, and remove those before the one that it goes on from.

        Newer ones are of a history that the table was put back from: they stay until it has as
        many versions again, since the copy may have been the wrong one.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        facts = {
            "freshline": 1, "version": made.version, "update": made.update, "mark": made.mark,
            "id": made.table_id,
        }  # fmt: skip
        rows = pa.table(
            {
                "name": pa.array(made.names.keys(), pa.string()),
                "update": pa.array(made.names.values(), pa.int64()),
            }
        ).replace_schema_metadata({"freshline": json.dumps(facts)})
        # Of one version there can be several: of tables and histories in each other's place.
        version = f"{made.version:020d}-"
        last = max((each for each in self._names() if each.startswith(version)), default="")
        name = f"{version}{int(last[21:25]) + 1 if last else 0:04d}.parquet"
        try:
            if self._local:
                folder = self._folder()
                make_folder(folder)
                draft = folder / f".{name}.tmp"
                with draft.open("wb") as file:
                    pq.write_table(rows, file, compression="zstd", write_page_checksum=True)
                    file.flush()
                    os.fsync(file.fileno())
                failpoint("fold.draft")
                draft.replace(folder / name)
                sync_folder(folder)
            else:
                system, base = self._store()
                with system.open_output_stream(f"{base}/{name}") as stream:
                    pq.write_table(rows, stream, compression="zstd", write_page_checksum=True)
            for old in self._names():
                if old < name and old != self._before:
                    self._remove(old)
        except Exception as error:
            raise self._fault("written", error) from error

    def _read(self, name: str) -> Loaded:
        import pyarrow.parquet as pq

        if self._local:
            rows = pq.read_table(self._folder() / name, page_checksum_verification=True)
        else:
            system, base = self._store()
            with system.open_input_file(f"{base}/{name}") as file:
                rows = pq.read_table(file, page_checksum_verification=True)
        facts = json.loads((rows.schema.metadata or {})[b"freshline"])
        names = dict(zip(rows["name"].to_pylist(), rows["update"].to_pylist(), strict=True))
        # One without a mark is of before there were marks, and of an unknown history.
        mark = facts.get("mark", "")
        return Loaded(facts["version"], facts["update"], mark, facts["id"], names)

    def _names(self) -> list[str]:
        if self._local:
            try:
                found = os.listdir(self._folder())  # noqa: PTH208 - names alone
            except FileNotFoundError:
                return []
        else:
            from pyarrow import fs

            system, base = self._store()
            infos = system.get_file_info(fs.FileSelector(base, allow_not_found=True))
            found = [info.base_name for info in infos]
        return [name for name in found if name.endswith(".parquet") and name[0] != "."]

    def _remove(self, name: str) -> None:
        if self._local:
            (self._folder() / name).unlink(missing_ok=True)
        else:
            system, base = self._store()
            system.delete_file(f"{base}/{name}")

    def _folder(self) -> Path:
        log = local_log(self._path)
        assert log is not None
        return log.parent

    def _store(self) -> tuple[Any, str]:
        if self._fs is None:
            self._fs = arrow_store(self._path)
        return self._fs

    def _fault(self, what: str, error: Exception) -> PlatformError:
        return PlatformError(
            "loaded-unknown",
            f"what was loaded cannot be {what} in {self._path}: {error}",
            next_step="Check the storage.",
        )


def _is_of(path: str, found: Loaded, newest: int, table_id: str | None) -> bool:
    """Whether a fold is of the table that is there, and of its history.

    Not where the table is another one, and not where its commit is gone from the log: another
    one may have had the number. Our own clean-up keeps that commit (:mod:`.retention`).
    """
    if found.version > newest:
        return False
    if None not in (found.table_id, table_id) and found.table_id != table_id:
        return False
    commit = commit_at(path, found.version)
    return commit is not None and (commit.update, commit.mark) == (found.update, found.mark)
