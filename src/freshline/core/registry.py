"""Finding what is one file each by scanning its folder: policies, partitions into tracks."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from typing import Any

from freshline.core import policies
from freshline.core.policy import Policy


@functools.cache
def found_policies() -> dict[str, type[Policy]]:
    """Every policy in ``core/policies`` by its name, in order of names."""
    found: dict[str, type[Policy]] = {}
    for module_info in pkgutil.iter_modules(policies.__path__):
        module = importlib.import_module(f"{policies.__name__}.{module_info.name}")
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, Policy)
                and value.__module__ == module.__name__
                and "name" in vars(value)
            ):
                found[value.name] = value
    return dict(sorted(found.items()))


def make_policy(name: str, parameters: dict[str, Any]) -> Policy:
    """A policy with those of ``parameters`` that it has fields for.

    Raises:
        KeyError: No policy has that name; callers know the file and line for the message.
    """
    kind = found_policies()[name]
    if not dataclasses.is_dataclass(kind):
        return kind()
    fields = {field.name for field in dataclasses.fields(kind) if field.init}
    return kind(**{key: value for key, value in parameters.items() if key in fields})
