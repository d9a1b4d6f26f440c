"""Every query checked by Spark itself, against empty tables, before anything runs.

Parents come before children: a query is analysed over the columns that its parents' queries
give, whether those tables exist yet or not. A table whose parent was refused is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import FreshlineError, Place, UserError
from freshline.project.model import Feed, Project, TableDef
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, condition, one_line
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import pin_statics
from freshline.spark.feeds.kafka_reader import TopicReader
from freshline.spark.feeds.reader import FeedReader, view_of
from freshline.spark.feeds.source_reader import SourceReader
from freshline.spark.feeds.source_table import SourceTable
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.storable import check_storable
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
    accepted = found.schemas
    ways = PredictedStrategies()
    sessions: dict[tuple[tuple[str, str], ...], Remembered] = {}
    for table in (*project.tables, *project.reports):
        sources: Mapping[str, StructType | None] = accepted if table.feed is None else feeds
        if any(sources.get(name) is None for name in table.sources):
            continue
        asked = _asked(table, session, sessions, found)
        if asked is None:
            continue
        result = _result(project, table, sources, asked, found)
        if result is None:
            continue
        schema = jvm.schema_of(result)
        faults = _column_faults(table, result, schema)
        if table.kind == "derived":
            parents = {name: accepted[name] for name in table.parents}
            plan = plan_of(session, project, table, parents, accepted.__getitem__, asked)
            found.plans[table.name] = plan
            faults += _unkept(table, plan, rewrote=ways.over_replaced(table))
            ways.add(table, plan)
        found.errors += faults
        if not faults:
            accepted[table.name] = schema
            found.columns[table.name] = tuple(
                (each.name, each.dataType.simpleString()) for each in schema
            )
    return found


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
    return kind(project, feed, record=False)


def _a_file(feed: Feed) -> list[str]:
    """The name of one complete file of a Parquet feed on this machine, if there is one."""
    folder = Path(feed.path)
    if feed.schema is not None or not feed.path.startswith("/") or not folder.is_dir():
        return []
    for path in sorted(folder.rglob("*")):
        hidden = any(part[0] in "_." for part in path.relative_to(folder).parts)
        if not hidden and path.suffix not in (".tmp", ".crc", ".inprogress") and path.is_file():
            return [str(path.relative_to(folder))]
    return []


def _asked(
    table: TableDef,
    session: SparkSession,
    sessions: dict[tuple[tuple[str, str], ...], Remembered],
    found: Analysis,
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
    found: Analysis,
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
    faults = []

    def fault(code: str, what: str, rule: str, step: str) -> None:
        faults.append(
            UserError(
                code,
                f"table {table.name} {what}",
                where=table.query_place,
                rule=rule,
                next_step=step,
            )
        )

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
