"""``freshline verify``: whether tables equal their queries over the data they were made of."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.core.errors import UserError
from freshline.delta.log import version as newest_version
from freshline.executor.distrust import keep_evidence
from freshline.executor.verified import SKIPPED, WRONG, RowCheck, VersionCheck
from freshline.project.model import Project
from freshline.project.yaml.numbers import whole_number
from freshline.render.output import counted, print_json, shortened
from freshline.render.verified import (
    row_lines,
    unverified_lines,
    verified_lines,
    verified_record,
)
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.requests.client import ask, running_process
from freshline.runtime.requests.handler import Answer
from freshline.runtime.status.status import read_status
from freshline.runtime.subset import named_tables

WRONG_STATUS = 3
_MOST_VERSIONS = 999_999_999
_TOLD_EVERY_S = 10.0
"""Where no terminal shows how far it is: so often a log hears of it."""
_REBUILT = (
    "SELECT DISTINCT table_name FROM updates"
    " WHERE run=(SELECT max(id) FROM runs) AND state='done' AND full=1"
)
_A_REPORT = "it is a report: its rows are those of a window, read while the window was open"


def verify(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE...]", help="Without any: all tables.", autocompletion=table_names
        ),
    ] = None,
    versions: Annotated[
        str,
        typer.Option(metavar="newest|all|N", help="Which versions; N: the newest N of each table."),
    ] = "newest",
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Rebuild tables whose newest version is wrong, and what is"
                     " made of them."),
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Recompute tables from what their commits name, compare, and run the checks of rows.

    Exit status 3 where a table is wrong, or rows of a newest version fail a check.
    """
    found = opened(project, analyse=True)
    wanted = _wanted(versions)
    checks, of_rows = _checked(found, tables or [], wanted)
    record = verified_record(checks, of_rows)
    if not as_json:
        last = unverified_lines(_reloadable(found), checks)
        print("\n".join([*verified_lines(checks), *row_lines(of_rows), *last]), flush=True)
    wrong = [each for found in checks.values() for each in found if each.outcome == WRONG]
    if repair:
        answers = _repair(found, [found[-1] for found in checks.values() if found])
        record["repair"] = {name: answer["message"] for name, answer in answers.items()}
        if not as_json:
            print("\n".join(f"{name}: {each['message']}" for name, each in answers.items()))
    if as_json:
        print_json(record)
    return WRONG_STATUS if wrong or any(each.fails for each in of_rows) else 0


def _reloadable(project: Project) -> list[str]:
    """The tables but those loaded from topics, which cannot be loaded again, and reports."""
    return [table.name for table in project.tables if not project.reads_topic(table)]


def _wanted(text: str) -> str | int:
    """Which versions ``--versions`` asks for.

    Raises:
        UserError: It is none of what it can be.
    """
    if text in ("newest", "all"):
        return text
    if (number := whole_number(text, _MOST_VERSIONS)) is not None:
        return number
    raise UserError(
        "bad-value",
        f"--versions is '{shortened(text, 80)}'",
        rule="it is newest, all, or how many of each table's newest versions, 1 to"
        f" {_MOST_VERSIONS:,}",
        next_step="Correct it, or leave it out: then the newest version is verified.",
    )


def _checked(
    project: Project, names: Sequence[str], wanted: str | int
) -> tuple[dict[str, list[VersionCheck]], list[RowCheck]]:
    """What verifying gave, by table, parents before children, reports last; then the checks."""
    from freshline.spark.engine.session import start_session
    from freshline.spark.verification.checks import checked
    from freshline.spark.verification.run import verified

    reports = [each for each in project.reports if not names or _is_named(each.name, names)]
    others = [name for name in names if project.report(name) is None]
    chosen = set(named_tables(project, others) if names else (t.name for t in project.tables))
    tables = [table for table in project.tables if table.name in chosen]
    checks: dict[str, list[VersionCheck]] = {table.name: [] for table in tables}
    session = start_session(project)
    told_s = time.monotonic()
    try:
        for number, each in enumerate(verified(session, project, tables, wanted), 1):
            checks[each.table].append(each)
            told = f"{counted(number, 'version')} verified"
            if sys.stderr.isatty():
                print(f"\r{told}", end="", file=sys.stderr)
            elif time.monotonic() - told_s >= _TOLD_EVERY_S:
                told_s = time.monotonic()
                print(f"{told}, {each.table} last", file=sys.stderr, flush=True)
        of_rows = list(checked(session, project, [*tables, *reports]))
    finally:
        session.stop()
        if sys.stderr.isatty():
            print(file=sys.stderr)
    for report in reports:
        version = newest_version(project.table_path(report.name))
        checks[report.name] = (
            []
            if version is None
            else [VersionCheck(report.name, version, SKIPPED, reason=_A_REPORT)]
        )
    by_table = {
        name: sorted(each, key=lambda check: check.version) for name, each in checks.items()
    }
    return by_table, of_rows


def _is_named(name: str, names: Iterable[str]) -> bool:
    return any(name.lower() == each.lower() for each in names)


def _repair(project: Project, newest: Sequence[VersionCheck]) -> dict[str, Answer]:
    """Rebuild the tables whose newest version is wrong, and what is made of them."""
    wrong = [each for each in newest if each.outcome == WRONG]
    if not wrong:
        return {}
    for each in wrong:
        keep_evidence(project, each, time.time())
    rebuilt = {each.table for each in wrong}
    for table in project.tables:  # parents first
        if any(parent in rebuilt for parent in table.parents):
            rebuilt.add(table.name)
    names = tuple(table.name for table in project.tables if table.name in rebuilt)
    if running_process(project) is not None:
        return ask(project, "refresh", names, "full")
    from freshline.cli.running import run_warehouse
    from freshline.runtime.options import RunOptions

    options = RunOptions(until_idle=True, refresh=names, rebuilt=names)
    run_warehouse(project, options, as_json=False)
    return _rebuilt(project, names)


def _rebuilt(project: Project, names: Iterable[str]) -> dict[str, Answer]:
    """What the run that just ended made of the tables: a run ends also without them."""
    with journal_read(project) as journal:
        rows = [] if journal is None else journal.rows(_REBUILT)
    done = {row["table_name"] for row in rows}
    found = {each.name: each for each in read_status(project, time.time()).tables}
    answers: dict[str, Answer] = {}
    for name in names:
        why = found[name].error or "the run ended before"
        message = "rebuilt" if name in done else f"not rebuilt: {why}"
        answers[name] = {"ok": name in done, "message": message}
    return answers
