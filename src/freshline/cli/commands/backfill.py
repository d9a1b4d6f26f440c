"""``freshline backfill``: load or compute a range of a table again, behind everything else."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.core.errors import UserError
from freshline.runtime.requests.backfills import argument_of, check_backfill, note_backfill
from freshline.runtime.requests.client import ask, kept_journal, no_run_here, running_process
from freshline.runtime.subset import named_tables


def backfill(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="A table of the project.", autocompletion=table_names),
    ],
    begin: Annotated[
        str,
        typer.Option("--from", metavar="T", help="Start of the range, like 2026-01-31T00:00:00Z."),
    ],
    end: Annotated[str, typer.Option("--to", metavar="T", help="End of the range, not included.")],
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Load or compute a range of a table again, with a small share of the tracks."""
    found = opened(project)
    (name,) = named_tables(found, [table])
    from_s, to_s = moment_s(begin, "--from"), moment_s(end, "--to")
    if running_process(found) is not None:
        answers = ask(found, "backfill", [name], argument_of(from_s, to_s))
        return tell(answers, as_json=as_json)
    with kept_journal(found) as journal:
        check_backfill(found, journal, name, from_s, to_s)
        note_backfill(journal, name, from_s, to_s, time.time())
    message = f"{name}: noted; {no_run_here(found)}, so it begins with the next `freshline run`"
    return tell({name: {"ok": True, "message": message}}, as_json=as_json)


def moment_s(text: str, option: str) -> float:
    """Seconds since the epoch of a date or a moment; without a zone it is UTC.

    Raises:
        UserError: It is neither.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        rule = "it is a moment like 2026-01-31T08:00:00Z, or a day like 2026-01-31"
        raise UserError(
            "bad-option", f"{option} is '{text}'", rule=rule, next_step="Correct it."
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
