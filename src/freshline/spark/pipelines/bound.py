"""Functions with the values that their names have when they are registered.

Spark calls a function while its decorator runs, so that in a loop each has the values of its own
turn. Here it is called later, when the loop has gone on: it gets its names as they were.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from pyspark.sql.udf import UserDefinedFunction

Names = dict[str, Any]


class Bound:
    """Copies of the functions in a pipeline's own files; those of libraries stay as they are."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._kept: list[tuple[Names, Names]] = []

    def as_it_is(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with the names of this moment."""
        copied = _Copy(self._root)
        found: Callable[..., Any] = copied.of(function)
        self._kept += copied.names.values()
        return found

    def complete(self) -> None:
        """Give the copies the names that their modules have got since."""
        for theirs, copied in self._kept:
            for name, value in theirs.items():
                copied.setdefault(name, value)
        self._kept.clear()


class _Copy:
    """One copy of what a function reaches by its names.

    Attributes:
        names: Those of each module and their copy, by the identity of the first.
    """

    def __init__(self, root: Path) -> None:
        self.names: dict[int, tuple[Names, Names]] = {}
        self._root = root
        self._done: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """The copy of a function, of what wraps one, or of a list; anything else as it is."""
        if id(value) in self._done:
            return self._done[id(value)]
        if isinstance(value, FunctionType):
            udf = value.__dict__.get("_unwrapped")
            if isinstance(udf, UserDefinedFunction):
                return self._udf(value, udf)
            return self._function(value)
        if isinstance(value, functools.partial):
            return functools.partial(self.of(value.func), *value.args, **value.keywords)
        if isinstance(value, MethodType):
            return MethodType(self.of(value.__func__), value.__self__)
        return self._collection(value)

    def _collection(self, value: Any) -> Any:
        """A list, dict or set may get other members; what is in it is copied too."""
        made: Any = None
        if type(value) is list:
            made = self._done[id(value)] = []
            made.extend(map(self.of, value))
        elif type(value) is dict:
            made = self._done[id(value)] = {}
            made.update((key, self.of(each)) for key, each in value.items())
        elif type(value) is set:
            made = self._done[id(value)] = set(value)
        elif type(value) is tuple:
            made = tuple(map(self.of, value))
        return value if made is None else made

    def _function(self, function: FunctionType) -> FunctionType:
        given = function.__closure__ or ()
        cells = tuple(CellType() for _ in given)
        theirs = function.__globals__
        names = self._names_of(theirs)
        made = FunctionType(
            function.__code__, theirs if names is None else names, function.__name__,
            function.__defaults__, cells or None,
        )  # fmt: skip
        self._done[id(function)] = made
        functools.update_wrapper(made, function, updated=())
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__ = dict(function.__dict__)
        for cell, each in zip(cells, given, strict=True):
            try:
                value = each.cell_contents
            except ValueError:
                continue  # it has no value yet
            cell.cell_contents = self.of(value)
        if names is not None:
            for name in _read_by(function.__code__):
                if name in theirs and names[name] is theirs[name]:
                    names[name] = self.of(theirs[name])
        return made

    def _names_of(self, theirs: Names) -> Names | None:
        """The copy of a module's names; None: it is not one of the pipeline's own."""
        if id(theirs) not in self.names:
            path = Path(str(theirs.get("__file__", "/"))).absolute()
            if not path.is_relative_to(self._root) or "site-packages" in path.parts:
                return None
            self.names[id(theirs)] = theirs, dict(theirs)
        return self.names[id(theirs)][1]

    def _udf(self, value: FunctionType, udf: UserDefinedFunction) -> Any:
        """A user-defined function, which PySpark serialises when it is first used."""
        made = copy.copy(udf)
        made.func = self.of(udf.func)
        made._judf_placeholder = None  # noqa: SLF001 - those bytes
        found = self._done[id(value)] = made._wrapped()  # noqa: SLF001 - as `udf` gives it
        return found


def _read_by(code: CodeType) -> Iterator[str]:
    """The names that a function reads, those in functions within it too."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _read_by(each)
