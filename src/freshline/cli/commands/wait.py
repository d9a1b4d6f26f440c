"""``freshline wait``: end when tables are fresh enough, for schedulers and scripts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from freshline.cli.commands.backfill import moment_s
from freshline.cli.options import AsJson, ProjectDir, TableNames, duration_of, opened
from freshline.core.errors import UserError
from freshline.render.output import clock, moment, print_json
from freshline.runtime.status.waiting import Awaited, Goal, Waited
from freshline.runtime.subset import named_tables
from freshline.times import brief_s

NOT_FRESH = 3
"""Exit status where the time is over and a table is not fresh enough."""


def wait(
    tables: TableNames,
    fresh_to: Annotated[
        str | None,
        typer.Option(
            "--fresh-to",
            metavar="T",
            help="Wait until they hold all data up to this time, like 2026-01-31T08:00:00Z.",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Wait until they are at most this stale."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Give up after this time; by default, never."),
    ] = None,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Wait until tables are fresh: exit 0 as soon as all are, 3 on timeout."""
    from freshline.runtime.status.waiting import wait as wait_for

    goal = _goal(fresh_to, within)
    timeout_s = None if timeout is None else duration_of("--timeout", timeout, zero=True)
    found = opened(project)
    waited = wait_for(found, named_tables(found, tables), goal, timeout_s)
    if as_json:
        print_json(waited_record(waited))
    else:
        for table in waited.tables:
            print(_line(table))
    return 0 if waited.fresh else NOT_FRESH


def waited_record(waited: Waited) -> dict[str, Any]:
    """The end of a wait as JSON."""
    return {
        "fresh": waited.fresh,
        "waited_s": round(waited.waited_s, 3),
        "tables": [
            {
                "name": table.name,
                "fresh": table.fresh,
                "freshness": moment(table.freshness_s),
                "staleness_s": None if table.staleness_s is None else round(table.staleness_s, 6),
                "state": table.state,
                "held_up": table.held_up,
            }
            for table in waited.tables
        ],
    }


def _line(table: Awaited) -> str:
    if table.freshness_s is None or table.staleness_s is None:
        stands = "no version yet"
    else:
        stands = f"fresh to {clock(table.freshness_s)} UTC, {brief_s(table.staleness_s)} stale"
    return f"{table.name}: {stands}" + (f"; {table.held_up}" if table.held_up else "")


def _goal(fresh_to: str | None, within: str | None) -> Goal:
    """The goal of the options.

    Raises:
        UserError: Neither or both are given, or one is wrong.
    """
    if (fresh_to is None) == (within is None):
        raise UserError(
            "bad-option",
            "neither --fresh-to nor --within is given"
            if fresh_to is None
            else "--fresh-to and --within are both given",
            rule="a wait has one of them",
            next_step="Say --fresh-to 2026-01-31T08:00:00Z or --within '5 minutes'.",
        )
    if fresh_to is not None:
        return Goal(fresh_to_s=moment_s(fresh_to, "--fresh-to"))
    return Goal(within_s=duration_of("--within", within or ""))
