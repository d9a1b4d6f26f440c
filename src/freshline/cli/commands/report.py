"""``freshline report``: submit, list, plan and withdraw reports with deadlines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from freshline.cli.answers import tell
from freshline.cli.commands.backfill import moment_s
from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.core.errors import Place, UserError
from freshline.delta.standing import of_others
from freshline.executor.report_records import Window
from freshline.project.asked import asked_table
from freshline.project.deadlines import RULE, read_deadline
from freshline.project.model import Project, TableDef
from freshline.project.names import correction, listed
from freshline.render.output import clock, console, counted, moment, print_json
from freshline.render.report_table import report_record, report_table, signed
from freshline.reports.joint.together import Stretch
from freshline.reports.planning.model import Infeasible
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.in_progress import LATENESS
from freshline.runtime.reports.outlook import MARGIN
from freshline.runtime.reports.requests import (
    SUBMIT,
    WITHDRAW,
    argument_of,
    submit,
    withdraw_offline,
)
from freshline.runtime.reports.store import (
    GIVEN_UP,
    OPEN,
    ReportStatus,
    WantedReport,
    count_late,
    read_report,
    read_reports,
)
from freshline.runtime.reports.together import Ahead, look_ahead, table_of
from freshline.runtime.reports.windows import window_of
from freshline.runtime.requests.client import ask, kept_journal, no_run_here, running_process
from freshline.texts import EndlessFileError, whole_text
from freshline.times import brief_s

_EXPECTED = "expected"
"""A view's window that no run has begun."""

_ACTIONS = ("submit", "list", "plan", "withdraw")


def report(
    action: Annotated[str, typer.Argument(metavar="|".join(_ACTIONS), help="What to do.")],
    what: Annotated[
        str | None,
        typer.Argument(metavar="FILE.sql|NAME", help="A query to submit; or a report's name."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="A..B", help="From A up to B; B is not included."),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", metavar="T", help="A moment, a delay, a time of day or cron."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the report; by default, that of the file.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept a deadline that no plan can meet.")
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Submit a query over a window with a deadline; list, plan or withdraw reports."""
    found = opened(project)
    given = {"--window": window, "--deadline": deadline, "--name": name}
    extra = [option for option, value in given.items() if value is not None]
    if action in _ACTIONS and action != "submit" and extra:
        raise UserError(
            "unknown-option",
            f"'report {action}' does not take {listed(extra)}",
            rule="these are of `freshline report submit`",
            next_step="Leave them out; a submitted report keeps its window and deadline.",
        )
    if action == "list" and what is None:
        return _list(found, as_json=as_json)
    if action == "list":
        raise UserError(
            "bad-option",
            f"'report list' shows all reports, not '{what}' alone",
            next_step=f"Leave the name out, or see `freshline report plan {what}`.",
        )
    if action not in _ACTIONS or what is None:
        raise UserError(
            "bad-option",
            f"'report {action}' needs a file or a name"
            if action in _ACTIONS
            else f"'{action}' is not an action of `freshline report`",
            rule="report submit FILE.sql --window A..B --deadline T, report list,"
            " report plan NAME, report withdraw NAME",
            next_step="Write one of these.",
        )
    if action == "withdraw":
        return _withdraw(found, what, as_json=as_json)
    if action == "plan":
        return _plan(found, what, as_json=as_json)
    if window is None or deadline is None:
        raise UserError(
            "bad-option",
            "a report that is submitted needs --window and --deadline",
            rule="like --window 2026-01-01..2026-01-02 --deadline 2026-01-02T06:00:00Z",
            next_step="Add what is missing.",
        )
    wanted, table = _read(found, Path(what), window, deadline, name)
    return _submit(found, wanted, table, yes=yes, as_json=as_json)


# ---- the actions ----


def _submit(
    project: Project, wanted: WantedReport, table: TableDef, *, yes: bool, as_json: bool
) -> int:
    now_s = time.time()
    with _looked_into(project) as journal:
        ahead = look_ahead(project, journal, wanted, table, now_s)
    message = _doubt(ahead)
    if message and not yes:
        if as_json or not sys.stdin.isatty():
            raise UserError(
                "deadline-crowded" if ahead.crowded else "deadline-too-early",
                message,
                where=table.place,
                next_step="Give a later deadline, or accept it to be late with --yes.",
            )
        print(message)
        if not _said_yes("Submit it anyway?"):
            print(f"{wanted.name} is not submitted")
            return 0
    if running_process(project) is not None:
        answer = ask(project, SUBMIT, [wanted.name], argument_of(wanted))[wanted.name]
    else:
        with kept_journal(project) as journal:
            answer = submit(journal, argument_of(wanted), now_s)
        if answer["ok"]:
            answer["message"] += f"; {no_run_here(project)}, so the next `freshline run` makes it"
    if as_json and answer["ok"]:
        print_json({"report": _plan_record(ahead) | {"message": answer["message"]}})
        return 0
    if answer["ok"]:
        _print_plan(ahead)
    return tell({wanted.name: answer}, as_json=as_json)


def _said_yes(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # end of input, or Ctrl-C: no answer is no yes
        print()
        return False


def _plan(project: Project, name: str, *, as_json: bool) -> int:
    now_s = time.time()
    with _looked_into(project) as journal:
        status = _known(project, journal, name, now_s)
        if status.state not in (*OPEN, _EXPECTED):
            raise _ended(status, "only what is still to be made has a plan")
        table = table_of(project, status.wanted)
        ahead = look_ahead(project, journal, status.wanted, table, now_s, status=status)
    if as_json:
        print_json({"report": report_record(status, now_s) | _plan_record(ahead)})
    else:
        _print_plan(ahead)
    return 0


def _list(project: Project, *, as_json: bool) -> int:
    with _looked_into(project) as journal:
        found = read_reports(journal)
    if as_json:
        late, now_s = count_late(found), time.time()
        records = [report_record(each, now_s) for each in found]
        print_json({"reports": records, "late": dict(late)})
        return 0
    out = console()
    out.print(report_table(found, time.time()) if found else "no reports")
    for reason, count in count_late(found).items():
        out.print(f"{counted(count, 'deadline')} missed: {LATENESS[reason]}")
    return 0


def _withdraw(project: Project, name: str, *, as_json: bool) -> int:
    if running_process(project) is not None:
        with _looked_into(project) as journal:
            _check_wanted(project, journal, name)
        return tell(ask(project, WITHDRAW, [name]), as_json=as_json)
    with kept_journal(project) as journal:
        _check_wanted(project, journal, name)
        answer = withdraw_offline(journal, name)
    return tell({name: answer}, as_json=as_json)


def _check_wanted(project: Project, journal: Journal, name: str) -> None:
    status = read_report(journal, name) or _known(project, journal, name, time.time())
    if status.state == _EXPECTED:
        rule = "only a report that a run has begun, or that was submitted, can be withdrawn"
        raise _ended(status, rule)
    if status.state not in (*OPEN, GIVEN_UP):
        raise _ended(status, "only what is still to be made, or was given up, can be withdrawn")


# ---- what they read ----


def _read(
    project: Project, file: Path, window: str, deadline: str, name: str | None
) -> tuple[WantedReport, TableDef]:
    try:
        query = whole_text(file)
    except (OSError, UnicodeDecodeError, EndlessFileError) as error:
        raise UserError(
            "no-file", f"{file} cannot be read: {error}", next_step="Name a file with a query."
        ) from None
    begin, dots, end = window.partition("..")
    if not dots:
        raise UserError(
            "bad-option",
            f"--window is '{window}'",
            rule="it is two moments, like 2026-01-01..2026-01-02",
            next_step="Correct it.",
        )
    start_s, end_s = moment_s(begin, "--window"), moment_s(end, "--window")
    if not start_s < end_s:
        raise UserError(
            "empty-range",
            f"the window {window} is empty",
            rule="A is before B; the report is about [A, B)",
            next_step="Correct --window.",
        )
    table = asked_table(project, name or file.stem, query, Place(str(file), 1))
    _check_place(project, table)
    deadline_s = _deadline_s(deadline, end_s)
    wanted = WantedReport(
        table.name, table.name, table.query, str(file), start_s, end_s, deadline_s
    )
    return wanted, table


def _check_place(project: Project, table: TableDef) -> None:
    """Refuse a name under which the storage has a table that the result would replace."""
    counted_as = Window(table, 0.0, 0.0, 0.0, asked_s=0.0).counted_as
    place = project.table_path(table.name)
    error = of_others(table, place, None, counted_as=counted_as, asked=True)
    if error is not None:
        raise UserError(
            "duplicate-name",
            error.what,
            where=error.where,
            rule=error.rule,
            next_step="Give the report another name with --name, or move that table away.",
        )


def _deadline_s(text: str, end_s: float) -> float:
    try:
        return moment_s(text, "--deadline")
    except UserError:
        pass  # no moment; it may be one of the forms that the property has
    try:
        return read_deadline(text).after(end_s)
    except (ValueError, OverflowError) as error:
        raise UserError(
            "bad-option",
            f"--deadline is '{text}': {error}",
            rule=f"it is a moment like 2026-01-31T08:00:00Z; or {RULE}",
            next_step="Correct it.",
        ) from None


@contextmanager
def _looked_into(project: Project) -> Iterator[Journal]:
    """The journal, for reading alone: a run may be at it. Where there is none, an empty one."""
    with journal_read(project) as journal:
        if journal is not None:
            yield journal
            return
    with (
        TemporaryDirectory() as folder,
        closing(Journal(Path(folder) / "journal.db", create=True)) as empty,
    ):
        yield empty


def _known(project: Project, journal: Journal, name: str, now_s: float) -> ReportStatus:
    """How a report stands; of a view none of whose windows is to be made, that of now."""
    found = read_report(journal, name)
    view = next((each for each in project.reports if each.name == name), None)
    if view is not None and (found is None or found.state not in OPEN):
        return ReportStatus(window_of(project, view, now_s), _EXPECTED)
    if found is None:
        known = [each.name for each in project.reports]
        known += [each.wanted.name for each in read_reports(journal)]
        raise UserError(
            "unknown-report",
            f"no report is called '{name}'",
            rule=f"known reports: {listed(known)}",
            next_step=correction(
                name, known, "Correct the name, or submit it with `freshline report submit`."
            ),
        )
    return found


def _ended(status: ReportStatus, rule: str) -> UserError:
    state = "begun by no run yet" if status.state == _EXPECTED else status.state
    return UserError(
        "report-ended",
        f"report {status.wanted.name} is {state}",
        rule=rule,
        next_step="`freshline report list` shows what came of each report.",
    )


# ---- what they print ----


def _doubt(ahead: Ahead) -> str:
    """Why the deadline should not be accepted unasked; empty: it can be met."""
    alone, deadline = ahead.alone, clock(ahead.wanted.deadline_s)
    if isinstance(alone, Infeasible):
        return (
            f"no plan meets the deadline {deadline} UTC; the earliest that one can meet is"
            f" {clock(alone.earliest_deadline_s)} UTC"
        )
    if not ahead.crowded:
        return ""
    late = ", ".join(f"{name} {brief_s(late_s)}" for name, late_s in ahead.later_s.items())
    fits = (
        f"the earliest deadline that fits is {clock(ahead.fits_s)} UTC"
        if ahead.fits_s is not None
        else "no later deadline of it was found that fits"
    )
    others = ", ".join(ahead.others)
    return f"planned together with {others} there is no time for it: late are {late}; {fits}"


def _print_plan(ahead: Ahead) -> None:
    wanted, alone, now_s = ahead.wanted, ahead.alone, ahead.together.now_s
    end, deadline = clock(wanted.end_s, now_s), clock(wanted.deadline_s, now_s)
    print(f"{wanted.name}: window until {end} UTC, deadline {deadline} UTC")
    if isinstance(alone, Infeasible):
        print(f"no plan meets it; the earliest deadline is {clock(alone.earliest_deadline_s)} UTC")
        return
    unit_rows = ahead.outlook.unit_rows
    for number, batch in enumerate(_batches(ahead), 1):
        rows = "all rows" if unit_rows is None else counted(batch.tuples * unit_rows, "row")
        print(
            f"batch {number}: {clock(batch.start_s, now_s)} UTC, about {rows},"
            f" {brief_s(batch.end_s - batch.start_s)}"
        )
    final_s, cost_s = _costs_s(ahead)
    print(
        f"final: {brief_s(final_s)}; cost {brief_s(cost_s)} in all, slack {signed(ahead.slack_s)}"
    )
    if ahead.crowded:
        print(_doubt(ahead))


def _batches(ahead: Ahead) -> list[Stretch]:
    """By the plan of all reports, the last one without its final."""
    found = list(ahead.together.of(ahead.wanted.name))
    if found:
        found[-1] = replace(found[-1], end_s=found[-1].end_s - _costs_s(ahead)[0])
    return found


def _costs_s(ahead: Ahead) -> tuple[float, float]:
    """Seconds of the final, and of everything."""
    report, batches = ahead.outlook.report, ahead.together.of(ahead.wanted.name)
    final_s = MARGIN * report.final(report.batches_before + len(batches)) if batches else 0.0
    return final_s, fsum(each.end_s - each.start_s for each in batches)


def _plan_record(ahead: Ahead) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": ahead.wanted.name,
        "deadline": moment(ahead.wanted.deadline_s),
        "expected_rows": ahead.outlook.expected_rows,
        "slack_s": round(ahead.slack_s, 3),
        "feasible": ahead.in_time,
        "crowded": ahead.crowded,
        "planned_with": ahead.others,
    }
    if isinstance(ahead.alone, Infeasible):
        return record | {"earliest_deadline": moment(ahead.alone.earliest_deadline_s)}
    if ahead.crowded:
        late_s = {name: round(late_s, 3) for name, late_s in ahead.later_s.items()}
        record |= {"earliest_deadline": moment(ahead.fits_s), "late_s": late_s}
    unit_rows = ahead.outlook.unit_rows or ahead.outlook.expected_rows
    final_s, cost_s = _costs_s(ahead)
    return record | {
        "plan": [
            {
                "start": moment(batch.start_s),
                "rows": batch.tuples * unit_rows,
                "seconds": round(batch.end_s - batch.start_s, 3),
            }
            for batch in _batches(ahead)
        ],
        "final_s": round(final_s, 3),
        "planned_cost_s": round(cost_s, 3),
    }
