"""Reading checked values out of a YAML file, and collecting what is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from freshline.core.errors import Place, UserError, UserErrors
from freshline.project.yaml.file import Path_, YamlFile
from freshline.project.yaml.numbers import is_number

_MOST = 1e15
"""Squares of numbers are added up and divided: none of the results may be infinite."""


class Checks:
    """Values of one file, checked one by one; all errors are raised together.

    Args:
        file: The file.
    """

    def __init__(self, file: YamlFile) -> None:
        self.file = file
        self.errors: list[UserError] = []

    def raise_errors(self) -> None:
        """Raise what was found.

        Raises:
            UserError: One error; UserErrors: several, by line.
        """
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise UserErrors(sorted(self.errors, key=_line))

    def error(
        self,
        path: Path_,
        code: str,
        what: str,
        *,
        rule: str = "",
        next_step: str = "",
    ) -> None:
        """Note that the value at ``path`` is wrong."""
        place = self.file.place(path)
        self.errors.append(UserError(code, what, where=place, rule=rule, next_step=next_step))

    def mapping(self, path: Path_, value: Any, known: Collection[str], of: str) -> dict[str, Any]:
        """``value`` as keys and values; unknown keys are errors. ``of`` names it in messages."""
        if not isinstance(value, Mapping):
            self.error(
                path, "not-a-mapping", f"{of} has to be keys with values", rule=_listed(known)
            )
            return {}
        for key in value:
            if key not in known:
                self.error(
                    (*path, key), "unknown-key", f"{of} has no key '{key}'", rule=_listed(known)
                )
        return dict(value)

    def number(
        self,
        path: Path_,
        value: Any,
        of: str,
        *,
        above: float | None = None,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> float:
        """``value`` as a finite float; NaN where it is none, which is noted as an error."""
        number = _number(value)
        if number is None:
            self.error(path, "not-a-number", f"{of} is {_shown(value)}", rule="it is a number")
            return math.nan
        if at_most is None and abs(number) > _MOST:
            rule = f"no number is larger than {_MOST:g}"
            self.error(path, "out-of-range", f"{of} is {_shown(value)}", rule=rule)
        if above is not None and not number > above:
            self.error(path, "out-of-range", f"{of} is {_shown(value)}", rule=f"it is > {above:g}")
        if at_least is not None and not number >= at_least:
            rule = f"it is >= {at_least:g}"
            self.error(path, "out-of-range", f"{of} is {_shown(value)}", rule=rule)
        if at_most is not None and not number <= at_most:
            rule = f"it is <= {at_most:g}"
            self.error(path, "out-of-range", f"{of} is {_shown(value)}", rule=rule)
        return number

    def whole(
        self,
        path: Path_,
        value: Any,
        of: str,
        *,
        at_least: int | None = None,
        at_most: int | None = None,
    ) -> int:
        """``value`` as an integer."""
        number = _number(value)
        if number is None or number != int(number):
            self.error(
                path, "not-an-integer", f"{of} is {_shown(value)}", rule="it is a whole number"
            )
            return 0 if at_least is None else at_least
        whole = value if isinstance(value, int) else int(number)
        if at_least is not None and whole < at_least:
            rule = f"it is >= {at_least}"
            self.error(path, "out-of-range", f"{of} is {_shown(value)}", rule=rule)
            return at_least
        if at_most is not None and whole > at_most:
            rule = f"it is <= {at_most:,}"
            self.error(path, "out-of-range", f"{of} is {_shown(value)}", rule=rule)
            return at_most
        return whole

    def flag(self, path: Path_, value: Any, of: str) -> bool:
        """``value`` as true or false."""
        if not isinstance(value, bool):
            rule = "it is true or false"
            self.error(path, "not-a-flag", f"{of} is {_shown(value)}", rule=rule)
        return bool(value)

    def choice(self, path: Path_, value: Any, of: str, known: Collection[str]) -> str:
        """``value`` as one of ``known``."""
        if not isinstance(value, str) or value not in known:
            self.error(path, "unknown-name", f"{of} is {_shown(value)}", rule=_listed(known))
        return str(value)

    def pairs(self, path: Path_, value: Any, of: str, shape: str) -> list[tuple[float, float]]:
        """``value`` as a list of pairs of numbers; ``shape`` says what a pair is."""
        if not isinstance(value, list):
            rule = f"it is a list of {shape}"
            self.error(path, "not-a-list", f"{of} is {_shown(value)}", rule=rule)
            return []
        pairs = []
        for index, item in enumerate(value):
            if not isinstance(item, list) or len(item) != 2 or None in map(_number, item):  # noqa: PLR2004
                what = f"{of} has the entry {_shown(item)}"
                self.error((*path, index), "not-a-pair", what, rule=f"an entry is {shape}")
            else:
                pairs.append((float(item[0]), float(item[1])))
        return pairs

    def place(self, path: Path_) -> Place:
        """Where the value at ``path`` stands."""
        return self.file.place(path)


def _number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."  # noqa: PLR2004 - one line of a message


def _listed(known: Collection[str]) -> str:
    return f"known are {', '.join(known)}"


def _line(error: UserError) -> int:
    return (error.where.line or 0) if error.where else 0
