"""What a query needs in its session beside tables: results of Python functions, by name.

A SQL query that reads a temporary view of Python's needs the function's result as a view; a
function that reads a temporary view of SQL's needs that as one. Both may read further ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from freshline.importing.pipelines.definitions import Column, Flow, Key
from freshline.project.model import Program
from freshline.project.names import Scope
from freshline.project.programs import PythonFlow
from freshline.sql.text.reads import reads_of


@dataclass(frozen=True, slots=True)
class Described:
    """A dataset, or a flow into one, as a view of a session.

    Attributes:
        name: The view's.
        query: Its SQL; None: the flow's function makes it.
        flow: It, or the first of them.
        stored: It is a table.
        columns: Those that are declared; empty: none.
        parts: The views of which it is the union by name; empty: it is none.
        streamed: Tables of the pipeline that its query streams, in lower case.
    """

    name: str
    query: str | None
    flow: Flow
    stored: bool
    columns: tuple[Column, ...] = ()
    parts: tuple[str, ...] = ()
    streamed: frozenset[str] = frozenset()


@dataclass(slots=True)
class Needs:
    """What has to stand in a session before a query.

    Attributes:
        programs: Views, those first that others need.
        parents: Tables of the project that the views read.
        feed: What they stream from outside, or None.
    """

    programs: list[Program] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    feed: str | None = None

    def include(self, others: Needs) -> None:
        """Add those of another query."""
        known = {each.name for each in self.programs}
        self.programs += [each for each in others.programs if each.name not in known]
        self.parents += [each for each in others.parents if each not in self.parents]
        self.feed = self.feed or others.feed


@dataclass(slots=True)
class SessionViews:
    """Temporary views by their names in lower case.

    Attributes:
        functions: Of Python: the name as written, and the flow.
        queries: Of SQL: the name as written, and the query, others of SQL put in.
        scope: What short names in functions belong to.
        datasets: Names of all datasets in lower case, in parts.
    """

    functions: dict[str, tuple[str, PythonFlow]] = field(default_factory=dict)
    queries: dict[str, tuple[str, str]] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)
    datasets: frozenset[Key] = frozenset()

    @classmethod
    def of(cls, flows: Iterable[Flow], datasets: Iterable[Key]) -> SessionViews:
        """Those of a pipeline, none yet; its functions have one scope, the specification's."""
        scopes = (flow.scope for flow in flows if flow.function is not None)
        return cls(scope=next(scopes, Scope()), datasets=frozenset(datasets))

    def add(self, name: str, needs: Needs, feeds: Iterable[str] = ()) -> None:
        """Add what a name needs: the view that it is, or the table."""
        known = name.lower()
        if any(each.name.lower() == known for each in needs.programs):
            return
        if known in self.functions:
            written, flow = self.functions[known]
            self.add_function(written, flow, needs)
        elif known in self.queries:
            written, query = self.queries[known]
            for read in reads_of(query):
                if read.stream:
                    needs.feed = needs.feed or read.name
                elif len(read.parts) == 1:
                    self.add(read.parts[0], needs, feeds)
            needs.programs.append(Program(written, query=without_stream(query)))
        elif known not in feeds and name not in needs.parents:
            needs.parents.append(name)

    def add_function(self, name: str, flow: PythonFlow, needs: Needs) -> None:
        """Add a function's result under a name, behind what the function reads."""
        for read in flow.reads:
            self.add(read, needs)
        needs.feed = needs.feed or flow.feed
        needs.programs.append(
            Program(
                name,
                key=flow.key,
                fingerprint=flow.fingerprint,
                names=flow.names,
                streams=flow.streams,
                scope=self.scope,
                datasets=self.datasets,
                outside=flow.outside,
            )
        )


def without_stream(query: str) -> str:
    """The query with each ``STREAM feed`` as the view of that name."""
    for read in reversed(reads_of(query)):
        if read.stream:
            query = query[: read.start] + read.name + query[read.end :]
    return query
