"""What a disk holds after a power cut: the writes of processes recorded, and replayed in part.

``strace`` records every operation on files below a folder. A prefix of them is what had happened
when the power failed. Of it a disk is sure to have only what was flushed: the content of a file by
an fsync of the file, its name by an fsync of its folder. It may have more. Two images bound what
can be found: the least, and every name (of files that were never flushed, empty ones).
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_CALLS = (
    "openat,open,creat,close,write,pwrite64,writev,pwritev,rename,renameat,renameat2,unlink,unlinkat,"
    "mkdir,mkdirat,rmdir,fsync,fdatasync,ftruncate,lseek,link,linkat,copy_file_range,sendfile"
)
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)", re.DOTALL)
_UNFINISHED = re.compile(r"(\d+) +(\w+\(.*) <unfinished \.\.\.>\Z", re.DOTALL)
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)\Z", re.DOTALL)
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_HANDLE = re.compile(r"\A(\d+)<((?:\\x[0-9a-f]{2})*)>")
_READY_S = 120.0


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on a file: what was done to which path, and with what."""

    kind: str
    path: str
    content: bytes = b""
    at: int = 0
    other: str = ""


@contextmanager
def recorded(folder: Path, processes: Sequence[int], log: Path) -> Iterator[list[Operation]]:
    """What these processes do to files below a folder; the list is filled at the end.

    Skips the test where strace is missing or may not look.
    """
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    command = [
        strace,
        "-f",
        "-y",
        "-xx",
        "-s",
        "100000000",
        "-e",
        f"trace={_CALLS}",
        "-o",
        str(log),
    ]
    command += [each for process in processes for each in ("-p", str(process))]
    said = log.with_suffix(".said")
    with said.open("wb") as file:
        tracer = subprocess.Popen(command, stderr=file)
    found: list[Operation] = []
    try:
        _wait_until_attached(tracer, processes, said)
        yield found
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
    found += _operations(log, folder)


def _wait_until_attached(
    tracer: subprocess.Popen[bytes], processes: Sequence[int], said: Path
) -> None:
    end_s = time.monotonic() + _READY_S
    while time.monotonic() < end_s:
        if tracer.poll() is not None:
            pytest.skip(f"strace may not look at processes here: {said.read_text().strip()}")
        if all(_is_traced(task) for each in processes for task in _tasks(each)):
            return
        time.sleep(0.05)
    raise AssertionError("strace has not attached")


def _tasks(process: int) -> list[Path]:
    return list(Path(f"/proc/{process}/task").iterdir())


def _is_traced(task: Path) -> bool:
    try:
        return "TracerPid:\t0\n" not in (task / "status").read_text()
    except OSError:
        return True  # it has ended


def _operations(log: Path, folder: Path) -> Iterator[Operation]:
    """The operations of a recording, in the order in which they were done."""
    reading = _Reading(folder)
    for line in _whole_lines(log):
        match = _LINE.match(line)
        if match and int(match[4]) >= 0:
            yield from reading.operations(match[2], match[3], int(match[4]))


def _whole_lines(log: Path) -> Iterator[str]:
    """Calls during which another thread was heard are in two lines."""
    begun: dict[str, str] = {}
    with log.open() as lines:
        for each in lines:
            line = each.rstrip("\n")
            if match := _UNFINISHED.match(line):
                begun[match[1]] = match[2]
            elif match := _RESUMED.match(line):
                yield f"{match[1]} {begun.pop(match[1], '')}{match[2]}"
            else:
                yield line


class _Reading:
    """Where each open file is read and written, and what a line therefore means."""

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}/"
        self._at: dict[tuple[str, str], int] = {}
        self._appending: set[tuple[str, str]] = set()

    def operations(self, call: str, given: str, result: int) -> Iterator[Operation]:
        texts = [_decoded(text) for text in _TEXT.findall(given)]
        if call in ("openat", "open", "creat"):
            # The result's own path follows it in the line, which _LINE leaves out.
            yield from self._opened(given, texts[0], result)
        elif call in ("rename", "renameat", "renameat2", "link", "linkat"):
            kind = "rename" if call.startswith("rename") else "link"
            yield from self._here(Operation(kind, texts[0], other=texts[1]))
        elif call in ("unlink", "unlinkat", "rmdir"):
            yield from self._here(Operation("remove", texts[0]))
        elif call in ("mkdir", "mkdirat"):
            yield from self._here(Operation("mkdir", texts[0]))
        elif handle := _HANDLE.match(given):
            path = _decoded(handle[2]).removesuffix(" (deleted)")
            yield from self._on(call, (handle[1], path), given[handle.end() :], texts, result)

    def _here(self, operation: Operation) -> Iterator[Operation]:
        if operation.path.startswith(self._folder):
            yield operation

    def _opened(self, given: str, path: str, result: int) -> Iterator[Operation]:
        key = (str(result), path)
        self._at[key] = 0
        self._appending.discard(key)
        if "O_APPEND" in given:
            self._appending.add(key)
        if "O_CREAT" in given or "O_TRUNC" in given:
            kind = "truncate" if "O_TRUNC" in given else "create"
            yield from self._here(Operation(kind, path))

    def _on(
        self, call: str, key: tuple[str, str], rest: str, texts: list[str], result: int
    ) -> Iterator[Operation]:
        path = key[1]
        if call in ("fsync", "fdatasync"):
            yield from self._here(Operation("sync", path))
            if f"{path}/" == self._folder:
                yield Operation("sync", path)
        elif call == "lseek":
            self._at[key] = result
        elif call == "ftruncate":
            size = int(rest.rpartition(",")[2])
            yield from self._here(Operation("cut", path, at=size))
        elif call in ("write", "writev", "pwrite64"):
            content = "".join(texts).encode("latin-1")[:result]
            if call == "pwrite64":
                at = int(rest.rpartition(",")[2])
            else:
                at = -1 if key in self._appending else self._at.get(key, 0)
                self._at[key] = self._at.get(key, 0) + result
            yield from self._here(Operation("write", path, content, at))
        elif call != "close" and path.startswith(self._folder):
            raise AssertionError(f"{call} of {path} is not replayed")


def _decoded(text: str) -> str:
    return str(ast.literal_eval(f'"{text}"'))


@dataclass
class _File:
    content: bytearray = field(default_factory=bytearray)
    flushed: bytes = b""


class Disk:
    """Files below a folder: as processes see them, and what is flushed.

    Args:
        folder: As it was before the first operation; all of it counts as flushed.
    """

    def __init__(self, folder: Path) -> None:
        self._root = str(folder)
        self._names: dict[str, _File | None] = {}  # None: a folder
        for each in sorted(folder.rglob("*")):
            content = None if each.is_dir() else each.read_bytes()
            file = None if content is None else _File(bytearray(content), content)
            self._names[str(each)] = file
        self._flushed = dict(self._names)

    def do(self, operation: Operation) -> None:
        """One more operation was done."""
        path, names = operation.path, self._names
        if operation.kind == "mkdir":
            names[path] = None
        elif operation.kind in ("create", "truncate"):
            file = names.setdefault(path, _File())
            if operation.kind == "truncate" and file is not None:
                file.content.clear()
        elif operation.kind in ("write", "cut"):
            file = names.get(path)
            if file is not None:  # else it was written after it was removed
                _change(file.content, operation)
        elif operation.kind == "link":
            names[operation.other] = names[path]
        elif operation.kind == "rename":
            below = [each for each in names if each == path or each.startswith(f"{path}/")]
            for each in below:
                names[operation.other + each[len(path) :]] = names.pop(each)
        elif operation.kind == "remove":
            names.pop(path, None)
        elif operation.kind == "sync":
            self._sync(path)

    def _sync(self, path: str) -> None:
        file = self._names.get(path)
        if file is not None:
            file.flushed = bytes(file.content)
            return
        here = {each for each in {*self._names, *self._flushed} if os.path.dirname(each) == path}  # noqa: PTH120
        for each in here:
            self._flushed.pop(each, None)
            if each in self._names:
                self._flushed[each] = self._names[each]

    def now(self) -> dict[str, bytes | None]:
        """As processes see it."""
        return {name: None if file is None else bytes(file.content)
                for name, file in self._names.items()}  # fmt: skip

    def least(self) -> dict[str, bytes | None]:
        """What is flushed, names and contents."""
        return self._held(self._flushed)

    def every_name(self) -> dict[str, bytes | None]:
        """All names, and of their contents what is flushed."""
        return self._held(self._names)

    def _held(self, names: dict[str, _File | None]) -> dict[str, bytes | None]:
        folders = {name for name, file in names.items() if file is None} | {self._root}
        found: dict[str, bytes | None] = {}
        for name in sorted(names):
            above = os.path.dirname(name)  # noqa: PTH120
            if above == self._root or (above in found and above in folders):
                file = names[name]
                found[name] = None if file is None else file.flushed
        return found


def _change(content: bytearray, operation: Operation) -> None:
    at = len(content) if operation.at < 0 else operation.at
    content.extend(bytes(max(0, at - len(content))))
    if operation.kind == "cut":
        del content[at:]
    else:
        content[at : at + len(operation.content)] = operation.content


def put(image: dict[str, bytes | None], made: Path, into: Path) -> None:
    """Write an image of the folder ``made`` into another one."""
    for name, content in sorted(image.items()):
        path = into / Path(name).relative_to(made)
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
