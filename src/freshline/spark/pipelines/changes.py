"""What a call of a function has changed of what other functions see."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from types import CellType
from typing import Any

Shared = tuple[int, str]
"""A module's names, by their identity, and one of them; or a collection, and no name."""


class State:
    """What could be changed, as it was.

    Args:
        names: The module's names in which each stands, and its name.
        cells: Variables of a function that functions within it share, and how they are called.
        collections: Lists, dicts and sets, and how they are called.
    """

    def __init__(
        self,
        names: Mapping[Shared, tuple[dict[str, Any], str]],
        cells: Mapping[Shared, tuple[CellType, str]],
        collections: Mapping[Shared, tuple[Any, str]],
    ) -> None:
        self._names = {key: (all_, name, all_[name]) for key, (all_, name) in names.items()}
        self._cells = {key: (cell, name, _content(cell)) for key, (cell, name) in cells.items()}
        self._collections = {
            key: (made, name, copy.copy(made)) for key, (made, name) in collections.items()
        }

    def changed(self) -> dict[Shared, tuple[str, bool]]:
        """What is different now: its name, and whether it was only filled, as a cache is."""
        found = {}
        for key, (all_, name, before) in self._names.items():
            if all_.get(name) is not before:
                found[key] = name, before is None
        for key, (cell, name, before) in self._cells.items():
            if _content(cell) is not before:
                found[key] = name, before is None or before is _NOTHING
        for key, (made, name, before) in self._collections.items():
            if not _is_same(made, before):
                found[key] = name, _is_filled(made, before)
        return found


def _is_same(made: Any, before: Any) -> bool:
    """Whether a collection has the very members that it had."""
    if isinstance(made, set):
        return bool(made == before)
    if isinstance(made, dict):
        return list(made) == list(before) and all(made[name] is before[name] for name in before)
    return len(made) == len(before) and all(map(operator.is_, made, before))


def _is_filled(made: Any, before: Any) -> bool:
    """Whether a dict has got names or a set members, and the others are what they were."""
    if isinstance(made, set):
        return bool(made >= before)
    return isinstance(made, dict) and all(made.get(name) is before[name] for name in before)


_NOTHING = object()


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING
