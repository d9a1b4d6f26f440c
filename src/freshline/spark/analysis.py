"""Every query checked by Spark itself, against empty tables, before anything runs.

Parents come before children: a query is analysed over the columns that its parents' queries
give, whether those tables exist yet or not. A table whose parent was refused is not judged.
Tables that read none of each other are judged at the same time; what is found does not show it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import FreshlineError, Place, UserError
from freshline.executor.records import UNFINISHED
from freshline.project.model import Feed, Project, TableDef
from freshline.spark.confirming import other_than_row_wise, unseen
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import (
    NO_FILES,
    NO_FILES_STEP,
    SparkError,
    asks_for_files,
    condition,
    one_line,
)
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import pin_statics
from freshline.spark.feeds.kafka_reader import TopicReader
from freshline.spark.feeds.reader import FeedReader, view_of
from freshline.spark.feeds.source_reader import SourceReader
from freshline.spark.feeds.source_table import SourceTable
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.storable import check_storable, noted
from freshline.spark.views.asked import Remembered
from freshline.spark.views.emission import needs_buckets
from freshline.spark.views.plans import plan_of
from freshline.spark.views.strict import not_incremental
from freshline.sql.predicted import PredictedStrategies
from freshline.sql.query.records import ViewPlan

_CODES = (
    ("UNRESOLVED_COLUMN", "unknown-column", "Correct the name."),
    ("UNRESOLVED_FIELD", "unknown-column", "Correct the name."),
    ("FIELD_NOT_FOUND", "unknown-column", "Correct the name."),
    ("UNRESOLVED_ROUTINE", "unknown-function", "Correct the name, or add the jar that has it."),
    ("TABLE_OR_VIEW_NOT_FOUND", "unknown-table", "Correct the name, or create the table."),
    ("DELTA_TABLE_NOT_FOUND", "unknown-table", "Correct the path, or create the table."),
    ("DELTA_PATH_DOES_NOT_EXIST", "unknown-table", "Correct the path, or create the table."),
    ("PATH_NOT_FOUND", "unknown-table", "Correct the path, or create the table."),
    ("DATATYPE_MISMATCH", "type-mismatch", "Cast one side, or use another column."),
    ("CAST_INVALID_INPUT", "type-mismatch", "Correct the literal, or use try_cast."),
    ("WRONG_NUM_ARGS", "wrong-arguments", "Correct the function's arguments."),
    ("PARSE_", "bad-sql", "Correct the query's syntax."),
)
_POSITION = re.compile(r"\(line (\d+), pos \d+\)")
_ADVICE = re.compile(r" Did you mean one of| Verify the spelling|  ?Please, refer to")
_TIMES = ("timestamp", "timestamp_ntz", "date")


_AT_ONCE = 2

_Sessions = dict[tuple[tuple[str, str], ...], Remembered]
"""By the settings of the tables whose queries are analysed in them."""


@dataclass(slots=True)
class Analysis:
    """What Spark found.

    Attributes:
        errors: In the order of the tables.
        notes: What could not be checked, and why, a sentence each.
        columns: Name and type of each column of every table that was accepted.
        plans: How each view that was accepted can be maintained.
        schemas: Spark's columns of every table that was accepted.
    """

    errors: list[UserError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    columns: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    plans: dict[str, ViewPlan] = field(default_factory=dict)
    schemas: dict[str, StructType] = field(default_factory=dict)


def analyse(project: Project, session: SparkSession) -> Analysis:
    """Check every query, every declared schema and every table's columns.

    Args:
        project: A project without errors that can be found without Spark.
        session: Any session; nothing in it is changed.
    """
    found = Analysis()
    feeds = {feed.name: feed_schema(project, feed, session, found) for feed in _read(project)}
    tables = [*project.tables, *project.reports]
    work = _Work(project, session, feeds, found.schemas)
    ways = PredictedStrategies()
    judged: dict[str, _Judged] = {}
    with closing(work):
        for level in levels(tables):
            for table, one in work.judged(level):
                judged[table.name] = one
                if one.plan is not None:
                    rewrote = ways.over_replaced(table)
                    one.errors += _unkept(table, one.plan, rewrote=rewrote)
                    ways.add(table, one.plan)
                if one.schema is not None and not one.errors:
                    found.schemas[table.name] = one.schema
    for table in tables:
        _add(found, table, judged.get(table.name, _Judged()))
    return found


def _add(found: Analysis, table: TableDef, one: _Judged) -> None:
    """What was found of a table, behind the tables before it."""
    found.errors += one.errors
    found.notes += one.notes
    if one.plan is not None:
        found.plans[table.name] = one.plan
    if table.name in found.schemas:
        schema = found.schemas[table.name] = found.schemas.pop(table.name)
        found.columns[table.name] = tuple(
            (each.name, each.dataType.simpleString()) for each in schema
        )


def levels(tables: Sequence[TableDef]) -> list[list[TableDef]]:
    """Tables put together that read none of each other, parents before children.

    Args:
        tables: In an order in which parents come before children.
    """
    numbers: dict[str, int] = {}
    found: list[list[TableDef]] = []
    for table in tables:
        # The source of a base table is a feed, which may have a table's name.
        above = table.sources if table.feed is None else ()
        number = 1 + max((numbers[name] for name in above if name in numbers), default=-1)
        numbers[table.name] = number
        if number == len(found):
            found.append([])
        found[number].append(table)
    return found


@dataclass(slots=True)
class _Judged:
    """What Spark says of one table; ``schema`` is None where it refuses the query."""

    errors: list[UserError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    schema: StructType | None = None
    plan: ViewPlan | None = None


class _Work:
    """Judges the tables of a level, two at once: Spark's analysis and ours take turns.

    Args:
        project: Of the tables.
        session: Any.
        feeds: Columns of each feed that a table reads; None: they are not known.
        accepted: Columns of the tables of the levels above that were accepted.
    """

    def __init__(
        self,
        project: Project,
        session: SparkSession,
        feeds: Mapping[str, StructType | None],
        accepted: Mapping[str, StructType],
    ) -> None:
        self._project = project
        self._session = session
        self._feeds = feeds
        self._accepted = accepted
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(_AT_ONCE, "analysis")

    def close(self) -> None:
        """Judge no more."""
        self._pool.shutdown(cancel_futures=True)

    def judged(self, level: Iterable[TableDef]) -> list[tuple[TableDef, _Judged]]:
        """What is found of each table whose sources are known, in their order."""
        known = [
            table
            for table in level
            if all(self._sources(table).get(name) is not None for name in table.sources)
        ]
        # The user's Python functions are called one at a time, by the thread that they know.
        futures = {
            table.name: self._pool.submit(self._judge, table)
            for table in known
            if not table.programs
        }
        found = {name: future.result() for name, future in futures.items()}
        return [(each, found.get(each.name) or self._judge(each)) for each in known]

    def _sources(self, table: TableDef) -> Mapping[str, StructType | None]:
        return self._accepted if table.feed is None else self._feeds

    def _judge(self, table: TableDef) -> _Judged:
        one = _Judged()
        asked = _asked(table, self._session, self._sessions(), one)
        if asked is None:
            return one
        result = _result(self._project, table, self._sources(table), asked, one)
        if result is None:
            return one
        one.schema = jvm.schema_of(result)
        one.errors += _column_faults(table, result, one.schema)
        if not table.programs and (error := unseen(asked, table)) is not None:
            one.errors.append(error)
        if table.kind == "base":
            _confirm_row_wise(table, result, one)
        else:
            parents = {name: self._accepted[name] for name in table.parents}
            columns_of = self._accepted.__getitem__
            one.plan = plan_of(self._session, self._project, table, parents, columns_of, asked)
        return one

    def _sessions(self) -> _Sessions:
        """Of this thread: what a session shows is for one query at a time."""
        if not hasattr(self._own, "sessions"):
            self._own.sessions = {}
        sessions: _Sessions = self._own.sessions
        return sessions


def _confirm_row_wise(table: TableDef, result: DataFrame, found: _Judged) -> None:
    """Look in Spark's plan of a base table's query for what its text may not have shown."""
    try:
        fault = other_than_row_wise(table, result)
    except Exception as error:  # noqa: BLE001 - a plan of a shape that is not known here
        found.notes.append(f"Spark's plan of table {table.name} was not read: {error!r}")
        return
    if fault is not None:
        found.errors.append(fault)


def _unkept(table: TableDef, plan: ViewPlan, *, rewrote: bool) -> list[UserError]:
    """What the view's properties ask for and its query does not allow."""
    fault = needs_buckets(table, plan) or not_incremental(table, plan, rewrote=rewrote)
    return [] if fault is None else [fault]


def _read(project: Project) -> list[Feed]:
    names = {table.feed for table in project.tables}
    return [feed for name, feed in project.feeds.items() if name in names]


def feed_schema(
    project: Project, feed: Feed, session: SparkSession, found: Analysis
) -> StructType | None:
    """The columns of a feed; None, with an error or a note, where they are not known."""
    try:
        reader = _reader(project, feed, session)
        return reader.visible(reader.schema(session, _a_file(feed)))
    except UserError as error:
        found.errors.append(error)
    except (FreshlineError, *SparkError) as error:
        why = error.what if isinstance(error, FreshlineError) else one_line(error)
        found.notes.append(f"tables over feed {feed.name} were not checked: {why}")
    return None


def _reader(project: Project, feed: Feed, session: SparkSession) -> FeedReader:
    if feed.kind == "delta":
        return SourceReader(project, feed, SourceTable(session, feed))
    kind = TopicReader if feed.kind == "kafka" else FeedReader
    return kind(project, feed)


def _a_file(feed: Feed) -> list[str]:
    """The name of one complete file of a Parquet feed on this machine, if there is one."""
    folder = Path(feed.path)
    if feed.schema is not None or not feed.path.startswith("/") or not folder.is_dir():
        return []
    for path in sorted(folder.rglob("*")):
        hidden = any(part[0] in "_." for part in path.relative_to(folder).parts)
        if not hidden and not path.name.endswith(UNFINISHED) and path.is_file():
            return [str(path.relative_to(folder))]
    return []


def _asked(
    table: TableDef,
    session: SparkSession,
    sessions: _Sessions,
    found: _Judged,
) -> Remembered | None:
    """A session to analyse the table's query in; None, with an error, where there can be none.

    Tables of the same settings share one, which sees nothing of the tables before. The user's
    Python functions can do anything to their session, so it is theirs alone.

    Args:
        table: Whose query it is.
        session: Any.
        sessions: By settings; added to.
        found: Gets the error.
    """
    settings = tuple(sorted(table.settings.items()))
    if not table.programs and settings in sessions:
        sessions[settings].forget()
        return sessions[settings]
    try:
        asked = Remembered(own_session(session, table))
    except SparkError as error:
        found.errors.append(
            UserError(
                "bad-setting",
                f"table {table.name} cannot have the settings that SET gives it: {one_line(error)}",
                where=table.place,
                rule="SET in a pipeline's SQL holds for the queries behind it",
                next_step="Put it into the pipeline's configuration.",
            )
        )
        return None
    if not table.programs:
        sessions[settings] = asked
    return asked


def _result(
    project: Project,
    table: TableDef,
    sources: Mapping[str, StructType | None],
    asked: Remembered,
    found: _Judged,
) -> DataFrame | None:
    """The query as Spark analyses it; None, with an error, where Spark refuses it."""
    try:
        for name in table.sources:
            schema = sources[name]
            if schema is not None:
                if table.feed is None:
                    asked.show(name, schema)
                else:
                    feed = project.feeds[table.feed]
                    asked.view(name, view_of(asked.empty(schema), table.query, feed))
        register_programs(asked.session, project, table)
        query = pin_statics(asked.session, table, fixed=False).query
    except UserError as error:
        found.errors.append(error)
        return None
    except SparkError as error:
        found.notes.append(f"table {table.name} was not checked: {one_line(error)}")
        return None
    try:
        return asked.sql(query)
    except SparkError as error:
        found.errors.append(_refused(table, query, error))
        return None


def _refused(table: TableDef, query: str, error: Exception) -> UserError:
    name = condition(error)
    if asks_for_files(error):
        return UserError(
            "no-file-metadata",
            f"the query of table {table.name} reads _metadata",
            where=Place(table.query_place.file, _line(table, query, error)),
            rule=NO_FILES,
            next_step=NO_FILES_STEP,
        )
    code, step = "query-refused", "Correct the query."
    for prefix, its_code, its_step in _CODES:
        if name.startswith(prefix):
            code, step = its_code, its_step
            break
    if not name and "_delta_log does not exist" in one_line(error):
        code, step = "unknown-table", "Correct the path, or create the table."
    proposal = None
    if isinstance(error, PySparkException):
        proposal = (error.getMessageParameters() or {}).get("proposal")
    if proposal:
        step = f"Did you mean {proposal.replace('`', '')}?"
    message = _ADVICE.split(one_line(error))[0].rstrip(".")
    return UserError(
        code,
        f"Spark refuses the query of table {table.name}: {message}",
        where=Place(table.query_place.file, _line(table, query, error)),
        rule=f"Spark names it {name}" if name else "",
        next_step=step,
    )


def _line(table: TableDef, query: str, error: Exception) -> int:
    """The line in the user's file that Spark means; without a hint the query's first."""
    first = table.query_place.line or 1
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else None
    for context in contexts or ():
        try:
            start = context.startIndex()
        except SparkError:
            continue  # not a place in SQL text
        if 0 <= start <= len(query):
            return first + query.count("\n", 0, start)
    position = _POSITION.search(str(error))
    return first + int(position[1]) - 1 if position else first


def _column_faults(table: TableDef, frame: DataFrame, schema: StructType) -> list[UserError]:
    """What keeps the query's columns from being a table's."""
    faults: list[UserError] = []
    fault = noted(table, faults)
    check_storable(frame, fault)
    listed = [name.lower() for name, _ in table.columns]
    if listed != [each.name.lower() for each in schema if each.name.lower() in listed]:
        fault(
            "column-list",
            f"lists the columns {', '.join(name for name, _ in table.columns)}, and its query has"
            f" {', '.join(each.name for each in schema)}",
            "a column list names columns of the query, in their order; it may leave columns out",
            "Correct the list, or name the columns in the query with AS.",
        )
    _check_named(table, schema, fault)
    return faults


def _check_named(table: TableDef, schema: StructType, fault: object) -> None:
    """That the columns which the definition names are there."""
    assert callable(fault)
    by_name = {each.name.lower(): each for each in schema}
    known = ", ".join(each.name for each in schema)
    if table.time_column is not None:
        column = by_name.get(table.time_column.lower())
        kind = column.dataType.simpleString() if column else None
        if column is None:
            fault(
                "unknown-column",
                f"has no column {table.time_column}, its freshline.time",
                f"its columns are {known}",
                "Name one of them, or select that column.",
            )
        elif kind not in _TIMES:
            fault(
                "bad-time-column",
                f"has freshline.time = {table.time_column}, of type {str(kind).upper()}",
                "an event-time column is a TIMESTAMP or a DATE",
                "Name another column, or cast this one.",
            )
    for name in table.partitioned_by:
        if name.lower() not in by_name:
            fault(
                "unknown-column",
                f"has no column {name} to be partitioned by",
                f"its columns are {known}",
                "Name one of them, or select that column.",
            )
