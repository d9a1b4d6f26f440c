"""The commit files of a Delta log, each read by its number: in a folder, or in an object store.

Of a store delta-rs tells a table's newest version only. Its history has no numbers: it counts
them down from the newest, so that a commit that lands meanwhile, or one without information of
its own, gives others a wrong one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.stores import arrow_store, text_lines

_AT_ONCE = 32
"""Files of a store that are read at the same time, once it is clear that many are wanted."""


class FolderLog:
    """A log on this machine's file system. All of it raises PlatformError where it cannot be read.

    Args:
        folder: The log's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """All that is in it; nothing where there is no log."""
        with _readable(self.folder):
            try:
                return os.listdir(self.folder)  # noqa: PTH208 - names alone, thousands of them
            except FileNotFoundError:
                return []

    def exists(self, number: int) -> bool:
        """Whether there is a commit of that version."""
        with _readable(self.folder):
            return self.file(number).exists()

    def lines(self, number: int) -> Iterator[str]:
        """The lines of a commit.

        Raises:
            FileNotFoundError: There is none of that version.
        """
        file = self.file(number)
        with _readable(file), file.open(encoding="utf-8") as lines:
            yield from lines

    def all_lines(self, numbers: Iterable[int]) -> Iterator[tuple[int, Iterable[str]]]:
        """The lines of commits in their order."""
        return ((number, self.lines(number)) for number in numbers)

    def file(self, number: int) -> Path:
        """Where a commit is."""
        return self.folder / _name(number)


class StoreLog:
    """A log in an object store. All of it raises PlatformError where it cannot be read.

    Args:
        path: Of the table, a URI.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = f"{path}/_delta_log"

    @cached_property
    def _store(self) -> tuple[Any, str]:
        """The file system, and the folder in it; not wanted where there is no table."""
        system, base = arrow_store(self.path)
        return system, f"{base}/_delta_log"

    def names(self) -> list[str]:
        """All that is in it, nothing where there is no log; a request for each thousand."""
        from pyarrow import fs

        with _readable(self.folder):
            system, base = self._store
            infos = system.get_file_info(fs.FileSelector(base, allow_not_found=True))
        return [str(info.base_name) for info in infos]

    def exists(self, number: int) -> bool:
        """Whether there is a commit of that version."""
        from pyarrow import fs

        with _readable(self.folder):
            system, base = self._store
            (info,) = system.get_file_info([f"{base}/{_name(number)}"])
        return bool(info.type == fs.FileType.File)

    def lines(self, number: int) -> list[str]:
        """The lines of a commit.

        Raises:
            FileNotFoundError: There is none of that version.
        """
        with _readable(self.file(number)):
            system, base = self._store
            return text_lines(system, f"{base}/{_name(number)}")

    def all_lines(self, numbers: Iterable[int]) -> Iterator[tuple[int, Iterable[str]]]:
        """The lines of commits in their order, more and more of them at once.

        Raises:
            FileNotFoundError: There is none of a version; those before it were given.
        """
        left, wanted = iter(numbers), 1
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="log") as pool:
            while block := list(islice(left, wanted)):
                yield from zip(block, pool.map(self.lines, block), strict=True)
                wanted = min(2 * wanted, _AT_ONCE)

    def file(self, number: int) -> str:
        """Where a commit is."""
        return f"{self.folder}/{_name(number)}"


def unreadable(where: Path | str, error: Exception) -> PlatformError:
    """The error to raise when a log cannot be read."""
    return PlatformError(
        "log-unreadable",
        f"the Delta log at {where} cannot be read: {error}",
        next_step="Check that the storage can be reached and the file is whole.",
    )


def _name(number: int) -> str:
    return f"{number:020d}.json"


@contextlib.contextmanager
def _readable(where: Path | str) -> Iterator[None]:
    """Raise whatever fails as ``log-unreadable``, apart from a file that is not there."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(where, error) from error
