"""Commits on this machine's disks that outlive a power cut.

Neither Spark nor Delta flushes what it writes: after a power cut a commit can be there without its
data, or be an empty file. So an update's data files are flushed before its commit, and the commit
before anybody is told of it (docs/design/0220). At a URI the store answers for it: nothing is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from freshline.delta.log import last_checkpoint, local_log
from freshline.durable import sync_file, sync_folder

SIDECARS = "_sidecars"
"""Folder in a log: parts of checkpoints of format 2."""

_POINTS_OF_FORMAT_2 = 3
"""In names such as 00000000000000000010.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet."""


def flush_files(table: str, names: Iterable[str]) -> None:
    """Make data files durable, and their names.

    Args:
        table: The table's path or URI.
        names: As the log names them: relative to the table, and encoded as a URL.

    Raises:
        OSError: One is missing, or the disk failed.
    """
    log = local_log(table)
    if log is None:
        return
    files = [log.parent / unquote(name) for name in names]
    for file in files:
        sync_file(file)
    # Folders of partitions are new with their first file, and so is the table's own.
    folders = {above for file in files for above in file.parents if log.parent in above.parents}
    for folder in sorted(folders, key=lambda each: len(each.parts), reverse=True):
        sync_folder(folder)
    if files:
        sync_folder(log.parent)


def flush_commit(table: str, version: int) -> None:
    """Make the commit of a version durable, and the checkpoint that Delta made of it.

    Raises:
        OSError: There is no such commit, or the disk failed.
    """
    log = local_log(table)
    if log is None:
        return
    sync_file(log / f"{version:020d}.json")
    _flush_checkpoint(log, version)
    sync_folder(log)
    if version == 0:  # what it is in may be as new
        for folder in log.parents:
            try:
                sync_folder(folder)
            except PermissionError:
                return  # nobody made that one for us


def flush_version(table: str, version: int) -> None:
    """Make all of a version durable: what may have been committed by a process that died then.

    Raises:
        OSError: The disk failed.
        ValueError: The commit is damaged.
    """
    log = local_log(table)
    if log is None:
        return
    try:
        said = actions(log / f"{version:020d}.json")
    except FileNotFoundError:
        return  # cleaned up, so it is older than the retention
    files = [each for kind in ("add", "cdc") for each in said.get(kind, ())]
    names = [file["path"] for file in files if (log.parent / unquote(file["path"])).exists()]
    flush_files(table, names)
    flush_commit(table, version)


def actions(commit: Path) -> dict[str, list[Mapping[str, Any]]]:
    """What a commit's file says, by kind.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not whole.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    # Not splitlines(): values in statistics may hold what it takes for the end of a line.
    for line in commit.read_text("utf-8").split("\n"):
        if line:
            for kind, said in json.loads(line).items():
                found.setdefault(kind, []).append(said)
    if not found:
        raise ValueError(f"{commit} is empty")
    return found


def checkpoint_files(log: Path, version: int) -> list[Path]:
    """The files of a version's checkpoint; one of format 2 may be json, and names further ones."""
    found = log.glob(f"{version:020d}.checkpoint*")
    own = sorted(each for each in found if each.suffix in (".parquet", ".json"))
    return [*own, *(log / SIDECARS / name for each in own for name in _sidecars(each))]


def _sidecars(file: Path) -> list[str]:
    """What a checkpoint's file says is kept beside it; nothing where it is not whole."""
    named: list[Any] = []
    try:
        if file.suffix == ".json":
            named = actions(file).get("sidecar", [])
        elif file.name.count(".") == _POINTS_OF_FORMAT_2:
            import pyarrow.parquet as pq

            named = pq.read_table(file, columns=["sidecar"])["sidecar"].to_pylist()
    except (OSError, ValueError, KeyError):
        return []
    return [unquote(str(each["path"])).rpartition("/")[2] for each in named if each]


def _flush_checkpoint(log: Path, version: int) -> None:
    if last_checkpoint(log) == version:
        for file in checkpoint_files(log, version):
            sync_file(file)
        if (log / SIDECARS).is_dir():
            sync_folder(log / SIDECARS)
        sync_file(log / "_last_checkpoint")
