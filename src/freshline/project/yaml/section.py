"""One mapping of freshline.yml, read key by key, every fault kept with its line.

A getter returns the value, or its default when the key is missing or the value is wrong; what
was wrong is in the list of errors. So reading goes on behind a fault and finds the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from freshline.core.errors import Place, UserError
from freshline.project.names import correction, listed
from freshline.project.yaml import durations, sizes
from freshline.project.yaml.file import YamlFile
from freshline.project.yaml.numbers import is_number

_T = TypeVar("_T")


class Section:
    """The mapping at ``path`` of a YAML file.

    Args:
        what: How messages call it, e.g. ``feed orders_feed``.
        errors: Where faults are added.
    """

    def __init__(
        self, file: YamlFile, path: tuple[Hashable, ...], what: str, errors: list[UserError]
    ) -> None:
        self.file = file
        self.path = path
        self.what = what
        self.errors = errors
        data: Any = file.data
        for key in path:
            data = _below(data, key)
        self.data: dict[str, Any] = {}
        if isinstance(data, dict):
            self.data = {str(key): value for key, value in data.items()}
        elif data is not None:
            self.fault(
                "bad-value",
                f"{what} is {_shown(data)}",
                rule="it is a mapping of keys to values",
                next_step="Write it as key: value lines.",
            )

    def place(self, key: str | None = None) -> Place:
        """The file and line of ``key``, or of the section."""
        return self.file.place(self.path if key is None else (*self.path, key))

    def fault(
        self, code: str, what: str, *, key: str | None = None, rule: str, next_step: str
    ) -> None:
        """Adds an error at ``key``."""
        self.errors.append(
            UserError(code, what, where=self.place(key), rule=rule, next_step=next_step)
        )

    def only(self, *known: str) -> None:
        """Adds an error for each key that is not known."""
        for key in self.data:
            if key not in known:
                self.fault(
                    "unknown-key",
                    f"{self.what} has the unknown key '{key}'",
                    key=key,
                    rule=f"the known keys are {listed(known)}",
                    next_step=correction(key, known, "Remove the key."),
                )

    def require(self, *keys: str) -> None:
        """Adds an error for each key that is missing."""
        for key in keys:
            if self.data.get(key) is None:
                self.fault(
                    "missing-key",
                    f"{self.what} has no {key}",
                    rule=f"the key {key} is required",
                    next_step=f"Add {key}: to it.",
                )

    def text(self, key: str) -> str | None:
        """A text that is not empty."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value.strip():
            return value
        is_word = not isinstance(value, str | dict | list)  # YAML reads no, 7 and dates as such
        next_step = "Put the value in quotes." if is_word else "Correct the value."
        self._bad(key, value, "it is a text that is not empty", next_step)
        return None

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        """One of the known words."""
        value = self.data.get(key)
        names = tuple(known)
        if value is None:
            return default
        if isinstance(value, str) and value in names:
            return value
        self.fault(
            "bad-value",
            f"{key} of {self.what} is {_shown(value)}",
            key=key,
            rule=f"it is one of {listed(names)}",
            next_step=correction(str(value), names, "Use one of them."),
        )
        return default

    def whole(self, key: str, default: int, *, least: int, most: int | None = None) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.data.get(key)
        if value is None:
            return default
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if fits and (most is None or value <= most):
            return int(value)
        limit = f"of at least {least}" if most is None else f"from {least} to {most}"
        self._bad(key, value, f"it is a whole number {limit}")
        return default

    def number(
        self, key: str, default: _T, accepts: Callable[[float], bool], rule: str
    ) -> float | _T:
        """A number that ``accepts`` takes."""
        value = self.data.get(key)
        if value is None:
            return default
        if is_number(value) and accepts(value):
            return float(value)
        self._bad(key, value, rule)
        return default

    def flag(self, key: str, *, default: bool) -> bool:
        """Either true or false."""
        value = self.data.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self._bad(key, value, "it is true or false")
        return default

    def duration_s(self, key: str) -> float | None:
        """A duration, in seconds."""
        return self._read(key, durations.duration_s, "bad-duration", durations.RULE)

    def size_bytes(self, key: str) -> int | None:
        """A size, in bytes."""
        return self._read(key, sizes.size_bytes, "bad-size", sizes.RULE)

    def texts(self, key: str, *, words: Iterable[str] = ()) -> dict[str, str]:
        """A mapping of names to texts; numbers and dates become texts as they are written.

        What YAML takes for true and false (yes, off) becomes one of these two, unless its name is
        among ``words``, in lower case: then it is a text as well.
        """
        value = self.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._bad(key, value, "it is a mapping of names to texts")
            return {}
        result = {}
        for name, each in value.items():
            if isinstance(each, str):
                result[str(name)] = each
            elif each is not None and not isinstance(each, list | dict):
                is_flag = isinstance(each, bool) and str(name).lower() not in words
                word = None if is_flag else self.file.word((*self.path, key, name))
                result[str(name)] = word or str(each).lower()
            else:
                self.errors.append(
                    UserError(
                        "bad-value",
                        f"{name} in {key} of {self.what} is {_shown(each)}",
                        where=self.file.place((*self.path, key, name)),
                        rule="it is a text, a number, true or false",
                        next_step="Correct the value.",
                    )
                )
        return result

    def configuration(self) -> dict[str, str]:
        """``configuration:``, settings of Spark and parameters of the project's own.

        A word that YAML takes for true or false is one of these two for Spark. A parameter may
        mean the word itself (``country: NO``), so there it has to be said which is meant.
        """
        found = self.texts("configuration")
        for name in found:
            path = (*self.path, "configuration", name)
            each, word = _below(self.data["configuration"], name), self.file.word(path)
            if name.startswith("spark.") or not isinstance(each, bool) or word is None:
                continue
            if word.lower() not in ("true", "false"):
                fault = UserError(
                    "bad-value",
                    f"{name} in configuration of {self.what} is {word}, which YAML reads as"
                    f" {_shown(each)}",
                    where=self.file.place(path),
                    rule="a parameter of your own is the text that is meant",
                    next_step=f"Put it in quotes, or write {_shown(each)}.",
                )
                self.errors.append(fault)
        return found

    def sub(self, key: str, what: str) -> Section | None:
        """The mapping under ``key``, or None when it is missing."""
        if self.data.get(key) is None:
            return None
        return Section(self.file, (*self.path, key), what, self.errors)

    def _read(self, key: str, read: Callable[[object], _T], code: str, rule: str) -> _T | None:
        value = self.data.get(key)
        if value is None:
            return None
        try:
            return read(value)
        except ValueError as error:
            self.fault(
                code,
                f"{key} of {self.what}: {error}",
                key=key,
                rule=rule,
                next_step="Correct the value.",
            )
            return None

    def _bad(
        self, key: str, value: object, rule: str, next_step: str = "Correct the value."
    ) -> None:
        self.fault(
            "bad-value",
            f"{key} of {self.what} is {_shown(value)}",
            key=key,
            rule=rule,
            next_step=next_step,
        )


def _below(data: Any, key: Hashable) -> Any:
    """The value at a key; names are texts here, also those that YAML reads as numbers or dates."""
    if isinstance(data, dict) and key not in data:
        return next(value for each, value in data.items() if str(each) == key)
    return data[key]


def _shown(value: object) -> str:
    """A value in a message: texts in quotes, long things by their kind."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else str(value)
