"""The trace of a run: one line a finished update, by finish, then track."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol


@dataclass(slots=True)
class Finished:
    """A finished update.

    Attributes:
        table: Its table.
        track: Where it ran.
        release_s: Since when its work was waiting (rule G8; r of a job for aus).
        start_s, finish_s: When it ran.
        from_s, to_s: It loaded the data of (from_s, to_s].
        mode: normal or recovery under aus, else None.
    """

    table: str
    track: int
    release_s: float
    start_s: float
    finish_s: float
    from_s: float
    to_s: float
    mode: str | None

    def record(self) -> dict[str, Any]:
        """The line's keys and values, in the documented order."""
        return {
            "table": self.table,
            "track": self.track,
            "release": self.release_s,
            "start": self.start_s,
            "finish": self.finish_s,
            "from": self.from_s,
            "to": self.to_s,
            "mode": self.mode,
        }


class InOrder:
    """Hands finished updates on by (finish, track).

    They come by finish, but updates that take no time finish in a later round of the same
    instant, perhaps on a lower track: those of one instant are held until time goes on.
    """

    def __init__(self, sink: Callable[[Finished], None]) -> None:
        self._sink = sink
        self._held: list[Finished] = []

    def __call__(self, finished: Finished) -> None:
        """Take the next one in order of finish."""
        if self._held and self._held[0].finish_s != finished.finish_s:
            self.flush()
        self._held.append(finished)

    def flush(self) -> None:
        """Hand on what is held; to be called at the end."""
        for finished in sorted(self._held, key=attrgetter("track")):
            self._sink(finished)
        self._held.clear()


class Lines(Protocol):
    """What takes the lines of a trace."""

    def write(self, text: str, /) -> object:
        """One more line."""


def line_writer(file: Lines) -> Callable[[Finished], None]:
    """Writes each finished update as one line of JSON to ``file``."""

    def write(finished: Finished) -> None:
        file.write(json.dumps(finished.record()) + "\n")

    return write
