"""Delta tables outside the pipeline that SQL streams: each becomes a feed of kind delta."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from freshline.core.errors import Place, UserError
from freshline.importing.pipelines.definitions import Definitions, Flow
from freshline.project.model import DeltaSource
from freshline.project.names import correction
from freshline.project.sections.feeds import (
    delta_feed,
    is_session_table,
    is_uri,
    without_catalog,
)
from freshline.project.sections.reader_options import stream_option_fault
from freshline.sql.text.reads import Read, options_at
from freshline.sql.text.tokens import tokens


def outside_feed(
    found: Definitions, declared: Collection[str], flow: Flow, reads: Sequence[Read], read: Read,
    table: str,
) -> str | None:  # fmt: skip
    """The name of the feed for what a query streams; None where only a declared feed can be it.

    A name of one part, or in a schema that the pipeline fills, is more likely a typing error than
    another program's table.

    Args:
        found: Its ``feeds`` are added to.
        declared: Names of the feeds in freshline.yml, in lower case; one of them goes first.
        flow: Whose query it is.
        reads: All that the query reads.
        read: The stream.
        table: The dataset that the flow writes; the feed's name is made of it.
    """
    source = _source(found, flow, read)
    if source is None or any(each.name == read.name and not each.stream for each in reads):
        return None
    refuse_options(found, flow, read)
    name, number = f"{table}_feed", 2
    if name.lower() in declared:
        return name
    path, by_name = source
    while (other := found.feeds.get(name)) is not None:
        if (other.path, other.settings) == (path, DeltaSource(by_name)):
            return name
        name, number = f"{table}_feed_{number}", number + 1
    found.feeds[name] = delta_feed(name, _place(flow, read), path=path, table=by_name)
    return name


def refuse_options(found: Definitions, flow: Flow, read: Read) -> None:
    """Add an error for each option of a stream that would choose which rows come.

    Args:
        found: Its ``errors`` are added to.
        flow: Whose query it is.
        read: A table outside the pipeline, or a dataset of it.
    """
    behind = [token for token in tokens(flow.query) if token.start >= read.end]
    for option in options_at(behind, 0) if read.stream else ():
        fault = stream_option_fault(option, _place(flow, read))
        if fault is not None and fault.what not in [each.what for each in found.errors]:
            found.errors.append(fault)


def _source(found: Definitions, flow: Flow, read: Read) -> tuple[str, str | None] | None:
    """The path or the name of the Delta table that a stream reads."""
    *before, last = read.parts
    if not before:
        return None
    if [part.lower() for part in before] == ["delta"] and (last.startswith("/") or is_uri(last)):
        return last.removeprefix("file://").removeprefix("file:").rstrip("/"), None
    name = flow.scope.whole(read.parts) or read.name
    schema = tuple(part.lower() for part in flow.scope.full(read.parts)[:-1])
    if schema in {output.key[:-1] for output in found.outputs} or not is_session_table(name):
        return None
    return "", without_catalog(name)


def unknown_stream(flow: Flow, read: Read, known: Sequence[str]) -> UserError:
    """A stream that is neither a dataset nor a feed.

    Args:
        flow: Whose query reads it.
        read: The stream.
        known: Names of the pipeline's datasets.
    """
    last = read.parts[-1]
    name = flow.scope.whole(read.parts) or read.name
    by = f"table: {name}" if is_session_table(name) else "path: PATH"
    entry = f": {{kind: delta, {by}}}" if len(read.parts) > 1 else ""
    return UserError(
        "unknown-stream",
        f"flow {flow.name} streams {read.name}, which is no table of the pipeline and no feed",
        where=_place(flow, read),
        rule="what comes from outside is a feed, declared under `feeds:` in a freshline.yml beside"
        " the pipeline",
        next_step=correction(
            last, known, f"Declare the feed {last}{entry}, and read STREAM {last}."
        ),
    )


def _place(flow: Flow, read: Read) -> Place:
    return Place(flow.query_place.file, (flow.query_place.line or 1) + read.line - 1)
