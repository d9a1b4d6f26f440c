"""Tables whose newest commits a power cut has torn: found at the start, and put back by them.

A commit is flushed before anybody is told of it (:mod:`freshline.delta.flushed`). So what is torn
here was never counted as done: its file is empty or half there. Data files that are not as long
as the log says mean a disk that lost what it had confirmed, or an older version of freshline.
Either way nothing can read the table until the commits are out of its log.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from freshline.delta.flushed import actions, checkpoint_files
from freshline.delta.log import last_checkpoint, local_log, version
from freshline.delta.log_files import unreadable
from freshline.delta.metadata import decode, loaded_names
from freshline.durable import make_folder, sync_folder
from freshline.project.model import Project
from freshline.project.names import rejected_name

_LOOKED_AT = 10
"""Newest commits of a table that are checked: those of the last seconds, of any table."""

_END_OF_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True)
class Torn:
    """A table with commits that nothing can read.

    Attributes:
        path: Where the table is.
        since: The oldest version that is torn; it and those after it have to go.
        newest: The newest version.
        why: What is wrong with it.
        foreign: Whether others made one of those versions.
        loaded: What those of a base table loaded, by the names in their commits; what a commit
            loaded that cannot be read is not among it.
    """

    path: str
    since: int
    newest: int
    why: str
    foreign: bool
    loaded: tuple[str, ...] = ()


def find_torn(path: str) -> Torn | None:
    """What is torn among a table's newest commits; None: nothing, or it is not on this machine.

    Raises:
        PlatformError: The log cannot be read.
    """
    log = local_log(path)
    newest = None if log is None else version(path)
    if log is None or newest is None:
        return None
    found: Torn | None = None
    foreign = False
    loaded: list[str] = []
    removed: set[str] = set()
    for number in range(newest, max(-1, newest - _LOOKED_AT), -1):
        file = _commit(log, number)
        try:
            said = actions(file)
        except FileNotFoundError:
            break  # cleaned up
        except OSError as error:
            raise unreadable(file, error) from error  # it may be whole
        except ValueError:
            found = Torn(path, number, newest, f"{file.name} is not whole", foreign, tuple(loaded))
            continue
        ours = [decode(each.get("userMetadata")) for each in said.get("commitInfo", ())]
        foreign |= not any(ours)
        loaded += [name for each in ours if each for name in loaded_names(each)]
        for added in said.get("add", ()):
            gone = unquote(str(added["path"])) in removed
            fault = None if gone else _fault(log.parent, added)
            if fault is not None:
                found = Torn(path, number, newest, fault, foreign, tuple(loaded))
        # Spark leaves letters like ü as they are, delta-rs encodes them.
        removed |= {unquote(str(each["path"])) for each in said.get("remove", ())}
    return found


def put_aside(torn: Torn, aside: Path) -> None:
    """Move a table's torn commits, and what Delta keeps beside them, out of its log.

    Its data files stay, and are garbage of the table from then on.

    Args:
        torn: What is torn.
        aside: A folder for them; it is made.

    Raises:
        OSError: The disk failed.
    """
    log = local_log(torn.path)
    assert log is not None
    make_folder(aside)
    known = last_checkpoint(log)
    if known is None or known >= torn.since:
        _move(log / "_last_checkpoint", aside)
    for file in sorted(log.glob("*.compacted.json")):
        if int(file.name.split(".")[1]) >= torn.since:
            _move(file, aside)  # it tells what torn commits did, beside others
    for number in range(torn.newest, torn.since - 1, -1):  # a death between leaves no gap
        for file in sorted(log.glob(f"{number:020d}.*")):
            _move(file, aside)
        for stray in log.glob(f".{number:020d}.*"):  # Hadoop's sum of a file that went before
            _move(stray, aside)
    sync_folder(log)
    sync_folder(aside)


def mend_checkpoint(path: str, aside: Path) -> bool:
    """Move a checkpoint that is not whole out of a log: its commits say the same. Whether it did.

    Raises:
        OSError: The disk failed.
    """
    log = local_log(path)
    if log is None or not (note := log / "_last_checkpoint").exists():
        return False
    number = last_checkpoint(log)
    files = [] if number is None else checkpoint_files(log, number)
    if files and all(_is_whole(file) for file in files):
        return False
    make_folder(aside)
    for file in (note, *files):
        _move(file, aside)
    sync_folder(log)
    return True


def own_tables(project: Project, table: str) -> Iterator[str]:
    """Where the tables are that freshline keeps for a table: rejected rows, and a view's states."""
    yield project.table_path(rejected_name(table))
    log = local_log(f"{project.own_path}/state/{table}")
    if log is not None and log.parent.is_dir():
        yield from (str(each) for each in sorted(log.parent.iterdir()))


def tables_of_reports(project: Project, reports: Iterable[str]) -> Iterator[str]:
    """Where the tables of reports are, and those of all windows that are under way."""
    yield from map(project.table_path, reports)
    log = local_log(f"{project.own_path}/reports")
    if log is not None and log.parent.is_dir():
        yield from (str(each) for each in sorted(log.parent.glob("*/*/*")) if each.is_dir())


def _fault(folder: Path, added: Mapping[str, Any]) -> str | None:
    """What is wrong with a data file of the newest version."""
    name = str(added["path"])
    if urlsplit(name).scheme:
        return None  # a clone's, elsewhere
    try:
        size = os.stat(folder / unquote(name)).st_size  # noqa: PTH116 - one for each file
    except FileNotFoundError:
        return f"{name} is missing"
    wanted = added.get("size")
    return None if size == wanted else f"{name} has {size} bytes of {wanted}"


def _is_whole(file: Path) -> bool:
    if not file.exists():
        return False  # a part that a checkpoint of format 2 names
    if file.suffix == ".json":
        try:
            return bool(actions(file))
        except ValueError:
            return False
    with file.open("rb") as content:
        size = file.stat().st_size
        if size < 2 * len(_END_OF_PARQUET):
            return False
        content.seek(size - len(_END_OF_PARQUET))
        return content.read() == _END_OF_PARQUET


def _commit(log: Path, number: int) -> Path:
    return log / f"{number:020d}.json"


def _move(file: Path, into: Path) -> None:
    """Move a file, and the sum that Hadoop keeps beside it.

    A file that gets the name later, and is not written by Hadoop, would not match that sum, and
    Spark would refuse to read it.
    """
    for each in (file.with_name(f".{file.name}.crc"), file):
        with contextlib.suppress(FileNotFoundError):
            each.replace(into / each.name)
