"""Private parts of PySpark, kept from the user's own code: past them Spark can be told anything.

PySpark itself, libraries and freshline use them while a user's function runs, so who asks decides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.session import SparkSession

from freshline.core.errors import UserError

_PRIVATE: tuple[tuple[type, tuple[str, ...]], ...] = (
    (DataFrame, ("_jdf",)),
    (SparkSession, ("_jsparkSession", "_jvm", "_jsc")),
)
_LIBRARIES = ("pyspark", "delta", "py4j", "freshline")
_INSTALLED = ("site-packages", "dist-packages")


def keep_private(is_users: Callable[[], bool]) -> None:
    """Refuse these attributes to the user's code from now on, wherever ``is_users`` says so."""
    for owner, names in _PRIVATE:
        for name in names:
            setattr(owner, name, _Kept(name, is_users))


def refuse_private(name: str) -> None:
    """Raise if the user's code, two calls up, asks for a private part."""
    if name.startswith("_j") and _is_users(sys._getframe(2)):  # noqa: SLF001 - who asks
        raise _refusal(name)


class _Kept:
    """An attribute in an object's own dictionary, given to libraries alone."""

    def __init__(self, name: str, is_users: Callable[[], bool]) -> None:
        self._name = name
        self._is_running = is_users

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        if self._is_running() and _is_users(sys._getframe(1)):  # noqa: SLF001 - who asks
            raise _refusal(self._name)
        try:
            return owner.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self._name] = value


def _is_users(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    file = frame.f_code.co_filename
    return package not in _LIBRARIES and not any(part in file for part in _INSTALLED)


def _refusal(name: str) -> UserError:
    return UserError(
        "changes-session",
        f"{name} is a private part of Spark's, behind which nothing says what is written",
        rule="definitions of a pipeline return DataFrames and do nothing else",
        next_step="Use Spark's public interface.",
    )
