"""Looking up static tables by name, in a thread, so a catalog that hangs blocks nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError

from freshline.core.errors import FreshlineError
from freshline.executor.named import HasNamed

Read = tuple[str, str]
"""A table of the project, and the name by which its query reads a static one."""

Found = dict[Read, tuple[int, str, str | None] | FreshlineError | None]


class NamedStatics:
    """Looks names up in the session's catalog.

    Args:
        executor: Where Spark is, or None while it is not there.
        patience_s: So long an answer is waited for; a later one comes with the next call.
    """

    def __init__(self, executor: Callable[[], object | None], patience_s: float) -> None:
        self._executor = executor
        self._patience_s = patience_s
        self._asked: Future[Found] | None = None

    def found(self, reads: Collection[Read]) -> Found:
        """Version, identity and mark of each, or why not; none where it takes too long."""
        executor = self._executor()
        if not reads or not isinstance(executor, HasNamed):
            return {}
        if self._asked is None:
            self._asked = Future()
            what = (executor, tuple(reads), self._asked)
            threading.Thread(target=_look_up, args=what, name="named-statics", daemon=True).start()
        try:
            found = self._asked.result(self._patience_s)
        except NotYetError:
            return {}
        self._asked = None
        return {read: told for read, told in found.items() if read in reads}


def _look_up(executor: HasNamed, reads: tuple[Read, ...], answer: Future[Found]) -> None:
    found: Found = {}
    for table, name in reads:
        try:
            found[table, name] = executor.named_version(table, name)
        except FreshlineError as error:
            found[table, name] = error
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are looked up
            found[table, name] = FreshlineError("named-static", repr(error))
    answer.set_result(found)
