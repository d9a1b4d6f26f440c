"""Queries that stream: from outside through temporary views, or tables of the pipeline itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from freshline.core.errors import UserError
from freshline.importing.inlining import Source, View, queries
from freshline.importing.pipelines.definitions import Flow, Output
from freshline.importing.pipelines.session_views import Needs, SessionViews
from freshline.project.names import listed
from freshline.project.programs import PythonFlow
from freshline.sql.text.reads import quoted, reads_of, rewritten


def faults_of_streams(
    flow: Flow, output: Output, text: str, needs: Needs, made: SessionViews
) -> Iterator[UserError]:
    """What is wrong with a query over temporary views that stream from outside.

    Args:
        flow: Whose query it is.
        output: What it writes into.
        text: The query with its views put in.
        needs: What stands in its session beside tables.
        made: What names in the text can stand for.
    """
    if not needs.programs:
        return  # it is checked as what is written in SQL alone
    if flow.function is None and (fault := _not_row_wise(text, needs, made)) is not None:
        yield UserError(
            "not-row-wise",
            f"the query of {flow.name} reads what is streamed and is not row-wise: {fault}",
            where=flow.query_place,
            rule="each record of the feed makes its rows by itself",
            next_step="Keep the records here and do the rest in a materialized view.",
        )
    if output.kind == "view" and needs.feed is not None:
        yield UserError(
            "view-reads-feed",
            f"the materialized view {output.name[-1]} streams from outside",
            where=flow.query_place,
            rule="only a streaming table loads a stream",
            next_step="Make it a streaming table, or read one that loads the stream.",
        )


def _not_row_wise(text: str, needs: Needs, made: SessionViews) -> str | None:
    """Why a query over a temporary view that streams does more than make rows of each record."""
    from freshline.sql.text.rowwise import row_wise  # brings sqlglot: 0.3 s

    streams = _from_outside(text, made)
    if len(streams) > 1:
        return f"it reads them {len(streams)} times"
    fault = None
    if needs.feed is not None:  # else it streams in its own text, which is judged later
        (name,) = streams
        fault = row_wise(rewritten(text, {name: f"STREAM {name}"})).fault
    if streams and fault is None and needs.parents:
        return f"it joins them with {listed(needs.parents)}"
    return fault


def _from_outside(text: str, made: SessionViews) -> list[str]:
    """The feeds, and the views that stream one, that a query reads: a name for each mention."""
    found = []
    for read in reads_of(text):
        needs = Needs()
        if not read.stream and len(read.parts) == 1:
            made.add(read.parts[0], needs)
        if read.stream or needs.feed is not None:
            found.append(read.name)
    return found


def differences(
    flow: Flow, output: Output, text: str, sources: Mapping[str, Source],
    views: Mapping[str, View], functions: Mapping[str, tuple[str, PythonFlow]],
    errors: list[UserError],
) -> list[str]:  # fmt: skip
    """How a table over others that it streams differs from Spark's: one note, or none.

    Args:
        flow: Whose query it is.
        output: The table.
        text: The query with its views put in.
        sources: What the names in the flow's own query stand for.
        views: Temporary views of SQL.
        functions: Those of Python, by name in lower case.
        errors: Added to where no query over all rows is that table.
    """
    try:
        told = _difference(flow, text, sources, views, functions)
    except UserError as error:
        errors.append(error)
        return []
    place = flow.query_place
    return [] if told is None else [f"{place}: streaming table {output.name[-1]}: {told}"]


def _difference(
    flow: Flow, text: str, sources: Mapping[str, Source], views: Mapping[str, View],
    functions: Mapping[str, tuple[str, PythonFlow]],
) -> str | None:  # fmt: skip
    if flow.function is not None:
        return flow.function.difference
    streaming = {name: each for name, (_, each) in functions.items() if each.appends}
    streamed = streamed_tables(flow.query, sources, views) | {
        read.name.lower() for read in reads_of(text) if read.name.lower() in streaming
    }
    if not streamed:
        return None
    from freshline.sql.text.appended import RULE, appended  # brings sqlglot: 0.3 s

    marked = any(each.watermark for name, each in streaming.items() if name in streamed)
    found = appended(text, streamed, watermark=marked)
    if found.refusal is None:
        through = (each.difference for name, each in streaming.items() if name in streamed)
        return found.difference or next((each for each in through if each is not None), None)
    raise UserError(
        "not-appended",
        f"the query of {flow.name} streams a table of the pipeline and {found.refusal}",
        where=flow.query_place,
        rule=RULE,
        next_step=found.next_step,
    )


def streamed_tables(
    query: str, sources: Mapping[str, Source], views: Mapping[str, View]
) -> set[str]:
    """The tables that a query and its views stream, by their names in the project."""
    found = set()
    for text, meant in queries(query, sources, views):
        for read in reads_of(text):
            table = meant.get(read.name.lower(), Source()).table
            if read.stream and table is not None:
                found.add(quoted(table).lower())
    return found
