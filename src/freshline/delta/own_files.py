"""Small files of freshline's own beside the tables: on this machine, or at a storage's URI.

What must outlive the host that found it (which views are not trusted, and the evidence) stands in
the storage itself, so that the next leader finds it there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.log import local_log
from freshline.delta.stores import arrow_store
from freshline.durable import make_folder, sync_file, sync_folder

_CHUNK_BYTES = 8 * 1024 * 1024


class OwnFiles:
    """Files below one folder, by names with slashes.

    Args:
        place: The folder: a path or a URI. It is made when something is written.

    Every method raises PlatformError where the storage does not answer.
    """

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/")
        log = local_log(self.place)
        self._local = None if log is None else log.parent

    def read(self, name: str) -> str | None:
        """A file's text; None: there is none."""
        try:
            with self._reached() as (system, base):
                if self._local is not None:
                    return (self._local / name).read_text("utf-8")
                with system.open_input_stream(f"{base}/{name}") as file:
                    return bytes(file.read()).decode("utf-8")
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        """Make or replace a file; whoever reads it meanwhile has the old text or the new one."""
        with self._reached() as (system, base):
            if self._local is not None:
                file = self._local / name
                make_folder(file.parent)
                unfinished = file.with_name(f"{file.name}.tmp")
                unfinished.write_text(text, "utf-8")
                sync_file(unfinished)
                unfinished.replace(file)
                sync_folder(file.parent)
            else:
                with system.open_output_stream(f"{base}/{name}") as file:
                    file.write(text.encode("utf-8"))

    def remove(self, name: str) -> bool:
        """Remove a file; whether there was one."""
        try:
            with self._reached() as (system, base):
                if self._local is not None:
                    (self._local / name).unlink()
                    return True
                found = self._is_file(system, f"{base}/{name}")
                if found:
                    system.delete_file(f"{base}/{name}")
                return found
        except FileNotFoundError:
            return False

    def names(self, folder: str) -> set[str]:
        """Names of the files right below a folder, without it."""
        with self._reached() as (system, base):
            if self._local is not None:
                here = self._local / folder
                return {each.name for each in here.iterdir()} if here.is_dir() else set()
            from pyarrow import fs

            where = fs.FileSelector(f"{base}/{folder}", allow_not_found=True)
            return {each.base_name for each in system.get_file_info(where)}

    def put(self, made: Path, folder: str) -> str:
        """Put a folder of this machine in place of what stands there; where it is now.

        Args:
            made: The folder; it stays as it is.
            folder: Its name here.
        """
        with self._reached() as (system, base):
            if self._local is not None:
                target = self._local / folder
                shutil.rmtree(target, ignore_errors=True)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(made, target)
                return str(target)
            from pyarrow import fs

            where = fs.FileSelector(f"{base}/{folder}", recursive=True, allow_not_found=True)
            for each in system.get_file_info(where):
                if each.type == fs.FileType.File:
                    system.delete_file(each.path)
            for path in sorted(each for each in made.rglob("*") if each.is_file()):
                name = path.relative_to(made).as_posix()
                with (
                    path.open("rb") as source,
                    system.open_output_stream(f"{base}/{folder}/{name}") as file,
                ):
                    while chunk := source.read(_CHUNK_BYTES):
                        file.write(chunk)
        return f"{self.place}/{folder}"

    @staticmethod
    def _is_file(system: Any, path: str) -> bool:
        from pyarrow import fs

        (found,) = system.get_file_info([path])
        return bool(found.type == fs.FileType.File)

    @contextmanager
    def _reached(self) -> Iterator[tuple[Any, str]]:
        """The file system of a URI and the folder in it; nothing of use on this machine."""
        try:
            yield (None, "") if self._local is not None else arrow_store(self.place)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise PlatformError(
                "storage-unreachable",
                f"freshline's own files at {self.place} cannot be reached: {error}",
                next_step="Check that the storage answers and that it may be read and written.",
            ) from error
