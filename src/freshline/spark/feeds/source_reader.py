"""Reading exactly what one update loads from its feed's Delta table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from freshline.core.errors import InternalError
from freshline.executor.records import UpdateRequest
from freshline.project.model import Feed, Project
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import CHARS
from freshline.spark.engine.own_session import read_every_row
from freshline.spark.engine.pins import at_version
from freshline.spark.feeds.reader import FeedReader
from freshline.spark.feeds.source_plan import Planning, Step
from freshline.spark.feeds.source_table import SourceTable
from freshline.sql.text.reads import backquoted

_ACTION = "org.apache.spark.sql.delta.actions.Action$.MODULE$"
_BY_ID = "spark.sql.parquet.fieldId.read.enabled"


class _VersionReader(FeedReader):
    """What reading versions has in common: no file is looked at beside Delta."""

    def stands(self, names: Sequence[str]) -> dict[str, tuple[int, float]]:
        """Nothing: a version never changes."""
        return {}

    def unreadable(self, session: SparkSession, names: Sequence[str]) -> list[tuple[str, str]]:
        """None: a version that cannot be read is loaded with the newest one."""
        return []


class SourceReader(_VersionReader):
    """A feed of kind delta.

    Args:
        project: Whose feed it is.
        feed: The feed.
        source: Its table.
    """

    def __init__(self, project: Project, feed: Feed, source: SourceTable) -> None:
        super().__init__(project, feed)
        self.source = source

    def schema(
        self,
        session: SparkSession,
        names: Sequence[str],
        *,
        anew: bool = False,
        table: str | None = None,
    ) -> StructType:
        """The columns of the table's newest version.

        Raises:
            FreshlineError: There is no such table, or it cannot be read.
        """
        return _columns(self.source.newest(session))

    def read(self, session: SparkSession, names: Sequence[str], schema: StructType) -> DataFrame:
        """Refused: what versions brought can be told only from where a base table stands."""
        raise InternalError("no-step", f"feed {self.feed.name} is read without a step")

    def planning(
        self,
        session: SparkSession,
        request: UpdateRequest,
        query: str,
        settings: Mapping[str, str],
    ) -> Planning:
        """Decides what an update of the base table with this query and these settings loads.

        Raises:
            FreshlineError: There is no such table, or it cannot be read.
        """
        return Planning(session, self.feed, self.source.newest(session), request, query, settings)


class StepReader(_VersionReader):
    """Reads what one step loads.

    Args:
        project: Of the feed.
        feed: The feed.
        step: The step.
        settings: As of :class:`Planning`.
    """

    def __init__(
        self, project: Project, feed: Feed, step: Step, settings: Mapping[str, str]
    ) -> None:
        super().__init__(project, feed)
        self._step = step
        self._settings = settings
        self.how = step.how

    def schema(
        self,
        session: SparkSession,
        names: Sequence[str],
        *,
        anew: bool = False,
        table: str | None = None,
    ) -> StructType:
        """The columns at the version that is loaded."""
        return _columns(self._step.snapshot)

    def read(self, session: SparkSession, names: Sequence[str], schema: StructType) -> DataFrame:
        """The rows to load, whatever the names: they only said that something came."""
        # A file that is gone is an error, whatever the project sets: rows would be missing.
        for setting in ("ignoreMissingFiles", "ignoreCorruptFiles"):
            session.conf.set(f"spark.sql.files.{setting}", "false")
        read_every_row(session, of_delta=True)
        if str(self._step.snapshot.metadata().columnMappingMode().name()) == "id":
            session.conf.set(_BY_ID, "true")  # Delta asks for it where it is given files
        log, step = self._step.snapshot.deltaLog(), self._step
        if step.whole:
            rows = at_version(session, str(log.dataPath().toString()), step.to.version)
        else:
            from_json = jvm.named(session, _ACTION).fromJson
            files = jvm.scala_seq(session, [from_json(line) for line in step.appended])
            jvm.activate(session)
            nothing = jvm.none(session)
            rows = DataFrame(log.createDataFrame(step.snapshot, files, False, nothing), session)
        # What Delta keeps with a column (how it is generated, mapped, counted) is the source's, but
        # that it is a CHAR decides what it is equal to.
        kept = {each.name: _char(each.metadata) for each in rows.schema}
        return rows.select(
            [
                F.col(backquoted(each.name))
                .cast(each.dataType)
                .alias(each.name, metadata=kept.get(each.name, {}))
                for each in schema
            ]
        )

    def facts(self, schema: StructType) -> Mapping[str, Any]:
        """Which version the base table shows and under which settings; why all was loaded."""
        reason = {"reason": self.how.code} if self._step.replaces else {}
        return {**self._step.to.fields(), "settings": dict(self._settings), **reason}

    def pins(self) -> Mapping[str, int]:
        """The version of the feed's table, by the feed's name."""
        return {self.feed.name: self._step.to.version}


def _char(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kind = metadata.get(CHARS, "")
    return {CHARS: kind} if kind.startswith("char(") else {}


def _columns(snapshot: Any) -> StructType:
    """The columns as a query sees them: every one may be NULL, and no metadata."""
    whole = StructType.fromJson(json.loads(str(snapshot.metadata().schemaString())))
    plain = _plain(whole)
    assert isinstance(plain, StructType)
    return plain


def _plain(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, _plain(each.dataType)) for each in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_plain(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_plain(kind.keyType), _plain(kind.valueType))
    return kind
