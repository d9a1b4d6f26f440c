"""Which lines of the analysis and of the strategies a search went through.

A function is watched until each of its lines has run. That still slows all of Python, so a search
watches every fourth seed alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

ROOT = Path(__file__).parents[3]
WATCHED = ("src/freshline/sql", "src/freshline/spark/views")
_IS_FUNCTION = 0x1  # CO_OPTIMIZED: the bodies of classes and modules have it not


class Coverage:
    """Lines of functions by file, and those that ran while it watched.

    Args:
        root: Of the repository.
        watched: Folders below it.
    """

    def __init__(self, root: Path = ROOT, watched: tuple[str, ...] = WATCHED) -> None:
        self._root = root
        self._prefixes = tuple(f"{root / folder}/" for folder in watched)
        self._left: dict[CodeType, set[int]] = {}
        self.all = {
            str(path.relative_to(root)): lines_of(path)
            for folder in watched
            for path in sorted((root / folder).rglob("*.py"))
        }
        self.ran: dict[str, set[int]] = {name: set() for name in self.all}

    def __enter__(self) -> Self:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        for code, left in self._left.items():
            path = str(Path(code.co_filename).relative_to(self._root))
            self.ran[path] |= (_own_lines(code) - left) & self.all[path]

    def _called(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            if not code.co_filename.startswith(self._prefixes):
                return None
            left = self._left[code] = _own_lines(code)
        return self._line if left else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "line":
            self._left[frame.f_code].discard(frame.f_lineno)
        return self._line

    def record(self) -> dict[str, dict[str, list[int]]]:
        """By file ``all`` and ``ran``, sorted."""
        return {
            name: {"all": sorted(lines), "ran": sorted(self.ran[name])}
            for name, lines in self.all.items()
        }

    def add(self, record: Mapping[str, Mapping[str, list[int]]]) -> None:
        """Lines that ran in an earlier process, over the same text."""
        for name, found in record.items():
            self.ran[name] |= set(found["ran"])

    def save(self, path: Path) -> None:
        """Writes the record, to be added to by the next process."""
        path.write_text(json.dumps(self.record()))


def lines_of(path: Path) -> set[int]:
    """Lines with code of the functions of a file; those of signatures and classes are left out."""
    module = compile(path.read_text(), str(path), "exec")
    return {line for code in _functions(module) for line in _own_lines(code)}


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & _IS_FUNCTION:
                yield constant
            yield from _functions(constant)


def _own_lines(code: CodeType) -> set[int]:
    lines = {line for _, _, line in code.co_lines() if line is not None}
    # The first line of a function is its signature; a lambda or a comprehension may have no other.
    return lines - {code.co_firstlineno} if not code.co_name.startswith("<") else lines
