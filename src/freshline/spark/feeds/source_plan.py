"""Which versions of its feed's Delta table an update goes from and to, and how.

A base table over a feed of kind delta shows its query over one version of the feed's table, which
its last commit names. From there to the version asked for, appended files are read alone. Where
rows were changed or removed, or what happened can no longer be told, all rows of the newest version
take the place of those loaded before (docs/design/0117).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from freshline.delta.arrivals import SourceCommit, named, read_commit
from freshline.executor.records import UpdateRequest
from freshline.executor.source import Held, source_replaced
from freshline.project.model import DeltaSource, Feed
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import CHARS
from freshline.spark.engine.errors import SparkError
from freshline.sql.strategy import APPEND_FILES, Strategy
from freshline.sql.text.rowwise import minds_columns

_STORED_AS = "delta.columnMapping.physicalName"


@dataclass(frozen=True, slots=True)
class Step:
    """What one update does.

    Attributes:
        to: The version that the base table shows afterwards.
        how: The strategy, with its reason.
        snapshot: Delta's own object for that version.
        whole: All of its rows are read, not those of ``appended``.
        appended: Actions of the log, each the JSON of a file to read.
        newest: There is nothing newer that could be read instead.
    """

    to: Held
    how: Strategy
    snapshot: Any
    whole: bool = False
    appended: tuple[str, ...] = ()
    newest: bool = False

    @property
    def replaces(self) -> bool:
        """Whether what was loaded before goes."""
        return self.how is not APPEND_FILES


class Planning:
    """Decides on one update's step.

    Args:
        session: The update's own.
        feed: Of kind delta.
        snapshot: Of the newest version of its table.
        request: The update; its files are versions.
        query: The base table's.
        settings: Of the session, those that the query's results depend on.
    """

    def __init__(
        self,
        session: SparkSession,
        feed: Feed,
        snapshot: Any,
        request: UpdateRequest,
        query: str,
        settings: Mapping[str, str],
    ) -> None:
        self._session = session
        self._feed = feed
        self._snapshot = snapshot
        self._request = request
        self._query = query
        self._settings = settings
        self._path = str(snapshot.deltaLog().dataPath().toString())
        self._id = str(snapshot.metadata().id())
        self._newest = int(snapshot.version())

    def step(self, last: Mapping[str, Any] | None) -> Step:
        """The step from what the base table's last commit says; None: there is none.

        Raises:
            PlatformError: ``source-replaced``: another table is in the place of the one that was
                loaded from, or it went back; or a log cannot be read.
        """
        request = self._request
        if request.full:
            return self.whole("requested", "it was asked for")
        held = None if last is None else Held.in_commit(last)
        if last is None or held is None:
            if last is not None and request.accepted is None:
                raise self._replaced("the base table was filled from another feed")
            return self._first(replaces=last is not None)
        other = self._other_history(held)
        if other is not None:
            assert isinstance(self._feed.settings, DeltaSource)
            if self._feed.settings.on_new_table == "refuse":
                raise self._replaced(other)
            return self.whole("source-replaced", other)
        if last.get("definition", "") != request.definition:
            return self.whole("definition-changed", "the query is another one")
        if last.get("settings", self._settings) != self._settings:  # earlier versions said none
            return self.whole(
                "settings-changed", "a setting is another one that its query's results depend on"
            )
        return self._from(held)

    def whole(self, code: str, why: str) -> Step:
        """All rows of the newest version, in place of those loaded before."""
        how = Strategy("full", code, f"all of the feed's table is loaded again: {why}")
        return Step(self._at(self._newest), how, self._snapshot, whole=True, newest=True)

    def _first(self, *, replaces: bool) -> Step:
        if replaces:
            return self.whole("requested", "the base table was accepted without what was loaded")
        at = self._at(self._newest)
        return Step(at, APPEND_FILES, self._snapshot, whole=True, newest=True)

    def _from(self, held: Held) -> Step:
        wanted = self._wanted(held)
        commits: list[SourceCommit] = []
        for version in range(held.version + 1, wanted + 1):
            commit = read_commit(self._path, version)
            if commit is None:
                why = f"version {version} is no longer in its log"
                return self.whole("source-log-gone", why)
            if commit.rewrote:
                what = f" ({commit.operation})" if commit.operation else ""
                return self.whole(
                    "source-rewrote", f"version {version}{what} changed or removed rows"
                )
            commits.append(commit)
        lines = tuple(line for commit in commits for line in commit.appended)
        if len({_path_of(line) for line in lines}) < len(lines):
            return self.whole("source-rewrote", "a file was added to it twice")
        snapshot = self._at_version(wanted)
        if snapshot is None or (
            any(commit.redefined for commit in commits)
            and not self._only_gained(held.version, snapshot)
        ):
            return self.whole("source-redefined", "its columns changed")
        return Step(
            Held(self._id, wanted, commits[-1].mark) if commits else held,
            APPEND_FILES,
            snapshot,
            appended=lines,
            newest=wanted == self._newest,
        )

    def _wanted(self, held: Held) -> int:
        """The greatest version that the request names, in this history of the table."""
        names = [named(file.name) for file in self._request.files]
        wanted, mark = max(names, default=(held.version, held.mark))
        if wanted <= held.version:
            return held.version
        commit = read_commit(self._path, wanted) if wanted <= self._newest else None
        return wanted if commit is not None and commit.mark == mark else self._newest

    def _other_history(self, held: Held) -> str | None:
        """Why the table is not, or no longer surely, the one that was loaded from; None: it is."""
        if held.table_id != self._id:
            return "another table is in its place"
        if held.version > self._newest:
            return f"it went back from version {held.version} to {self._newest}"
        commit = read_commit(self._path, held.version)
        if commit is not None and held.mark and commit.mark != held.mark:
            return f"version {held.version} is another one than was loaded"
        return None

    def _at(self, version: int) -> Held:
        commit = read_commit(self._path, version)
        return Held(self._id, version, "" if commit is None else commit.mark)

    def _at_version(self, version: int) -> Any | None:
        """Delta's object for a version; None where it can no longer be read."""
        if version == self._newest:
            return self._snapshot
        nothing = jvm.none(self._session)
        jvm.activate(self._session)
        try:
            return self._snapshot.deltaLog().getSnapshotAt(version, nothing, nothing, False)
        except SparkError:
            return None

    def _only_gained(self, since: int, snapshot: Any) -> bool:
        """Whether every column of a version means in a later one what it meant then.

        Also in the query's results, for rows that are without the columns that came since.
        """
        before = self._at_version(since)
        if before is None:
            return False
        there = _columns(before)
        now = _columns(snapshot)
        kept = all(now.get(name) == column for name, column in there.items())
        # A query can name columns by their places: `STREAM f AS t(a, b)`.
        in_order = [name for name in now if name in there] == list(there)
        return kept and in_order and not minds_columns(self._query, now.keys() - there.keys())

    def _replaced(self, why: str) -> Exception:
        return source_replaced(self._feed.name, why, where=self._feed.place)


def _columns(snapshot: Any) -> dict[str, Any]:
    fields = json.loads(str(snapshot.metadata().schemaString()))["fields"]
    return {field["name"].lower(): _meaning(field) for field in fields}


def _meaning(told: Any) -> Any:
    """A type or column of a schema, without what makes no difference to the rows that are there."""
    if isinstance(told, list):
        return [_meaning(each) for each in told]
    if not isinstance(told, dict):
        return told
    kept = {key: _meaning(value) for key, value in told.items() if key not in _OF_NO_MATTER}
    if "name" in told and "type" in told:
        metadata = told.get("metadata") or {}
        kept["stored as"] = metadata.get(_STORED_AS, told["name"])
        # A CHAR is filled up with blanks, and no longer text may be beside those that are there.
        chars = str(metadata.get(CHARS, ""))
        kept["chars"] = chars if chars.startswith("char(") else ""
    return kept


_OF_NO_MATTER = frozenset({"metadata", "nullable", "containsNull", "valueContainsNull"})


def _path_of(line: str) -> str:
    return str(json.loads(line)["add"]["path"])
