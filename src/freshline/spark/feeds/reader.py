"""Reading exactly the given files of a feed, and finding rows that do not fit its schema."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from freshline.core.errors import PlatformError, UserError
from freshline.delta.log import application, last_commit, last_load, last_transaction, version
from freshline.executor.source import KEY as SOURCE_KEY
from freshline.project.model import Feed, Project
from freshline.project.sections.reader_options import (
    as_feeds_are_read,
    is_read_as_whole,
    option,
)
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import one_line
from freshline.spark.engine.own_session import read_every_row
from freshline.spark.engine.pins import location
from freshline.spark.engine.session import is_local
from freshline.spark.feeds.exact import TEXT_TYPES, ExactColumns, nulls_within
from freshline.sql.strategy import APPEND_FILES
from freshline.sql.text.reads import backquoted, string_literal
from freshline.sql.text.tokens import tokens

CORRUPT = "_freshline_corrupt"
"""Where Spark's text readers put a record that they could not parse."""

SOURCE = "_kafka"
"""Where a topic's record comes from; a query sees the column if it names it."""

COLUMNS = "columns"
"""Where a commit says with which columns it read a feed that declares none, by the feed's name."""
_OF_OTHERS = frozenset({COLUMNS, "offsets", SOURCE_KEY})
"""Keys of a commit's facts by one of which it says what it read, if that was another feed."""

_PATTERN_CHARACTERS = re.compile(r"[\\*?\[\]{},]")
_TEXT_FORMATS = ("csv", "json")
_PLACES = frozenset({"geometry", "geography"})
_UNREAD_BY_FORMAT = {"csv": _PLACES | {"array", "map", "struct", "void"}, "json": _PLACES}
_UNREAD_IN_FILES = frozenset({"time", "interval"})
_REFUSING = (
    "spark.sql.parquet.enableVectorizedReader",
    "spark.sql.parquet.enableNestedColumnVectorizedReader",
)
"""Without these, a decimal of a Parquet file that its column does not hold is NULL."""


def declared_schema(feed: Feed) -> StructType | None:
    """The schema written in freshline.yml, if there is one.

    Raises:
        UserError: It is no list of columns and types that Spark understands.
    """
    if feed.schema is None:
        return None
    try:
        schema = StructType.fromDDL(feed.schema)
    except PySparkException as error:
        raise _bad_schema(feed, one_line(error)) from error
    if not isinstance(schema, StructType):
        raise _bad_schema(feed, "it is one type, not a list of columns")
    _refuse_corrupt_records(feed, schema)
    for field in schema.fields:
        unknown = sorted(_kinds(field.dataType) & _unreadable_kinds(feed))
        if unknown:
            raise UserError(
                "bad-schema",
                f"the column {field.name} in the schema of feed {feed.name} is or holds"
                f" {unknown[0].upper()}",
                where=feed.place,
                rule=f"Spark reads no such values from {feed.format}",
                next_step="Declare it as STRING and convert it in the table's query.",
            )
    return schema


def _refuse_corrupt_records(feed: Feed, schema: StructType) -> None:
    """Raise if a column is declared for the text of records that Spark cannot parse."""
    named = option(feed.options, "columnNameOfCorruptRecord") or "_corrupt_record"
    if feed.format not in _TEXT_FORMATS or named.lower() not in map(str.lower, schema.names):
        return
    raise UserError(
        "bad-schema",
        f"the schema of feed {feed.name} has the column {named} for records that cannot be parsed",
        where=feed.place,
        rule="records that do not fit the schema go, with their text, to the table"
        " TABLE__rejected, and no column of the feed is filled with them",
        next_step="Remove the column, and read the rejected table.",
    )


def _unreadable_kinds(feed: Feed) -> frozenset[str]:
    """The types of columns that Spark refuses to read from the feed's files or records."""
    by_format = _UNREAD_BY_FORMAT.get(feed.format, frozenset())
    return by_format | (_UNREAD_IN_FILES if feed.kind == "files" else frozenset())


def _kinds(type_: DataType) -> set[str]:
    """The names of a column's type and of all types within it."""
    match type_:
        case ArrayType():
            within = [type_.elementType]
        case MapType():
            within = [type_.keyType, type_.valueType]
        case StructType():
            within = [field.dataType for field in type_.fields]
        case _:
            within = []
    return {type_.typeName()}.union(*map(_kinds, within))


def _bad_schema(feed: Feed, why: str) -> UserError:
    return UserError(
        "bad-schema",
        f"the schema of feed {feed.name} is not understood: {why}",
        where=feed.place,
        rule="a schema is a list such as `id BIGINT, at TIMESTAMP, price DECIMAL(15,2)`",
        next_step="Correct the schema.",
    )


class FeedReader:
    """Reads a feed's files with its options and its schema.

    A Parquet feed without a declared schema has that of the file that a table loaded first; the
    table's commits say it, so that a file with other columns cannot change what a running table's
    query means. Where none of the feed's tables holds rows, it is looked for again: the feed may
    be in another folder since.

    Args:
        project: Whose feed it is.
        feed: The feed.
    """

    def __init__(self, project: Project, feed: Feed) -> None:
        self.feed = feed
        own = project.own_path if is_local(project.storage) else project.root / ".freshline"
        self._recorded = Path(own) / "feeds" / f"{feed.name}.schema.json"
        self._readers = {
            table.name: project.table_path(table.name)
            for table in project.tables
            if table.feed == feed.name
        }
        self._declared = declared_schema(feed)

    def schema(
        self,
        session: SparkSession,
        names: Sequence[str],
        *,
        anew: bool = False,
        table: str | None = None,
    ) -> StructType:
        """The feed's schema.

        Args:
            session: To look into a file with, when no schema is known yet.
            names: Files; the first decides where the schema is not known.
            anew: Look into the first file although a table has rows.
            table: Which base table is loaded; None: any of those that read the feed.

        Raises:
            PlatformError: The schema is neither known nor can a file tell it.
            UserError: The table has rows, and nothing says with which columns they were read.
        """
        if self._declared is not None:
            return self._declared
        known = None if anew and names else self._known(names, table)
        if known is not None:
            return known
        if not names:
            raise PlatformError(
                "no-schema",
                f"feed {self.feed.name} declares no schema and has no file to take it from",
                where=self.feed.place,
                next_step="Declare its `schema:`, or run again when a file has arrived.",
            )
        reader = session.read.format(self.feed.format).options(**self._options())
        return reader.load([self.path(names[0])]).schema

    def _known(self, names: Sequence[str], table: str | None) -> StructType | None:
        """A schema that was not declared, as loaded rows have it; None: a file is to tell it."""
        if table is not None and (facts := self._facts_of(table)) is not None:
            known = self._of_rows(table, facts)
            if known is not None:
                return known
        fields: dict[str, StructField] = {}
        for name in self._readers:
            for each in columns_in(self._facts_of(name) or {}, self.feed) or ():
                fields.setdefault(each.name.lower(), each)
        if fields:
            return StructType([*fields.values()])
        is_new = all(version(path) is None for path in self._readers.values())
        return None if names and is_new else self._noted()

    def _facts_of(self, table: str) -> Mapping[str, Any] | None:
        """What its commits say of how a base table was loaded last; None: we never did.

        Once the load's commit is cleaned up, the commits behind it say it: backfills, and what
        compactions carry on. Empty where all of ours are gone.
        """
        path = self._readers[table]
        last = last_load(path) or last_commit(path)
        if last is not None:
            return last.metadata
        if version(path) is None or last_transaction(path, application(table)) is None:
            return None
        return {}

    def _of_rows(self, table: str, facts: Mapping[str, Any]) -> StructType | None:
        """The schema with which a base table's rows were read, by its last load's facts.

        None: they were read from another feed.
        """
        known = columns_in(facts, self.feed)
        if known is not None or not _OF_OTHERS.isdisjoint(facts):
            return known
        noted = self._noted()
        if noted is None:
            raise UserError(
                "columns-unknown",
                f"feed {self.feed.name} declares no schema, and nothing says with which columns"
                f" table {table} was loaded so far",
                where=self.feed.place,
                rule="later files are read with the columns of the first one",
                next_step=f"Declare its `schema:`; or `freshline refresh {table} --full` loads all"
                " files again, with the columns of the first.",
            )
        return noted

    def _noted(self) -> StructType | None:
        """The schema that an earlier version of freshline wrote down; newer commits have it."""
        try:
            return StructType.fromJson(json.loads(self._recorded.read_text("utf-8")))
        except (OSError, ValueError):  # there is none; or it is empty, after a power cut
            return None

    def path(self, name: str) -> str:
        """A file's path as Spark takes it: a pattern that matches this file alone.

        Spark's option to take paths literally does not hold for several paths at once: with
        it, a file named * was read as all files.
        """
        folder = self.feed.path.rstrip("/")
        whole = f"file:{folder}/{name}" if folder.startswith("/") else f"{folder}/{name}"
        return _PATTERN_CHARACTERS.sub(r"\\\g<0>", whole)

    def read(self, session: SparkSession, names: Sequence[str], schema: StructType) -> DataFrame:
        """All records of the files, those that do not fit included.

        Returns:
            The schema's columns; for csv and json also :data:`CORRUPT`, the record's text
            where it did not parse, else null.
        """
        is_text = self.feed.format in _TEXT_FORMATS
        corrupt = [StructField(CORRUPT, StringType())] if is_text else []
        if not names:
            whole = [*schema.fields, *corrupt]
            nothing = [F.lit(None).cast(f.dataType).alias(f.name) for f in whole]
            return session.range(0).select(nothing)
        exact = ExactColumns(
            schema, self.feed.format, self.feed.options, keeps_numbers=self._reads_bytes()
        )
        if not is_text:
            read_every_row(session, of_delta=False)
            for setting in _REFUSING:
                session.conf.set(setting, "true")
        wide = StructType([*exact.wide, *corrupt])
        paths = [self.path(name) for name in names]
        frame = jvm.loaded(session, self.feed.format, self._options(), wide.json(), paths)
        if frame.columns != wide.names:  # a basePath puts the keys of all folders behind them
            frame = frame.select([F.col(backquoted(name)) for name in wide.names])
        return exact.marked(frame, CORRUPT) if is_text else exact.strict(frame)

    def _reads_bytes(self) -> bool:
        """Whether Spark's json reader has a line's bytes, from which it takes numbers exactly."""
        options = self.feed.options
        return not is_read_as_whole(options) and option(options, "encoding", "charset") is None

    def misfit(self, schema: StructType) -> str | None:
        """SQL that says whether a record of :meth:`read` does not fit, never NULL.

        None where every record does.
        """
        needed = [backquoted(field.name) for field in schema.fields if not field.nullable]
        conditions = [f"{name} IS NULL" for name in needed]
        if self.feed.format in _TEXT_FORMATS:
            conditions.append(f"{backquoted(CORRUPT)} IS NOT NULL")
        conditions += self.nulls_within(schema).values()
        conditions += self.backslashed(schema).values()
        conditions += [self._header(schema)] if self._may_have_header(schema) else []
        return " OR ".join(conditions) or None

    def nulls_within(self, schema: StructType) -> dict[str, str]:
        """SQL by field within a column that says whether it is NULL where the schema forbids it.

        None of them is NULL.
        """
        return {
            path: is_null
            for each in schema
            for path, is_null in nulls_within(backquoted(each.name), each.dataType, each.name)
        }

    def _may_have_header(self, schema: StructType) -> bool:
        """Whether a line of the columns' names would be a row, and nobody says that it is one.

        It does not fit anyway where a column is no text. A single name may well be a value.
        """
        if self.feed.kind != "files" or self.feed.format != "csv" or len(schema) == 1:
            return False
        said = option(self.feed.options, "header", "enforceSchema")
        return said is None and all(isinstance(each.dataType, TEXT_TYPES) for each in schema)

    def _header(self, schema: StructType) -> str:
        """SQL that says whether a record is the line with the columns' names, never NULL."""
        same = (
            f"lower(trim({backquoted(each.name)})) <=> {string_literal(each.name.lower())}"
            for each in schema
        )
        return f"({' AND '.join(same)})"

    def backslashed(self, schema: StructType) -> dict[str, str]:
        """SQL by text column that says whether its csv value had a backslash before its quotes.

        None of them is NULL. Empty where the feed says how quotes are escaped.
        """
        is_told = option(self.feed.options, "escape", "quote") is not None
        if self.feed.format != "csv" or is_told:
            return {}
        texts = (each.name for each in schema if isinstance(each.dataType, TEXT_TYPES))
        return {name: _backslashed_quotes(name) for name in texts}

    def visible(self, schema: StructType) -> StructType:
        """The columns that a query may name."""
        return schema

    def loads(self, names: Sequence[str]) -> dict[str, Any]:
        """What a commit says of the files that it loaded."""
        return {"files": list(names)}

    how = APPEND_FILES
    """The strategy of an update that loads what is read."""

    def facts(self, schema: StructType) -> Mapping[str, Any]:
        """What else a commit says of what it loaded with these columns."""
        if self._declared is not None:
            return {}
        return {COLUMNS: {self.feed.name: schema.jsonValue()}}

    def pins(self) -> Mapping[str, int]:
        """Version of every Delta table that is read, by the name the query uses."""
        return {}

    def origin(self, records: DataFrame) -> tuple[Column, Column]:
        """Of ``records`` of :meth:`read`: where each stands, and on which line if that is known.

        For files the path as Spark writes it; the line is looked for in the file's text.
        """
        about = records.metadataColumn("_metadata")  # a feed may have a column of this name
        return about.getField("file_path"), F.lit(None).cast("bigint")

    def shown_file(self, path: Column) -> Column:
        """The path of :meth:`origin` as people know it: relative to the feed."""
        prefix = re.sub("^file:/+", "file:/", location(self.feed.path).rstrip("/")) + "/"
        decoded = F.url_decode(F.replace(path, F.lit("+"), F.lit("%2B")))
        whole = F.regexp_replace(decoded, F.lit("^file:/+"), F.lit("file:/"))
        return F.substring(whole, len(prefix) + 1, 2**31 - 1)

    def stands(self, names: Sequence[str]) -> dict[str, tuple[int, float]]:
        """Size in bytes and modification time of files, where they cost nothing: on a local disk.

        One that cannot be looked at is left out.
        """
        found = {}
        if self.feed.kind != "kafka" and "://" not in self.feed.path:
            for name in names:
                with contextlib.suppress(OSError):
                    status = os.stat(os.path.join(self.feed.path, name))  # noqa: PTH116, PTH118
                    found[name] = (status.st_size, status.st_mtime)
        return found

    def unreadable(
        self, session: SparkSession, names: Sequence[str]
    ) -> list[tuple[str, str]] | None:
        """Files that cannot be read, with reasons; None: reading them alone will tell.

        A stream of a pipeline says that its folder has no others in it: Spark leaves out files in
        folders, or takes ``day=2026-03-02`` for a column's value.
        """
        if option(self.feed.options, "recursiveFileLookup") != "false":
            return None
        return [(name, _IN_A_FOLDER) for name in names if "/" in name] or None

    def _options(self) -> dict[str, str]:
        """Of Spark's reader."""
        forced = {
            # A file that is gone or broken is an error, never silently left out.
            "ignoreMissingFiles": "false",
            "ignoreCorruptFiles": "false",
        }
        if self.feed.format in _TEXT_FORMATS:
            forced |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        ours = {name.lower() for name in forced}
        told = as_feeds_are_read(self.feed.format, self.feed.options).items()
        return {name: value for name, value in told if name.lower() not in ours} | forced


_IN_A_FOLDER = (
    "it is in a folder within the feed's: Spark's stream would leave it out, or take the folder's"
    " name for the value of a column. Set recursiveFileLookup on the stream to load such files, and"
    " have the column in the files themselves"
)


def columns_in(facts: Mapping[str, Any], feed: Feed) -> StructType | None:
    """The columns with which a commit with these facts read the feed; None: it does not say."""
    told = facts.get(COLUMNS, {}).get(feed.name)
    return None if told is None else StructType.fromJson(told)


def _backslashed_quotes(column: str) -> str:
    r"""SQL that says whether a text came from a quoted csv value with ``\"`` in it, never NULL.

    A reader that expects doubled quotes keeps all quotes and backslashes of such a value; where
    the value ends with a quote, it takes that and the closing one for one.
    """
    name, escaped = backquoted(column), "chr(92) || '\"'"
    return (
        f"coalesce(startswith({name}, '\"') AND contains({name}, {escaped})"
        f" OR endswith({name}, {escaped}), false)"
    )


def view_of(frame: DataFrame, query: str, feed: Feed | None) -> DataFrame:
    """What a base table's query sees of its feed; None: it may be any.

    A topic's records bring where they come from; a query gets that column only if it names
    it, so that ``SELECT *`` is the schema's columns.
    """
    hidden = [CORRUPT]
    is_named = any(token.text.strip("`").lower() == SOURCE for token in tokens(query))
    if (feed is None or feed.kind == "kafka") and not is_named:
        hidden.append(SOURCE)
    return jvm.without(frame, hidden)


def measured(frame: DataFrame, schema: StructType, misfit: str, name: str) -> DataFrame:
    """``frame``, counting its records and those that do not fit while it is read.

    The third number is of no use in itself: it needs every column, so that Spark cannot leave
    out those that the query does not read. A value in them would then not be looked at, and
    whether a record fits would depend on the query.
    """
    # As text: put together from columns, these are hundreds of messages to the JVM.
    with_null = " OR ".join(f"{backquoted(field.name)} IS NULL" for field in schema.fields)
    metrics = {
        "records": "count(1)",
        "misfits": f"count_if({misfit})",
        "with_null": f"count_if({with_null or 'false'})",
    }
    return jvm.measuring(frame, name, metrics)


def those_that_fit(frame: DataFrame, schema: StructType, misfit: str, name: str) -> DataFrame:
    """The records of ``frame`` that fit, counted as :func:`measured` does."""
    return measured(frame, schema, misfit, name).filter(f"NOT ({misfit})")
