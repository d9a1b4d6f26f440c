"""Views of a session that a table's query needs, made when the query is about to run."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from freshline.core.errors import PlatformError, UserError
from freshline.project.model import Program, Project, TableDef
from freshline.project.names import dotted
from freshline.spark.engine import jvm
from freshline.spark.pipelines.call import Call, Stream, name_key
from freshline.spark.pipelines.current import result_of
from freshline.spark.pipelines.modules import failed, function_of
from freshline.sql.text.reads import rewritten


def register_programs(
    session: SparkSession,
    project: Project,
    table: TableDef,
    pinned: Mapping[str, str] | None = None,
) -> None:
    """Make the views; what they read are views of the session already.

    Args:
        session: The update's own.
        project: Of the table.
        table: Whose query needs them.
        pinned: What stands for its static tables, by their names; None: these names.

    Raises:
        UserError: A function failed, or is no longer in its file.
    """
    own = {each.name for each in table.statics}
    names = {name: stands for name, stands in (pinned or {}).items() if name in own}
    for program in table.programs:
        if program.query is not None:
            frame = session.sql(rewritten(program.query, names))
        else:
            frame = _result(session, project, table, program, names)
        jvm.show(frame, program.name, session)  # the frame may be of the import's session


def _result(
    session: SparkSession,
    project: Project,
    table: TableDef,
    program: Program,
    pinned: Mapping[str, str],
) -> DataFrame:
    function = function_of(project, program, session)
    if function is None:
        raise PlatformError(
            "definition-gone",
            f"the file with the function of {program.name} changed",
            where=table.place,
            rule="the files of a pipeline are read when a run starts",
            next_step="Start the run again.",
        )

    try:
        result = result_of(call_of(session, table, program, pinned), function)
    except (Exception, SystemExit) as error:  # the user's code
        told = failed(error, f"the function of {program.name}", project.root, table.place.file)
        raise told from error
    if not isinstance(result, DataFrame):
        raise UserError(
            "no-dataframe",
            f"the function of {program.name} returns no DataFrame",
            where=table.place,
            rule="a flow's function returns its rows as a DataFrame",
            next_step="Return one.",
        )
    return result


def call_of(
    session: SparkSession,
    table: TableDef,
    program: Program,
    pinned: Mapping[str, str] | None = None,
) -> Call:
    """A call of a program's function in the session of an update.

    Args:
        session: That of the update.
        table: What is updated.
        program: Whose function is called.
        pinned: What stands for tables outside the pipeline, by their names.
    """

    def view_of(parts: tuple[str, ...]) -> str | None:
        view = program.names.get(name_key(parts))
        meant = (tuple(map(str.lower, each)) for each in (parts, program.scope.full(parts)))
        if view is None and not program.datasets.isdisjoint(meant):
            raise UserError(
                "other-reads",
                f"the function of {program.name} reads {dotted(parts)}, which it did not read when"
                " it was called over tables without rows",
                where=table.place,
                rule="what a table reads is known before it is updated, so a function reads the"
                " same datasets whatever their rows are",
                next_step=f"Read {dotted(parts)} at the top of the function.",
            )
        return view

    def feed_of(stream: Stream) -> str:
        feed = program.streams.get(stream.text)
        if feed is None:
            raise UserError(
                "other-stream",
                f"the function of {program.name} streams something other than when it was read",
                where=table.place,
                rule="a function streams the same whenever it is called",
                next_step="Start the run again.",
            )
        return feed

    return Call(
        session,
        view_of,
        feed_of,
        whole_of=program.scope.whole,
        pinned=pinned or {},
        foreseen=program.outside,
    )
