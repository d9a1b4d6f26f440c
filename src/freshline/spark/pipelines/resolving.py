"""What Python functions read, found by calling each over tables without rows.

A DataFrame of Spark's knows its columns at once, so a function can only be called when those of all
that it reads are known. Functions are tried until that is so; each look-up of a dataset that is not
known yet ends the try, and says what has to come first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed, Project
from freshline.project.programs import PythonFlow
from freshline.spark.analysis import Analysis, feed_schema
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.feeds.reader import view_of as visible_of
from freshline.spark.pipelines.appending import (
    ROW_WISE,
    RefusalError,
    difference,
    operators,
    whole_of_stream,
)
from freshline.spark.pipelines.bound import Registered
from freshline.spark.pipelines.call import Call, Stream, WholeOf, no_other
from freshline.spark.pipelines.current import result_of
from freshline.spark.pipelines.modules import failed
from freshline.spark.pipelines.streams import feed_for
from freshline.sql.text.appended import Appended, appended, has_watermark
from freshline.sql.text.reads import backquoted, quoted, reads_of


@dataclass(frozen=True, slots=True)
class SessionView:
    """A dataset, or a part of one, as a view of a session.

    Attributes:
        name: The view's.
        query: Its SQL with names of views and feeds; None: a function makes it.
        flow: The function's flow.
        meaning: What a name in the function stands for; None: no dataset of the pipeline.
        stored: It is a table; else it exists for those that read it, and so do its streams.
        columns: Name and type of those that are declared; empty: none.
        parts: The views of which it is the union by name; empty: it is none.
        streamed: Tables of the pipeline that its SQL streams, in lower case.
        whole: The whole name of a table outside the pipeline, where the name is not.
        own: Datasets of the pipeline by catalog, schema and name in lower case.
    """

    name: str
    query: str | None
    flow: PythonFlow | None
    meaning: Callable[[tuple[str, ...]], str | None]
    stored: bool
    columns: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()
    streamed: frozenset[str] = frozenset()
    whole: WholeOf = no_other
    own: Mapping[tuple[str, ...], str] = field(default_factory=dict)


class _NotYetError(BaseException):
    """A function reads a dataset whose columns are not known; no code of the user's catches it."""

    def __init__(self, name: str, why: str = "", circle: tuple[str, ...] = ()) -> None:
        self.name = name
        self.why = why
        self.circle = circle


@dataclass(slots=True)
class Resolved:
    """What was found.

    Attributes:
        flows: By key, with what they read.
        feeds: Those that functions stream from, by name.
        errors: What is wrong.
    """

    flows: dict[str, PythonFlow] = field(default_factory=dict)
    feeds: dict[str, Feed] = field(default_factory=dict)
    errors: list[UserError] = field(default_factory=list)


def resolve(
    session: SparkSession,
    project: Project,
    views: Sequence[SessionView],
    functions: Mapping[str, Registered],
) -> Resolved:
    """Call every function twice: one that cannot be called again would fail in each update.

    Args:
        session: Any; nothing in it is changed.
        project: Its feeds, root and settings; no tables are needed.
        views: All datasets.
        functions: By the key of their flows.
    """
    return _Resolver(session, project, views, functions).resolved()


class _Resolver:
    def __init__(
        self,
        session: SparkSession,
        project: Project,
        views: Sequence[SessionView],
        functions: Mapping[str, Registered],
    ) -> None:
        self._session = session
        self._project = project
        self._views = {view.name.lower(): view for view in views}
        self._functions = functions
        self._schemas: dict[str, StructType] = {}
        self._unknown: dict[str, str] = {}
        self._streaming: dict[str, str] = {}
        self._appending: dict[str, bool] = {}
        """Temporary views that stream tables of the pipeline, and whether with a watermark."""
        self._differing: dict[str, Appended] = {}
        """How far those can be tables."""
        self._circled: set[str] = set()
        for name, view in self._views.items():
            if view.streamed and not view.stored and view.query is not None:
                self._appending[name] = has_watermark(view.query)
                self._differing[name] = appended(view.query, view.streamed)
        self._found = Resolved()

    def resolved(self) -> Resolved:
        waiting = {
            name: ""
            for name, view in self._views.items()
            if view.flow is not None and not view.parts
        }
        while waiting:
            before = len(waiting)
            for name in list(waiting):
                try:
                    self._schema(name, ())
                    del waiting[name]
                except _NotYetError as error:
                    waiting[name] = error.name
                    if error.why:
                        self._fault(name, error)
                        del waiting[name]
            if len(waiting) == before:
                for name, other in waiting.items():
                    self._fault(name, _NotYetError(other, "it is read in a circle"))
                break
        return self._found

    def _fault(self, name: str, error: _NotYetError) -> None:
        if error.why == "-":
            return  # told where it stands
        flow = self._views[name].flow
        assert flow is not None
        if name in error.circle:
            self._circle(error.circle)
            return
        self._found.errors.append(
            UserError(
                "unknown-columns",
                f"{flow.name} reads {error.name}, whose columns are not known: {error.why}",
                where=Place(flow.file, flow.line),
                rule="a function is called when the columns of all that it reads are known",
                next_step=f"Correct {error.name} first.",
            )
        )

    def _circle(self, names: tuple[str, ...]) -> None:
        """An error for datasets that read each other, once for all of them."""
        if self._circled.issuperset(names):
            return
        self._circled |= set(names)
        flows = {name: self._views[name].flow for name in names}
        places = {name: Place(flow.file, flow.line) for name, flow in flows.items() if flow}
        first = next(at for at, name in enumerate(names) if name in places)
        shown = [
            f"{self._views[name].name} ({places[name]})" if name in places else name
            for name in names[first:] + names[:first]
        ]
        self._found.errors.append(
            UserError(
                "circle",
                f"views read each other in a circle: {' reads '.join([*shown, names[first]])}",
                where=places[names[first]],
                rule="a view is computed from tables that do not need it",
                next_step="Remove one of these names from the function that reads it.",
            )
        )

    def _schema(self, name: str, above: tuple[str, ...]) -> StructType:
        """The columns of a dataset, after those of all that it reads."""
        if name in self._schemas:
            return self._schemas[name]
        if name in self._unknown:
            raise _NotYetError(name, self._unknown[name])
        if name in above:
            circle = above[above.index(name) :]
            raise _NotYetError(name, "it is read in a circle", circle)
        view = self._views.get(name)
        if view is None:
            schema = self._of_feed(name)
        elif view.parts:
            schema = self._of_union(view, (*above, name))
        elif view.query is not None:
            schema = self._of_query(view, (*above, name))
        else:
            schema = self._of_function(view, (*above, name))
        if view is not None and view.columns:
            ddl = ", ".join(f"{backquoted(column)} {kind}" for column, kind in view.columns)
            schema = StructType.fromDDL(ddl)  # type: ignore[assignment]  # a list of columns
        self._schemas[name] = schema
        return schema

    def _of_union(self, view: SessionView, above: tuple[str, ...]) -> StructType:
        found: dict[str, StructField] = {}
        for part in view.parts:
            for each in self._schema(part.lower(), above):
                found.setdefault(each.name.lower(), each)
        return StructType(list(found.values()))

    def _give_up(self, name: str, why: str) -> _NotYetError:
        self._unknown[name] = why
        return _NotYetError(name, why)

    def _of_feed(self, name: str) -> StructType:
        feeds = {**self._project.feeds, **self._found.feeds}
        feed = next((each for each in feeds.values() if each.name.lower() == name), None)
        if feed is None:
            raise self._give_up(name, "there is no such dataset")
        analysis = Analysis()
        schema = feed_schema(self._project, feed, self._session, analysis)
        if analysis.errors and feed.name not in self._project.feeds:
            self._found.errors += analysis.errors
            raise self._give_up(name, "-")
        if schema is None:
            told = [error.what for error in analysis.errors] + analysis.notes
            raise self._give_up(name, "; ".join(told) or "its schema is not known")
        return schema

    def _of_query(self, view: SessionView, above: tuple[str, ...]) -> StructType:
        own = self._session.newSession()
        assert view.query is not None
        for read in reads_of(view.query):
            if len(read.parts) > 1:
                continue  # a table outside the pipeline
            name = read.parts[0].lower()
            self._register(own, name, above, view.query)
            feed = name if name not in self._views else self._streaming.get(name)
            if feed is not None and not view.stored:
                self._streaming[view.name.lower()] = feed
        try:
            return own.sql(view.query).schema
        except SparkError as error:
            raise self._give_up(
                view.name.lower(), f"Spark refuses its query: {one_line(error)}"
            ) from error

    def _register(
        self, own: SparkSession, name: str, above: tuple[str, ...], query: str = ""
    ) -> DataFrame:
        schema = self._schema(name, above)
        nullable = StructType([StructField(each.name, each.dataType) for each in schema])
        empty = own.createDataFrame(own.sparkContext.emptyRDD(), nullable)
        view = self._views.get(name)
        shown = quoted(view.name if view is not None else name)
        seen = visible_of(empty, query or "SELECT 1", None) if view is None else empty
        seen.createOrReplaceTempView(shown)
        return own.table(shown)

    def _call(self, view: SessionView, flow: PythonFlow, above: tuple[str, ...]) -> Call:
        """One in a session that gets what is looked up, without rows."""
        own = self._session.newSession()
        for key, value in flow.settings.items():
            own.conf.set(key, value)
        known = set[str]()

        def register(name: str) -> None:
            if name not in known:
                self._register(own, name, above)
                known.add(name)

        def view_of(parts: tuple[str, ...]) -> str | None:
            meant = view.meaning(parts)
            if meant is not None:
                register(meant.lower())
            return meant

        def feed_of(stream: Stream) -> str:
            feed = feed_for(
                stream,
                view.name,
                self._project,
                self._found.feeds,
                Place(flow.file, flow.line),
                view.own,
            )
            self._found.feeds[feed.name] = feed
            register(feed.name.lower())
            return feed.name

        return Call(own, view_of, feed_of, whole_of=view.whole)

    def _of_function(self, view: SessionView, above: tuple[str, ...]) -> StructType:
        flow = view.flow
        assert flow is not None
        call = self._call(view, flow, above)
        result: Any = None
        appends, differs = set[str](), None
        try:
            result = result_of(call, self._functions[flow.key].watched)
            fault = self._objection(flow, call, result)
            if fault is None:  # an update will call it again, and an object may keep a DataFrame
                again = dataclasses.replace(
                    call, names={}, streams={}, streamed=set(), outside={}, acted=[]
                )
                again.feed_of = lambda each: call.streams.get(each.text) or call.feed_of(each)
                result_of(again, self._functions[flow.key])
            appends = self._appended(view, call)
            if fault is None and appends and not self._streams(call):
                differs = self._difference(call, result, appends)
                if not view.stored:
                    self._appending[view.name.lower()] = call.watermark
                    self._differing[view.name.lower()] = Appended(difference=differs)
        except RefusalError as error:
            fault = error.at(flow.name, Place(flow.file, flow.line))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code
            root: Path = self._project.root
            fault = failed(error, f"the function of {flow.name}", root, flow.file)
        if fault is not None:
            self._found.errors.append(fault)
            raise self._give_up(view.name.lower(), "-")
        feed = next(iter(self._streams(call)), None)
        if feed is not None and not view.stored:
            self._streaming[view.name.lower()] = feed
        self._found.flows[flow.key] = dataclasses.replace(
            flow,
            reads=tuple(dict.fromkeys(call.names.values())),
            feed=feed,
            columns=tuple(result.columns),
            names=dict(call.names),
            streams=dict(call.streams),
            appends=bool(appends),
            watermark=call.watermark,
            difference=differs,
            outside=dict(call.outside),
        )
        return result.schema  # type: ignore[no-any-return]  # a DataFrame's

    def _appended(self, view: SessionView, call: Call) -> set[str]:
        """The datasets whose rows a function streams, in lower case; it may hand them on."""
        through = {each.lower() for each in call.names.values() if each.lower() in self._appending}
        found = {each.lower() for each in call.streamed} | through
        if found and not view.stored:
            self._appending[view.name.lower()] = call.watermark
        return found

    def _difference(self, call: Call, result: DataFrame, streamed: set[str]) -> str | None:
        """How the rows differ from Spark's; raises where no query has Spark's rows."""
        told = None
        for through in [self._differing[each] for each in streamed if each in self._differing]:
            if through.refusal is not None:
                raise RefusalError(through.refusal, through.next_step)
            told = told or through.difference
        beside = [each for each in call.names.values() if each.lower() not in streamed]
        call.watermark |= any(self._appending.get(each, False) for each in streamed)
        own = difference(
            self._session, result, list(dict.fromkeys(beside)), watermark=call.watermark
        )
        return own or told

    def _streams(self, call: Call) -> list[str]:
        """The feeds whose rows a function passes on, those of temporary views included."""
        through = (self._streaming.get(each.lower()) for each in call.names.values())
        return list(dict.fromkeys([*call.streams.values(), *(each for each in through if each)]))

    def _objection(self, flow: PythonFlow, call: Call, result: Any) -> UserError | None:
        """Why what a function returned cannot be a table."""

        def fault(code: str, what: str, rule: str, next_step: str) -> UserError:
            return UserError(
                code, what, where=Place(flow.file, flow.line), rule=rule, next_step=next_step
            )

        if not isinstance(result, DataFrame):
            return fault(
                "no-dataframe",
                f"the function of {flow.name} returns no DataFrame",
                "a flow's function returns its rows as a DataFrame",
                "Return one.",
            )
        if result.isStreaming:
            return fault(
                "other-session",
                f"the function of {flow.name} streams by a session of its own",
                "streams are read by the `spark` that a module of definitions has",
                "Use that, or SparkSession.active().",
            )
        streams = self._streams(call)
        if not streams:
            return None
        tables = [each for each in call.names.values() if each.lower() not in self._streaming]
        if len(streams) > 1 or tables:
            others = [*streams[1:], *tables]
            return fault(
                "one-feed",
                f"the function of {flow.name} joins a stream from outside with {', '.join(others)}",
                "a table that loads a stream from outside reads that alone",
                "Load the stream into a table of its own, and join that in another.",
            )
        strange = [name for name in operators(result) if name not in ROW_WISE]
        whole = whole_of_stream(result, call.acted, call.views())
        if strange or whole is not None:
            return fault(
                "not-row-wise",
                f"the function of {flow.name} does more than pass on each record:"
                f" {whole or strange[0]}",
                "each record of a stream makes its rows by itself",
                "Keep the records in this table, and do the rest in a materialized view over it.",
            )
        return None
