"""What became of each table's updates, counted by strategy and reason, for ``freshline status``.

The journal keeps one row for each table, strategy and code. A full update that nobody asked
for is among them with its code, so it is seen even if it was not the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from freshline.core.background.upkeep import COMPACT, TRY, VACUUM, VERIFY
from freshline.delta.log import CommitRecord
from freshline.executor.records import UpdateResult
from freshline.runtime.journal.store import Journal
from freshline.sql.strategy import APPEND_FILES, ASKED, STATE_BUILT

UPKEEP = (COMPACT, VACUUM, VERIFY, TRY)
"""Strategies that change no row: the last update of a table is the last one of another."""

CHECKS = (VERIFY, TRY)
"""Upkeep that makes nothing, not even files: it is no update for people who count them."""


def _none_of(strategies: Iterable[str]) -> str:
    listed = ",".join(f"'{each}'" for each in strategies)
    return f"(strategy IS NULL OR strategy NOT IN ({listed}))"


NO_UPKEEP = _none_of(UPKEEP)
"""SQL on a row of ``updates``: it is no upkeep. An update that runs or failed has no strategy."""

NO_CHECK = _none_of(CHECKS)
"""SQL on a row of ``updates``: it is no check."""

_CODES = {APPEND_FILES.name: APPEND_FILES.code, COMPACT: "small-files"}
"""Of commits that do not carry the reason, since there is only one."""


@dataclass(frozen=True, slots=True)
class StrategyUse:
    """Updates of one table with one strategy for one reason.

    Attributes:
        strategy: append, bucket-recompute, bucket-merge, group-merge, group-recompute,
            key-recompute, full, backfill, ...
        code: Why that one, as a short name; empty where no reason has one.
        updates: How many.
        rows: Rows that they wrote.
        read_rows: Rows of the parents' changes that they read; all of the parents' rows where
            they read everything.
        seconds: What they took.
        last_s: When the last one ended.
        last_number: Its number.
        last_read_rows: What it read.
        reason: Why it was made that way, in words.
    """

    strategy: str
    code: str
    updates: int
    rows: int
    read_rows: int
    seconds: float
    last_s: float
    last_number: int
    last_read_rows: int
    reason: str

    @property
    def unasked(self) -> bool:
        """Whether these are full updates that nobody asked for or expects."""
        return self.strategy == "full" and bool(self.code) and self.code not in ASKED

    @property
    def built_state(self) -> bool:
        """Whether these read all rows once to merge later: incremental by name, not by cost."""
        return self.code == STATE_BUILT


def note_use(
    journal: Journal, table: str, number: int, result: UpdateResult, seconds: float, now_s: float
) -> None:
    """Count a committed update; the caller flushes.

    One that an earlier attempt had made was not computed again, and what that took is unknown.
    """
    if result.repeated:
        return
    journal.write(
        "INSERT INTO strategies (table_name, strategy, code, updates, rows, read_rows, seconds,"
        " last_s, last_number, last_read_rows, reason) VALUES (?,?,?,1,?,?,?,?,?,?,?)"
        " ON CONFLICT (table_name, strategy, code) DO UPDATE SET updates=updates+1,"
        " rows=rows+excluded.rows, read_rows=read_rows+excluded.read_rows,"
        " seconds=seconds+excluded.seconds, last_s=excluded.last_s,"
        " last_number=excluded.last_number, last_read_rows=excluded.last_read_rows,"
        " reason=excluded.reason",
        (
            table, result.strategy, result.code, result.rows, result.read_rows, seconds, now_s,
            number, result.read_rows, result.reason,
        ),
    )  # fmt: skip
    if result.corrected_rows:
        journal.write(
            "INSERT INTO corrections (table_name, updates, rows, last_s) VALUES (?,1,?,?)"
            " ON CONFLICT (table_name) DO UPDATE SET updates=updates+1, rows=rows+excluded.rows,"
            " last_s=excluded.last_s",
            (table, result.corrected_rows, now_s),
        )


def note_commit(journal: Journal, table: str, commit: CommitRecord) -> None:
    """Count an update that the journal does not know, by its commit; its seconds are lost."""
    facts = commit.metadata
    strategy = str(facts["strategy"])
    # A compaction carries on what the commit before it says of its own update.
    code = _CODES.get(strategy) or str(facts.get("reason", ""))
    result = UpdateResult(
        version=commit.version,
        rows=int(facts["rows"]),
        rejected_rows=0,
        seconds=0.0,
        strategy=strategy,
        reason=f"taken over from its commit ({code})" if code else "taken over from its commit",
        repeated=False,
        parents={},
        schema_changed=False,
        code=code,
        read_rows=0 if strategy == COMPACT else int(facts.get("read", 0)),
        corrected_rows=int(facts.get("corrected", 0)),
    )
    note_use(journal, table, commit.update, result, 0.0, commit.timestamp_s)


@dataclass(frozen=True, slots=True)
class Corrections:
    """Late rows that changed what a view with final emission had shown as complete.

    Attributes:
        updates: Updates that wrote such buckets again.
        rows: Rows that they wrote there.
        last_s: When the last of them ended.
    """

    updates: int
    rows: int
    last_s: float


def read_corrections(journal: Journal) -> Mapping[str, Corrections]:
    """By view, of those that were corrected."""
    rows = journal.rows_if_there("SELECT * FROM corrections")
    return {
        row["table_name"]: Corrections(row["updates"], row["rows"], row["last_s"]) for row in rows
    }


def read_uses(journal: Journal) -> Mapping[str, tuple[StrategyUse, ...]]:
    """By table, the strategy used last first."""
    rows = journal.rows_if_there("SELECT * FROM strategies ORDER BY last_s DESC, strategy, code")
    found: dict[str, list[StrategyUse]] = {}
    for row in rows:
        found.setdefault(row["table_name"], []).append(
            StrategyUse(
                row["strategy"], row["code"], row["updates"], row["rows"], row["read_rows"],
                row["seconds"], row["last_s"], row["last_number"], row["last_read_rows"],
                row["reason"],
            )
        )  # fmt: skip
    return {name: tuple(uses) for name, uses in found.items()}
