"""``freshline drop``: take names of tables out of the catalog; their data stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.core.errors import FreshlineError, UserError
from freshline.project.model import CatalogSettings, Project
from freshline.project.names import name_fault
from freshline.runtime.requests.client import running_process
from freshline.runtime.requests.handler import Answer


def drop(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...",
            help="Tables, including those no longer in the project.",
            autocompletion=table_names,
        ),
    ],
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Remove tables' names from the catalog; their data stay."""
    found = opened(project)
    settings = found.catalog
    if settings is None:
        raise UserError(
            "no-catalog",
            f"project {found.name} does not register its tables in a catalog",
            rule="freshline drop takes names out of the catalog that `catalog:` names",
            next_step="To delete a table's data, remove its folder from the storage.",
        )
    pid = running_process(found)
    if pid is not None:
        raise UserError(
            "running",
            f"process {pid} runs this warehouse",
            rule="a run registers tables while names would be dropped",
            next_step="Stop it first.",
        )
    return tell(
        _dropped(found, settings, [_named(found, each) for each in tables]), as_json=as_json
    )


def _named(project: Project, name: str) -> str:
    """The table's name as the project spells it.

    Raises:
        UserError: It can name no table.
    """
    rule = name_fault(name)
    if rule is not None:
        raise UserError(
            "bad-name", f"'{name}' cannot name a table", rule=rule, next_step="Correct it."
        )
    return project.table(name).name if project.has_table(name) else name


def _dropped(
    project: Project, settings: CatalogSettings, names: Sequence[str]
) -> dict[str, Answer]:
    from freshline.spark.catalog import CatalogNames
    from freshline.spark.engine.errors import SparkError, one_line
    from freshline.spark.engine.session import start_session

    session = start_session(project)
    try:
        registered = CatalogNames(project, settings, session)
        answers: dict[str, Answer] = {}
        for name in names:
            try:
                answers[name] = _answer(
                    project, registered.full_name(name), name, had=registered.drop(name)
                )
            except FreshlineError as error:
                answers[name] = {
                    "ok": False, "message": error.render(), "exit_status": error.exit_status
                }  # fmt: skip
            except SparkError as error:
                message = f"{registered.full_name(name)} was not dropped: {one_line(error)}"
                answers[name] = {"ok": False, "message": message, "exit_status": 1}
        return answers
    finally:
        session.stop()


def _answer(project: Project, shown: str, name: str, *, had: bool) -> Answer:
    if not had:
        return {"ok": True, "message": f"there is no {shown}"}
    message = f"{shown} is dropped; its data stay at {project.table_path(name)}"
    if project.has_table(name):
        message += ". The table is still in the project: the next run registers it again"
    return {"ok": True, "message": message}
