"""Which files of a folder that a stream of Spark writes are of batches that were completed.

Tasks write their files under the final names; the log beside them, `_spark_metadata`, names those
of a batch once it is complete, and readers of Spark read no others. Every tenth file or so of the
log has all that came before it, too. It is read from its end, and as far as files are not found.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

LOG = "_spark_metadata"
"""The folder of the log."""

_FILE = re.compile(r"(\d+)(\.compact)?\Z")
_VERSION = "v1"


class SinkLog:
    """The log of one folder. It is not kept in memory: the next look asks for other files."""

    def __init__(self) -> None:
        self._newest = -1
        self._missing: dict[str, int] = {}
        """By file: the batch up to which the log does not name it."""

    def left_out(
        self,
        names: Collection[str],
        log: Iterable[str],
        read: Callable[[str], str],
    ) -> set[str]:
        """The files that the log does not name, or not yet.

        Paths in it are those that the writer sees; they are compared from the folder on.

        Args:
            names: Of files, relative to the folder of the stream.
            log: Names of the log's files.
            read: Gives the text of one of them.

        Raises:
            OSError: The log cannot be read, or is not as Spark writes it.
        """
        matches = [found for found in map(_FILE.match, log) if found is not None]
        batches = {int(found[1]): found[0] for found in matches}
        # Of a batch that is there in both forms the larger one says all.
        batches |= {int(found[1]): found[0] for found in matches if found[2]}
        newest = max(batches, default=-1)
        if newest < self._newest:  # somebody has removed the log, and the stream began again
            self._missing = {}
        since = {name: self._missing.get(name, -1) for name in names}
        for batch in sorted(batches, reverse=True):
            if not any(until < batch for until in since.values()):
                break
            for path in _paths(batches[batch], read):
                parts = path.split("/")
                for depth in range(1, len(parts)):
                    since.pop("/".join(parts[-depth:]), None)
            if batches[batch].endswith(".compact"):
                break
        self._newest, self._missing = newest, dict.fromkeys(since, newest)
        return set(since)

    def left_out_locally(self, names: Collection[str], folder: Path) -> set[str]:
        """As :meth:`left_out`, where the stream writes into a folder of this machine."""
        log = folder / LOG
        return self.left_out(names, os.listdir(log), lambda file: (log / file).read_text("utf-8"))  # noqa: PTH208


def logs_among(names: Iterable[str]) -> dict[str, list[str]]:
    """Of names below a feed: folders that streams write, with a slash, and the files of their logs.

    The name of a log's folder, with a slash behind it, stands for no file: a stream makes the
    folder before it writes its first ones.
    """
    logs: dict[str, list[str]] = {}
    for name in names:
        sink, slash, file = f"/{name}".rpartition(f"/{LOG}/")
        if slash:
            logs.setdefault(f"{sink}/".removeprefix("/"), []).append(file)
    return logs


def _paths(name: str, read: Callable[[str], str]) -> Iterator[str]:
    """The files that one file of a log names."""
    try:
        version, *lines = read(name).splitlines() or [""]
        if version != _VERSION:
            raise ValueError(f"its version is {version!r}, not {_VERSION}")
        for line in filter(None, lines):
            yield unquote(json.loads(line)["path"])
    except (ValueError, LookupError, TypeError) as error:
        raise OSError(f"{LOG}/{name} is not understood: {error}") from error
