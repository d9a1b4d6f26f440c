"""``freshline guarantees``: how late and how stale tables can get, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.cli.output import console, counted, print_json
from freshline.core.aus.assessment import Assessment
from freshline.core.errors import UserError
from freshline.project.durations import RULE, duration_s
from freshline.runtime.status import brief_s

_COSTLIEST = 3


def guarantees(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A scenario, as for simulate; without it, the"
                       " project with the costs its runs learned.", show_default=False),
    ] = None,
    outage: Annotated[
        str | None,
        typer.Option("--outage", metavar="SECONDS", help="Also bound the time to recover from"
                     " an outage of this length (seconds, or '2h').", show_default=False),
    ] = None,
    project: ProjectDir = None,
    json_out: AsJson = False,
) -> None:  # fmt: skip
    """Bound each table's tardiness, response and staleness, and say what tracks are needed."""
    outage_s = None if outage is None else length_s(outage)
    assessment = assessment_of(file, project, outage_s)
    if json_out:
        print_json(assessment.record())
    else:
        show_assessment(assessment, outage_s)


def assessment_of(file: Path | None, project: Path | None, outage_s: float | None) -> Assessment:
    """Of the scenario in ``file``, or without one of the project.

    Raises:
        UserError: What is wrong with either.
    """
    if file is not None:
        from freshline.sim.guarantees import scenario_guarantees
        from freshline.sim.scenario_file import read_scenario

        return scenario_guarantees(read_scenario(file, shown_as=str(file)), outage_s=outage_s)
    from freshline.runtime.guarantees import project_guarantees

    return project_guarantees(opened(project), outage_s=outage_s)


def length_s(text: str) -> float:
    """Seconds of an outage: a number, or a duration with units.

    Raises:
        UserError: It is neither, or negative.
    """
    try:
        seconds = float(text)
    except ValueError:
        try:
            return duration_s(text)
        except ValueError as error:
            raise UserError("bad-option", f"--outage: {error}", rule=RULE) from None
    if not 0.0 <= seconds < float("inf"):
        rule = "it is a number of seconds of at least 0"
        raise UserError("bad-option", f"--outage is {text}", rule=rule)
    return seconds


def show_assessment(assessment: Assessment, outage_s: float | None) -> None:
    """Print it for people: a row a table, then what it comes to and what it assumes."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    grid.add_column("table")
    titles = ["update", "share", "period", "in recovery", "late by", "response", "stale by"]
    if outage_s is not None:
        titles.append("recovers in")
    for title in titles:
        grid.add_column(title, justify="right")
    for table, guarantee, recovery_s in zip(
        assessment.tables, assessment.guarantees, assessment.recovery_s, strict=True
    ):
        share = guarantee.share
        times_s = [
            share.period_s,
            share.recovery_period_s,
            guarantee.tardiness_s,
            guarantee.response_s,
            guarantee.staleness_s,
        ]
        if outage_s is not None:
            times_s.append(recovery_s)
        cells = ["-" if time_s is None else brief_s(time_s) for time_s in times_s]
        shown = [f"{share.execution_s:.3g} s", f"{100 * share.utilisation:.1f} %", *cells]
        grid.add_row(table.name, *shown)
    console().print(grid)
    print("\n".join(conclusions(assessment)))


def conclusions(assessment: Assessment) -> list[str]:
    """What it comes to, in sentences."""
    tracks = counted(assessment.tracks, "track")
    needed = assessment.tracks_needed
    lines = [f"The tables keep {assessment.utilisation:.3g} of {tracks} busy."]
    if assessment.is_schedulable:
        lines.append("Every bound holds as long as no update takes longer than 'update' says")
        lines.append("and no feed brings more than its period promises.")
        if needed is not None and needed < assessment.tracks:
            lines.append(f"{counted(needed, 'track')} would be enough.")
        return lines
    if needed is None:
        over = [
            table.name
            for table, guarantee in zip(assessment.tables, assessment.guarantees, strict=True)
            if guarantee.share.utilisation > 1.0
        ]
        lines.append("No number of tracks is enough: an update of one period's data takes longer")
        lines.append(
            f"than the period, or than the recovery period, for {', '.join(over) or 'some'}."
        )
    else:
        lines.append(f"That is too much: {counted(needed, 'track')} would be enough.")
    pairs = zip(assessment.tables, assessment.guarantees, strict=True)
    costly = sorted(pairs, key=lambda pair: -pair[1].share.utilisation)[:_COSTLIEST]
    named = ", ".join(f"{table.name} ({item.share.utilisation:.2f})" for table, item in costly)
    lines.append(f"Most costly: {named} of a track.")
    return lines
