"""One version of a base table, verified: its query over all the files that its commits name.

Of many versions, oldest first, each is judged by what its commit changed, while the version before
it was right: the rows of the files that it added against those of the files that it took away and
the query over what it loaded. The cost then grows with the rows and not with the square of the
versions. Whatever is no plain load or compaction, and every difference, is judged as a whole.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import UserError
from freshline.delta.arrivals import read_commit
from freshline.delta.histories import KEY
from freshline.delta.log import CommitRecord, commits_there, oldest_version
from freshline.delta.metadata import BACKFILL, COMPACT, loaded_names
from freshline.executor.source import Held
from freshline.executor.verified import RIGHT, WRONG, VersionCheck
from freshline.project.model import Feed, Project, TableDef
from freshline.spark.commits.others import has_changes
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import cast_to, same_columns
from freshline.spark.engine.pins import at_version, location
from freshline.spark.engine.result_settings import set_as_then
from freshline.spark.feeds.reader import (
    COLUMNS,
    FeedReader,
    columns_in,
    those_that_fit,
    view_of,
)
from freshline.spark.feeds.source_table import SourceTable
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.verification.check import LOG_REMOVED, Check, SkippedError, ordered
from freshline.spark.verification.differences import union_of
from freshline.sql.strategy import APPEND_FILES
from freshline.sql.text.reads import quoted, quoted_column

_names = count()

_PLAIN = frozenset({APPEND_FILES.name, COMPACT})
"""Strategies of commits that are judged by what they changed."""


class Walk:
    """How far a base table's versions were verified, oldest first.

    Attributes:
        log: All commits of ours.
        version: The newest version that was found right; None: the next is judged as a whole.
        names: Of all files that are loaded in it.
        snapshot: Delta's own object for a version with the same columns.
        files: The data files of :attr:`version`, Delta's own objects by path.

    Args:
        path: Of the table.
    """

    def __init__(self, path: str) -> None:
        self.log: Sequence[CommitRecord] = tuple(commits_there(path))
        self.version: int | None = None
        self.names: set[str] = set()
        self.snapshot: Any = None
        self.files: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class _Changed:
    """The data files, Delta's own objects, that commits added and took away, and all since.

    And the names of the files of the feed that they loaded.
    """

    added: Sequence[Any]
    removed: Sequence[Any]
    files: Mapping[str, Any]
    names: Sequence[str]


class BaseCheck(Check):
    """A version of a base table under way.

    Args:
        project, session, table, version: As for every check.
        walk: Of the versions before this one; it is led on. None: judged as a whole.
    """

    def __init__(
        self,
        project: Project,
        session: SparkSession,
        table: TableDef,
        version: int,
        walk: Walk | None = None,
    ) -> None:
        super().__init__(project, session, table, version)
        self._walk = walk
        assert table.feed is not None
        self._feed: Feed = project.feeds[table.feed]
        self._read: Mapping[str, Any] = {}
        """The facts of the newest commit that says with which columns it read the feed."""

    def done(self) -> VersionCheck:
        """Verify it."""
        walk = self._walk
        if walk is None:
            log = self.commits_until()
        else:
            log = [record for record in walk.log if record.version <= self.version]
        if not log:
            raise SkippedError(LOG_REMOVED)
        self.stand_on(log[-1])
        self.refuse_chance()
        if self._feed.kind == "kafka":
            raise SkippedError("it was loaded from a topic, whose records are not kept for it")
        if walk is None or self._feed.kind == "delta":
            return self._as_a_whole(log)
        right, walk.version = walk.version, None  # whatever is raised, what follows stands alone
        if right is not None:
            changed = self._right_by_changes(walk, right)
            if changed is not None:
                walk.version, walk.files = self.version, changed.files
                walk.names.update(changed.names)
                return self.ended(RIGHT)
        found = self._as_a_whole(log)
        if found.outcome == RIGHT:
            self._begin(walk, _since_full(log))
        return found

    def _begin(self, walk: Walk, said: Sequence[CommitRecord]) -> None:
        """Have the versions behind this one, which is right, judged by their changes.

        Args:
            walk: To lead on.
            said: The commits that say what is in this version.
        """
        walk.names = {name for record in said for name in loaded_names(record.metadata)}
        log, nothing = self._delta_log(), jvm.none(self.session)
        walk.snapshot = log.getSnapshotAt(self.version, nothing, nothing, False)
        files = walk.snapshot.allFiles().collectAsList()
        walk.files = {str(file.path()): file for file in files}
        if all(file.deletionVector() is None for file in files):
            walk.version = self.version

    def _delta_log(self) -> Any:
        jvm.activate(self.session)
        for_table = jvm.named(self.session, "org.apache.spark.sql.delta.DeltaLog.forTable")
        return for_table(jvm.java_session(self.session), location(self.path))

    def _right_by_changes(self, walk: Walk, right: int) -> _Changed | None:
        """What changed since a version that is right, if it is what it should be.

        None: the changes alone do not tell, or they are not what they should be.
        """
        log = [record for record in walk.log if right < record.version <= self.version]
        if [record.version for record in log] != list(range(right + 1, self.version + 1)):
            return None  # somebody else wrote into it
        if any(
            record.metadata.get("full") or record.metadata.get("strategy") not in _PLAIN
            for record in log
        ):
            return None
        names = [name for record in log for name in loaded_names(record.metadata)]
        if len({*names}) < len(names) or not walk.names.isdisjoint(names):
            return None  # loaded twice: of these rows those before are part of the question
        changed = self._changed(walk.files, right, names)
        if changed is None:
            return None
        loaded = {pins: names for pins, names in self._loaded(log).items() if names}
        if not (changed.added or changed.removed or loaded):
            return changed
        columns = at_version(self.session, self.path, right).schema
        actual = self._rows(walk, changed.added, columns)
        wanted = union_of(
            [self._rows(walk, changed.removed, columns), *self._outputs(loaded, columns)]
        )
        size_bytes = sum(int(file.size()) for file in (*changed.added, *changed.removed))
        input_bytes = jvm.input_bytes(wanted) + size_bytes
        return None if self.different(actual, wanted, input_bytes) else changed

    def _changed(
        self, files: Mapping[str, Any], right: int, names: Sequence[str]
    ) -> _Changed | None:
        """What commits did to the data files; None: to more than these."""
        present, added, removed = dict(files), dict[str, Any](), dict[str, Any]()
        nothing = jvm.none(self.session)
        found = self._delta_log().getChanges(right + 1, self.version, nothing, False)
        for commit in jvm.elements(found):
            for action in jvm.elements(commit.productElement(1)):
                kind = str(action.getClass().getSimpleName())
                if kind == "AddFile":
                    path = str(action.path())
                    if action.deletionVector() is not None or path in present:
                        return None
                    present[path] = added[path] = action
                elif kind == "RemoveFile":
                    path = str(action.path())
                    if path not in present:
                        return None
                    file = present.pop(path)
                    if added.pop(path, None) is None:
                        removed[path] = file
                elif kind not in ("CommitInfo", "SetTransaction", "AddCDCFile"):
                    return None  # its columns or properties
        return _Changed(tuple(added.values()), tuple(removed.values()), present, names)

    def _rows(self, walk: Walk, files: Sequence[Any], columns: StructType) -> DataFrame:
        """The rows of data files."""
        if not files:
            return self.session.createDataFrame([], columns)
        listed, nothing = jvm.scala_seq(self.session, files), jvm.none(self.session)
        rows = self._delta_log().createDataFrame(walk.snapshot, listed, False, nothing)
        return DataFrame(rows, self.session)

    def _as_a_whole(self, log: Sequence[CommitRecord]) -> VersionCheck:
        log = _since_full(log)
        self._refuse_others(log)
        if self._feed.kind == "delta":
            return self._over_source(log[-1].metadata)
        if not log[0].metadata.get("full") and oldest_version(self.path):
            raise SkippedError("the commits that loaded its first files were removed from the log")
        loaded = self._loaded(log)
        actual = at_version(self.session, self.path, self.version)
        first = at_version(self.session, self.path, log[0].version)
        if not same_columns(first.schema, actual.schema):
            raise SkippedError("columns were added to it since its first files were loaded")

        def expected(seed: int | None = None) -> DataFrame:
            return union_of(self._outputs(loaded, actual.schema, seed))

        found = self.compared(actual, expected, None)
        if found.outcome == WRONG and (twice := _loaded_twice(log)):
            found = dataclasses.replace(found, reason=_told_twice(twice))
        return found

    def _over_source(self, facts: Mapping[str, Any]) -> VersionCheck:
        """A base table over a Delta table shows its query over the version that it names."""
        if self.table.statics:
            raise SkippedError("its rows were loaded with the versions of static tables of then")
        held = Held.in_commit(facts)
        if held is None:
            raise SkippedError("its commit names no version of its feed's table")
        self.refuse_definition(facts, "it was loaded")
        newest = SourceTable(self.session, self._feed).newest(self.session)
        path = str(newest.deltaLog().dataPath().toString())
        commit = read_commit(path, held.version)
        if str(newest.metadata().id()) != held.table_id or (
            commit is not None and held.mark and commit.mark != held.mark
        ):
            raise SkippedError("its feed's table is another one now")
        if "settings" in facts and not set_as_then(self.session, self.project, self.table, facts):
            raise SkippedError("it was loaded with other values of its query's variables")
        actual = at_version(self.session, self.path, self.version)

        def expected(seed: int | None = None) -> DataFrame:
            seen = ordered(at_version(self.session, path, held.version), seed)
            seen.createOrReplaceTempView(quoted(self._feed.name))
            self.query = self.pinned({})
            register_programs(self.session, self.project, self.table, self.names)
            output = cast_to(self.session.sql(self.query), actual.schema)
            if {*output.columns} != {*actual.columns}:
                return output
            # Columns that were gained stand last, wherever the query has them.
            return output.select([quoted_column(name) for name in actual.columns])

        return self.compared(actual, expected, None)

    def _loaded(self, log: Sequence[CommitRecord]) -> Mapping[str, list[str]]:
        """Names of the files that commits loaded, by the static tables' versions as JSON.

        Each once, whatever the commits say: Spark reads a path twice that is named twice.

        Raises:
            SkippedError: They no longer tell what the commits loaded.
        """
        folder = Path(self._feed.path)
        by_pins: dict[str, list[str]] = defaultdict(list)
        read_before: set[str] = set()
        known: set[str] = set()
        for record in log:
            facts = record.metadata
            self.refuse_definition(facts, "some of its files were loaded")
            self._read = facts if COLUMNS in facts else self._read
            names = loaded_names(facts)
            self._refuse_changed_files(folder, names, record)
            tables = json.dumps([facts.get(key, {}) for key in ("parents", "ids", KEY)])
            if tables not in read_before:
                self.refuse_replaced_statics(facts)
                read_before.add(tables)
            pins = json.dumps(facts.get("parents", {}), sort_keys=True)
            if facts.get("strategy") == BACKFILL and self.table.statics:
                raise SkippedError(
                    "a backfill loaded a range again, maybe with other versions of static tables"
                )
            by_pins[pins] += [name for name in dict.fromkeys(names) if name not in known]
            known.update(names)
        for read in self.table.statics:
            if not read.time_travel and any(read.name not in json.loads(each) for each in by_pins):
                raise SkippedError(f"it reads {read.name}, which has no versions")
        return by_pins

    def _outputs(
        self, loaded: Mapping[str, Sequence[str]], columns: StructType, seed: int | None = None
    ) -> list[DataFrame]:
        """What the query gives over the files loaded."""
        table, outputs = self.table, []
        reader = FeedReader(self.project, self._feed)
        for pins, names in loaded.items():
            schema = self._columns(reader, names)
            records = reader.read(self.session, names, schema)
            misfit = reader.misfit(schema)
            if misfit is not None:
                # Two frames of one query, as of one that is compared with itself, need two names.
                name = f"freshline.counts.{next(_names)}"
                records = those_that_fit(records, schema, misfit, name)
            seen = ordered(view_of(records, table.query, self._feed), seed)
            seen.createOrReplaceTempView(quoted(self._feed.name))
            self.query = self.pinned(json.loads(pins))
            register_programs(self.session, self.project, table, self.names)
            outputs.append(cast_to(self.session.sql(self.query), columns))
        return outputs

    def _columns(self, reader: FeedReader, names: Sequence[str]) -> StructType:
        """The feed's columns as they were when the version was loaded."""
        known = columns_in(self._read, self._feed)
        if known is not None:
            return known
        try:
            return reader.schema(self.session, names, table=self.table.name)
        except UserError as error:
            raise SkippedError(error.what) from error

    def _refuse_others(self, log: Sequence[CommitRecord]) -> None:
        """Somebody who deletes rows of a base table means it: no file says what it holds then."""
        ours = {record.version for record in log}
        for version in range(log[0].version + 1, self.version + 1):
            if version in ours:
                continue
            if has_changes(self.path, version - 1, version):
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


def _since_full(log: Sequence[CommitRecord]) -> Sequence[CommitRecord]:
    """The commits that say what is loaded: the last that loaded everything, and those since."""
    fulls = (place for place, record in enumerate(log) if record.metadata.get("full"))
    return log[max(fulls, default=0) :]


def _loaded_twice(log: Sequence[CommitRecord]) -> list[str]:
    """Files that several commits loaded, or one of them twice: no update ever should."""
    times = Counter(name for record in log for name in loaded_names(record.metadata))
    return [name for name, count in times.items() if count > 1]


def _told_twice(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"the file {names[0]} was loaded twice"
    return f"{len(names)} files were loaded twice, {names[0]} among them"
