"""A workload: feeds whose files are written beforehand, and the tables that read them.

Every row carries ``due_s``, the seconds after the start for which its file stands: so what a
version of a base table contains can be seen in the statistics of its Delta log, whoever made
it. A feed's files come in order, and whole. A feed can be silent for a while; what was due
then comes at once when it is back.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.common.projects import FeedSpec, TableSpec, write_file


@dataclass(frozen=True, slots=True)
class Arrivals:
    """One feed's files.

    Attributes:
        feed: Its files come once a period.
        rows: Of each file.
        silent: From which share of the time to which nothing comes.
    """

    feed: FeedSpec
    rows: int
    silent: tuple[float, float] | None = None

    def released_s(self, due_s: float, seconds: float) -> float:
        """When a file appears that is due at ``due_s``, of ``seconds`` in all."""
        if self.silent is None:
            return due_s
        from_s, to_s = (share * seconds for share in self.silent)
        return to_s if from_s <= due_s < to_s else due_s


@dataclass(frozen=True, slots=True)
class Workload:
    """What arrives, and what is wanted of it; a base table's feed is its name with _feed."""

    arrivals: tuple[Arrivals, ...]
    tables: tuple[TableSpec, ...]

    @property
    def feeds(self) -> tuple[FeedSpec, ...]:
        """The feeds alone."""
        return tuple(each.feed for each in self.arrivals)


def loading(name: str) -> str:
    """The query of a base table of that name."""
    return f"SELECT id, due_s, key, amount, note FROM STREAM {name}_feed"


@dataclass(frozen=True, slots=True)
class Release:
    """One file: the second for which it stands, that in which it appears, and where it lies."""

    feed: str
    due_s: float
    released_s: float
    staged: str


def stage(workload: Workload, folder: Path, seconds: float) -> list[Release]:
    """Write the files of the first ``seconds`` beforehand; the plan of their release."""
    planned = []
    for each in workload.arrivals:
        feed = each.feed
        (folder / feed.name).mkdir(parents=True)
        for index in range(int(seconds / feed.period_s)):
            due_s = index * feed.period_s
            path = folder / feed.name / f"{index}.{feed.format}"
            write_file(path, each.rows, due_s, first_id=index * each.rows)
            planned.append(Release(feed.name, due_s, each.released_s(due_s, seconds), str(path)))
    planned.sort(key=lambda release: (release.released_s, release.due_s, release.feed))
    (folder / "plan.json").write_text(json.dumps([asdict(each) for each in planned]))
    return planned


def plan(folder: Path) -> list[Release]:
    """What :func:`stage` planned."""
    return [Release(**each) for each in json.loads((folder / "plan.json").read_text())]
