"""A pipeline's Python files imported, and what their decorators register.

Spark's own interface is used: a :class:`GraphElementRegistry` that is active while a file is
imported. Where Spark's registry sends each element to a Connect server, this one keeps it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.util
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from pyspark.pipelines.flow import AutoCdcFlow, Flow
from pyspark.pipelines.graph_element_registry import (
    GraphElementRegistry,
    graph_element_registration_context,
)
from pyspark.pipelines.output import MaterializedView, Output, Sink, StreamingTable, Table
from pyspark.pipelines.source_code_location import SourceCodeLocation
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import FreshlineError, Place, UserError
from freshline.project.model import Program, Project
from freshline.project.names import dotted
from freshline.project.programs import PythonDefinitions, PythonFlow, PythonOutput
from freshline.spark.engine.errors import (
    NO_FILES,
    NO_FILES_STEP,
    SparkError,
    asks_for_files,
    condition,
    one_line,
)
from freshline.spark.pipelines.bound import Bound, Registered, shared_changes
from freshline.spark.pipelines.call import Call, WholeOf, no_other
from freshline.spark.pipelines.current import CURRENT, calling

Function = Callable[[], Any]


class Modules:
    """The Python files of one pipeline, imported.

    Attributes:
        found: What they define.
        functions: The function of each flow, by its key, in the order of their registration.
        bound: Keeps what the names in them meant when they were registered.
        asked: Tables that were read while they were imported, in parts, and where.
        missing: Those of them that there are not, by the place of the error among those found.
    """

    def __init__(
        self, root: Path, files: Sequence[Path], session: SparkSession, whole_of: WholeOf
    ) -> None:
        self.found = PythonDefinitions()
        self.asked: list[tuple[tuple[str, ...], Place]] = []
        self.missing: dict[int, tuple[tuple[str, ...], Place]] = {}
        self.functions: dict[str, Registered] = {}
        self.bound = Bound(root)
        ask = functools.partial(self._ask, root)
        call = Call(session, ask, _no_stream, lasts=True, whole_of=whole_of)
        with _within(root):
            for path in files:
                file, before = os.path.relpath(path, root), len(self.asked)
                registry = _Registry(self, root, file, fingerprint(path))
                try:
                    with calling(call), graph_element_registration_context(registry):
                        _import(path)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the user's code
                    told = failed(error, f"importing {file}", root, file)
                    is_missing = condition(error) == "TABLE_OR_VIEW_NOT_FOUND"
                    if is_missing and len(self.asked) > before:
                        self.missing[len(self.found.errors)] = self.asked[-1]
                    self.found.errors.append(told)
        self.bound.complete()

    def _ask(self, root: Path, parts: tuple[str, ...]) -> None:
        """A table is read outside of a function; what its name means is not known yet."""
        frames = traceback.extract_stack()
        inside = [frame for frame in frames if Path(frame.filename).is_relative_to(root.absolute())]
        if inside:
            file = os.path.relpath(inside[-1].filename, root)
            self.asked.append((parts, Place(file, inside[-1].lineno)))

    def changed_names(self) -> list[UserError]:
        """An error for each function that has changed what another one sees."""
        flows = {flow.key: flow for flow in self.found.flows}
        return [
            UserError(
                "changes-names",
                f"the function of {flows[key].name} changes {name}, which that of"
                f" {flows[later].name} sees",
                where=Place(flows[key].file, flows[key].line),
                rule="functions are called in any order, and each finds its names as they were"
                " when it was registered",
                next_step=f"Change {name} outside of the functions, or return what it is for.",
            )
            for key, name, later, filled in shared_changes(self.functions)
            if not filled
        ]

    def noted_outputs(self) -> list[PythonOutput]:
        """The outputs, with notes of what their functions see otherwise than under Spark.

        One may find empty what another one fills, or use a table that was read while its file was
        imported, which is read at another version than the commit could name.
        """
        flows = {flow.key: flow for flow in self.found.flows}
        notes: dict[str, tuple[str, ...]] = {}
        for key, name, later, filled in shared_changes(self.functions):
            if filled:
                note = (
                    f"can read {name}, which the function of {flows[key].name} fills: under Spark"
                    " it finds it filled, here as it was when its function was registered"
                )
                target = flows[later].target
                notes[target] = (*notes.get(target, ()), note)
        for parts, place in self.asked:
            of_file = [each for each in self.found.outputs if each.file == place.file]
            for output in (of_file or self.found.outputs)[:1]:
                note = (
                    f"and what else its file defines can use {dotted(parts)}, which is read outside"
                    f" of functions ({place}): no change of it is noticed, and versions over it"
                    " cannot be verified; read it in a function"
                )
                notes[output.name] = (*notes.get(output.name, ()), note)
        return [
            dataclasses.replace(each, notes=each.notes + notes.get(each.name, ()))
            for each in self.found.outputs
        ]

    def function(self, program: Program) -> Function | None:
        """The function that a program means, if these are the files in which it was found."""
        same = any(
            flow.key == program.key and flow.fingerprint == program.fingerprint
            for flow in self.found.flows
        )
        return self.functions.get(program.key) if same else None


def read_outside(parts: tuple[str, ...], where: Place) -> UserError:
    """A DataFrame of a dataset is made while a module is imported."""
    return UserError(
        "read-outside",
        f"{'.'.join(parts)} is read outside of a decorated function",
        where=where,
        rule="datasets are read by functions, at the versions of the update that calls them",
        next_step="Move it into the function, or into one that it calls.",
    )


def _no_stream(_: object) -> str:
    raise UserError(
        "stream-outside",
        "readStream is used outside of a decorated function",
        rule="a stream is read by the function that defines a table",
        next_step="Move it into the function.",
    )


class _OfText(SourceFileLoader):
    """Takes a file's text alone, by which its functions are known.

    What Python keeps of it compiled counts as the file's where time, to the second, and size agree.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _import(path: Path) -> None:
    loader = _OfText(path.stem, str(path))
    spec = importlib.util.spec_from_file_location(path.stem, str(path), loader=loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__["spark"] = CURRENT
    spec.loader.exec_module(module)


def fingerprint(path: Path) -> str:
    """A short name for a file's text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@contextmanager
def _within(root: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(before)


def failed(error: BaseException, what: str, root: Path, file: str) -> UserError:
    """The user's code raised; the place is the last line of theirs that was reached."""
    if isinstance(error, UserError) and error.where is not None:
        return error
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).is_relative_to(root.absolute())]
    place = Place(file)
    if inside:
        place = Place(os.path.relpath(inside[-1].filename, root), inside[-1].lineno)
    if isinstance(error, FreshlineError):
        return UserError(
            error.code, error.what, where=place, rule=error.rule, next_step=error.next_step
        )
    if asks_for_files(error):
        return UserError(
            "no-file-metadata",
            f"{what} failed: it reads _metadata",
            where=place,
            rule=NO_FILES,
            next_step=NO_FILES_STEP,
        )
    text = one_line(error) if isinstance(error, SparkError) else str(error)
    return UserError(
        "python-failed",
        f"{what} failed: {type(error).__name__}: {' '.join(text.split())}",
        where=place,
        next_step="Correct the code.",
    )


class _Registry(GraphElementRegistry):
    """Keeps what one file registers."""

    def __init__(self, modules: Modules, root: Path, file: str, mark: str) -> None:
        self._modules = modules
        self._found = modules.found
        self._root = root
        self._file = file
        self._fingerprint = mark

    def _place(self, location: SourceCodeLocation) -> Place:
        path = Path(location.filename)
        inside = path.is_relative_to(self._root)
        file = os.path.relpath(path, self._root) if inside else self._file
        return Place(file, location.line_number if inside else None)

    def register_output(self, output: Output) -> None:
        """A dataset."""
        place = self._place(output.source_code_location)
        if isinstance(output, Sink):
            self._refuse(
                "sink",
                f"{output.name} is a sink",
                place,
                "a run keeps tables, and writes to nothing else",
                "Read the table's changes where they are wanted.",
            )
            return
        notes: list[str] = []
        details: dict[str, Any] = {}
        kind = "temporary"
        if isinstance(output, Table):
            kind = "view" if isinstance(output, MaterializedView) else "streaming"
            assert isinstance(output, MaterializedView | StreamingTable)
            if output.format is not None and output.format.lower() != "delta":
                notes.append(f"is a Delta table, not {output.format}")
            if output.cluster_by:
                notes.append("is not clustered: cluster_by is left out")
            details = {
                "properties": tuple((k, str(v)) for k, v in output.table_properties.items()),
                **self._columns(output, place),
                "partitioned_by": tuple(output.partition_cols or ()),
            }
        self._found.outputs.append(
            PythonOutput(
                kind,  # type: ignore[arg-type]  # one of the three
                output.name,
                place.file,
                place.line or 1,
                output.comment,
                notes=tuple(notes),
                **details,
            )
        )

    def _columns(self, output: Table, place: Place) -> dict[str, tuple[tuple[str, str], ...]]:
        """The declared columns with their types, and their comments."""
        if output.schema is None:
            return {}
        schema = output.schema
        try:
            found = StructType.fromDDL(schema) if isinstance(schema, str) else schema
        except SparkError as error:
            self._refuse(
                "bad-schema",
                f"the schema of {output.name} is not understood: {one_line(error)}",
                place,
                "a schema is a StructType, or a list such as 'id BIGINT, at TIMESTAMP'",
                "Correct the schema.",
            )
            return {}
        assert isinstance(found, StructType)
        return {
            "columns": tuple((each.name, each.dataType.simpleString()) for each in found),
            "comments": tuple(
                (each.name, str(each.metadata["comment"]))
                for each in found
                if each.metadata.get("comment")
            ),
        }

    def register_flow(self, flow: Flow) -> None:
        """A function whose rows a dataset has."""
        place = self._place(flow.source_code_location)
        settings = {name: str(value) for name, value in flow.spark_conf.items()}
        kept = PythonFlow(
            flow.name, flow.target, place.file, place.line or 1, settings, self._fingerprint
        )
        self._found.flows.append(kept)
        self._modules.functions[kept.key] = self._modules.bound.as_it_is(flow.func)

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        """Refused: what changes apply to depends on the order in which they came."""
        self._refuse(
            "auto-cdc",
            f"the flow into {flow.target} applies changes (AUTO CDC)",
            self._place(flow.source_code_location),
            "a table is its query over all data that came, in any order",
            "Keep the changes in a streaming table, and take the newest of each key in a"
            " materialized view: max_by(struct(*), sequence) ... GROUP BY key.",
        )

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        """Refused: SQL stands in files of its own."""
        del sql_text
        self._refuse(
            "sql-in-python",
            f"SQL definitions of {file_path} are registered from Python",
            Place(self._file),
            "SQL definitions belong in .sql files of the libraries",
            "Write them there.",
        )

    def _refuse(self, code: str, what: str, where: Place, rule: str, next_step: str) -> None:
        self._found.errors.append(
            UserError(code, what, where=where, rule=rule, next_step=next_step)
        )


_LOCK = threading.Lock()
_IMPORTED: dict[tuple[tuple[str, str], ...], Modules] = {}


def modules_of(
    root: Path, files: Sequence[Path], session: SparkSession, whole_of: WholeOf = no_other
) -> Modules:
    """The files as they are now, imported once.

    Args:
        root: The pipeline's folder.
        files: Its files; those of Python are imported.
        session: By which they read tables outside.
        whole_of: The whole name of such a table, where the name is not.
    """
    paths = [path for path in files if path.suffix == ".py"]
    key = tuple((str(path), fingerprint(path)) for path in paths)
    with _LOCK:
        if key not in _IMPORTED:
            _IMPORTED[key] = Modules(root, paths, session, whole_of)
        return _IMPORTED[key]


def function_of(project: Project, program: Program, session: SparkSession) -> Function | None:
    """The function of a program; None where its file has another text now, or none of the kind.

    A run goes on with the files as they were when it began.
    """
    for modules in list(_IMPORTED.values()):
        if (found := modules.function(program)) is not None:
            return found
    files, whole_of = project.sql_files, program.scope.whole
    return modules_of(project.root, files, session, whole_of).function(program)
