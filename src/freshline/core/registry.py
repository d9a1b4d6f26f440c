"""Finding what is one file each by scanning its folder: policies, partitions into tracks."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Any, TypeVar

from freshline.core import partitions, policies
from freshline.core.placement import Placement
from freshline.core.policy import Policy

_Kind = TypeVar("_Kind")


@functools.cache
def found_policies() -> dict[str, type[Policy]]:
    """Every policy in ``core/policies`` by its name, in order of names."""
    return _found(policies, Policy)


@functools.cache
def policy_names() -> tuple[str, ...]:
    """Every name by which a policy can be asked for, the other names of policies included."""
    names = {name for kind in found_policies().values() for name in (kind.name, *kind.also_called)}
    return tuple(sorted(names))


def policy_called(name: str) -> str:
    """The name of the policy that ``name`` is another name of; else ``name`` itself."""
    kinds = found_policies().values()
    return next((kind.name for kind in kinds if name in kind.also_called), name)


@functools.cache
def found_partitions() -> dict[str, type[Placement]]:
    """Every partition in ``core/partitions`` by its name, in order of names."""
    return _found(partitions, Placement)


def make_policy(name: str, parameters: dict[str, Any]) -> Policy:
    """A policy with those of ``parameters`` that it has fields for.

    Raises:
        KeyError: No policy has that name; callers know the file and line for the message.
    """
    return _made(found_policies()[name], parameters)


def make_partition(name: str, parameters: dict[str, Any]) -> Placement:
    """A partition with those of ``parameters`` that it has fields for.

    Raises:
        KeyError: No partition has that name.
    """
    return _made(found_partitions()[name], parameters)


def _found(package: ModuleType, base: type[_Kind]) -> dict[str, type[_Kind]]:
    found: dict[str, type[_Kind]] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, base)
                and value.__module__ == module.__name__
                and "name" in vars(value)
            ):
                found[vars(value)["name"]] = value
    return dict(sorted(found.items()))


def _made(kind: type[_Kind], parameters: dict[str, Any]) -> _Kind:
    if not dataclasses.is_dataclass(kind):
        return kind()
    fields = {field.name for field in dataclasses.fields(kind) if field.init}
    return kind(**{key: value for key, value in parameters.items() if key in fields})
