"""The session that a pipeline's Python functions see: that of the update that calls them.

A module of definitions is imported once, and its functions are called in many updates, each in a
session of its own, some at the same time. So what the module has as ``spark`` is an object that
looks up the session of the call under way. Names of datasets mean views of that session, and
``readStream`` gives the new rows of a feed as they are given to this update.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as Frame
from pyspark.sql.types import StructType

from freshline.core.errors import UserError
from freshline.project.sections.feeds import resolved
from freshline.project.tables import PATH_FORMATS
from freshline.spark.engine import jvm
from freshline.spark.pipelines.blocked import PARSED, block
from freshline.spark.pipelines.call import Call, Stream, current, own_frame
from freshline.spark.pipelines.private import is_users, keep_private, refuse_private
from freshline.sql.text.reads import backquoted

_BY_PATH = ("load", "avro", "csv", "json", "orc", "parquet", "text")
"""Methods of a reader that take paths. All but the first are the format's name."""


@contextmanager
def calling(call: Call) -> Iterator[None]:
    """Within it, ``spark`` is the call's session."""
    install()
    before = current.set(call)
    jvm.activate(call.session)
    call.ended = False
    try:
        yield
    finally:
        call.ended = True  # a thread that it started may go on, and may not ask in its name
        current.reset(before)


def result_of(call: Call, function: Callable[[], Any]) -> Any:
    """What a function returns."""
    with calling(call):
        return own_frame(function())


_ACTIONS = (
    "approxQuantile", "collect", "corr", "count", "cov", "crosstab", "describe", "freqItems",
    "isEmpty", "localCheckpoint", "show", "summary", "tail", "toArrow", "toLocalIterator",
    "toPandas", "transpose",
)  # fmt: skip
"""Methods of a DataFrame that compute rows; ``first``, ``head`` and ``take`` call ``collect``."""


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
        return _Reader()

    @property
    def readStream(self) -> _StreamReader:  # noqa: N802 - Spark's own name
        """A reader of streams, whose rows are those of this update."""
        return _StreamReader()


CURRENT = CurrentSession()


def _call() -> Call:
    call = current.get()
    if call is None or call.ended:
        raise UserError(
            "no-session",
            "`spark` of a pipeline's definitions is used outside of them",
            rule="it exists while a module is imported and while its functions are called",
            next_step="Use it within a decorated function.",
        )
    return call


class _Reader:
    """A DataFrameReader whose ``table`` knows the datasets, and which tells what else it reads."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._format = "parquet"
        self._options: dict[str, Any] = {}  # by names in lower case
        self._inner = self._with({})

    def _with(self, more: Mapping[str, str]) -> DataFrameReader:
        """One of Spark's that was told the same: an option that it has once it keeps."""
        reader = _call().session.read
        for name, args, kwargs in self._steps:
            reader = getattr(reader, name)(*args, **kwargs)
        return reader.options(**more)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if name in _BY_PATH:
            return functools.partial(self._by_path, name)
        if name not in ("format", "option", "options", "schema"):
            return attribute

        def chained(*args: Any, **kwargs: Any) -> _Reader:
            self._inner = attribute(*args, **kwargs)
            self._steps.append((name, args, kwargs))
            if name == "format":
                self._format = str(next(iter((*args, *kwargs.values())), ""))
            elif name == "option":
                key, value = (*args, *(kwargs[each] for each in ("key", "value")[len(args) :]))
                self._options[str(key).lower()] = value
            elif name == "options":
                self._options |= {key.lower(): value for key, value in kwargs.items()}
            return self

        return chained

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - Spark's own name
        return _call().table(tableName, self._with, set(self._options))

    def _by_path(self, method: str, *args: Any, **kwargs: Any) -> DataFrame:
        """What a method gives that takes paths."""
        first = args if method == "parquet" else args[:1]
        paths = [each for some in first for each in (some if isinstance(some, list) else [some])]
        paths = paths or [kwargs.get("path") or self._options.get("path")]
        kind = method
        if method == "load":
            kind = str(kwargs.get("format") or (args[1:2] or [self._format])[0] or self._format)

        def read(more: Mapping[str, str]) -> DataFrame:
            found: DataFrame = getattr(self._with(more), method)(*args, **kwargs)
            return found

        if kind.lower() not in PATH_FORMATS or not all(isinstance(each, str) for each in paths):
            return read({})
        call, options = _call(), {*self._options, *(each.lower() for each in kwargs)}
        names = [f"{kind.lower()}.{backquoted(resolved(each, Path.cwd()))}" for each in paths]
        if kind.lower() != "delta" and not call.foresees(names):
            return read({})  # a folder of today, say: nobody looks for news of it in any case
        frame = call.other(names[0], options, read)
        for each in names[1:]:  # of Delta's tables one alone can be loaded
            call.other(each, options, lambda _: frame)
        return frame


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
    if current.get() is not None and is_users(sys._getframe(1)):  # noqa: SLF001 - who asks
        return CURRENT
    return frame._session  # noqa: SLF001 - as the property itself gives it


def _naming(given: Callable[..., Any]) -> Callable[..., Any]:
    """What takes an expression as a text, whose subqueries may read datasets."""

    @functools.wraps(given)
    def parsed(*args: Any, **kwargs: Any) -> Any:
        if (call := current.get()) is None:
            return given(*args, **kwargs)
        named = {name: call.expression(each) for name, each in kwargs.items()}
        return given(*map(call.expression, args), **named)

    return parsed


def _noting(given: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """``withWatermark``, which leaves no trace in the plan of what is no stream."""

    @functools.wraps(given)
    def with_watermark(*args: Any, **kwargs: Any) -> DataFrame:
        if (call := current.get()) is not None:
            call.watermark = True
        return given(*args, **kwargs)

    return with_watermark


def _acting(name: str, given: Callable[..., Any]) -> Callable[..., Any]:
    """What computes rows at once. Calls before the first update are asked what they computed."""

    @functools.wraps(given)
    def computed(frame: DataFrame, *args: Any, **kwargs: Any) -> Any:
        if (call := current.get()) is not None and call.foreseen is None:
            call.acted.append((name, frame))
        return given(frame, *args, **kwargs)

    return computed


def _inheriting(start: Callable[..., None]) -> Callable[..., None]:
    """``Thread.start``: a thread that a user's function starts is the user's, too."""

    @functools.wraps(start)
    def started(thread: threading.Thread) -> None:
        if current.get() is not None:
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
        if current.get() is None:
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
    block(lambda: current.get() is not None)
    keep_private(current.get)
    for place, name in PARSED:
        setattr(place, name, _naming(getattr(place, name)))
    setattr(Frame, "sparkSession", property(_session_of))  # noqa: B010 - for mypy
    setattr(threading.Thread, "start", _inheriting(threading.Thread.start))  # noqa: B010 - for mypy
    setattr(ThreadPoolExecutor, "submit", _handing_on(ThreadPoolExecutor.submit, 1))  # noqa: B010
    setattr(Future, "add_done_callback", _handing_on(Future.add_done_callback))  # noqa: B010
    for name in ("apply_async", "_map_async", "imap", "imap_unordered"):
        setattr(ThreadPool, name, _handing_on(getattr(ThreadPool, name)))
    setattr(Frame, "withWatermark", _noting(Frame.withWatermark))  # noqa: B010 - for mypy
    for name in _ACTIONS:
        setattr(Frame, name, _acting(name, getattr(Frame, name)))
    setattr(Frame, "rdd", property(_acting("rdd", vars(Frame)["rdd"].func)))  # noqa: B010
    active, found = SparkSession.active, SparkSession.getActiveSession
    made = SparkSession.Builder.getOrCreate

    def of_call(otherwise: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(otherwise)
        def session(*args: Any, **kwargs: Any) -> Any:
            return otherwise(*args, **kwargs) if current.get() is None else CURRENT

        return session

    setattr(SparkSession, "active", staticmethod(of_call(active)))  # noqa: B010 - a class method
    setattr(SparkSession, "getActiveSession", staticmethod(of_call(found)))  # noqa: B010 - so is it
    setattr(SparkSession.Builder, "getOrCreate", of_call(made))  # noqa: B010 - mypy knows no other
