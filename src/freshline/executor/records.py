"""What passes between the scheduler's runtime and Spark; nothing here needs Spark.

An update is asked for with an :class:`UpdateRequest`, which names exactly what to load, and
answered with an :class:`UpdateResult`, which says what the one Delta commit did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from freshline.core.errors import Place, PlatformError
from freshline.executor.report_records import ReportExecutor
from freshline.executor.trials import Trust, Verdict

_MOST_NAMED = 3

UNFINISHED = (".tmp", ".crc", ".inprogress", "._COPYING_")
"""How names of files end that are still being written; the last is of `hdfs dfs -put`, and Spark
passes over such files without a word."""


@dataclass(frozen=True, slots=True)
class FeedFile:
    """One complete file of a feed.

    Attributes:
        name: Relative to the feed's path, with / between folders.
        size_bytes: As listed.
        modified_s: Its modification time, seconds since the epoch.
        timestamp_s: The time its data stands for, seconds since the epoch.
    """

    name: str
    size_bytes: int
    modified_s: float
    timestamp_s: float


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """One update of one table: what to load, and up to which freshness.

    Attributes:
        number: Grows with every update of the table; the commit's transaction version.
        table: The table's name in the project.
        from_s: Freshness before, seconds since the epoch.
        to_s: Freshness after, seconds since the epoch.
        files: Base tables: the files to load, in the order they are to be recorded.
        parents: Derived tables: the version of every project table that the query reads.
        full: Replace all rows: a derived table is recomputed, a base table then holds the
            rows of ``files`` alone.
        attempt: 1 for the first try, counted on for every retry.
        definition: A short name for the table's query, kept in the commit when not empty.
        range_s: Event times [from, to), seconds since the epoch: do the data of the range
            again, from ``files`` (all that are in the table) or ``parents``, and no more.
        upkeep: compact, vacuum, verify or try: work on the table that changes no row; else empty.
        accepted: Up to which version what others did to the table, or made in its place, was
            accepted, -1 for their dropping it; None: nothing was.
        filled: Base tables: updates were committed before, so there is a table.
        feed_path: Base tables: where the feed is, as the commit keeps it; empty: not a folder.
        trust: What is known of the view's trial; None: strategies are trusted untried.
    """

    number: int
    table: str
    from_s: float
    to_s: float
    files: tuple[FeedFile, ...] = ()
    parents: Mapping[str, int] = field(default_factory=dict)
    full: bool = False
    attempt: int = 1
    definition: str = ""
    range_s: tuple[float, float] | None = None
    upkeep: str = ""
    accepted: int | None = None
    filled: bool = False
    feed_path: str = ""
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What an update's commit did.

    Attributes:
        version: The Delta version that the commit made.
        rows: Rows that the commit wrote.
        rejected_rows: Rows of the files that went to ``<table>__rejected``.
        seconds: Wall-clock seconds from the request to the end of the commit.
        strategy: How it was computed: append, bucket-recompute, bucket-merge, group-merge,
            group-recompute, key-recompute or full.
        reason: Why that strategy, one line.
        repeated: The commit was already there; nothing was written.
        parents: Version of every Delta table that the query read, by the name it uses.
        schema_changed: The commit changed the table's columns.
        code: The reason as a short name that stays the same over versions.
        read_rows: Rows of the parents' changes that were read; all rows of the parents where a
            view was computed in full or a state was built, 0 where their logs do not tell.
        corrected_rows: Of a view with final emission: rows written in buckets that had been
            shown as complete before.
        verdict: Of a trial.
        read: Base tables: size in bytes and modification time (seconds since the epoch) of the
            files that were no longer as listed when they were read.
    """

    version: int
    rows: int
    rejected_rows: int
    seconds: float
    strategy: str
    reason: str
    repeated: bool
    parents: Mapping[str, int]
    schema_changed: bool
    code: str = ""
    read_rows: int = 0
    corrected_rows: int = 0
    verdict: Verdict | None = None
    read: Mapping[str, tuple[int, float]] = field(default_factory=dict)


class Executor(ReportExecutor, Protocol):
    """Runs updates; called from several threads at once, one update a call."""

    def run(self, request: UpdateRequest) -> UpdateResult:
        """Carry out one update as one commit, or raise and leave the table as it was.

        Raises:
            UnreadableFilesError: Some of the files cannot be read; nothing was committed.
            FreshlineError: The update failed.
        """
        ...

    def give_up(self, table: str, number: int) -> None:
        """End an update's Spark jobs that run just now; unless it is about to commit, it fails.

        Returns at once, also where Spark does not answer.
        """
        ...

    def healthy(self) -> bool:
        """Whether further updates can be run at all; asks Spark, which may never answer."""
        ...

    def ended(self) -> PlatformError | None:
        """Why Spark's process is gone; None while it is there. Answers at once."""
        ...

    def kill(self) -> None:
        """End Spark's process at once, whatever it does; another executor can then be made."""
        ...

    def close(self) -> None:
        """Stop; running updates fail."""
        ...


class UnreadableFilesError(PlatformError):
    """Some files of an update cannot be read; nothing was committed.

    Raised only after every file was tried alone, so the files not named can be read.

    Args:
        table: The table whose update failed.
        files: Name and one-line reason of each, in the order of the request.
        where: The feed's declaration.
    """

    def __init__(
        self, table: str, files: Sequence[tuple[str, str]], *, where: Place | None = None
    ) -> None:
        self.table = table
        self.files = tuple(files)
        count = f"{len(self.files)} files" if len(self.files) > 1 else "a file"
        named = "; ".join(f"{name}: {reason}" for name, reason in self.files[:_MOST_NAMED])
        more = (
            f"; and {len(self.files) - _MOST_NAMED} more" if len(self.files) > _MOST_NAMED else ""
        )
        super().__init__(
            "unreadable-files",
            f"{count} for table {table} cannot be read ({named}{more})",
            where=where,
            next_step=f"Repair what is wrong, then run `freshline retry {table}`.",
        )
