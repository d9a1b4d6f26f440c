"""``from`` and ``to`` of a request: a stretch of time, never without an end.

Both are moments in RFC 3339 or seconds since the epoch. Without ``to`` the window ends now, without
``from`` it is ``last`` seconds long, an hour where that is not said either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from freshline.ui.answers import Problem

DEFAULT_S = 3600.0
LONGEST_S = 31 * 86_400.0
_MOST_S = 1e11  # as a moment in the year 5138


@dataclass(frozen=True, slots=True)
class Window:
    """From ``from_s`` to ``to_s``, seconds since the epoch."""

    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class AskedWindow:
    """What a request says of its window; None: not said."""

    from_s: float | None
    to_s: float | None
    last_s: float = DEFAULT_S

    def at(self, now_s: float) -> Window:
        """The window, asked for at ``now_s``.

        Raises:
            Problem: 400, it ends before it begins, or is longer than a month.
        """
        to_s = now_s if self.to_s is None else self.to_s
        from_s = to_s - self.last_s if self.from_s is None else self.from_s
        if not 0.0 < to_s - from_s <= LONGEST_S:
            raise Problem(400, "bad-window", "from is before to, and at most 31 days before it")
        return Window(from_s, to_s)

    def said(self) -> dict[str, str]:
        """The parameters of a request for the same window."""
        values = {"from": self.from_s, "to": self.to_s, "last": self.last_s}
        return {name: repr(each) for name, each in values.items() if each is not None}


def asked_window(parameters: Mapping[str, str]) -> AskedWindow:
    """The window of a request.

    Raises:
        Problem: 400, one of its ends is no moment, or its length no number of seconds.
    """
    return AskedWindow(
        moment_s(parameters["from"], "from") if "from" in parameters else None,
        moment_s(parameters["to"], "to") if "to" in parameters else None,
        _length_s(parameters["last"]) if "last" in parameters else DEFAULT_S,
    )


def _length_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds < _MOST_S:
        raise Problem(400, "bad-length", "last is a number of seconds, such as 3600")
    return seconds


def moment_s(text: str, name: str) -> float:
    """Seconds since the epoch of a parameter.

    Raises:
        Problem: 400.
    """
    try:
        seconds = float(text)
    except ValueError:
        try:
            # A plus sign of a zone that was not escaped arrives as a space.
            moment = datetime.fromisoformat(text.strip().replace(" ", "+"))
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            seconds = math.nan
    if not 0.0 <= seconds < _MOST_S:
        raise Problem(
            400, "bad-moment", f"{name} is a moment like 2026-01-31T08:00:00Z, or epoch seconds"
        )
    return seconds
