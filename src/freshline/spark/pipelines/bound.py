"""Functions with the values that their names have when they are registered.

Spark calls a function once, while its decorator runs. Here it is called later and many times: each
call gets its names as they were, whatever the module or another call has done to them since.
"""

from __future__ import annotations

import copy
import dis
import functools
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from uuid import UUID

from pyspark.sql.udf import UserDefinedFunction

from freshline.spark.pipelines.changes import Shared, State

Names = dict[str, Any]

_MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
_LISTS = (list, deque)
_PLAIN = frozenset({
    str, int, float, bool, bytes, type(None), date, datetime, time, timedelta, Decimal, UUID,
})  # fmt: skip
"""Types of values that nobody can change. A lookup of 100,000 of them is copied in a few ms."""
_BESIDE = ("EXTENDED_ARG", "COPY", "SWAP", "CACHE")
"""Instructions between a name and its attribute: `helpers.count += 1` needs it twice."""
_CACHED = type(functools.cache(len))


class Bound:
    """Copies of the functions in a pipeline's own files; those of libraries stay as they are."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._kept: list[tuple[Names, Names]] = []
        self._originals: list[Any] = []

    def as_it_is(self, function: Callable[..., Any]) -> Registered:
        """The function with the names of this moment."""
        copied = _Copy(self._root)
        found: Callable[..., Any] = copied.of(function)
        self._kept += copied.names.values()
        self._originals += copied.originals()  # they live, so no other has the identity of one
        return Registered(found, self._root, copied.meant())

    def complete(self) -> None:
        """Give the copies the names that their modules have got since."""
        for theirs, copied in self._kept:
            for name, value in theirs.items():
                copied.setdefault(name, value)
        self._kept.clear()


class Registered:
    """A function as it was registered.

    Attributes:
        reads: What it can see that other functions can see too.
        changes: What of that its watched calls have changed: its name, and whether they only
            filled it, as a cache is filled.
    """

    def __init__(
        self, function: Callable[..., Any], root: Path, meant: Mapping[Shared, Shared]
    ) -> None:
        self._function = function
        self._root = root
        self._meant = meant
        self.reads = set(meant.values())
        self.changes: dict[Shared, tuple[str, bool]] = {}

    def __call__(self) -> Any:
        """Call it with the names that it had then."""
        function: Callable[[], Any] = _Copy(self._root).of(self._function)
        return function()

    def watched(self) -> Any:
        """Call it, and note what it changes."""
        own = _Copy(self._root)
        function = own.of(self._function)
        state = own.state()
        try:
            return function()
        finally:
            for thing, (name, filled) in state.changed().items():
                if (shared := self._meant.get(thing)) is not None:
                    _, only = self.changes.get(shared, (name, True))
                    self.changes[shared] = name, only and filled


def shared_changes(functions: Mapping[str, Registered]) -> Iterator[tuple[str, str, str, bool]]:
    """Each function that changes what a later one sees: its key, the name, the key of the later.

    The last says whether it was only filled. Under Spark the later one sees the change, and here it
    does not. Where both fill it, it is a cache, and no difference.
    """
    keys = list(functions)
    for at, key in enumerate(keys):
        changes = sorted(functions[key].changes.items(), key=lambda change: change[1])
        for thing, (name, filled) in changes:
            for later in keys[at + 1 :]:
                fills_too = filled and thing in functions[later].changes
                if thing in functions[later].reads and not fills_too:
                    yield key, name, later, filled
                    break


class _Copy:
    """One copy of what a function reaches by its names.

    Attributes:
        names: Those of each module and their copy, by the identity of the first.
    """

    def __init__(self, root: Path) -> None:
        self.names: dict[int, tuple[Names, Names]] = {}
        self._root = root
        self._done: dict[int, Any] = {}
        self._modules: dict[int, ModuleType] = {}
        self._cells: dict[int, tuple[CellType, CellType, str]] = {}
        self._collections: list[tuple[str, Any, Any]] = []
        self._read: set[Shared] = set()
        self._name = ""

    def originals(self) -> Iterator[Any]:
        """What it was made of and others may change."""
        yield from (theirs for theirs, _ in self.names.values())
        yield from (theirs for theirs, _, _ in self._cells.values())
        yield from (theirs for _, theirs, _ in self._collections)

    def meant(self) -> dict[Shared, Shared]:
        """What can be changed in this copy, and what it is the copy of."""
        names = {(id(self.names[at][1]), name): (at, name) for at, name in self._read}
        cells = {(id(made), ""): (at, "") for at, (_, made, _) in self._cells.items()}
        return names | cells | {(id(made), ""): (id(of), "") for _, of, made in self._collections}

    def state(self) -> State:
        """What can be changed in this copy as it is now, by what it is the copy of."""
        return State(
            {(at, name): (self.names[at][1], name) for at, name in self._read},
            {(at, ""): (made, name) for at, (_, made, name) in self._cells.items()},
            {(id(of), ""): (made, name) for name, of, made in self._collections},
        )

    def of(self, value: Any) -> Any:
        """The copy of a function, of what wraps one, or of a list; all others as they are."""
        if type(value) in _PLAIN:
            return value
        if type(value) is tuple:
            return value if _PLAIN.issuperset(map(type, value)) else self._tuple(value)
        if id(value) in self._done:
            return self._done[id(value)]
        rules: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
            (FunctionType, self._function),
            (functools.partial, self._partial),
            (MethodType, lambda method: MethodType(self.of(method.__func__), method.__self__)),
            (_CACHED, self._cached),
            (ModuleType, self._module),
        )
        found = next((rule for kind, rule in rules if isinstance(value, kind)), self._collection)
        return found(value)

    def _tuple(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        made = tuple(map(self.of, value))
        return value if all(map(operator.is_, made, value)) else made

    def _partial(self, value: functools.partial[Any]) -> functools.partial[Any]:
        given = {name: self.of(each) for name, each in value.keywords.items()}
        return functools.partial(self.of(value.func), *map(self.of, value.args), **given)

    def _collection(self, value: Any) -> Any:
        """A list, dict or set may get other members; what is in it is copied too."""
        if type(value) not in (*_MAPPINGS, *_LISTS, set):
            return value
        made = self._done[id(value)] = copy.copy(value)
        if type(value) in _MAPPINGS:
            if not _PLAIN.issuperset(map(type, value.values())):
                for key, each in value.items():
                    made[key] = self.of(each)
        elif type(value) in _LISTS and not _PLAIN.issuperset(map(type, value)):
            for at, each in enumerate(value):
                made[at] = self.of(each)
        self._collections.append((self._name, value, made))
        return made

    def _cached(self, value: Any) -> Any:
        """A function with a cache, which begins empty: a DataFrame in it is of another call."""
        wrapped = value.__wrapped__
        if not isinstance(wrapped, FunctionType) or self._names_of(wrapped.__globals__) is None:
            return value
        inner = self.of(wrapped)  # it may reach its own name, and so this place
        if id(value) not in self._done:
            self._done[id(value)] = functools.lru_cache(**value.cache_parameters())(inner)
        return self._done[id(value)]

    def _module(self, value: ModuleType) -> ModuleType:
        """One of the pipeline's own, with all names: what is read of it is not known."""
        theirs = value.__dict__
        if self._names_of(theirs) is None:
            return value
        made = self._done[id(value)] = self._modules[id(theirs)]
        self._names(theirs, [(name,) for name in theirs if not name.startswith("__")])
        return made

    def _names(self, theirs: Names, paths: Iterable[tuple[str, ...]]) -> None:
        """Copies what is read of a module, and of modules that it names."""
        names = self._names_of(theirs)
        if names is None:
            return
        for name, *rest in paths:
            if name not in theirs:
                continue
            value = theirs[name]
            self._read.add((id(theirs), name))
            if isinstance(value, ModuleType) and rest:
                if self._names_of(value.__dict__) is not None:
                    self._names(value.__dict__, [tuple(rest)])
                    names[name] = self._modules[id(value.__dict__)]
            elif names[name] is value or isinstance(value, ModuleType):
                names[name] = self._named(name, value)

    def _function(self, function: FunctionType) -> Any:
        udf = function.__dict__.get("_unwrapped")
        if isinstance(udf, UserDefinedFunction):
            return self._udf(function, udf)
        named = zip(function.__closure__ or (), function.__code__.co_freevars, strict=True)
        new = [each for each in named if id(each[0]) not in self._cells]
        self._cells |= {id(each): (each, CellType(), name) for each, name in new}
        cells = tuple(self._cells[id(each)][1] for each in function.__closure__ or ())
        theirs = function.__globals__
        names = self._names_of(theirs)
        made = FunctionType(
            function.__code__, theirs if names is None else names, function.__name__,
            None, cells or None,
        )  # fmt: skip
        self._done[id(function)] = made
        functools.update_wrapper(made, function, updated=())
        made.__dict__ = {each: self._named(each, it) for each, it in function.__dict__.items()}
        made.__defaults__ = self.of(function.__defaults__)
        made.__kwdefaults__ = self.of(function.__kwdefaults__)
        for each, name in new:
            try:
                value = each.cell_contents
            except ValueError:
                continue  # it has no value yet
            self._cells[id(each)][1].cell_contents = self._named(name, value)
        self._names(theirs, _read_by(function.__code__))
        return made

    def _named(self, name: str, value: Any) -> Any:
        """The copy of what a name means, for whoever has to tell the name."""
        before, self._name = self._name, name
        made = self.of(value)
        self._name = before
        return made

    def _names_of(self, theirs: Names) -> Names | None:
        """The copy of a module's names; None: it is not one of the pipeline's own."""
        if id(theirs) not in self.names:
            path = Path(theirs.get("__file__") or "/").absolute()
            if not path.is_relative_to(self._root) or "site-packages" in path.parts:
                return None
            module = self._modules[id(theirs)] = ModuleType(str(theirs.get("__name__")))
            module.__dict__.update(theirs)
            self.names[id(theirs)] = theirs, module.__dict__
        return self.names[id(theirs)][1]

    def _udf(self, value: FunctionType, udf: UserDefinedFunction) -> Any:
        """A user-defined function, which PySpark serialises when it is first used."""
        made = copy.copy(udf)
        made.func = self.of(udf.func)
        made._judf_placeholder = None  # noqa: SLF001 - those bytes
        found = self._done[id(value)] = made._wrapped()  # noqa: SLF001 - as `udf` gives it
        return found


@functools.lru_cache(maxsize=10_000)
def _read_by(code: CodeType) -> frozenset[tuple[str, ...]]:
    """The global names that a function uses, those in functions within it too.

    Each with the attributes that are read of it at once: `helpers.count` is no use of `count`, and
    `helpers` alone is one of everything in it.
    """
    found: set[tuple[str, ...]] = set()
    path: tuple[str, ...] = ()
    for each in dis.get_instructions(code):
        if each.opname.endswith(("_ATTR", "_METHOD")) and path:
            path = (*path, each.argval)
        elif each.opname not in _BESIDE:
            found.add(path)
            path = (each.argval,) if each.opname.endswith(("_GLOBAL", "_NAME")) else ()
    found.discard(())
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _read_by(inner)
    return frozenset(found)
