"""``freshline explain``: how a view is kept up to date, and why not in a better way."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.core.errors import UserError, UserErrors
from freshline.delta.log import last_commit
from freshline.executor.distrust import WrongView, distrusted
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.render.explained import cost_lines, costs_told
from freshline.render.output import counted, print_json
from freshline.runtime.status.trusted import objection
from freshline.runtime.subset import named_tables, subset
from freshline.sql.explain import explanation, explanation_text
from freshline.sql.predicted import predicted
from freshline.sql.query.records import Source, ViewPlan
from freshline.sql.strategy import APPEND_FILES, Strategy, full

if TYPE_CHECKING:
    from freshline.spark.analysis import Analysis

_Columns = Mapping[str, tuple[tuple[str, str], ...]]


def explain(
    view: Annotated[
        str,
        typer.Argument(metavar="VIEW", help="A table of the project.", autocompletion=table_names),
    ],
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> None:
    """Print what a view reads, which of its rows a change can touch, and the SQL that merges."""
    found = opened(project, analyse=True)
    (name,) = named_tables(found, [view])
    table = found.table(name)
    if table.kind == "base":
        plan, sources, chosen, learned, wrong = None, [], APPEND_FILES, None, None
    else:
        own = subset(found, [name])
        analysis = _analysed(own)
        plan, sources = analysis.plans[name], sources_of(found, table, analysis.columns)
        chosen = predicted(own.tables, analysis.plans)[name]
        code = None if chosen.name == "full" else objection(found, table)
        wrong = distrusted(found, name, definition_of(table))
        if wrong is not None:
            code = "found-wrong"
        if code is not None:
            chosen = full(code)
        learned = costs_told(last_commit(found.table_path(name)))
    if as_json:
        print_json(record(table, plan, sources, chosen, learned, wrong))
    else:
        print(text(table, plan, sources, chosen, learned, wrong), end="")


def record(
    table: TableDef,
    plan: ViewPlan | None,
    sources: list[Source],
    chosen: Strategy,
    learned: dict[str, Any] | None = None,
    wrong: WrongView | None = None,
) -> dict[str, Any]:
    """The whole as JSON: the plan, what is made of it, and what that takes."""
    told: dict[str, Any] = {
        "view": table.name,
        "kind": table.kind,
        "file": table.place.file,
        "line": table.place.line,
        "refresh": table.refresh,
        "emit": table.emit,
        "strategy": chosen.name,
        "code": chosen.code,
        "reason": chosen.reason,
    }
    if plan is None:
        return told
    more = {"costs": learned, "wrong": None if wrong is None else wrong.found()}
    return told | explanation(table.name, plan, sources) | more


def text(
    table: TableDef,
    plan: ViewPlan | None,
    sources: list[Source],
    chosen: Strategy,
    learned: dict[str, Any] | None = None,
    wrong: WrongView | None = None,
) -> str:
    """The same for people: what is done comes first, then what else would be right."""
    lines = [f"{table.place}: {chosen.name}, {chosen.code}: {chosen.reason}"]
    if plan is None:
        return f"{lines[0]}\nreads feed {table.feed}\n"
    if wrong is not None:
        lines.append(
            f"version {wrong.version}, made by {wrong.strategy}, lacked"
            f" {counted(wrong.missing, 'row')} and had {counted(wrong.extra, 'row')} too many;"
            f" kept in {wrong.evidence}"
        )
    if (table.refresh, table.emit) != ("auto", "early"):
        lines.append(f"freshline.refresh = {table.refresh}, freshline.emit = {table.emit}")
    told = "\n".join(lines) + "\n" + explanation_text(table.name, plan, sources)
    return told + "".join(f"{line}\n" for line in cost_lines(learned))


def sources_of(project: Project, table: TableDef, columns: _Columns) -> list[Source]:
    """What the view reads, as its analysis saw it; static tables' columns are left out.

    Args:
        columns: Name and Spark type of every project table's columns.
    """
    own = [
        Source(
            name,
            {column.lower(): kind for column, kind in columns[name]},
            time_column=project.table(name).time_column,
        )
        for name in table.parents
    ]
    return [*own, *(Source(read.name, {}, static=True) for read in table.statics)]


def _analysed(project: Project) -> Analysis:
    """What Spark says of the view and of all that it is made of.

    Raises:
        UserErrors: It refuses one of the queries.
    """
    from freshline.spark.analysis import analyse
    from freshline.spark.engine.session import start_session

    if sys.stderr.isatty():
        print("Spark analyses the query ...", file=sys.stderr)
    session = start_session(project, brief=True)
    try:
        found = analyse(project, session)
    finally:
        session.stop()
    if found.errors:
        raise UserErrors(found.errors)
    unchecked = [each.name for each in project.tables if each.name not in found.columns]
    if unchecked:
        raise UserError(
            "not-analysed",
            f"the query of table {unchecked[0]} cannot be analysed yet",
            rule="; ".join(found.notes) or "Spark has to know the columns that it reads",
            next_step="Declare the feed's schema, or wait for its first file.",
        )
    return found
