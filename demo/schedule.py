"""When which feed file is released: first a flood, then a trickle, some files late."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

FLOOD_EVERY_S = 0.4
TRICKLE_EVERY_S = 5.0
FLOOD_SHARE = 0.6
LATE_EVERY = 10
LATE_BY_S = 3.0
SUFFIXES = {"orders": "csv", "lineitem": "parquet"}


@dataclass(frozen=True, slots=True)
class Release:
    """One feed file.

    Attributes:
        feed: orders or lineitem.
        slice: Which part of the data it holds.
        due_s: What its name says, in seconds after the start.
        release_s: When it appears, in seconds after the start; later than due for a late one.
    """

    feed: str
    slice: int
    due_s: float
    release_s: float

    def name(self, start_s: float) -> str:
        """The file's name when the releases began at ``start_s`` (seconds since the epoch)."""
        due = datetime.fromtimestamp(round(start_s + self.due_s, 3), UTC)
        stamp = due.strftime("%Y%m%dT%H%M%S.") + f"{due.microsecond // 1000:03d}"
        return f"{self.feed}-{stamp}.{SUFFIXES[self.feed]}"


def due_times_s(seconds: float) -> list[float]:
    """When files are due within ``seconds``: every 0.4 s for three fifths, then every 5 s."""
    flood = int(seconds * FLOOD_SHARE / FLOOD_EVERY_S)
    trickle = int(seconds * (1.0 - FLOOD_SHARE) / TRICKLE_EVERY_S)
    times = [index * FLOOD_EVERY_S for index in range(flood)]
    return times + [seconds * FLOOD_SHARE + index * TRICKLE_EVERY_S for index in range(trickle)]


def releases(seconds: float) -> list[Release]:
    """All releases by time: a file of each feed at each due time, every tenth lineitem late."""
    planned = []
    for index, due_s in enumerate(due_times_s(seconds)):
        late_s = LATE_BY_S if index % LATE_EVERY == LATE_EVERY - 1 else 0.0
        planned.append(Release("orders", index, due_s, due_s))
        planned.append(Release("lineitem", index, due_s, due_s + late_s))
    return sorted(planned, key=lambda each: (each.release_s, each.slice, each.feed))


def save(planned: Sequence[Release], path: Path) -> None:
    """Write the plan for the producer."""
    path.write_text(json.dumps([asdict(each) for each in planned]))


def load(path: Path) -> list[Release]:
    """Read what :func:`save` wrote."""
    return [Release(**fields) for fields in json.loads(path.read_text())]
