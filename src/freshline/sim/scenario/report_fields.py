"""Reading a report scenario's values, each error with its key and line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from freshline.core.errors import UserError
from freshline.project.yaml.file import Path_, YamlFile
from freshline.project.yaml.numbers import is_number

MOST = 1e12
"""Seconds, tuples and costs are multiplied and added up: no sum may be infinite."""


class Fields:
    """One mapping of a document; every key must be known."""

    def __init__(self, document: YamlFile, path: Path_, known: Iterable[str]) -> None:
        self.document = document
        self.path = path
        data = document.data
        for key in path:
            data = data[key]
        if not isinstance(data, dict):
            raise UserError(
                "bad-value",
                f"'{self._named()}' must be a mapping of keys to values",
                where=document.place(path),
                rule=f"its keys are {', '.join(known)}",
            )
        self.data: dict[str, Any] = data
        allowed = [*known, "note"]
        for key in data:
            if key not in allowed:
                raise UserError(
                    "unknown-key",
                    f"the key '{key}' is not known here",
                    where=document.place((*path, key)),
                    rule=f"known: {', '.join(known)}",
                    next_step="Correct its spelling or remove it.",
                )

    def _named(self) -> str:
        return ".".join(str(key) for key in self.path) or "the document"

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self.data.get(key) is not None

    def bad(self, key: str, what: str, rule: str = "", *below: int) -> UserError:
        """The error for the value of ``key``, or of an item below it."""
        return UserError(
            "bad-value",
            f"'{key}' {what}",
            where=self.document.place((*self.path, key, *below)),
            rule=rule,
            next_step="Correct the value.",
        )

    def require(self, key: str) -> Any:
        """The value of a key that must be there."""
        if not self.has(key):
            raise UserError(
                "missing-key",
                f"the key '{key}' is missing in '{self._named()}'",
                where=self.document.place((*self.path, key) if key in self.data else self.path),
                next_step=f"Give '{key}' a value.",
            )
        return self.data[key]

    def number(self, key: str, default: float | None = None, *, least: float = -math.inf) -> float:
        """A number from ``least`` to `MOST`."""
        value = self.require(key) if default is None else self.data.get(key, default)
        if not is_number(value):
            raise self.bad(key, f"must be a number, not {value!r}")
        if value < least:
            raise self.bad(key, f"must be at least {least:g}, not {value!r}")
        if abs(value) > MOST:
            raise self.bad(key, f"must lie between -{MOST:g} and {MOST:g}, not {value!r}")
        return float(value)

    def whole(self, key: str, default: int, *, least: int) -> int:
        """A whole number, at least ``least``."""
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.bad(key, f"must be a whole number of at least {least}, not {value!r}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.bad(key, f"must be true or false, not {value!r}")
        return value

    def choice(self, key: str, default: str, allowed: Iterable[str]) -> str:
        """One of the names allowed."""
        value, names = self.data.get(key, default), list(allowed)
        if value not in names:
            raise self.bad(key, f"is not known: {value!r}", f"known: {', '.join(names)}")
        return str(value)

    def times(self, key: str, least: float, most: float = MOST, *, open_: bool) -> list[float]:
        """Nondecreasing times from ``least`` (itself left out if ``open_``) to ``most``."""
        values = self.data[key]
        if not isinstance(values, list):
            raise self.bad(key, f"must be a list of times, not {values!r}")
        before = least
        for place, value in enumerate(values):
            if not is_number(value):
                raise self.bad(key, f"must hold numbers, not {value!r}", "", place)
            if value < least or (open_ and value == least) or value > most:
                outside = f"holds {value!r}, which is outside the window"
                raise self.bad(key, outside, f"times lie after {least:g}, up to {most:g}", place)
            if value < before:
                falls = f"must not decrease, but {value!r} follows {before!r}"
                raise self.bad(key, falls, "", place)
            before = float(value)
        return [float(value) for value in values]

    def below(self, key: str, known: Iterable[str]) -> Fields:
        """The mapping under ``key``, which must be there."""
        self.require(key)
        return Fields(self.document, (*self.path, key), known)
