"""One call of a pipeline's Python function: what the names in it mean, and what it has read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from freshline.core.errors import Place, UserError
from freshline.project.names import Scope, dotted
from freshline.project.sections.reader_options import stream_option_fault
from freshline.spark.engine import jvm
from freshline.spark.pipelines.blocked import calls_java
from freshline.spark.pipelines.private import give
from freshline.sql.text.appended import has_watermark
from freshline.sql.text.queries import is_query
from freshline.sql.text.reads import quoted, reads_of, rewritten
from freshline.sql.text.tokens import name_parts, tokens

_SUBQUERY = re.compile(r"\(\s*(?:SELECT|FROM|WITH|TABLE)\b", re.IGNORECASE)
_BEFORE = "SELECT "
_VERSION = re.compile(r" VERSION AS OF (\d+)\Z")
_CHANGES = frozenset({"readchangefeed", "readchangedata"})
_FIXED = frozenset({"versionasof", "timestampasof", "endingversion", "endingtimestamp"})
"""Options of a reader with which a Delta table's later versions change nothing."""


WholeOf = Callable[[tuple[str, ...]], str | None]
ReaderOf = Callable[[Mapping[str, str]], DataFrameReader]
"""Makes a reader with these options in addition to its own."""


def name_key(parts: tuple[str, ...]) -> str:
    """A name by which it is found again: `a.b` in backquotes is not ``a.b``."""
    return dotted(parts).lower()


def no_other(_: tuple[str, ...]) -> str | None:
    """A name outside the pipeline is what it is in the session."""
    return None


@dataclass(slots=True)
class Call:
    """One call of a function.

    Attributes:
        session: The update's own.
        view_of: The view of the session that a name (in parts) stands for; None: it is no
            dataset of the pipeline.
        feed_of: The view in which a stream's rows are, by what ``readStream`` was asked for.
        names: What was looked up, by the name's key (:func:`name_key`).
        streams: The same of streams, by their text.
        streamed: Views among ``names`` that are read as streams.
        watermark: A watermark was given to something.
        ended: Its function has returned.
        lasts: It imports a module: later calls may use the DataFrames that it makes.
        whole_of: The whole name of a table outside the pipeline, where the name is not.
        outside: Tables outside the pipeline that were read, by their names in a query, and whether
            each time at a version that the function itself chose.
        pinned: What stands in a query for each of them, at the version of the update.
        foreseen: Those that may be read; None: any.
        acted: What was computed in it already: a method, and the DataFrame.
    """

    session: SparkSession
    view_of: Callable[[tuple[str, ...]], str | None]
    feed_of: Callable[[Stream], str]
    names: dict[str, str] = field(default_factory=dict)
    streams: dict[str, str] = field(default_factory=dict)
    streamed: set[str] = field(default_factory=set)
    watermark: bool = False
    ended: bool = False
    lasts: bool = False
    whole_of: WholeOf = no_other
    outside: dict[str, bool] = field(default_factory=dict)
    pinned: Mapping[str, str] = field(default_factory=dict)
    foreseen: Collection[str] | None = None
    acted: list[tuple[str, DataFrame]] = field(default_factory=list)

    def table(
        self, name: str, reader: ReaderOf | None = None, options: Collection[str] = ()
    ) -> DataFrame:
        """A dataset, or a table of the session's catalog.

        Args:
            name: Its own, or with its schema.
            reader: Makes what reads a table of the catalog; None: the session does.
            options: Names of the reader's options, in lower case.
        """
        found, parts = tokens(name), name_parts(name)
        view = self._meant(parts)
        if view is not None:
            return self.session.table(quoted(view))  # without its options, as under Spark
        if 2 * len(parts) != len(found) + 1:  # `name@v1`
            return (self.session if reader is None else reader({})).table(name)
        whole = self.whole_of(parts) or name

        def read(more: Mapping[str, str]) -> DataFrame:
            if reader is not None:
                return reader(more).table(whole)
            return (self.session.read.options(**more) if more else self.session).table(whole)

        return self.other(self._named(parts), options, read)

    def other(
        self, name: str, options: Collection[str], read: Callable[[Mapping[str, str]], DataFrame]
    ) -> DataFrame:
        """The rows of a table outside the pipeline, at the version of the update if it has one.

        Args:
            name: As a query names it.
            options: Names of the reader's options, in lower case.
            read: Reads it, with these options in addition.
        """
        is_fixed = not _FIXED.isdisjoint(options)
        self._foresee(name, is_fixed=is_fixed)
        pinned = None if is_fixed else self.pinned.get(name)
        version = None if pinned is None else _VERSION.search(pinned)
        if version is not None:
            last = "versionAsOf" if _CHANGES.isdisjoint(options) else "endingVersion"
            frame = read({last: version[1]})
        elif pinned is not None and "." not in pinned:  # a view of its rows
            frame = self.session.sql(rewritten(f"SELECT * FROM {name}", {name: pinned}))
        else:
            frame = read({})
        self._note(name, is_fixed=is_fixed)  # no table that there is not
        return frame

    def _named(self, parts: tuple[str, ...]) -> str:
        """A table outside the pipeline as a query names it, with its schema."""
        here = (Scope().database, *parts) if len(parts) == 1 else parts
        return self.whole_of(parts) or dotted(here)

    def foresees(self, names: Iterable[str]) -> bool:
        """Whether the function read these when it was called over tables without rows."""
        return self.foreseen is None or all(name in self.foreseen for name in names)

    def _foresee(self, name: str, *, is_fixed: bool) -> None:
        """Raise where the table's news would be told to nobody."""
        if is_fixed or self.foreseen is None or name in self.foreseen:
            return
        raise UserError(
            "other-reads",
            f"a function reads {name}, which it did not read when it was called over tables"
            " without rows",
            rule="what a table reads is known before it is updated, so a function reads the same"
            " tables whatever rows there are",
            next_step=f"Read {name} at the top of the function.",
        )

    def _note(self, name: str, *, is_fixed: bool) -> None:
        self.outside[name] = self.outside.get(name, True) and is_fixed

    def stream_of(self, name: str, options: Mapping[str, str]) -> DataFrame:
        """The rows of a dataset that a function streams, or of a Delta table outside."""
        parts = name_parts(name)
        view = None if self.lasts else self._meant(parts)
        if view is not None:
            refuse_options(options)
            self.streamed.add(view)
            return self.session.table(quoted(view))
        if len(parts) > 1 or self.lasts:
            full = self.whole_of(parts) or dotted(parts)
            return self.stream(Stream("delta", None, options, None, full))
        raise UserError(
            "unknown-stream",
            f"readStream.table('{name}') names no dataset of the pipeline",
            rule="a table outside the pipeline is streamed by its schema and its name",
            next_step="Correct the name, or put the table's schema in front of it.",
        )

    def query(self, text: str, *args: Any, **kwargs: Any) -> DataFrame:
        """A query over datasets."""
        found = tokens(text)
        if not is_query(found) or calls_java(text):
            runs = found[0].text.upper() if found else "nothing"
            raise UserError(
                "changes-session",
                f"spark.sql runs {'a method of Java' if calls_java(text) else runs}",
                rule="definitions of a pipeline run queries alone",
                next_step="Remove the statement.",
            )
        text = self._with_views(text)
        self.watermark |= has_watermark(text)
        for each in kwargs.values():
            own_frame(each)
        with answering():  # Spark makes a view of each DataFrame that is named in the query
            frame = self.session.sql(text, *args, **kwargs)
        return give(frame, self)

    def expression(self, text: Any) -> Any:
        """An expression, or several, with the views that subqueries read; no text as it is."""
        if isinstance(text, list | tuple):
            return [self.expression(each) for each in text]
        if not isinstance(text, str) or not _SUBQUERY.search(text):
            return text
        return self._with_views(_BEFORE + text).removeprefix(_BEFORE)

    def _with_views(self, text: str) -> str:
        """A query with views of the session in the place of datasets."""
        names = {}
        for read in reads_of(text):
            view = self._meant(read.parts)
            if view is not None:
                names[read.name] = quoted(view)
                self.streamed |= {view} if read.stream else set()
            elif not read.stream:
                name = self._named(read.parts)
                self._foresee(name, is_fixed=read.time_travel)
                self._note(name, is_fixed=read.time_travel)
                stands = self.pinned.get(name) or self.whole_of(read.parts)
                names |= {} if stands is None else {read.name: stands}
        return rewritten(text, names) if names else text

    def stream(self, stream: Stream) -> DataFrame:
        """The rows that a stream from outside has for this call."""
        with answering():
            view = self.streams[stream.text] = self.feed_of(stream)
        return self.session.table(quoted(view))

    def views(self) -> set[str]:
        """Those of the datasets that were looked up."""
        return {*self.names.values(), *self.streams.values()}

    def _meant(self, parts: tuple[str, ...]) -> str | None:
        with answering():
            view = self.view_of(parts)
        if view is not None:
            self.names[name_key(parts)] = view
        return view


def refuse_options(options: Mapping[str, str], where: Place | None = None) -> None:
    """Raise for an option that would choose which rows of a Delta table come.

    Raises:
        UserError: There is one (``stream-refused``).
    """
    for option in options:
        if (fault := stream_option_fault(option, where)) is not None:
            raise fault


@dataclass(frozen=True, slots=True)
class Stream:
    """What ``readStream`` was asked for."""

    format: str
    path: str | None
    options: Mapping[str, str]
    schema: str | None
    table: str | None = None

    @property
    def text(self) -> str:
        """The same as one text."""
        options = dict(sorted(self.options.items()))
        named = [self.table] if self.table else []
        return json.dumps([self.format, self.path, options, self.schema, *named])


current: ContextVar[Call | None] = ContextVar("freshline_pipeline_call", default=None)


def own_frame(value: Any) -> Any:
    """The value; a DataFrame that another call made is refused, as everywhere."""
    if isinstance(value, DataFrame):
        jvm.java_frame(value)
    return value


@contextmanager
def answering() -> Iterator[None]:
    """Within it no user's function runs, but what answers one."""
    before = current.set(None)
    try:
        yield
    finally:
        current.reset(before)
