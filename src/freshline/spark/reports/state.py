"""What finished batches of a window leave behind: one Delta table a partial.

They lie under STORAGE/_freshline/reports/REPORT/WINDOW-DEFINITION/PARTIAL, partitioned by the
batch's number. A batch's commit carries its number as a Delta transaction identifier, so a
repeated batch adds nothing, and as metadata the versions up to which it read: the log alone
tells what is finished.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import StructType

from freshline.delta.histories import KEY, marks_of, put_back
from freshline.delta.log import commits
from freshline.delta.metadata import encode
from freshline.executor.records import UpdateRequest
from freshline.executor.report_records import Window
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.pins import Pinned, asked_of, at_version, location, replacement_of
from freshline.spark.engine.sizing import sized

BATCH = "__batch"
_PROPERTIES: Mapping[str, str] = {
    "delta.enableDeletionVectors": "false",
    "delta.logRetentionDuration": "interval 36500 days",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of which at least one partial is on disk.

    Attributes:
        number: From 1.
        base: The first batch that counts: all from there on are the window's rows.
        pins: Version of each parent up to which it read.
        before: The same of the batch before it; empty for the first.
        statics: Version of each static table, by the name the query uses.
        told: The identity of each static table and the mark of that version's commit ("" where
            the log does not tell). Another table, or another history, has others.
        seconds: From its beginning until its last partial was written.
        whole: Whether all partials are there.
        marks: Of the commits that made those versions of its parents, by the parents' names.
        asked_s: When somebody asked for the report; None: it is a view's, or nobody noted it.
        untold_s: When an earlier version made it, which did not note ``asked_s``.
    """

    number: int
    base: int
    pins: Mapping[str, int]
    before: Mapping[str, int]
    statics: Mapping[str, int]
    told: Mapping[str, Sequence[str]]
    seconds: float = 0.0
    whole: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)
    asked_s: float | None = None
    untold_s: float | None = None

    def read_others(self, session: SparkSession, table: TableDef) -> bool:
        """Whether a static table that it read was created again, or put back from a copy.

        Args:
            session: The batch's own.
            table: The report.
        """
        return any(
            replacement_of(session, read, self.statics[read.name], *self.told[read.name])
            for read in table.statics
            if read.name in self.told
        )

    def read_what_is_gone(self, project: Project, pins: Mapping[str, int]) -> bool:
        """Whether a stream was put back from a copy, or made again: it has other rows by now.

        Args:
            project: Of the streams.
            pins: Their versions now.
        """
        if any(version > pins.get(name, version) for name, version in self.pins.items()):
            return True
        return bool(put_back(project, {"parents": self.pins, KEY: self.marks}))

    def was_for_another(self, window: Window, statics: Mapping[str, int]) -> bool:
        """Whether the report was asked for again since, and static tables have changed meanwhile.

        Args:
            window: As it is asked for now.
            statics: Versions of the static tables now.
        """
        if dict(self.statics) == dict(statics):
            return False
        if self.untold_s is not None:  # it was made after it was asked for
            return window.asked_s is not None and window.asked_s > self.untold_s
        return self.asked_s != window.asked_s


def told_of(pinned: Pinned) -> dict[str, tuple[str, str]]:
    """Identity and mark of each static table at its version."""
    return {
        name: (pinned.ids.get(name, ""), pinned.marks.get(name, "")) for name in pinned.versions
    }


@dataclass(frozen=True, slots=True)
class ReportState:
    """The state of one window."""

    session: SparkSession
    project: Project
    window: Window
    partials: Sequence[str]
    cut: str
    """A short name for how the query is cut; another version of freshline may cut otherwise."""

    def path(self, partial: str) -> str:
        """Of one partial's table."""
        folder = _folder(self.project, self.window)
        end = _named(self.window.end_s)
        return f"{folder}/{_named(self.window.start_s)}-{end}-{self.cut}/{partial}"

    def batches(self) -> list[Batch]:
        """Those on disk, by number.

        Raises:
            PlatformError: A log cannot be read.
        """
        found: dict[int, list[Mapping[str, Any]]] = {}
        made_s: dict[int, float] = {}
        for partial in self.partials:
            for commit in commits(self.path(partial)):
                found.setdefault(commit.update, []).append(commit.metadata)
                made_s.setdefault(commit.update, commit.timestamp_s)
        return [
            Batch(
                number,
                int(parts[0]["base"]),
                parts[0]["parents"],
                parts[0]["before"],
                parts[0]["statics"],
                parts[0].get("told", {}),
                max(float(part["seconds"]) for part in parts),
                len(parts) == len(self.partials),
                parts[0].get(KEY, {}),
                parts[0].get("asked"),
                None if "asked" in parts[0] else made_s[number],
            )
            for number, parts in sorted(found.items())
        ]

    def add(
        self, partial: str, batch: Batch, rows: DataFrame, elapsed_s: Callable[[], float]
    ) -> int:
        """Add a batch's rows to a partial, once; returns how many.

        Args:
            elapsed_s: Seconds since the batch began; asked once the rows are written.
        """
        name = f"{self.window.table.name}.report.{partial}"
        transaction = Transaction(self.session, location(self.path(partial)), name, batch.number)
        if transaction.committed:
            return 0
        failpoint("report.before_partial")
        rows = sized(self.session, rows, self.project.configuration)
        staged = transaction.stage(
            rows.withColumn(BATCH, F.lit(batch.number)),
            "append",
            partitioned_by=(BATCH,),
            properties=_PROPERTIES,
        )
        staged.commit(self._metadata(name, batch, staged.rows, elapsed_s()))
        failpoint("report.after_partial")
        return staged.rows

    def columns(self, partial: str) -> StructType | None:
        """Of a partial's rows on disk; None: nothing is there."""
        version = max((commit.version for commit in commits(self.path(partial))), default=None)
        if version is None:
            return None
        return at_version(self.session, self.path(partial), version).drop(BATCH).schema

    def rows(self, partial: str, base: int) -> DataFrame:
        """The rows of all batches from ``base`` on; several for a group."""
        version = max(commit.version for commit in commits(self.path(partial)))
        asked = asked_of(self.window.table)  # HAVING is in the final query
        every = at_version(self.session, self.path(partial), version, asked)
        return every.filter(F.col(BATCH) >= base).drop(BATCH)

    def _metadata(self, table: str, batch: Batch, rows: int, seconds: float) -> str:
        request = UpdateRequest(
            batch.number,
            self.window.table.name,
            self.window.start_s,
            self.window.end_s,
            parents=batch.pins,
            definition=self.window.definition,
        )
        more: dict[str, Any] = {
            "base": batch.base,
            "before": dict(batch.before),
            "statics": dict(batch.statics),
            "told": dict(batch.told),
            KEY: marks_of(self.project, batch.pins),
            "seconds": round(seconds, 3),
            "asked": batch.asked_s,
        }
        return encode(
            request,
            table=table,
            files=None,
            parents=batch.pins,
            strategy="report-batch",
            rows=rows,
            more=more,
        )


def forget_state(session: SparkSession, project: Project, window: Window) -> None:
    """Remove the state of a window whose result is committed, and of those before it.

    A report's table shows its newest window, so what was begun of an earlier one and given up,
    or cut otherwise by an earlier definition, is of no use any more.
    """
    path = jvm.named(session, "org.apache.hadoop.fs.Path")(location(_folder(project, window)))
    files = path.getFileSystem(jvm.java_session(session).sessionState().newHadoopConf())
    if not files.exists(path):
        return
    ours = _named(window.start_s)
    for each in files.listStatus(path):
        if each.getPath().getName()[: len(ours)] <= ours:
            files.delete(each.getPath(), True)


def _folder(project: Project, window: Window) -> str:
    """Where the state of all windows of a report is; names sort by the windows' starts."""
    return f"{project.own_path}/reports/{quote(window.table.name, safe='')}"


def _named(moment_s: float) -> str:
    return f"{datetime.fromtimestamp(moment_s, UTC):%Y%m%dT%H%M%S.%fZ}"


def short_name(facts: Any) -> str:
    """The same for the same facts, eight characters."""
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:8]
