"""``freshline validate``: everything that can be wrong with a project, before it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from freshline.cli.errors import error_record, show
from freshline.cli.options import AsJson, ProjectDir
from freshline.cli.output import counted, print_json
from freshline.core.errors import UserErrors
from freshline.project.load import collect
from freshline.project.model import Project, TableDef
from freshline.runtime.utilisation import utilisation
from freshline.sql.strategy import strategy

if TYPE_CHECKING:
    from freshline.spark.analysis import Analysis


def validate(
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Have Spark analyse every query too.")
    ] = True,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Check the project: its settings, its statements and, by Spark, its queries."""
    found, errors = collect(Path.cwd(), project)
    notes: list[str] = []
    if found is not None:
        notes += found.warnings
        if spark:
            analysis = _analysed(found)
            errors = [*errors, *analysis.errors]
            notes += analysis.notes
    if as_json:
        tables = [] if found is None else [_record(table) for table in found.tables]
        print_json({"tables": tables, "errors": [error_record(error) for error in errors]})
    elif found is not None:
        _print(found, notes, checked_by_spark=spark and not errors)
    if errors:
        return show(UserErrors(list(errors)), as_json=False)
    return 0


def _analysed(project: Project) -> Analysis:
    """What Spark says to each query."""
    from freshline.spark.analysis import analyse
    from freshline.spark.session import start_session

    if sys.stderr.isatty():
        print("Spark is asked about every query ...", file=sys.stderr)
    session = start_session(project)
    try:
        return analyse(project, session)
    finally:
        session.stop()


def _print(project: Project, notes: list[str], *, checked_by_spark: bool) -> None:
    by = ", every query analysed by Spark" if checked_by_spark else ""
    feeds = counted(len(project.feeds), "feed")
    print(f"{project.name}: {counted(len(project.tables), 'table')}, {feeds}{by}")
    width = max((len(table.name) for table in project.tables), default=0)
    for number, table in enumerate(project.tables, 1):
        chosen = strategy(table)
        print(
            f"{number:4} {table.name:{width}}  {table.kind:7}  priority {table.priority:g},"
            f" reads {', '.join(_sources(table)) or 'nothing'}"
        )
        print(f"{'':5}{'':{width}}  {chosen.name}: {chosen.reason}")
    print(_utilisation(project))
    for note in notes:
        print(f"note: {note}")


def _utilisation(project: Project) -> str:
    needed = utilisation(project)
    tracks = counted(project.scheduler.tracks, "track")
    if not needed.by_table:
        return f"utilisation: not measured yet, of {tracks}; runs measure it"
    but = ""
    if needed.not_measured:
        but = f"; not measured yet: {', '.join(needed.not_measured)}"
    return f"utilisation: {needed.tracks_needed:.3g} of {tracks}{but}"


def _sources(table: TableDef) -> list[str]:
    return [*table.sources, *(static.name for static in table.statics)]


def _record(table: TableDef) -> dict[str, Any]:
    chosen = strategy(table)
    return {
        "name": table.name,
        "kind": table.kind,
        "file": table.place.file,
        "line": table.place.line,
        "priority": table.priority,
        "sources": _sources(table),
        "strategy": chosen.name,
        "reason": chosen.reason,
    }
