"""``freshline validate``: everything that can be wrong with a project, before it runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from freshline.cli.errors import error_record, show
from freshline.cli.options import AsJson, ProjectDir, collected
from freshline.core.aus.assessment import Assessment
from freshline.core.errors import UserError, UserErrors
from freshline.executor.trials import Verdict
from freshline.project.model import Project, TableDef
from freshline.project.names import listed
from freshline.project.sections.feeds import absent_folders
from freshline.render.output import counted, print_json
from freshline.render.trials import trial_lines
from freshline.runtime.assembly import scheduler_for, specs_for
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.reports.needs import report_needs, share_of
from freshline.runtime.reports.together import crowded_reports
from freshline.runtime.status.guarantees import project_guarantees
from freshline.runtime.status.measured import FEW, utilisation
from freshline.runtime.status.targets import (
    Unkept,
    check_against_running,
    targets_to_keep,
    unkept_targets,
)
from freshline.sql.predicted import predicted
from freshline.sql.query.records import ViewPlan
from freshline.sql.strategy import Strategy
from freshline.times import brief_s

if TYPE_CHECKING:
    from freshline.spark.analysis import Analysis

WRONG = 3
"""Exit status: a view's trial failed."""


def validate(
    spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Have Spark analyse every query too.")
    ] = True,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Treat a target_lag that cannot be guaranteed as an error."),
    ] = False,
    against_running: Annotated[
        bool,
        typer.Option("--against-running", help="Refuse a change that would break the bound of a"
                     " table that has a target in the run recorded last."),
    ] = False,
    tries: Annotated[
        bool,
        typer.Option("--try", help="Run every view's strategies on small generated inputs and"
                     " compare them with its query; exit 3 where one differs."),
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Check the project: its settings, its statements and, by Spark, its queries."""
    found, errors = collected(project)
    notes: list[str] = []
    promised: Promised | None = None
    plans: Mapping[str, ViewPlan] = {}
    trials: Mapping[str, Verdict] = {}
    analysed: int | None = None
    if found is not None:
        notes += [*found.warnings, *absent_folders(found.feeds)]
        errors = [*errors, *_start_faults(found)]
        promised = promises_of(found)
        more, assumed = _unkept(found, promised, strict=strict, against_running=against_running)
        errors = [*errors, *more]
        notes += assumed
        if spark or tries:
            notes += _heap_notes(found)
            analysis, trials = _analysed(found, tries=tries and not errors)
            errors = [*errors, *analysis.errors]
            notes += analysis.notes
            plans = analysis.plans
            analysed = len(analysis.columns)
    if promised is not None and not strict:
        notes += (unkept.text() for unkept in promised.unkept)
    if as_json:
        _print_json(found, errors, notes, plans, trials if tries else None)
    elif found is not None:
        _print(found, notes, promised, plans, analysed=None if errors else analysed)
        for line in trial_lines(trials):
            print(line)
    if errors:
        return show(UserErrors(list(errors)), as_json=False)
    return WRONG if any(each.outcome == "failed" for each in trials.values()) else 0


def _unkept(
    project: Project, promised: Promised | None, *, strict: bool, against_running: bool
) -> tuple[list[UserError], list[str]]:
    """What the options ask of the targets and is not so, and what was assumed for it."""
    errors: list[UserError] = []
    notes: list[str] = []
    try:
        if strict:
            known = None if promised is None else (promised.unkept, notes)
            unkept, notes = known or targets_to_keep(project)
            errors += [each.error() for each in unkept]
    except UserError as error:
        errors.append(error)
    try:
        if against_running:
            notes = [*notes, *check_against_running(project)]
    except UserErrors as several:
        errors += several.errors
    except UserError as error:
        errors.append(error)
    return errors, list(dict.fromkeys(notes))


def _print_json(
    project: Project | None,
    errors: Sequence[UserError],
    notes: Sequence[str],
    plans: Mapping[str, ViewPlan],
    trials: Mapping[str, Verdict] | None,
) -> None:
    """The object, which has the contract's keys alone; notes are on standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    told = {} if project is None else predicted(project.tables, plans)
    tables = [] if project is None else [_record(each, told[each.name]) for each in project.tables]
    record = {"tables": tables, "errors": [error_record(error) for error in errors]}
    print_json(record | ({} if trials is None else {"trials": _trial_records(trials)}))


def _start_faults(project: Project) -> list[UserError]:
    """What would end a run when it starts: a policy that does not fit the tables."""
    try:
        with journal_read(project) as journal:
            scheduler_for(project, specs_for(project, journal), 0.0)
    except UserError as error:
        return [error]
    return []


def _heap_notes(project: Project) -> list[str]:
    """What to say where Spark's heap is too small for the tables."""
    from freshline.doctor.project import small_heap

    small = small_heap(project)
    return [] if small is None else [f"{small.what}. {small.next_step}"]


def _trial_records(trials: Mapping[str, Verdict]) -> dict[str, Any]:
    return {name: verdict.record() for name, verdict in trials.items()}


def _analysed(project: Project, *, tries: bool) -> tuple[Analysis, Mapping[str, Verdict]]:
    """What Spark says of each query, and how the views' trials ended where they are wanted."""
    from freshline.spark.analysis import analyse
    from freshline.spark.engine.session import start_session
    from freshline.spark.trials.runner import try_views

    if sys.stderr.isatty():
        print("Spark is asked about every query ...", file=sys.stderr)
    session = start_session(project, brief=not tries)
    try:
        analysis = analyse(project, session)
        if not tries or analysis.errors:
            return analysis, {}
        return analysis, try_views(session, project, analysis)
    finally:
        session.stop()


@dataclass(frozen=True, slots=True)
class Promised:
    """The shortened form of ``freshline guarantees``.

    Attributes:
        assessment: With mean costs.
        unkept: Targets below their table's bound.
    """

    assessment: Assessment
    unkept: list[Unkept]


def promises_of(project: Project) -> Promised | None:
    """What can be promised of ``project``; None while costs of some table are unknown."""
    try:
        assessment = project_guarantees(project).assessment
    except UserError:
        return None
    return Promised(assessment, unkept_targets(project, assessment))


def promise_lines(promised: Promised) -> list[str]:
    """The bounds in short, and the targets that they do not keep."""
    assessment = promised.assessment
    if not assessment.is_schedulable:
        needed = assessment.tracks_needed
        enough = "no number of tracks is" if needed is None else f"{counted(needed, 'track')} are"
        costly = ", ".join(f"{name} ({share:.2f})" for name, share in assessment.costliest(3))
        return [f"bounds: none; {enough} enough; most costly: {costly} of a track"]
    named = listed(
        f"{table.name} {brief_s(guarantee.staleness_s)}"
        for table, guarantee in zip(assessment.tables, assessment.guarantees, strict=True)
        if guarantee.staleness_s is not None
    )
    if_mean = "as long as no update takes longer than its mean, under policy aus"
    return [f"bounds: stale by at most: {named}; {if_mean}"]


def _print(
    project: Project,
    notes: list[str],
    promised: Promised | None,
    plans: Mapping[str, ViewPlan],
    *,
    analysed: int | None,
) -> None:
    by = ""
    if analysed is not None:
        queries = len(project.tables) + len(project.reports)
        which = "every query" if analysed == queries else f"{analysed} of {queries} queries"
        by = f", {which} analysed by Spark"
    feeds = counted(len(project.feeds), "feed")
    print(f"{project.name}: {counted(len(project.tables), 'table')}, {feeds}{by}")
    width = max((len(table.name) for table in project.tables), default=0)
    strategies = predicted(project.tables, plans)
    for number, table in enumerate(project.tables, 1):
        chosen = strategies[table.name]
        print(
            f"{number:4} {table.name:{width}}  {table.kind:7}  priority {table.priority:g},"
            f" reads {', '.join(_sources(table)) or 'nothing'}"
        )
        print(f"{'':5}{'':{width}}  {chosen.name}: {chosen.reason}")
    print("\n".join(utilisation_lines(project)))
    if promised is not None:
        print("\n".join(promise_lines(promised)))
    for note in notes:
        print(f"note: {note}")


def utilisation_lines(project: Project) -> list[str]:
    """What tables need of all tracks, and reports of the last one, as far as runs measured it."""
    needed = utilisation(project)
    tracks = counted(project.scheduler.tracks, "track")
    line = f"utilisation: {needed.tracks_needed:.3g} of {tracks}{_but(needed.not_measured)}"
    if needed.uncertain:
        line += f"; by fewer than {FEW} updates so far: {listed(needed.uncertain)}"
    lines = [line]
    if not needed.by_table:
        lines = [f"utilisation: not measured yet, of {tracks}; runs measure it"]
    needs = report_needs(project)
    if needs:
        unknown = [need.name for need in needs if need.demand is None]
        lines.append(f"reports: {share_of(needs):.3g} of the last track{_but(unknown)}")
        lines += crowded_reports(project)
    return lines


def _but(unknown: Sequence[str]) -> str:
    return f"; not measured yet: {listed(unknown)}" if unknown else ""


def _sources(table: TableDef) -> list[str]:
    return [*table.sources, *(static.name for static in table.statics)]


def _record(table: TableDef, chosen: Strategy) -> dict[str, Any]:
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
