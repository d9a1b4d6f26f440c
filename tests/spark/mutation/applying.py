"""A fault put into the running program, and taken out again.

The code of a file's functions is exchanged in place, so whoever holds one of them runs the fault.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import freshline
from tests.spark.mutation.fault import Fault

SOURCE = Path(freshline.__file__).parent


class StaleError(Exception):
    """The text that a fault is to change is not in its file, or more than once."""


@contextmanager
def applied(fault: Fault) -> Iterator[None]:
    """The fault is in the program within.

    Raises:
        StaleError: The file is not what the fault was written for.
    """
    text = (SOURCE / fault.file).read_text()
    if text.count(fault.old) != 1:
        raise StaleError(f"{fault.file}: {text.count(fault.old)} times: {fault.old}")
    name = f"freshline.{fault.file.removesuffix('.py').replace('/', '.')}"
    module = importlib.import_module(name)
    changed = text.replace(fault.old, fault.new)
    undo = _constants(module, text, changed) + _functions(module, text, changed)
    assert undo, fault.name
    _forget()
    try:
        yield
    finally:
        for holder, key, before in undo:
            setattr(holder, key, before)
        _forget()


def _functions(module: ModuleType, text: str, changed: str) -> list[tuple[Any, str, Any]]:
    """Exchanges the code of functions that differ; what to set back."""
    before = dict(_codes(compile(text, module.__name__, "exec")))
    after = dict(_codes(compile(changed, module.__name__, "exec")))
    undo = []
    for name, function in _defined(module):
        if name in after and _meaning(before[name]) != _meaning(after[name]):
            undo.append((function, "__code__", function.__code__))
            function.__code__ = after[name]
    return undo


def _meaning(code: CodeType) -> tuple[Any, ...]:
    """What a function does, wherever it stands."""
    constants = tuple(_meaning(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, constants


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            if not constant.co_flags & 0x1:  # a class
                yield from _codes(constant)


def _defined(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """Functions and methods that the module defines, without their decorators."""
    holders: list[Any] = [module]
    holders += [each for each in vars(module).values()
                if isinstance(each, type) and each.__module__ == module.__name__]  # fmt: skip
    for holder in holders:
        for value in vars(holder).values():
            plain = value.fget if isinstance(value, property) else value
            plain = getattr(plain, "__func__", plain)  # of a static or class method
            plain = getattr(plain, "__wrapped__", plain)  # of a cache
            if isinstance(plain, FunctionType) and plain.__module__ == module.__name__:
                yield plain.__qualname__, plain


def _constants(module: ModuleType, text: str, changed: str) -> list[tuple[Any, str, Any]]:
    """Exchanges the module's own values that differ, everywhere where they are held."""
    undo: list[tuple[Any, str, Any]] = []
    scope = dict(vars(module))
    before = [ast.unparse(each) for each in ast.parse(text).body]
    for statement in ast.parse(changed).body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        if ast.unparse(statement) in before:
            continue
        exec(compile(ast.Module([statement], []), module.__name__, "exec"), scope)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        assert isinstance(target, ast.Name)
        held = vars(module)[target.id]
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(target.id) is held:
                undo.append((other, target.id, held))
                setattr(other, target.id, scope[target.id])
    return undo


def _forget() -> None:
    """Empties what the program remembers of former calls."""
    for module in [each for name, each in sys.modules.items() if name.startswith("freshline.sql")]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
