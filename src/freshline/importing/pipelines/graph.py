"""Datasets and flows of a pipeline joined to statements of a project.

A materialized view stays one. A streaming table that reads a feed is a base table; one that reads
other datasets is a view over them: its rows are the same as long as these only grow, and right
where they do not. A temporary view is put into the queries that read it. Several flows into one
table are a union, and each of them that reads a feed gets a base table of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from freshline.core.errors import Place
from freshline.importing.inlining import Source, View, inlined, without_end
from freshline.importing.pipelines.datasets import (
    collected,
    fault,
    has_functions,
    refuse_twins,
    refuse_views_of_feeds,
)
from freshline.importing.pipelines.definitions import Definitions, Flow, Key, Output
from freshline.importing.pipelines.lines import on_one_line
from freshline.importing.pipelines.naming import (
    distinct,
    former_names,
    is_star,
    names_of,
    part_name,
)
from freshline.importing.pipelines.outside import outside_feed, refuse_options, unknown_stream
from freshline.importing.pipelines.session_views import Described, Needs, SessionViews
from freshline.importing.pipelines.settings import settings_of, with_parameters
from freshline.importing.pipelines.streamed import differences, faults_of_streams, streamed_tables
from freshline.project.graph import circles
from freshline.project.model import Feed
from freshline.project.names import correction, listed
from freshline.project.schema import schema_columns
from freshline.project.sections.libraries import Found, Library
from freshline.sql.text.reads import Read, backquoted, quoted, reads_of, rewritten
from freshline.sql.text.statements import Property, Statement
from freshline.sql.text.tokens import SqlTextError

Properties = Mapping[str, tuple[Property, ...]]
"""Properties of tables that stand in freshline.yml, by the table's name in lower case."""


def joined(
    found: Definitions, feeds: Mapping[str, Feed], feed_names: Iterable[str], properties: Properties
) -> Library:
    """The statements of the project that the pipeline is; errors are added to ``found``.

    Args:
        found: What the pipeline's files define.
        feeds: Those that are right, by name.
        feed_names: Of all feeds, right or not.
        properties: Put to the properties of the tables that they name.
    """
    return Graph(found, feeds, feed_names, properties).library()


@dataclass(slots=True)
class _Query:
    """A flow's query with the names of the project.

    Attributes:
        flow: Whose it is.
        text: The query.
        feed: What it streams from outside, or None.
        needs: Views of the session that it needs, and the tables that those read.
        settings: Those of the flow and of the views that it reads.
        streamed: Tables of the pipeline that it streams, in lower case.
    """

    flow: Flow
    text: str
    feed: str | None
    needs: Needs
    settings: Mapping[str, str]
    streamed: frozenset[str] = frozenset()


class Graph:
    """The datasets of a pipeline by their names; :func:`joined` says what becomes of them."""

    def __init__(
        self,
        found: Definitions,
        feeds: Mapping[str, Feed],
        feed_names: Iterable[str],
        properties: Properties,
    ) -> None:
        self.found = found
        self.feeds = {name.lower(): feed for name, feed in feeds.items()}
        self.feed_names = {name.lower() for name in feed_names}
        self.properties = properties
        self.outputs, self.flows = collected(found)
        self.views: dict[str, View] = {}
        self.made = SessionViews()
        self.warnings: list[str] = []
        self.names = names_of(self.outputs.values())
        refuse_twins(found, self.outputs, self.flows, self.names, self._key)

    def session_views(self) -> list[Described]:
        """Every dataset as a view of a session, for whoever calls its Python functions."""
        self._put_in_views()
        described = []
        for key, output in self.outputs.items():
            flows = self.flows.get(key, [])
            for flow in flows:
                query = self._query(flow, output)
                text = None if flow.function is not None or query is None else query.text
                stored = output.kind != "temporary"
                name = self._view_name(key, flow)
                if flow.function is not None or text is not None:
                    streamed = frozenset() if query is None else query.streamed
                    described.append(
                        Described(name, text, flow, stored, output.columns, streamed=streamed)
                    )
            if len(flows) > 1:
                parts = tuple(self._view_name(key, flow) for flow in flows)
                described.append(
                    Described(self.names[key], None, flows[0], True, output.columns, parts)
                )
        return described

    def meaning(self, flow: Flow, parts: tuple[str, ...]) -> str | None:
        """The view of a session that a name in a flow's function stands for."""
        key = self._key(flow, parts)
        if key is None:
            return None
        return self.outputs[key].name[0] if len(key) == 1 else self.names[key]

    def _view_name(self, key: Key, flow: Flow) -> str:
        """What the rows of a flow are called as a view of a session."""
        if len(key) == 1:
            return self.outputs[key].name[0]
        name = self.names[key]
        return name if len(self.flows[key]) == 1 else part_name(name, flow.name)

    def library(self) -> Library:
        """The statements, in the order of the outputs."""
        self._put_in_views()
        statements: list[Found] = []
        for key, output in self.outputs.items():
            self.warnings += [f"{output.place}: {output.name[-1]} {each}" for each in output.notes]
            if output.kind != "temporary":
                statements += self._table(key, output)
        feeds = {feed.name for feed in self.found.feeds.values()}
        feeds |= {each.feed for each in statements if each.feed is not None}
        if has_functions(self.found):
            feeds |= {feed.name for feed in self.feeds.values()}
        refuse_views_of_feeds(self.found, self.outputs, feeds)
        known = {name.lower() for name in self.names.values()}
        for name, properties in self.properties.items():
            if name not in known | self.found.broken:
                self._fault(
                    "unknown-table",
                    f"tables: names the table {name}",
                    Place(properties[0].file or "", properties[0].line) if properties else None,
                    f"the pipeline's tables are {listed(self.names.values())}",
                    correction(name, self.names.values(), "Correct the name."),
                )
        return Library(statements, set(self.found.broken), [], list(self.warnings), lone_views=True)

    def _fault(self, code: str, what: str, where: Place | None, rule: str, next_step: str) -> None:
        fault(self.found, code, what, where, rule, next_step)

    # ---- names ----

    def _reads(self, flow: Flow, query: str) -> tuple[Read, ...] | None:
        try:
            return reads_of(without_end(query))
        except SqlTextError as error:
            line = (flow.query_place.line or 1) + error.line - 1
            self._fault(
                "bad-sql",
                f"query of {flow.name}: {error.what}",
                Place(flow.query_place.file, line),
                "a query only reads, parentheses are closed, and table names are written out",
                "Correct the query.",
            )
        except ValueError as error:
            self._fault(
                "bad-sql",
                f"query of {flow.name}: {error}",
                flow.query_place,
                "a flow is one query",
                "Correct the query.",
            )
        return None

    def _key(self, flow: Flow, parts: tuple[str, ...]) -> Key | None:
        """The dataset that a name in a flow's query means, or None."""
        lower = tuple(part.lower() for part in parts)
        if lower in self.outputs:  # a temporary view goes before tables
            return lower
        full = tuple(part.lower() for part in flow.scope.full(parts))
        return full if full in self.outputs else None

    def _sources(self, flow: Flow, query: str) -> tuple[str, dict[str, Source]]:
        """What the names in a query stand for; the query with those of other tables in full."""
        sources: dict[str, Source] = {}
        outside: dict[str, str] = {}  # by names as written: letters' case matters in paths
        if (reads := self._reads(flow, query)) is None:
            return "SELECT 1", sources  # its readers get no error of their own
        for read in reads:
            key, name = self._key(flow, read.parts), read.name.lower()
            if key is not None:
                refuse_options(self.found, flow, read)
                output = self.outputs[key]
                if output.kind != "temporary":
                    sources[name] = Source(table=self.names[key])
                elif key[0] in self.made.functions:
                    sources[name] = Source(table=output.name[0])
                else:
                    sources[name] = Source(view=key[0])
            elif len(read.parts) == 1 and name in self.feed_names:
                continue
            elif read.stream:
                table = self._view_name(flow.target, flow)
                feed = outside_feed(self.found, self.feed_names, flow, reads, read, table)
                if feed is not None:
                    outside[read.name] = f"STREAM {quoted(feed)}"
                elif read.parts[-1].lower() not in self.found.broken:
                    known = [each.name[-1] for each in self.outputs.values()]
                    self.found.errors.append(unknown_stream(flow, read, known))
            elif (whole := flow.scope.whole(read.parts)) is not None:
                outside[read.name] = whole
        return (rewritten(query, outside) if outside else query), sources

    def _put_in_views(self) -> None:
        """Temporary views, as what is put into the queries that read them."""
        flows = {key: self.flows[key][0] for key in self.flows if len(key) == 1 and self.flows[key]}
        self.made = SessionViews.of(self.found.flows, self.outputs)
        for key, flow in flows.items():
            if flow.function is not None:
                self.made.functions[key[0]] = (self.outputs[key].name[0], flow.function)
        for key, flow in flows.items():
            if flow.function is not None:
                continue
            query, sources = self._sources(flow, flow.query)
            columns = self.outputs[key].columns
            text = on_one_line(query)
            if columns:
                named = ", ".join(quoted(column.name) for column in columns)
                text = f"SELECT * FROM ({text}) AS {quoted(key[0])}({named})"
            self.views[key[0]] = View(self.outputs[key].name[0], text, sources)
        parents = {
            name: [each.view for each in view.sources.values() if each.view in self.views]
            for name, view in self.views.items()
        }
        for circle in circles({name: [str(each) for each in parents[name]] for name in parents}):
            self._fault(
                "circle",
                f"temporary views read each other in a circle: {' reads '.join(circle)} reads"
                f" {circle[0]}",
                self.outputs[circle[0],].place,
                "a view is computed from datasets that do not need it",
                "Remove one of these names from the query that reads it.",
            )
            for name in circle:
                self.views[name] = View(name, "SELECT 1", {})
        for name, view in self.views.items():
            with contextlib.suppress(ValueError):  # told where a table reads it
                text = inlined(view.query, view.sources, self.views)
                self.made.queries[name] = (view.name, on_one_line(text))

    # ---- tables ----

    def _table(self, key: Key, output: Output) -> list[Found]:
        """The statement of a dataset, behind those of its parts."""
        flows = self.flows.get(key, [])
        if not flows:
            if not self.found.lost_flow:
                self._fault(
                    "no-flow",
                    f"nothing writes into the streaming table {output.name[-1]}",
                    output.place,
                    "its rows come from its own query, or from flows",
                    f"Add CREATE FLOW ... AS INSERT INTO {output.name[-1]} BY NAME query.",
                )
            self.found.broken.add(self.names[key].lower())
            return []
        if len(flows) == 1:
            query = self._query(flows[0], output)
            if query is None:
                self.found.broken.add(self.names[key].lower())
                return []
            return [self._found(self.names[key], output, query)]
        return self._union(key, output, flows)

    def _query(self, flow: Flow, output: Output) -> _Query | None:
        """A flow's query with the project's names and the table's declared columns."""
        faults = len(self.found.errors)
        written, sources = flow.query, dict[str, Source]()
        if flow.function is not None:
            written = f"SELECT * FROM {quoted(self._view_name(flow.target, flow))}"
        else:
            written, sources = self._sources(flow, flow.query)
        if len(self.found.errors) > faults:
            return None
        query = written
        if output.columns:
            cast = ", ".join(
                f"CAST({quoted(each.name)} AS {each.type}) AS {quoted(each.name)}"
                for each in output.columns
            )
            query = f"SELECT {cast} FROM ({query})"
        try:
            text = inlined(query, sources, self.views)
        except ValueError as error:
            self._fault(
                "not-joined",
                f"the query of {flow.name} cannot be taken: {error}",
                flow.query_place,
                "each name in it means one dataset",
                "Give the tables in the query aliases, or rename an entry of its WITH.",
            )
            return None
        if not any("\n" in view.query for view in self.views.values()):
            # What was put in front stays on the first line: messages name the user's own lines.
            text = text.replace("\n", " ", text.count("\n") - query.count("\n"))
        needs = Needs()
        if flow.function is not None:
            self.made.add_function(self._view_name(flow.target, flow), flow.function, needs)
        streamed = None
        for read in reads_of(text):
            if read.stream:
                streamed = read.name
            elif len(read.parts) == 1 and flow.function is None:
                self.made.add(read.parts[0], needs, self.feed_names)
        self.found.errors += faults_of_streams(flow, output, text, needs, self.made)
        if output.kind == "streaming" and (streamed or needs.feed) is None:
            functions, errors = self.made.functions, self.found.errors
            notes = differences(flow, output, text, sources, self.views, functions, errors)
            self.warnings += [each for each in notes if each not in self.warnings]
        streams: set[str] = set()
        if flow.function is None:
            streams = streamed_tables(flow.query, sources, self.views)
        common, errors = self.found.configuration, self.found.errors
        settings = settings_of(flow, self.flows, self._key, common, errors)
        return _Query(flow, text, streamed or needs.feed, needs, settings, frozenset(streams))

    def _found(
        self, name: str, output: Output, query: _Query, dataset: tuple[str, ...] = ()
    ) -> Found:
        flow, place = query.flow, output.place
        properties = self.properties.get(name.lower(), ())
        given = {each.key for each in properties}
        is_base = query.feed is not None and output.kind == "streaming"
        statement = Statement(
            kind="base" if is_base else "derived",
            name=name,
            line=place.line or 1,
            name_line=output.name_line,
            query=query.text,
            query_line=flow.query_place.line or 1,
            properties=(
                *(each for each in output.properties if each.key not in given),
                *properties,
            ),
            partitioned_by=output.partitioned_by,
            partitioned_line=output.partitioned_line,
            comment=output.comment,
            columns=tuple((each.name, each.comment) for each in output.columns if each.comment),
        )
        return Found(
            statement,
            place.file,
            flow.query_place.file,
            with_parameters(
                query.settings,
                query.needs,
                self.found.configuration,
                keeps=is_base and not self._is_delta(query.feed),
            ),
            tuple(query.needs.programs),
            tuple(query.needs.parents),
            query.feed,
            former_names(dataset or output.name, name, query.flow.name if dataset else ""),
        )

    def _is_delta(self, feed: str | None) -> bool:
        """Whether a feed is a Delta table, of which a base table equals its query over a version.

        What was loaded from others stays as it is, whatever becomes of the query.
        """
        known = self.feeds | {name.lower(): each for name, each in self.found.feeds.items()}
        found = known.get((feed or "").lower())
        return found is not None and found.kind == "delta"

    def _union(self, key: Key, output: Output, flows: list[Flow]) -> list[Found]:
        """A view over the flows of a table; those over feeds are base tables of their own."""
        name = self.names[key]
        queries = [self._query(flow, output) for flow in flows]
        columns = [self._columns(query, output) for query in queries if query is not None]
        if None in columns or len(columns) < len(flows):
            self.found.broken.add(name.lower())
            return []
        every = list(dict.fromkeys(each for some in columns for each in some or ()))
        statements, terms, needs = [], [], Needs()
        sets = [query.settings for query in queries if query is not None]
        common = sets[0] if all(each == sets[0] for each in sets) else None
        for query, own in zip(queries, columns, strict=True):
            assert query is not None
            assert own is not None
            have = {each.lower() for each in own}
            chosen = ", ".join(
                backquoted(each) if each.lower() in have else f"NULL AS {backquoted(each)}"
                for each in distinct(every)
            )
            if query.feed is not None or common is None:
                part = part_name(name, query.flow.name)
                bare = Output(
                    output.kind,
                    (*output.name[:-1], part),
                    Place(query.flow.query_place.file, query.flow.query_place.line),
                    query.flow.query_place.line or 1,
                    properties=(Property("freshline.target_lag", "DOWNSTREAM", output.name_line),),
                )
                statements.append(self._found(part, bare, query, output.name))
                needs.parents.append(part)
                terms.append(f"SELECT {chosen} FROM {quoted(part)}")
            else:
                terms.append(f"SELECT {chosen} FROM ({on_one_line(query.text)})")
                needs.include(query.needs)
        whole = Flow(
            name, key, " UNION ALL ".join(terms), output.place, flows[0].scope, common or {}
        )
        query = _Query(whole, whole.query, None, needs, whole.settings)
        statements.append(self._found(name, output, query))
        return statements

    def _columns(self, query: _Query | None, output: Output) -> tuple[str, ...] | None:
        """The columns of a flow's query, which a union needs by name."""
        if query is None:
            return None
        if query.flow.function is not None and not output.columns:
            return query.flow.function.columns
        columns = self._known(query.text)
        if columns is None:
            self._fault(
                "unknown-columns",
                f"the columns of flow {query.flow.name} into {output.name[-1]} are not listed",
                query.flow.query_place,
                "several flows into one table are a union by the columns' names",
                f"Name the columns in the query, or declare those of {output.name[-1]}.",
            )
        return columns

    def _known(self, text: str, above: frozenset[Key] = frozenset()) -> tuple[str, ...] | None:
        """The output columns of a query, also where it is ``SELECT *`` of one thing known.

        Args:
            text: The query.
            above: Datasets whose columns are looked for through this one.
        """
        from freshline.sql.text.outputs import output_columns  # brings sqlglot: 0.3 s

        columns = output_columns(text)
        if columns is not None:
            return columns
        reads = reads_of(text)
        if len(reads) != 1 or not is_star(text, reads[0]):
            return None
        read = reads[0]
        if read.stream:
            feed = self.feeds.get(read.name.lower())
            return schema_columns(feed.schema) if feed is not None and feed.schema else None
        for key, name in self.names.items():
            if name.lower() == read.name.lower() and key not in above:
                output, flows = self.outputs[key], self.flows.get(key, [])
                if output.columns:
                    return tuple(each.name for each in output.columns)
                if len(flows) != 1:
                    return None
                if flows[0].function is not None:
                    return flows[0].function.columns
                inner = self._query(flows[0], output)
                return self._known(inner.text, above | {key}) if inner is not None else None
        return None
