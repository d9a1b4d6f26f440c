"""Which datasets a pipeline has, what flows into them, and which of them share a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from freshline.core.errors import Place, UserError
from freshline.importing.inlining import without_end
from freshline.importing.pipelines.definitions import Definitions, Flow, Key, Output
from freshline.importing.pipelines.naming import part_name
from freshline.project.names import correction, listed
from freshline.sql.text.reads import reads_of
from freshline.sql.text.tokens import SqlTextError


def collected(found: Definitions) -> tuple[dict[Key, Output], dict[Key, list[Flow]]]:
    """The datasets by their names, and the flows into each; errors are added to ``found``."""
    outputs: dict[Key, Output] = {}
    into: dict[Key, list[Flow]] = {}
    doubled = set()
    for output in found.outputs:
        first = outputs.setdefault(output.key, output)
        if first is not output:
            doubled.add(output.key)
            fault(
                found,
                "duplicate-name",
                f"{output.name[-1]} is defined twice",
                Place(output.place.file, output.name_line),
                f"it is already defined at {first.place}",
                "Rename or remove one of them.",
            )
    for flow in found.flows:
        target = outputs.get(flow.target)
        if target is None:
            if flow.target[-1] in found.broken:
                continue
            known = [output.name[-1] for output in outputs.values()]
            fault(
                found,
                "unknown-target",
                f"flow {flow.name} writes into the unknown table '{flow.target[-1]}'",
                flow.query_place,
                f"the pipeline's datasets are {listed(known)}",
                correction(flow.target[-1], known, "Define it with CREATE STREAMING TABLE."),
            )
            continue
        flows = into.setdefault(flow.target, [])
        if flows and flow.target in doubled:
            continue
        if flows and target.kind != "streaming":
            fault(
                found,
                "second-flow",
                f"flow {flow.name} writes into {target.name[-1]}, which has a query",
                flow.query_place,
                "only a streaming table has several flows",
                "Make it a streaming table, or put the two queries into one.",
            )
            continue
        if any(each.name.lower() == flow.name.lower() for each in flows):
            fault(
                found,
                "duplicate-name",
                f"two flows into {target.name[-1]} are called {flow.name}",
                flow.query_place,
                "the flows of a table have different names",
                "Rename one of them.",
            )
            continue
        flows.append(flow)
    return outputs, into


def refuse_twins(
    found: Definitions,
    outputs: dict[Key, Output],
    flows: dict[Key, list[Flow]],
    names: Mapping[Key, str],
    key_of: Callable[[Flow, tuple[str, ...]], Key | None],
) -> None:
    """Add an error for each temporary view that has the name of a table here, and leave it out.

    Both are views of the sessions in which queries run, and one would stand for the other. Where
    no query reads the table, and no function is called, the view alone has a name in queries.

    Args:
        found: Its ``errors`` are added to.
        outputs: All datasets, from which such views are taken, and views that read them.
        flows: Likewise.
        names: Those of the tables.
        key_of: The dataset that a name in a flow's query means.
    """
    tables = {name.lower(): outputs[key] for key, name in names.items()}
    parts = {
        part_name(name, flow.name).lower(): outputs[key]
        for key, name in names.items()
        if len(flows.get(key, ())) > 1
        for flow in flows[key]
    }
    views = [key for key in outputs if key not in names]
    twins = {key: tables.get(key[0]) or parts.get(key[0]) for key in views}
    read: set[Key | None] = set()
    if any(twins.values()):
        read = {key_of(flow, parts) for flow in found.flows for parts in names_read(flow)}
    refused = {
        key: table
        for key, table in twins.items()
        if table is not None and (has_functions(found) or key[0] not in tables or table.key in read)
    }
    for key, table in refused.items():
        view = outputs[key]
        fault(
            found,
            "duplicate-name",
            f"the temporary view {view.name[0]} has the name of the table {'.'.join(table.name)}",
            Place(view.place.file, view.name_line),
            f"queries here read tables by their last names; the table is defined at {table.place}",
            "Rename the view, and where it is read.",
        )
    _leave_out(found, outputs, flows, set(refused))


def _leave_out(
    found: Definitions, outputs: dict[Key, Output], flows: dict[Key, list[Flow]], lost: set[Key]
) -> None:
    """Take temporary views away, and all that reads them: nobody is told of it once more."""
    while lost:
        for key in lost:
            flows.pop(key, None)
            if len(key) == 1:
                del outputs[key]
            else:
                found.lost_flow = True
        views = {key for key in lost if len(key) == 1}
        lost = {
            key
            for key, each in flows.items()
            if any(tuple(map(str.lower, parts)) in views for f in each for parts in names_read(f))
        }


def has_functions(found: Definitions) -> bool:
    """Whether something of a pipeline is computed in Python, in a session with all its views."""
    return any(flow.function is not None for flow in found.flows)


def names_read(flow: Flow) -> list[tuple[str, ...]]:
    """The names that a flow's query reads; none where it is a function, or cannot be read."""
    try:
        return [] if flow.function else [read.parts for read in reads_of(without_end(flow.query))]
    except (SqlTextError, ValueError):  # told where the query is taken
        return []


def refuse_views_of_feeds(
    found: Definitions, outputs: Mapping[Key, Output], feeds: Iterable[str]
) -> None:
    """Add an error for each temporary view that has the name of a feed, and would stand for it.

    Args:
        found: Its ``errors`` are added to.
        outputs: All datasets.
        feeds: Those that are read, or may be.
    """
    known = {name.lower() for name in feeds}
    for key, output in outputs.items():
        if output.kind == "temporary" and key[0] in known:
            fault(
                found,
                "duplicate-name",
                f"the temporary view {output.name[0]} has the name of a feed",
                Place(output.place.file, output.name_line),
                "queries read both by their names; the feed of what NAME streams is NAME_feed",
                "Rename the view, and where it is read.",
            )


def fault(
    found: Definitions, code: str, what: str, where: Place | None, rule: str, next_step: str
) -> None:
    """Add an error to those of the pipeline."""
    found.errors.append(UserError(code, what, where=where, rule=rule, next_step=next_step))
