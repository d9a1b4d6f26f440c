"""``freshline retry``: try files in quarantine and failed updates again now."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.executor.distrust import distrusted, is_rebuilt, trust_again, trust_when_rebuilt
from freshline.project.model import Project
from freshline.render.output import print_json
from freshline.runtime.requests.backfills import given_up_last
from freshline.runtime.requests.client import ask
from freshline.runtime.status.status import read_status
from freshline.runtime.subset import named_tables


def retry(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE...]",
            help="Without any: all that have failed.",
            autocompletion=table_names,
        ),
    ] = None,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Retry files in quarantine and failed updates at once.

    A view that was found wrong is maintained from changes again if it is named, once it is rebuilt.
    """
    found = opened(project)
    names = named_tables(found, tables) if tables else _troubled(found)
    if not names:
        if as_json:
            print_json({"tables": []})
        else:
            print("nothing to try again: no table has failed, no file is in quarantine")
        return 0
    trusted = {name: _trusted(found, name) for name in names if tables}
    answers = ask(found, "retry", names)
    for name, told in trusted.items():
        answers[name]["message"] += told
    return tell(answers, as_json=as_json)


def _trusted(project: Project, name: str) -> str:
    """Trust a view that was found wrong, as soon as it is rebuilt; what is to be said of it."""
    wrong = distrusted(project, name)
    if wrong is None:
        return ""
    if is_rebuilt(project, wrong):
        trust_again(project, name)
        return "; it is maintained from changes again"
    trust_when_rebuilt(project, wrong)
    return "; once it is rebuilt it is maintained from changes again"


def _troubled(project: Project) -> tuple[str, ...]:
    found = read_status(project, time.time())
    return tuple(
        item.name
        for item in found.tables
        if item.failures
        or given_up_last(found.backfills, item.name)
        or any(each.state in ("retrying", "quarantined") for each in item.troubles)
    )
