"""The Python files of a pipeline: called with Spark, or as they were when Spark last read them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.importing.pipelines.definitions import Column, Definitions, Flow, Output
from freshline.importing.pipelines.graph import Graph
from freshline.importing.pipelines.session_views import without_stream
from freshline.importing.pipelines.spec import Spec
from freshline.private import private_folder
from freshline.project.model import Feed, KafkaSource, Project
from freshline.project.names import Scope
from freshline.project.programs import (
    RECORD,
    PythonDefinitions,
    PythonFlow,
    PythonOutput,
    recorded,
)
from freshline.sql.text.statements import Property
from freshline.sql.text.tokens import name_parts


def add_python(
    stub: Project, spec: Spec, found: Definitions, *, with_spark: bool
) -> dict[str, Feed]:
    """Adds what Python files define.

    Args:
        stub: The pipeline without tables, for its settings.
        spec: Its specification.
        found: What its SQL defines; added to.
        with_spark: Import the files and call their functions. Else what was written down then
            is taken, since importing them needs Spark.

    Returns:
        The feeds that functions stream from, by name.
    """
    path = stub.own_folder / RECORD
    if with_spark:
        definitions = _read(stub, spec, found)
        found.errors += definitions.errors
        if not definitions.errors:
            _write(path, definitions)
    else:
        kept = recorded(path)
        if kept is None:
            found.errors.append(
                UserError(
                    "python-unread",
                    f"the Python definitions of {stub.name} were not read yet",
                    where=Place(spec.file),
                    rule="they are read by commands that start Spark, and written down for others",
                    next_step="Run `freshline validate` or `freshline run` first.",
                )
            )
            return {}
        definitions = kept
    _add(definitions, spec.scope, found)
    return {feed.name: feed for feed in definitions.feeds}


def _add(definitions: PythonDefinitions, scope: Scope, found: Definitions) -> None:
    found.outputs += [_output(each, scope) for each in definitions.outputs]
    temporary = {each.name.lower() for each in definitions.outputs if each.kind == "temporary"}
    found.flows += [_flow(each, scope, temporary) for each in definitions.flows]


def _output(told: PythonOutput, scope: Scope) -> Output:
    parts, comments = name_parts(told.name), dict(told.comments)
    return Output(
        told.kind,
        parts[-1:] if told.kind == "temporary" else scope.full(parts),
        Place(told.file, told.line),
        told.line,
        tuple(Property(key, value, told.line) for key, value in told.properties),
        tuple(Column(name, kind, comments.get(name)) for name, kind in told.columns),
        told.partitioned_by,
        told.line,
        told.comment,
        told.notes,
    )


def _flow(told: PythonFlow, scope: Scope, temporary: set[str]) -> Flow:
    parts = name_parts(told.target)
    full = parts if told.target.lower() in temporary else scope.full(parts)
    return Flow(
        name_parts(told.name)[-1],
        tuple(part.lower() for part in full),
        "",
        Place(told.file, told.line),
        scope,
        told.settings,
        told,
    )


def _read(stub: Project, spec: Spec, found: Definitions) -> PythonDefinitions:
    """The files imported, and every function called over tables without rows."""
    from freshline.spark.engine.session import start_session
    from freshline.spark.pipelines.modules import modules_of, read_outside
    from freshline.spark.pipelines.resolving import SessionView, resolve

    session = start_session(_with_kafka(stub, spec))
    modules = modules_of(stub.root, spec.files, session, spec.scope.whole)
    if modules.found.errors and not modules.missing:
        return PythonDefinitions(errors=modules.found.errors)
    scratch = Definitions(list(found.outputs), list(found.flows))
    _add(modules.found, spec.scope, scratch)
    graph = Graph(scratch, stub.feeds, stub.feeds, {})
    described = graph.session_views()
    unread = [each for each in scratch.errors if each.code in ("bad-sql", "duplicate-name")]
    if unread:  # a function that reads such a view would be told that there is none
        return PythonDefinitions(errors=unread)
    functions = [each.flow for each in described if each.flow.function is not None]

    def is_dataset(parts: tuple[str, ...]) -> bool:
        return bool(functions) and graph.meaning(functions[0], parts) is not None

    if modules.found.errors:
        missing = modules.missing
        errors = [
            read_outside(*missing[at]) if at in missing and is_dataset(missing[at][0]) else each
            for at, each in enumerate(modules.found.errors)
        ]
        return PythonDefinitions(errors=errors)
    outside = [read_outside(parts, place) for parts, place in modules.asked if is_dataset(parts)]
    if outside:
        return PythonDefinitions(errors=outside)
    views = [
        SessionView(
            each.name,
            None if each.query is None else without_stream(each.query),
            each.flow.function,
            lambda parts, flow=each.flow: graph.meaning(flow, parts),  # type: ignore[misc]  # the loop's
            each.stored,
            tuple((column.name, column.type) for column in each.columns),
            each.parts,
            each.streamed,
            each.flow.scope.whole,
            graph.names,
        )
        for each in described
    ]
    known = dataclasses.replace(stub, feeds={**stub.feeds, **scratch.feeds})
    resolved = resolve(session, known, views, modules.functions)
    return PythonDefinitions(
        modules.noted_outputs(),
        [resolved.flows.get(flow.key, flow) for flow in modules.found.flows],
        [feed for name, feed in resolved.feeds.items() if name not in stub.feeds],
        resolved.errors + modules.changed_names(),
    )


def _with_kafka(stub: Project, spec: Spec) -> Project:
    """With a feed of Kafka where a file names it: Spark takes its classes at its start."""
    named = any("kafka" in path.read_text("utf-8") for path in spec.files if path.suffix == ".py")
    if not named:
        return stub
    source = KafkaSource("", "", "latest", None)
    feed = Feed("kafka", "kafka", "", "json", {}, "a INT", None, None, Place(spec.file), source)
    return dataclasses.replace(stub, feeds={**stub.feeds, "_kafka": feed})


def _write(path: Path, definitions: PythonDefinitions) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    private_folder(path.parent)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(definitions.record(), encoding="utf-8")
    unfinished.replace(path)
