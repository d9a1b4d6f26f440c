"""Notices to people: who gets them, how much they matter, and an error as one line."""

from __future__ import annotations

from typing import Literal, Protocol

from freshline.core.errors import FreshlineError

Level = Literal["debug", "info", "warning", "error"]
"""How much a notice matters; a warning is something that somebody should look at."""

_LONGEST = 300


class Hears(Protocol):
    """Whom to tell; see :class:`freshline.runtime.observer.Observer`."""

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear."""


def one_line(error: Exception | None) -> str:
    """The reason of a failure in one line of at most 300 characters."""
    text = error.render() if isinstance(error, FreshlineError) else f"{error}"
    line = " ".join((text or type(error).__name__).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
