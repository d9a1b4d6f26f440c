"""Private parts of PySpark, kept from the user's own code: past them Spark can be told anything.

PySpark itself, libraries and freshline use them while a user's function runs, so who asks decides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any, Protocol

from pyspark.sql import DataFrame as SparkFrame
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.group import GroupedData
from pyspark.sql.session import SparkSession

from freshline.core.errors import UserError
from freshline.sql.text.reads import backquoted

_PRIVATE: tuple[tuple[type, tuple[str, ...]], ...] = (
    (DataFrame, ("_jdf",)),
    (GroupedData, ("_jgd",)),
    (SparkSession, ("_jsparkSession", "_jvm", "_jsc")),
)
_LIBRARIES = ("pyspark", "delta", "py4j", "freshline")
_INSTALLED = ("site-packages", "dist-packages")
_MADE_IN = "_freshline_call"


class Running(Protocol):
    """A call of a user's function."""

    def views(self) -> Collection[str]:
        """Those of the datasets that were looked up in it."""


def keep_private(running: Callable[[], Running | None]) -> None:
    """Refuse these attributes to the user's code from now on, wherever ``running`` gives a call.

    A DataFrame that reads a dataset belongs to the call that made it, and no other can use it.
    """
    for owner, names in _PRIVATE:
        for name in names:
            setattr(owner, name, _Kept(name, running))


def give(frame: SparkFrame, call: Running) -> SparkFrame:
    """The frame, which freshline made for a call: it is that call's."""
    frame.__dict__[_MADE_IN] = call
    return frame


def refuse_private(name: str) -> None:
    """Raise if the user's code, two calls up, asks for a private part."""
    if name.startswith("_j") and is_users(sys._getframe(2)):  # noqa: SLF001 - who asks
        raise _refusal(name)


class _Kept:
    """An attribute in an object's own dictionary, given to libraries alone."""

    def __init__(self, name: str, running: Callable[[], Running | None]) -> None:
        self._name = name
        self._running = running

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        if (call := self._running()) is not None:
            if is_users(sys._getframe(1)):  # noqa: SLF001 - who asks
                raise _refusal(self._name)
            made_in = owner.__dict__.get(_MADE_IN)
            if made_in is not None and made_in is not call and _reads(owner, made_in):
                raise _other_call()
        try:
            return owner.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self._name] = value
        if isinstance(owner, DataFrame | GroupedData):
            owner.__dict__[_MADE_IN] = self._running()


def _reads(owner: DataFrame | GroupedData, made_in: Running) -> bool:
    """Whether rows of a dataset are in it, those that its call saw."""
    frame = owner._df if isinstance(owner, GroupedData) else owner  # noqa: SLF001 - its own
    plan = str(frame.__dict__["_jdf"].queryExecution().analyzed().toString()).lower()
    return any(f"view ({backquoted(view)},".lower() in plan for view in made_in.views())


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs code of the user's."""
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


def _other_call() -> UserError:
    return UserError(
        "other-call",
        "a DataFrame that reads datasets is used, and another call of a function made it",
        rule="a function is called once per update, and reads its parents at the versions of that",
        next_step="Make the DataFrame in each call. functools.cache may keep it in a function that"
        " stands in a module of the pipeline's and is imported at the top.",
    )
