"""The session that a pipeline's Python functions see: that of the update that calls them.

A module of definitions is imported once, and its functions are called in many updates, each in a
session of its own, some at the same time. So what the module has as ``spark`` is an object that
looks up the session of the call under way. Names of datasets mean views of that session, and
``readStream`` gives the new rows of a feed as they are given to this update.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as Frame
from pyspark.sql.types import StructType

from freshline.core.errors import Place, UserError
from freshline.project.names import dotted
from freshline.project.sections.reader_options import stream_option_fault
from freshline.spark.engine import jvm
from freshline.spark.pipelines.blocked import PARSED, block, calls_java
from freshline.spark.pipelines.private import give, is_users, keep_private, refuse_private
from freshline.sql.text.appended import has_watermark
from freshline.sql.text.queries import is_query
from freshline.sql.text.reads import quoted, reads_of, rewritten
from freshline.sql.text.tokens import tokens

_SUBQUERY = re.compile(r"\(\s*(?:SELECT|FROM|WITH|TABLE)\b", re.IGNORECASE)
_BEFORE = "SELECT "


WholeOf = Callable[[tuple[str, ...]], str | None]


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

    def table(self, name: str, reader: DataFrameReader | None = None) -> DataFrame:
        """A dataset, or a table of the session's catalog.

        Args:
            name: Its own, or with its schema.
            reader: What reads a table of the catalog, with its options; None: the session.
        """
        found = tokens(name)
        parts = tuple(token.name for token in found if token.is_name)
        view = self._meant(parts)
        if view is not None:
            return self.session.table(quoted(view))  # without its options, as under Spark
        if 2 * len(parts) == len(found) + 1:  # no `name@v1`
            name = self.whole_of(parts) or name
        return (self.session if reader is None else reader).table(name)

    def stream_of(self, name: str, options: Mapping[str, str]) -> DataFrame:
        """The rows of a dataset that a function streams, or of a Delta table outside."""
        parts = tuple(token.name for token in tokens(name) if token.is_name)
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
        with _ours():  # Spark makes a view of each DataFrame that is named in the query
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
            elif not read.stream and (whole := self.whole_of(read.parts)) is not None:
                names[read.name] = whole
        return rewritten(text, names) if names else text

    def stream(self, stream: Stream) -> DataFrame:
        """The rows that a stream from outside has for this call."""
        with _ours():
            view = self.streams[stream.text] = self.feed_of(stream)
        return self.session.table(quoted(view))

    def views(self) -> set[str]:
        """Those of the datasets that were looked up."""
        return {*self.names.values(), *self.streams.values()}

    def _meant(self, parts: tuple[str, ...]) -> str | None:
        with _ours():
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


_current: ContextVar[Call | None] = ContextVar("freshline_pipeline_call", default=None)


@contextmanager
def calling(call: Call) -> Iterator[None]:
    """Within it, ``spark`` is the call's session."""
    install()
    before = _current.set(call)
    jvm.activate(call.session)
    call.ended = False
    try:
        yield
    finally:
        call.ended = True  # a thread that it started may go on, and may not ask in its name
        _current.reset(before)


def result_of(call: Call, function: Callable[[], Any]) -> Any:
    """What a function returns."""
    with calling(call):
        return own_frame(function())


def own_frame(value: Any) -> Any:
    """The value; a DataFrame that another call made is refused, as everywhere."""
    if isinstance(value, DataFrame):
        jvm.java_frame(value)
    return value


@contextmanager
def _ours() -> Iterator[None]:
    """Within it no user's function runs, but what answers one."""
    before = _current.set(None)
    try:
        yield
    finally:
        _current.reset(before)


class CurrentSession:
    """What modules have as ``spark``: each attribute is that of the session of the call."""

    def __getattr__(self, name: str) -> Any:
        """Anything else that a session has."""
        refuse_private(name)
        return getattr(_call().session, name)

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - Spark's own name
        """A dataset of the pipeline, or another table."""
        return _call().table(tableName)

    def sql(self, sqlQuery: str, *args: Any, **kwargs: Any) -> DataFrame:  # noqa: N803 - Spark's
        """A query over datasets of the pipeline and other tables."""
        return _call().query(sqlQuery, *args, **kwargs)

    @property
    def read(self) -> _Reader:
        """A reader that knows the datasets."""
        return _Reader(_call().session.read)

    @property
    def readStream(self) -> _StreamReader:  # noqa: N802 - Spark's own name
        """A reader of streams, whose rows are those of this update."""
        return _StreamReader()


CURRENT = CurrentSession()


def _call() -> Call:
    call = _current.get()
    if call is None or call.ended:
        raise UserError(
            "no-session",
            "`spark` of a pipeline's definitions is used outside of them",
            rule="it exists while a module is imported and while its functions are called",
            next_step="Use it within a decorated function.",
        )
    return call


class _Reader:
    """A DataFrameReader whose ``table`` knows the datasets."""

    def __init__(self, inner: DataFrameReader) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name not in ("format", "option", "options", "schema"):
            return attribute

        def chained(*args: Any, **kwargs: Any) -> _Reader:
            self._inner = attribute(*args, **kwargs)
            return self

        return chained

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - Spark's own name
        return _call().table(tableName, self._inner)


class _StreamReader:
    """What stands for a DataStreamReader."""

    def __init__(self) -> None:
        self._format = "parquet"
        self._options: dict[str, str] = {}
        self._schema: str | None = None

    def format(self, source: str) -> _StreamReader:
        self._format = source
        return self

    def schema(self, schema: StructType | str) -> _StreamReader:
        self._schema = schema if isinstance(schema, str) else schema.toDDL()
        return self

    def option(self, key: str, value: Any) -> _StreamReader:
        if value is not None:
            text = str(value)
            self._options[key] = text.lower() if isinstance(value, bool) else text
        return self

    def options(self, **options: Any) -> _StreamReader:
        for key, value in options.items():
            self.option(key, value)
        return self

    def load(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - Spark's own name
        schema: StructType | str | None = None,
        **options: Any,
    ) -> DataFrame:
        if format is not None:
            self.format(format)
        if schema is not None:
            self.schema(schema)
        self.options(**options)
        given = self._options.pop("path", None)
        return _call().stream(
            Stream(self._format.lower(), path or given, dict(self._options), self._schema)
        )

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - Spark's own name
        return _call().stream_of(tableName, dict(self._options))

    def json(self, path: str, schema: StructType | str | None = None, **options: Any) -> DataFrame:
        return self.load(path, "json", schema, **options)

    def csv(self, path: str, schema: StructType | str | None = None, **options: Any) -> DataFrame:
        return self.load(path, "csv", schema, **options)

    def parquet(self, path: str, **options: Any) -> DataFrame:
        return self.load(path, "parquet", None, **options)

    def text(self, path: str, **options: Any) -> DataFrame:
        return self.load(path, "text", None, **options)

    def orc(self, path: str, **options: Any) -> DataFrame:
        return self.load(path, "orc", None, **options)


def _session_of(frame: Any) -> Any:
    """``DataFrame.sparkSession``, by which a user's function may read datasets too."""
    if _current.get() is not None and is_users(sys._getframe(1)):  # noqa: SLF001 - who asks
        return CURRENT
    return frame._session  # noqa: SLF001 - as the property itself gives it


def _naming(given: Callable[..., Any]) -> Callable[..., Any]:
    """What takes an expression as a text, whose subqueries may read datasets."""

    @functools.wraps(given)
    def parsed(*args: Any, **kwargs: Any) -> Any:
        if (call := _current.get()) is None:
            return given(*args, **kwargs)
        named = {name: call.expression(each) for name, each in kwargs.items()}
        return given(*map(call.expression, args), **named)

    return parsed


def _noting(given: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """``withWatermark``, which leaves no trace in the plan of what is no stream."""

    @functools.wraps(given)
    def with_watermark(*args: Any, **kwargs: Any) -> DataFrame:
        if (call := _current.get()) is not None:
            call.watermark = True
        return given(*args, **kwargs)

    return with_watermark


def _inheriting(start: Callable[..., None]) -> Callable[..., None]:
    """``Thread.start``: a thread that a user's function starts is the user's, too."""

    @functools.wraps(start)
    def started(thread: threading.Thread) -> None:
        if _current.get() is not None:
            thread.run = functools.partial(copy_context().run, thread.run)  # type: ignore[method-assign]  # this one's
        start(thread)

    return started


def _handing_on(given: Callable[..., Any], few: int | None = None) -> Callable[..., Any]:
    """What gives work to a pool: it belongs to the call that gives it, not to the thread.

    Args:
        given: A method of the pool.
        few: How many of its arguments are the pool's; None: all, the others are the work's own.
    """

    @functools.wraps(given)
    def handed(pool: Any, *args: Any, **kwargs: Any) -> Any:
        if _current.get() is None:
            return given(pool, *args, **kwargs)
        here = copy_context()

        def ours(each: Any) -> Any:
            if isinstance(each, Iterator):
                return _items(here, each)
            # Of what is called, items are items: the class of an Enum is both.
            is_work = callable(each) and not isinstance(each, Iterable)
            return _work(here, each) if is_work else each

        if few is not None:
            return given(pool, *map(ours, args[:few]), *args[few:], **kwargs)
        return given(pool, *map(ours, args), **{name: ours(kwargs[name]) for name in kwargs})

    return handed


def _work(here: Context, wanted: Callable[..., Any]) -> Callable[..., Any]:
    def work(*each: Any, **named: Any) -> Any:
        return here.copy().run(wanted, *each, **named)  # several at once may not share one

    return work


def _items(here: Context, items: Iterator[Any]) -> Iterator[Any]:
    """Items that a thread of the pool may take, and which a generator makes as they are taken."""
    own, end = here.copy(), object()
    while (item := own.run(next, items, end)) is not end:
        yield item


@functools.cache
def install() -> None:
    """Have Spark's own ways to the session lead to that of the call, where there is one.

    What would change the session or write is refused there.
    """
    block(lambda: _current.get() is not None)
    keep_private(_current.get)
    for place, name in PARSED:
        setattr(place, name, _naming(getattr(place, name)))
    setattr(Frame, "sparkSession", property(_session_of))  # noqa: B010 - for mypy
    setattr(threading.Thread, "start", _inheriting(threading.Thread.start))  # noqa: B010 - for mypy
    setattr(ThreadPoolExecutor, "submit", _handing_on(ThreadPoolExecutor.submit, 1))  # noqa: B010
    setattr(Future, "add_done_callback", _handing_on(Future.add_done_callback))  # noqa: B010
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        setattr(ThreadPool, name, _handing_on(getattr(ThreadPool, name)))
    setattr(Frame, "withWatermark", _noting(Frame.withWatermark))  # noqa: B010 - for mypy
    active, found = SparkSession.active, SparkSession.getActiveSession
    made = SparkSession.Builder.getOrCreate

    def current(otherwise: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(otherwise)
        def session(*args: Any, **kwargs: Any) -> Any:
            return otherwise(*args, **kwargs) if _current.get() is None else CURRENT

        return session

    setattr(SparkSession, "active", staticmethod(current(active)))  # noqa: B010 - a class method
    setattr(SparkSession, "getActiveSession", staticmethod(current(found)))  # noqa: B010 - so is it
    setattr(SparkSession.Builder, "getOrCreate", current(made))  # noqa: B010 - mypy knows no other
