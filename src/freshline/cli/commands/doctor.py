"""``freshline doctor``: whether this machine can run the project, and what to do where not."""

from __future__ import annotations

import sys

from freshline.cli.errors import error_record, show
from freshline.cli.options import AsJson, ProjectDir, collected, is_in_project
from freshline.core.errors import PlatformError, UserError, UserErrors
from freshline.doctor.finding import Finding
from freshline.project.load import PROJECT_FILE
from freshline.project.model import Project
from freshline.render.output import print_json
from freshline.ui.address import served_at, standby_at

UNFIT = 3
"""Exit status: a run would fail."""
_MARKS = {"ok": "ok     ", "warning": "warning", "wrong": "WRONG  "}


def doctor(project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Check Java, Spark, Delta, jars, storage, disks, clock, memory and port, without a run.

    Exit status 3 where something would make a run fail, 2 where the project has errors.
    """
    from freshline.doctor import machine
    from freshline.doctor.project import findings
    from freshline.ui.serving import moves

    found = [machine.java(), machine.spark(), machine.delta(), machine.clock()]
    errors: list[UserError] = []
    note = ""
    if project is not None or is_in_project():
        opened, errors = collected(project)
        if opened is not None:
            found += findings(opened, _served_at(opened), standby_at(opened), movable=moves(opened))
    else:
        note = f"There is no {PROJECT_FILE} here: storage, jars, memory and port were not checked."
    wrong = any(each.state == "wrong" for each in found)
    if as_json:
        record = {"healthy": not wrong and not errors, "checks": [_record(each) for each in found]}
        print_json(record | ({"errors": [error_record(each) for each in errors]} if errors else {}))
    else:
        for each in found:
            print(f"{_MARKS[each.state]}  {each.check:7}  {each.what}.")
            if each.next_step:
                print(f"{'':18}{each.next_step}")
        if note:
            print(note, file=sys.stderr)
    if errors:
        return show(UserErrors(errors), as_json=False)
    return UNFIT if wrong else 0


def _served_at(project: Project) -> str | None:
    """Where a run answers; None also where this user may not see it: another check says that."""
    try:
        return served_at(project)
    except PlatformError:
        return None


def _record(finding: Finding) -> dict[str, str | None]:
    return {
        "name": finding.check,
        "state": finding.state,
        "what": finding.what,
        "next": finding.next_step or None,
    }
