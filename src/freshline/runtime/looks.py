"""A question to a storage that may hang, in a thread of its own: it holds nobody up for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Look(Generic[Answer]):
    """One question, for all who want its answer.

    Args:
        ask: Gives the answer; it may take as long as it likes.
        name: Of the thread.

    Attributes:
        began_s: When it began, by the monotonic clock.
    """

    def __init__(self, ask: Callable[[], Answer], name: str) -> None:
        self._ask = ask
        self._answer: Future[Answer] = Future()
        self._ended_s = 0.0
        self.began_s = time.monotonic()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    @property
    def took_s(self) -> float:
        """So long it has taken, or goes on."""
        return (self._ended_s or time.monotonic()) - self.began_s

    def has_ended(self, patience_s: float) -> bool:
        """Whether the storage has answered, or failed; waits until so long after it began."""
        wait([self._answer], max(0.0, self.began_s + patience_s - time.monotonic()))
        return self._answer.done()

    def is_over(self, *, lasts_s: float, given_up_s: float) -> bool:
        """Whether another look is to be made.

        Args:
            lasts_s: What it found is old after so long.
            given_up_s: It hangs if it has gone on for so long.
        """
        if not self._answer.done():
            return self.took_s >= given_up_s
        return time.monotonic() - self._ended_s >= lasts_s

    @property
    def error(self) -> BaseException | None:
        """Why it failed, once it has ended; None: it did not."""
        return self._answer.exception(0)

    def answer(self) -> Answer:
        """What it found, once it has ended.

        Raises:
            Exception: What ``ask`` raised.
        """
        return self._answer.result(0)

    def _work(self) -> None:
        try:
            found = self._ask()
        except Exception as error:  # noqa: BLE001 - raised for whoever wants the answer
            self._ended_s = time.monotonic()
            self._answer.set_exception(error)
        else:
            self._ended_s = time.monotonic()
            self._answer.set_result(found)
