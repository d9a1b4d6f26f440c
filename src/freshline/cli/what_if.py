"""``freshline simulate --from-run`` and ``--sweep target``: asking, and showing the answers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from freshline.cli.options import opened
from freshline.core.errors import UserError
from freshline.core.objective.just_in_time import OBJECTIVES
from freshline.core.recorded import RecordedRun
from freshline.core.registry import policy_called, policy_names
from freshline.project.sections.settings import MOST_TRACKS
from freshline.project.yaml.durations import RULE, duration_s
from freshline.project.yaml.numbers import PRIORITY_RULE, priority_in, whole_number
from freshline.render.output import console, counted, percent, print_json, shortened
from freshline.runtime.status.measured import measured
from freshline.runtime.status.recorded_run import last_run
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.whatif.sweep import Point, Sweep, sweep_run, sweep_scenario
from freshline.sim.whatif.what_if import (
    Comparison,
    Outcome,
    Variations,
    compared,
    with_priorities,
    with_targets,
)
from freshline.times import brief_s

_SWEPT_PERIODS = 100.0
_SWEPT_FILES = 20_000.0
"""A project's learned costs are played for so many of its longest period or target, or until so
many files have come, if that is sooner: a curve is 16 simulations."""


def wishes_in(
    policies: str | None,
    tracks: str | None,
    objectives: str | None,
    priorities: Sequence[str],
    targets: Sequence[str] = (),
) -> Variations:
    """What the options ask for.

    Raises:
        UserError: One of them cannot be read.
    """
    return Variations(
        policies=tuple(map(policy_called, _names("--policy", policies, policy_names()))),
        tracks=tuple(_whole(each) for each in _parts(tracks)),
        objectives=_names("--objective", objectives, list(OBJECTIVES)),
        priorities=dict(_priority(each) for each in priorities),
        lags_s=dict(_target(each) for each in targets),
    )


def recorded(
    directory: Path | None, run: int | None, variations: Variations
) -> tuple[RecordedRun, Variations]:
    """The run to play, and the variations with the targets that the project has now.

    Raises:
        UserError: There is no such project or run.
    """
    project = opened(directory)
    targets = {
        table.name: (table.target_lag_s, table.target_downstream) for table in project.tables
    }
    return last_run(project, run), replace(variations, targets=targets)


def learned(directory: Path | None, variations: Variations) -> Scenario:
    """The project as a scenario: what its updates cost in the mean, feeds as often as they come.

    Phases are spread evenly, since a project does not say at what second a feed brings its files.

    Raises:
        UserError: There is no such project, some table was never updated, or a priority or a target
            is given for a table that it does not have.
    """
    project = opened(directory)
    of = f"project {project.name}"
    specs = with_priorities(measured(project).specs, variations.priorities or {}, of)
    specs = with_targets(specs, variations.lags_s or {}, of)
    bases = [spec for spec in specs if not spec.sources]
    feeds, phased = {}, {}
    for number, spec in enumerate(bases):
        assert spec.period_s is not None, "a feed without a period is given a first guess"
        phase_s = spec.period_s * (number + 1) / len(bases)
        feeds[spec.name] = FeedSpec(phase_s, spec.period_s)
        phased[spec.name] = replace(spec, phase_s=phase_s)
    files_a_second = sum(1.0 / feed.period_s for feed in feeds.values())
    lags_s = [spec.target_lag_s or 0.0 for spec in specs]
    longest_s = max([*(spec.period_s or 0.0 for spec in specs), *lags_s])
    settings = project.scheduler
    if variations.policies:
        settings = replace(settings, policy=variations.policies[0])
    return Scenario(
        horizon_s=min(_SWEPT_PERIODS * longest_s, _SWEPT_FILES / files_a_second),
        seed=1,
        tracks=variations.tracks[0] if variations.tracks else project.scheduler.tracks,
        settings=settings,
        low=1.0,
        high=1.0,
        slowdown=None,
        tables=tuple(phased.get(spec.name, spec) for spec in specs),
        feeds=feeds,
    )


def compare(run: RecordedRun, variations: Variations, *, json_out: bool) -> None:
    """Print the run beside what else could have come of it."""
    found = compared(run, variations)
    if json_out:
        print_json(found.record())
    else:
        _show_comparison(found)


def sweep(
    of: Scenario | RecordedRun,
    variations: Variations,
    *,
    json_out: bool,
    csv_out: Path | None,
    plot: Path | None,
) -> None:
    """Draw the curve of freshness against cost.

    Raises:
        UserError: A file cannot be written, or something does not fit.
    """
    swept = sweep_scenario(of) if isinstance(of, Scenario) else sweep_run(of, variations)
    if csv_out is not None:
        _write_csv(swept, csv_out)
    if plot is not None:
        from freshline.sim.whatif.plot_sweep import (
            draw_sweep,  # a third of a second, only for pictures
        )

        draw_sweep(swept, plot)
    if json_out:
        print_json(swept.record())
    else:
        _show_sweep(swept)


# ---- reading ----


def _parts(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",")]


def _names(option: str, text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    names = tuple(_parts(text))
    for name in names:
        if name not in known:
            raise UserError(
                "bad-option",
                f"{option} has '{name}'",
                rule=f"known are {', '.join(known)}",
                next_step="Use some of them, separated by commas.",
            )
    return names


def _whole(text: str) -> int:
    if (number := whole_number(text, MOST_TRACKS)) is not None:
        return number
    raise UserError(
        "bad-option",
        f"--tracks has '{shortened(text, 80)}'",
        rule=f"they are whole numbers from 1 to {MOST_TRACKS:,}, separated by commas",
        next_step="Correct it.",
    )


def _priority(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    priority = priority_in(number)
    if not name or priority is None:
        raise UserError(
            "bad-option",
            f"--priority is '{shortened(text, 80)}'",
            rule=f"it is TABLE=NUMBER; {PRIORITY_RULE}",
            next_step="Correct it.",
        )
    return name, priority


def _target(text: str) -> tuple[str, float]:
    name, _, written = text.rpartition("=")
    try:
        lag_s = duration_s(written)
    except ValueError as error:
        raise UserError(
            "bad-option",
            f"--target is '{text}': {error}",
            rule=f"it is TABLE=DURATION; {RULE}",
            next_step="Correct it.",
        ) from error
    if not name:
        raise UserError(
            "bad-option",
            f"--target is '{text}'",
            rule=f"it is TABLE=DURATION; {RULE}",
            next_step="Correct it.",
        )
    return name, lag_s


# ---- showing ----


def _show_comparison(found: Comparison) -> None:
    from rich.table import Table as Grid

    run = found.history.run
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("")
    outcomes = [found.happened, *found.played]
    titles = ["as it was", *(_title(outcome) for outcome in found.played)]
    for title in titles:
        grid.add_column(title, justify="right")
    basis = found.happened.weighted_staleness_s2
    grid.add_row("weighted staleness", *(_weighted(outcome, basis) for outcome in outcomes))
    grid.add_row("within targets", *(_share(outcome.within) for outcome in outcomes))
    grid.add_row("executor", *(f"{outcome.executor_s:,.1f} s" for outcome in outcomes))
    grid.add_row("updates", *(f"{outcome.updates:,}" for outcome in outcomes))
    for name in found.priorities:
        grid.add_row(name, *(_staleness(outcome, name) for outcome in outcomes))
    out = console()
    seconds = brief_s(run.end_s - run.start_s)
    out.print(
        f"run {run.number}, {seconds}: {run.settings.policy} on {counted(run.tracks, 'track')}, "
        f"objective {run.settings.objective}; each table: mean and largest staleness, share of "
        "time within its target"
    )
    out.print(grid)
    for note in found.notes:
        out.print(f"note: {note}")


def _title(outcome: Outcome) -> str:
    objective = "" if outcome.objective == OBJECTIVES[0] else f", {outcome.objective}"
    return f"{outcome.policy}, {counted(outcome.tracks, 'track')}{objective}"


def _weighted(outcome: Outcome, basis: float) -> str:
    weighted = outcome.weighted_staleness_s2
    return f"{weighted:,.4g} ({weighted / basis:.2f})" if basis else f"{weighted:,.4g}"


def _staleness(outcome: Outcome, name: str) -> str:
    figures = outcome.tables[name]
    if figures.mean_s is None or figures.max_s is None:
        return "no data"
    shown = f"{brief_s(figures.mean_s)}, {brief_s(figures.max_s)}"
    return shown if figures.within is None else f"{shown}, {percent(figures.within)}"


def _share(share: float | None) -> str:
    return "no target" if share is None else percent(share)


def _show_sweep(swept: Sweep) -> None:
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for heading in (
        "targets", "least target", "mean staleness", "largest", "within", "executor", "updates",
    ):  # fmt: skip
        grid.add_column(heading, justify="right")
    for point in (swept.eager, *swept.points):
        grid.add_row(*_cells(point))
    out = console()
    if swept.invented:
        out.print("no table has a target: those that nothing is derived from get the same one")
    out.print(grid)


def _cells(point: Point) -> list[str]:
    return [
        "as fresh as can be" if point.factor is None else f"x {point.factor:.3g}",
        brief_s(point.target_s),
        brief_s(point.staleness_s),
        brief_s(point.max_staleness_s),
        _share(point.within),
        f"{point.executor_s:,.1f} s",
        f"{point.updates:,}",
    ]


def _write_csv(swept: Sweep, path: Path) -> None:
    records = [point.record() for point in (swept.eager, *swept.points)]
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    except OSError as error:
        raise UserError(
            "unwritable-file",
            f"cannot write the table {path}: {error.strerror}",
            next_step="Give a path that can be written.",
        ) from error
