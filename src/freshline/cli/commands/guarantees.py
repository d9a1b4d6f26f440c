"""``freshline guarantees``: how late and how stale tables can get, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.core.aus.assessment import Assessment
from freshline.core.errors import UserError
from freshline.project.names import listed
from freshline.project.yaml.durations import RULE, duration_s
from freshline.render.output import console, counted, print_json
from freshline.runtime.reports.needs import ReportNeed, share_of
from freshline.times import brief_s

if TYPE_CHECKING:
    from rich.table import Table as Grid

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
    quantile: Annotated[
        float | None,
        typer.Option("--quantile", metavar="Q", help="Of a project: use this quantile of the"
                     " recorded durations, like 0.99, not their mean.",
                     show_default=False),
    ] = None,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Bound each table's tardiness, response and staleness, and say what tracks are needed."""
    outage_s = None if outage is None else length_s(outage)
    if quantile is not None and not 0.0 < quantile < 1.0:
        raise UserError(
            "bad-option",
            f"--quantile is {quantile:g}",
            rule="it is a number between 0 and 1, like 0.99",
            next_step="Correct it.",
        )
    if file is not None:
        _of_scenario(file, outage_s, quantile, as_json=as_json)
        return
    from freshline.runtime.status.guarantees import project_guarantees

    found = project_guarantees(opened(project), outage_s=outage_s, quantile=quantile)
    if as_json:
        print_json(found.record())
        return
    mean_s = {}
    for table in found.assessment.tables:
        alpha_s, beta = found.measured.mean[table.name]
        mean_s[table.name] = alpha_s + beta * table.period_s
    show_assessment(found.assessment, outage_s, mean_s if quantile is not None else None)
    if found.reports:
        console().print(report_grid(found.reports))
        print("\n".join(reports_in_words(found.reports, found.assessment)))
    print("\n".join(costs_in_words(quantile, found.measured.updates)))


def _of_scenario(
    file: Path, outage_s: float | None, quantile: float | None, *, as_json: bool
) -> None:
    from freshline.sim.scenario.file import read_scenario
    from freshline.sim.theory.guarantees import scenario_guarantees

    if quantile is not None:
        raise UserError(
            "bad-option",
            "--quantile does not go with a scenario",
            rule="a scenario says itself what updates take: alpha, beta, execution, wcet",
            next_step="Leave out FILE to judge the project, or leave out the option.",
        )
    assessment = scenario_guarantees(read_scenario(file, shown_as=str(file)), outage_s=outage_s)
    if as_json:
        print_json(assessment.record())
    else:
        show_assessment(assessment, outage_s)


def costs_in_words(quantile: float | None, updates: Mapping[str, int]) -> list[str]:
    """What the numbers of a project assume of its updates, in sentences."""
    if quantile is None:
        return [
            "'update' is the mean of what was recorded: about every second update takes longer.",
            "With --quantile 0.99 the bounds count with what all but one in a hundred kept.",
        ]
    fewest, name = min((count, name) for name, count in updates.items())
    kept = f"{100 * quantile:g} % of the recorded updates kept"
    lines = [
        f"'update' is what {kept}; an update that takes longer may break",
        f"the bounds. Table {name} has the fewest recorded: {counted(fewest, 'update')}.",
    ]
    if fewest * (1.0 - quantile) < 1.0:
        lines.append("With so few it is the longest of them, and says little about the next.")
    return lines


def report_grid(needs: Sequence[ReportNeed]) -> Grid:
    """A row a report."""
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    grid.add_column("report")
    for title in ("a window of", "rows", "batches", "takes", "share", "due after"):
        grid.add_column(title, justify="right")
    for need in needs:
        window = "once" if need.window_s is None else brief_s(need.window_s)
        known = ["-"] * 4
        if need.demand is not None:
            share = "-" if need.window_s is None else f"{100 * need.demand.share:.1f} %"
            takes = brief_s(need.demand.cost_s)
            known = [f"{need.rows:,}", f"{need.demand.batches:,}", takes, share]
        grid.add_row(need.name, window, *known, brief_s(need.delay_s))
    return grid


def reports_in_words(needs: Sequence[ReportNeed], assessment: Assessment) -> list[str]:
    """What reports can keep and what they leave, in sentences."""
    lent, share = assessment.lent, share_of(needs)
    lines = []
    if any(need.demand is not None for need in needs):
        last = "the only track" if assessment.tracks == 1 else "the last track"
        lines.append(f"Reports need {100 * share:.1f} % of {last}, their margin included.")
        if len(assessment.tables) < assessment.tracks:
            lines.append("The updates lose nothing: there are fewer tables than tracks.")
        elif lent.share < 1.0:
            lines.append(
                f"With what stands idle before their batches the updates lose"
                f" {100 * lent.share:.1f} % of it, and {brief_s(lent.burst_s)} at once at most."
            )
        else:
            lines.append("With what stands idle before their batches the updates lose all of it.")
    if share > 1.0:
        lines.append("One track does not hold them: some will be late.")
    for need in needs:
        if need.unknown:
            lines.append(f"Report {need.name} is not counted: {need.unknown}.")
        elif need.earliest_s is not None:
            lines.append(
                f"No plan of report {need.name} meets its deadline: at the earliest it is made"
                f" {brief_s(need.earliest_s)} after a window."
            )
    return lines


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
            raise UserError(
                "bad-option", f"--outage: {error}", rule=RULE, next_step="Correct it."
            ) from None
    if not 0.0 <= seconds < float("inf"):
        raise UserError(
            "bad-option",
            f"--outage is {text}",
            rule="it is a number of seconds of at least 0",
            next_step="Correct it.",
        )
    return seconds


def show_assessment(
    assessment: Assessment, outage_s: float | None, mean_s: Mapping[str, float] | None = None
) -> None:
    """Print it for people: a row a table, then what it comes to and what it assumes.

    Args:
        assessment: What is promised.
        outage_s: The outage that was asked about.
        mean_s: What an update takes on average, where the bounds count with more.
    """
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    grid.add_column("table")
    titles = ["update", "share", "period", "in recovery", "late by", "response", "stale by"]
    if mean_s is not None:
        titles.insert(0, "mean")
    if outage_s is not None:
        titles.append("recovers in")
    for title in titles:
        grid.add_column(title, justify="right")
    for table, guarantee, recovery_s in zip(
        assessment.tables, assessment.guarantees, assessment.recovery_s, strict=True
    ):
        share, held = guarantee.share, guarantee.promised
        times_s = [
            share.period_s,
            share.recovery_period_s,
            held.tardiness_s,
            held.response_s,
            held.staleness_s,
        ]
        if outage_s is not None:
            times_s.append(recovery_s if guarantee.holds else None)
        cells = ["-" if time_s is None else brief_s(time_s) for time_s in times_s]
        shown = [f"{share.execution_s:.3g} s", f"{100 * share.utilisation:.1f} %", *cells]
        if mean_s is not None:
            shown.insert(0, f"{mean_s[table.name]:.3g} s")
        grid.add_row(table.name, *shown)
    console().print(grid)
    print("\n".join(conclusions(assessment)))


def conclusions(assessment: Assessment) -> list[str]:
    """What it comes to, in sentences."""
    tracks = counted(assessment.tracks, "track")
    needed = assessment.tracks_needed
    lines = [f"The tables keep {assessment.utilisation:.3g} of {tracks} busy."]
    if assessment.is_schedulable:
        lines.append("Under policy aus every bound holds as long as no update takes longer than")
        lines.append("'update' says and no feed brings more than its period promises.")
        if assessment.lent.share > 0.0 or assessment.lent.burst_s > 0.0:
            lines.append("Reports are counted: they take what stands below and no more.")
        if needed is not None and needed < assessment.tracks:
            lines.append(f"{counted(needed, 'track')} would be enough.")
        return [*lines, *_stretch(assessment)]
    if needed is None:
        over = [
            table.name
            for table, guarantee in zip(assessment.tables, assessment.guarantees, strict=True)
            if guarantee.share.utilisation > 1.0
        ]
        lines.append("No number of tracks is enough: an update of one period's data takes longer")
        lines.append(
            f"than the period, or than the recovery period, for {listed(over) if over else 'some'}."
        )
    else:
        lines.append(f"That is too much: {counted(needed, 'track')} would be enough.")
    costly = assessment.costliest(_COSTLIEST)
    named = ", ".join(f"{name} ({share:.2f})" for name, share in costly)
    lines.append(f"Most costly: {named} of a track.")
    return [*lines, *_stretch(assessment)]


def _stretch(assessment: Assessment) -> list[str]:
    """The bound on stretch, where there is one."""
    bound = assessment.stretch.bound
    if bound is None:
        return []
    way = "from the first of its data to its table"
    return [f"No file takes {bound:g} times as long {way} as it covers (Bateni et al.)."]
