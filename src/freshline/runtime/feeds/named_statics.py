"""Looking up static tables in a thread, so a catalog or store that hangs blocks nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from typing import Generic, TypeVar

from freshline.core.errors import FreshlineError
from freshline.executor.named import HasNamed

Read = tuple[str, str]
"""A table of the project, and the name by which its query reads a static one."""

Found = dict[Read, tuple[int, str, str | None] | FreshlineError | None]

_Asked = TypeVar("_Asked")
_Told = TypeVar("_Told")


class LookUps(Generic[_Asked, _Told]):
    """Looks things up, one set at a time.

    Args:
        patience_s: So long an answer is waited for; a later one comes with the next call.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._asked: Future[dict[_Asked, _Told | FreshlineError]] | None = None

    def found(
        self, asked: Collection[_Asked], look: Callable[[_Asked], _Told]
    ) -> dict[_Asked, _Told | FreshlineError]:
        """What is told of each, or why nothing is; none where it takes too long."""
        if not asked:
            return {}
        if self._asked is None:
            self._asked = Future()
            what = (look, tuple(asked), self._asked)
            threading.Thread(target=_look_up, args=what, name="statics", daemon=True).start()
        try:
            found = self._asked.result(self._patience_s)
        except NotYetError:
            return {}
        self._asked = None
        return {each: told for each, told in found.items() if each in asked}


class NamedStatics:
    """Looks names up in the session's catalog.

    Args:
        executor: Where Spark is, or None while it is not there.
        patience_s: As of :class:`LookUps`.
    """

    def __init__(self, executor: Callable[[], object | None], patience_s: float) -> None:
        self._executor = executor
        self._looks = LookUps[Read, "tuple[int, str, str | None] | None"](patience_s)

    def found(self, reads: Collection[Read]) -> Found:
        """Version, identity and mark of each, or why not; none where it takes too long."""
        executor = self._executor()
        if not isinstance(executor, HasNamed):
            return {}
        return self._looks.found(reads, lambda read: executor.named_version(*read))


def _look_up(
    look: Callable[[_Asked], _Told],
    asked: tuple[_Asked, ...],
    answer: Future[dict[_Asked, _Told | FreshlineError]],
) -> None:
    found: dict[_Asked, _Told | FreshlineError] = {}
    for each in asked:
        try:
            found[each] = look(each)
        except FreshlineError as error:
            found[each] = error
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are looked up
            found[each] = FreshlineError("named-static", repr(error))
    answer.set_result(found)
