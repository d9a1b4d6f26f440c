"""One version of a table, verified against its query over exactly what its commit names.

A view: its query over the parents' versions, under the settings of the session that made it. With
final emission the buckets shown count. A base table: its query over all the files that its
commits name. What cannot be verified is skipped with the reason, never passed over.

A difference is held against the table only if the query decides its rows: it is computed again
over the same rows in other orders, and where these results differ from each other the query may
choose (ties, collect_list), so nothing is said (docs/design/0064).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.delta.changelog import ChangesGoneError, logged_changes
from freshline.delta.log import CommitRecord, commit_at, commits, size_bytes, table_id
from freshline.delta.log import version as newest_version
from freshline.delta.metadata import loaded_names
from freshline.executor.verified import BY_OTHERS, RIGHT, SKIPPED, WRONG, Difference, VersionCheck
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import cast_to, keep_wall_clocks, kind_of, same_columns
from freshline.spark.engine.errors import SparkError, is_gone, one_line, sql_state, update_failed
from freshline.spark.engine.pins import at_version, newest_snapshot, pin_statics
from freshline.spark.feeds.reader import FeedReader, view_of
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.verification.differences import differences, union_of
from freshline.spark.views.emission import Emission
from freshline.spark.views.hindrances import ZONE
from freshline.spark.views.plans import plan_of
from freshline.spark.views.timesets import within
from freshline.sql.query.nondeterministic import clock_or_chance
from freshline.sql.query.normal import parsed
from freshline.sql.query.records import Buckets
from freshline.sql.query.refusal import Refused
from freshline.sql.text.reads import quoted, rewritten

_ASKS = re.compile(
    r"\b(current_(?:date|time|timestamp|user)|now|localtimestamp|curdate|rand|randn|uuid|shuffle)\("
)
"""In Spark's analysed plan of a query that is not understood here."""

_CHOICES = "its query gives other rows over the same data when they come in another order"
_SEEDS = range(1, 7)
"""Of the orders in which rows come again. Two rows that tie change places in half of them."""

_PARTITIONS = 16


class SkippedError(Exception):
    """The version cannot be verified; the message says why."""


def versions_of(
    project: Project, table: TableDef, wanted: str | int
) -> tuple[list[int], dict[int, str]]:
    """Versions of a table to verify, oldest first, and those that cannot be, with reasons.

    Args:
        project: Of the table.
        table: The table.
        wanted: newest, all, or how many of the newest.

    Raises:
        PlatformError: The log cannot be read.
    """
    path = project.table_path(table.name)
    newest = newest_version(path)
    if newest is None:
        return [], {}
    ours = [record.version for record in commits(path)]
    found = ours if not ours or newest == ours[-1] else [*ours, newest]
    if wanted != "all":
        return found[-(1 if wanted == "newest" else int(wanted)) :], {}
    known, skipped = set(found), {}
    oldest = min(known, default=newest + 1)
    for version in range(newest + 1):
        if version not in known:
            skipped[version] = (
                "its commit was removed from the log, or is not freshline's"
                if version < oldest
                else "its commit is not freshline's"
            )
    return found, skipped


class Verifier:
    """Verifies versions of a project's tables.

    Args:
        project: The tables.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def check(self, session: SparkSession, table: TableDef, version: int) -> VersionCheck:
        """Verify one version.

        Args:
            session: One for this check alone.
            table: The table.
            version: The Delta version.

        Raises:
            FreshlineError: Spark failed, or was told to stop; nothing is known then.
        """
        check = _Check(self._project, session, table, version)
        try:
            return check.done()
        except (SkippedError, ChangesGoneError) as error:
            return check.skipped(str(error))
        except SparkError as error:
            if is_gone(error):
                return check.skipped(f"what it was made of is gone: {one_line(error)}")
            if sql_state(error)[:2] in ("22", "42"):
                return check.skipped(f"its query fails: {one_line(error)}")
            raise update_failed(table, error) from error


class _Check:
    """One version under way."""

    def __init__(
        self, project: Project, session: SparkSession, table: TableDef, version: int
    ) -> None:
        self._project = project
        self._session = session
        self._table = table
        self._version = version
        self._definition = definition_of(table)
        self._path = project.table_path(table.name)
        self._strategy = ""
        self._facts: Mapping[str, Any] = {}
        self._query = table.query
        self._is_understood = True

    def skipped(self, reason: str) -> VersionCheck:
        return self._ended(SKIPPED, reason=reason)

    def _ended(self, outcome: str, **more: Any) -> VersionCheck:
        return VersionCheck(
            self._table.name,
            self._version,
            outcome,
            self._strategy,
            query=self._query,
            facts=self._facts,
            **more,
        )

    def done(self) -> VersionCheck:
        is_base = self._table.kind == "base"
        last = None if is_base else commit_at(self._path, self._version)
        log = [last] if last is not None else self._log()
        self._facts = log[-1].metadata
        self._strategy = str(self._facts.get("strategy", ""))
        if log[-1].version < self._version:
            self._strategy = BY_OTHERS
        self._refuse_chance()
        return self._base(log) if is_base else self._view()

    def _log(self) -> list[CommitRecord]:
        """All commits of ours up to the version."""
        log = [each for each in commits(self._path) if each.version <= self._version]
        if not log:
            raise SkippedError("its commit was removed from the log")
        return log

    def _refuse_chance(self) -> None:
        try:
            reason = clock_or_chance(parsed(self._table.query))
        except Refused:
            self._is_understood = False
            return
        if reason is not None:
            raise SkippedError(f"its query cannot be computed again: {reason.message}")

    def _refuse_definition(self, facts: Mapping[str, Any], what: str) -> None:
        made_by = facts.get("definition", "")
        if made_by and made_by != self._definition:
            raise SkippedError(f"{what} by an earlier text of its query")

    # ---- views ----

    def _view(self) -> VersionCheck:
        facts, table = self._facts, self._table
        self._refuse_definition(facts, "it was made")
        pins: Mapping[str, int] = facts.get("parents", {})
        missing = [name for name in table.parents if name not in pins]
        if missing:
            raise SkippedError(f"its commit names no version of {', '.join(missing)}")
        for read in table.statics:
            if read.name not in pins and not read.time_travel:
                raise SkippedError(f"it reads {read.name}, which has no versions")
        self._refuse_replaced(pins)
        for name, value in facts.get("settings", {}).items():
            self._session.conf.set(name, value)
        self._query = self._pinned(pins)
        frames = {
            name: at_version(self._session, self._project.table_path(name), int(pins[name]))
            for name in table.parents
        }

        def expected(seed: int | None = None) -> DataFrame:
            for name, frame in frames.items():
                _ordered(frame, seed).createOrReplaceTempView(quoted(name))
            register_programs(self._session, self._project, table)
            return self._shown(self._session.sql(self._query), frames)

        sizes = [size_bytes(self._project.table_path(name), int(pins[name])) for name in frames]
        known_bytes = None if None in sizes or table.statics else sum(map(int, filter(None, sizes)))
        actual = at_version(self._session, self._path, self._version)
        return self._compared(actual, expected, known_bytes)

    def _refuse_replaced(self, pins: Mapping[str, int]) -> None:
        """Versions of a table say nothing of another one that has its name now."""
        ids: Mapping[str, str] = self._facts.get("ids", {})
        found = {
            name: table_id(self._project.table_path(name), pins[name])
            for name in self._table.parents
        }
        for read in self._table.statics:
            if read.name in ids and not read.time_travel:
                snapshot = newest_snapshot(self._session, read)
                found[read.name] = None if snapshot is None else str(snapshot.metadata().id())
        for name, now in found.items():
            if now is not None and ids.get(name, now) != now:
                raise SkippedError(f"{name} was dropped and created again since")

    def _pinned(self, pins: Mapping[str, int]) -> str:
        """The query with its static tables at the versions that the commit names."""
        names = dict(pin_statics(self._session, self._table, fixed=False).names)
        for read in self._table.statics:
            if read.name in pins and not read.time_travel:
                name = names.get(read.name, read.name)
                names[read.name] = f"{name} VERSION AS OF {pins[read.name]}"
        return rewritten(self._table.query, names) if names else self._table.query

    def _shown(self, output: DataFrame, frames: Mapping[str, DataFrame]) -> DataFrame:
        """With final emission: the rows of buckets that were complete."""
        until_us = self._facts.get("emitted_us")
        if until_us is None:
            return output
        schemas = {name: frame.schema for name, frame in frames.items()}
        plan = plan_of(self._session, self._project, self._table, schemas)
        if not isinstance(plan.buckets, Buckets):
            raise SkippedError("it showed complete buckets, and its query has none any more")
        kind = kind_of(output.schema, plan.buckets.column)
        keep_wall_clocks(self._session, [kind])
        zone = str(self._session.conf.get(ZONE))
        shown = Emission(int(until_us)).buckets
        return output.filter(within(plan.buckets.column, kind, shown, zone))

    # ---- base tables ----

    def _base(self, log: Sequence[CommitRecord]) -> VersionCheck:
        table, project = self._table, self._project
        assert table.feed is not None
        feed = project.feeds[table.feed]
        if feed.kind == "kafka":
            raise SkippedError("it was loaded from a topic, whose records are not kept for it")
        since = max(
            (place for place, record in enumerate(log) if record.metadata.get("full")), default=0
        )
        log = log[since:]
        self._refuse_others(log)
        reader = FeedReader(project, feed, record=False)
        by_pins: dict[str, list[str]] = defaultdict(list)
        for record in log:
            facts = record.metadata
            self._refuse_definition(facts, "some of its files were loaded")
            names = loaded_names(facts)
            self._refuse_changed_files(Path(feed.path), names, record)
            pins = json.dumps(facts.get("parents", {}), sort_keys=True)
            if facts.get("strategy") == "backfill" and table.statics:
                raise SkippedError(
                    "a backfill loaded a range again, maybe with other versions of static tables"
                )
            by_pins[pins] += names
        for read in table.statics:
            if not read.time_travel and any(read.name not in json.loads(each) for each in by_pins):
                raise SkippedError(f"it reads {read.name}, which has no versions")
        actual = at_version(self._session, self._path, self._version)
        first = at_version(self._session, self._path, log[0].version)
        if not same_columns(first.schema, actual.schema):
            raise SkippedError("columns were added to it since its first files were loaded")

        def expected(seed: int | None = None) -> DataFrame:
            outputs = []
            for pins, names in by_pins.items():
                schema = reader.schema(self._session, names)
                records = reader.read(self._session, names, schema)
                misfit = reader.misfit(schema)
                if misfit is not None:
                    records = records.filter(f"NOT ({misfit})")
                seen = _ordered(view_of(records, table.query), seed)
                seen.createOrReplaceTempView(quoted(str(table.feed)))
                register_programs(self._session, project, table)
                self._query = self._pinned(json.loads(pins))
                outputs.append(cast_to(self._session.sql(self._query), actual.schema))
            return union_of(outputs)

        return self._compared(actual, expected, None)

    def _refuse_others(self, log: Sequence[CommitRecord]) -> None:
        """Somebody who deletes rows of a base table means it: no file says what it holds then."""
        ours = {record.version for record in log}
        for version in range(log[0].version + 1, self._version + 1):
            if version in ours:
                continue
            changes = logged_changes(self._path, version - 1, version)
            if changes is None or changes:
                raise SkippedError(f"somebody else wrote into it, at version {version}")

    def _refuse_changed_files(
        self, folder: Path, names: Sequence[str], record: CommitRecord
    ) -> None:
        if not folder.is_absolute() or "://" in str(folder):
            return  # elsewhere: Spark says what is gone
        gone = []
        for name in names:
            try:
                modified_s = (folder / name).stat().st_mtime
            except OSError:
                gone.append(name)
                continue
            if modified_s > record.timestamp_s:
                when = datetime.fromtimestamp(modified_s, UTC)
                raise SkippedError(f"the file {name} was changed after it was loaded, {when:%F %T}")
        if gone:
            some = f"{gone[0]} among them" if len(gone) > 1 else gone[0]
            raise SkippedError(f"{len(gone)} of its files are gone from the feed: {some}")

    # ---- both ----

    def _compared(self, actual: DataFrame, expected: Any, known_bytes: int | None) -> VersionCheck:
        wanted = expected()
        if not self._is_understood:
            plan = str(jvm.java_frame(wanted).queryExecution().analyzed().toString())
            if asked := _ASKS.search(plan):
                raise SkippedError(f"its query cannot be computed again: it calls {asked[1]}")
        input_bytes = known_bytes
        if input_bytes is None:
            input_bytes = jvm.input_bytes(wanted)
        input_bytes += size_bytes(self._path, self._version) or 0
        difference = self._different(actual, wanted, input_bytes)
        if not difference:
            return self._ended(RIGHT)
        if not difference.columns:
            for seed in _SEEDS:
                if self._different(wanted, expected(seed), input_bytes):
                    raise SkippedError(_CHOICES)
        plan = str(jvm.java_frame(wanted).queryExecution().toString())
        return self._ended(WRONG, reason=difference.columns, difference=difference, plan=plan)

    def _different(self, left: DataFrame, right: DataFrame, input_bytes: int) -> Difference:
        return differences(self._session, left, right, self._project.configuration, input_bytes)


def _ordered(frame: DataFrame, seed: int | None) -> DataFrame:
    """The same rows in another order, unless ``seed`` is None.

    By partitions, which Spark keeps: a sort below a join it leaves out.
    """
    if seed is None:
        return frame
    return frame.repartition(_PARTITIONS, F.rand(seed)).sortWithinPartitions(F.rand(-seed))
