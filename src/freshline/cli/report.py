"""``freshline report``: reports with deadlines; submitted, listed, planned and withdrawn."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from freshline.cli.asking import ask, running_process, tell
from freshline.cli.backfill import moment_s
from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.cli.output import clock, console, counted, moment, print_json
from freshline.cli.reported import report_record, report_table
from freshline.core.errors import Place, UserError
from freshline.project.asked import asked_table
from freshline.project.deadlines import RULE, read_deadline
from freshline.project.model import Project, TableDef
from freshline.reports.plan import Infeasible, Plan
from freshline.runtime.journal import Journal
from freshline.runtime.places import journal_path
from freshline.runtime.report_journal import (
    OPEN,
    ReportStatus,
    WantedReport,
    count_late,
    read_report,
    read_reports,
)
from freshline.runtime.report_life import LATENESS
from freshline.runtime.report_plans import Outlook, outlook
from freshline.runtime.report_requests import (
    SUBMIT,
    WITHDRAW,
    argument_of,
    submit,
    withdraw_offline,
)
from freshline.runtime.status import brief_s

_ACTIONS = ("submit", "list", "plan", "withdraw")


def report(
    action: Annotated[str, typer.Argument(metavar="|".join(_ACTIONS), help="What to do.")],
    what: Annotated[
        str | None,
        typer.Argument(metavar="FILE.sql|NAME", help="A query to submit; or a report's name."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="A..B", help="From A up to B, not included."),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", metavar="T", help="A moment, a delay, a time of day or cron."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Of the report; without it the file's.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept a deadline that no plan can meet.")
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Submit a query over a window with a deadline; list, plan or withdraw reports."""
    found = opened(project)
    if action == "list":
        return _list(found, as_json=as_json)
    if action not in _ACTIONS or what is None:
        raise UserError(
            "bad-option",
            f"'report {action}' needs a file or a name"
            if action in _ACTIONS
            else f"'{action}' is nothing that can be done with reports",
            rule="report submit FILE.sql --window A..B --deadline T, report list,"
            " report plan NAME, report withdraw NAME",
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
        )
    wanted, table = _read(found, Path(what), window, deadline, name)
    return _submit(found, wanted, table, yes=yes, as_json=as_json)


# ---- the actions ----


def _submit(
    project: Project, wanted: WantedReport, table: TableDef, *, yes: bool, as_json: bool
) -> int:
    now_s = time.time()
    with closing(_journal(project)) as journal:
        ahead = outlook(project, journal, table, wanted, now_s)
    plan = ahead.plan(now_s)
    if isinstance(plan, Infeasible) and not yes:
        message = (
            f"no plan meets the deadline {clock(wanted.deadline_s)} UTC; the earliest that one"
            f" can meet is {clock(plan.earliest_deadline_s)} UTC"
        )
        if as_json or not sys.stdin.isatty():
            raise UserError(
                "deadline-too-early",
                message,
                where=table.place,
                next_step="Give a later deadline, or accept it to be late with --yes.",
            )
        print(message)
        if not _said_yes("Submit it all the same?"):
            print(f"{wanted.name} is not submitted")
            return 0
    if running_process(project) is not None:
        answer = ask(project, SUBMIT, [wanted.name], argument_of(wanted))[wanted.name]
    else:
        with closing(_journal(project)) as journal:
            answer = submit(journal, argument_of(wanted), now_s)
        if answer["ok"]:
            answer["message"] += "; no warehouse runs now, it is made by the next `freshline run`"
    if as_json and answer["ok"]:
        print_json({"report": _plan_record(wanted, ahead, plan) | {"message": answer["message"]}})
        return 0
    if answer["ok"]:
        _print_plan(wanted, ahead, plan, now_s)
    return tell({wanted.name: answer}, as_json=as_json)


def _said_yes(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # end of input, or Ctrl-C: no answer is no yes
        print()
        return False


def _plan(project: Project, name: str, *, as_json: bool) -> int:
    now_s = time.time()
    with closing(_journal(project)) as journal:
        status = _known(journal, name)
        if status.state not in OPEN:
            raise UserError(
                "report-ended",
                f"report {status.wanted.name} is {status.state}",
                rule="only what is still to be made has a plan",
                next_step="`freshline report list` shows what came of it.",
            )
        wanted = status.wanted
        table = project.report(wanted.view)
        if table is None:
            where = Place(wanted.file or "the journal", 1)
            table = asked_table(project, wanted.name, wanted.query or "", where)
        ahead = outlook(
            project, journal, table, wanted, now_s,
            taken_rows=status.taken_rows, batches=status.batches,
        )  # fmt: skip
    plan = ahead.plan(now_s)
    if as_json:
        print_json({"report": report_record(status) | _plan_record(wanted, ahead, plan)})
    else:
        _print_plan(wanted, ahead, plan, now_s)
    return 0


def _list(project: Project, *, as_json: bool) -> int:
    with closing(_journal(project)) as journal:
        found = read_reports(journal)
    if as_json:
        late = count_late(found)
        print_json({"reports": [report_record(each) for each in found], "late": dict(late)})
        return 0
    out = console()
    out.print(report_table(found, time.time()) if found else "no reports")
    for reason, count in count_late(found).items():
        out.print(f"{counted(count, 'deadline')} missed: {LATENESS[reason]}")
    return 0


def _withdraw(project: Project, name: str, *, as_json: bool) -> int:
    if running_process(project) is not None:
        return tell(ask(project, WITHDRAW, [name]), as_json=as_json)
    with closing(_journal(project)) as journal:
        answer = withdraw_offline(journal, name)
    return tell({name: answer}, as_json=as_json)


# ---- what they read ----


def _read(
    project: Project, file: Path, window: str, deadline: str, name: str | None
) -> tuple[WantedReport, TableDef]:
    try:
        query = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            "no-file", f"{file} cannot be read: {error}", next_step="Name a file with a query."
        ) from None
    begin, dots, end = window.partition("..")
    if not dots:
        rule = "it is two moments, like 2026-01-01..2026-01-02"
        raise UserError("bad-option", f"--window is '{window}'", rule=rule)
    start_s, end_s = moment_s(begin, "--window"), moment_s(end, "--window")
    if not start_s < end_s:
        rule = "A is before B; the report is about [A, B)"
        raise UserError("empty-range", f"the window {window} is empty", rule=rule)
    table = asked_table(project, name or file.stem, query, Place(str(file), 1))
    deadline_s = _deadline_s(deadline, end_s)
    wanted = WantedReport(
        table.name, table.name, table.query, str(file), start_s, end_s, deadline_s
    )
    return wanted, table


def _deadline_s(text: str, end_s: float) -> float:
    try:
        return moment_s(text, "--deadline")
    except UserError:
        pass  # no moment; it may be one of the forms that the property has
    try:
        return read_deadline(text).after(end_s)
    except ValueError as error:
        rule = f"it is a moment like 2026-01-31T08:00:00Z; or {RULE}"
        raise UserError("bad-option", f"--deadline is '{text}': {error}", rule=rule) from None


def _journal(project: Project) -> Journal:
    return Journal(journal_path(project), create=True)


def _known(journal: Journal, name: str) -> ReportStatus:
    found = read_report(journal, name)
    if found is None:
        names = ", ".join(each.wanted.name for each in read_reports(journal)) or "there is none"
        raise UserError(
            "unknown-report",
            f"no report is called '{name}'",
            rule=f"known reports: {names}",
            next_step="A view's reports are known once the project was run.",
        )
    return found


# ---- what they print ----


def _print_plan(
    wanted: WantedReport, ahead: Outlook, plan: Plan | Infeasible, now_s: float
) -> None:
    end, deadline = clock(wanted.end_s, now_s), clock(wanted.deadline_s, now_s)
    print(f"{wanted.name}: window until {end} UTC, deadline {deadline} UTC")
    if isinstance(plan, Infeasible):
        print(f"no plan meets it; the earliest deadline is {clock(plan.earliest_deadline_s)} UTC")
        return
    for number, batch in enumerate(plan.batches, 1):
        rows = (
            "all rows"
            if ahead.unit_rows is None
            else counted(batch.tuples * ahead.unit_rows, "row")
        )
        print(
            f"batch {number}: {clock(batch.start_s, now_s)} UTC, about {rows},"
            f" {brief_s(batch.end_s - batch.start_s)}"
        )
    print(
        f"final: {brief_s(plan.final_cost_s)}; cost {brief_s(plan.cost_s)} in all,"
        f" slack {brief_s(plan.slack_s)}"
    )


def _plan_record(wanted: WantedReport, ahead: Outlook, plan: Plan | Infeasible) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": wanted.name,
        "deadline": moment(wanted.deadline_s),
        "expected_rows": ahead.expected_rows,
        "slack_s": round(plan.slack_s, 3),
    }
    if isinstance(plan, Infeasible):
        earliest = moment(plan.earliest_deadline_s)
        return record | {"feasible": False, "earliest_deadline": earliest}
    return record | {
        "feasible": True,
        "plan": [
            {
                "start": moment(batch.start_s),
                "rows": batch.tuples * (ahead.unit_rows or ahead.expected_rows),
                "seconds": round(batch.end_s - batch.start_s, 3),
            }
            for batch in plan.batches
        ],
        "final_s": round(plan.final_cost_s, 3),
        "planned_cost_s": round(plan.cost_s, 3),
    }
