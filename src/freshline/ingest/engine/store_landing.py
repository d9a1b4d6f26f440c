"""Landed files in an object store, where they outlive the host that took their records in.

A file waits hidden on the disk until its name is in the ledger, as one that stays on the disk
does. Then it is put into the store, in one piece, below a folder of the hour:
``2026-11-21T12/clicks-3f0c2a9b417d-90d1e6c07a52-20261121T123519.250000Z-0000000000000001-0000000000000500.parquet``.
The hour is that of landing, so that a listing needs the newest folders alone. The numbers in front
of the time are the log's and the segment's: each host counts its records from one, and a disk that
is put back from an older copy gives out numbers again.
"""

from __future__ import annotations

import secrets
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from freshline.delta.stores import arrow_store
from freshline.durable import sync_file, sync_folder
from freshline.failpoints import failpoint
from freshline.ingest.engine.landedfile import LandedName, hidden_names, hidden_path, parse_name
from freshline.private import private_file

_ID = "id"
_WHOLE = frozenset({"s3", "s3a", "s3n", "gs", "gcs"})
"""Stores in which an object is there as soon as it is whole. Elsewhere it is renamed."""

_CHUNK_BYTES = 8 << 20
_SLACK_S = 3600.0
"""A clock may have been put back since."""


def log_id(folder: Path) -> str:
    """What tells a log from those of other hosts; a folder without a log gets a new one.

    Raises:
        OSError: It cannot be read or written.
    """
    path = folder / _ID
    if path.exists() and any(folder.glob("segment-*.db")):
        return path.read_text("ascii").strip()
    made = secrets.token_hex(6)
    private_file(path)
    path.write_text(made, "ascii")
    sync_file(path)
    sync_folder(folder)
    return made


class StoreLanding:
    """Where one feed's files are landed.

    Args:
        feed: Its name.
        uri: The feed's folder in the store.
        hidden: The folder on the disk where files wait.
        log: Of :func:`log_id`.
    """

    def __init__(self, feed: str, uri: str, hidden: Path, log: str) -> None:
        self._stem = f"{feed}-{log}"
        self._uri = uri
        self._hidden = hidden
        self._fs: tuple[Any, str] | None = None

    def stem(self, tag: str) -> str:
        """What the names of files of a segment with this tag begin with."""
        return f"{self._stem}-{tag}" if tag else self._stem

    def named(self, name: str, now_s: float) -> str:
        """A file's name below the feed's folder, where it is landed now."""
        return f"{datetime.fromtimestamp(now_s, UTC):%Y-%m-%dT%H}/{name}"

    def put(self, name: str) -> None:
        """Put a file that waits into the store; done twice, it is done once.

        Raises:
            OSError: The store does not take it, or the disk failed.
        """
        waiting = hidden_path(self._hidden, name.rpartition("/")[2])
        if not waiting.exists():
            return  # it was put there, and the disk failed right after
        failpoint("ingest.put.before")
        system, base = self._reached()
        target = f"{base}/{name}"
        if self._size(target) != waiting.stat().st_size:
            whole = urlsplit(self._uri).scheme in _WHOLE
            draft = target if whole else f"{base}/_{name.replace('/', '-')}"
            if not whole:
                system.create_dir(target.rpartition("/")[0], recursive=True)
            with waiting.open("rb") as source, system.open_output_stream(draft) as sink:
                shutil.copyfileobj(source, sink, _CHUNK_BYTES)
            if not whole:
                system.move(draft, target)
        failpoint("ingest.put.after")
        waiting.unlink()
        sync_folder(self._hidden)

    def waiting(self) -> list[str]:
        """Names of the files that wait on the disk, without the folder of an hour."""
        return hidden_names(self._hidden)

    def names_since(self, since_s: float) -> list[LandedName]:
        """What this log has landed from an hour before a moment on, by first record.

        Raises:
            OSError: The store does not answer.
        """
        from pyarrow import fs

        system, base = self._reached()
        since = datetime.fromtimestamp(max(0.0, since_s - _SLACK_S), UTC)
        first = f"{since:%Y-%m-%dT%H}"
        found = []
        for folder in system.get_file_info(fs.FileSelector(base, allow_not_found=True)):
            if folder.type != fs.FileType.Directory or folder.base_name < first:
                continue
            for file in system.get_file_info(fs.FileSelector(folder.path)):
                known = parse_name(file.base_name)
                if known is not None and f"{known.stem}-".startswith(f"{self._stem}-"):
                    found.append(replace(known, name=f"{folder.base_name}/{known.name}"))
        return sorted(found, key=lambda name: name.first)

    def _size(self, path: str) -> int | None:
        (found,) = self._reached()[0].get_file_info([path])
        return found.size if found.is_file else None

    def _reached(self) -> tuple[Any, str]:
        if self._fs is None:
            self._fs = arrow_store(self._uri)
        return self._fs
