"""``freshline simulate``: play a scenario on the product's own scheduling core."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

from freshline.cli.options import ProjectDir
from freshline.core.errors import UserError
from freshline.core.recorded import RecordedRun
from freshline.project.yaml.file import YamlFile
from freshline.render.output import console, print_json
from freshline.render.simulated import show_bounds, show_result
from freshline.sim.plot import Drawing, draw
from freshline.sim.result import simulate_updates
from freshline.sim.scenario.file import scenario_in
from freshline.sim.scenario.model import Scenario
from freshline.sim.theory.bounds import bounds_of, tracks_needed
from freshline.sim.trace import Finished, line_writer

_LONG_S = 1.0
"""A run that takes longer shows how far it is."""


def simulate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The scenario, YAML or JSON.", show_default=False),
    ] = None,
    *,
    # Not ``as_json``: nothing may be on standard output when a scenario is wrong.
    json_out: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on standard output.")
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="OUT.jsonl", help="Write a line per finished update."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="OUT.png", help="Draw staleness and tracks over time."),
    ] = None,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Also print the bounds that theory proves for the run.")
    ] = False,
    from_run: Annotated[
        bool,
        typer.Option("--from-run", help="Play the last recorded run of a project."),
    ] = False,
    project: ProjectDir = None,
    run: Annotated[
        int | None,
        typer.Option("--run", metavar="N", help="With --from-run: that run of the journal."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="A,B", help="With --from-run: under these policies."),
    ] = None,
    tracks: Annotated[
        str | None,
        typer.Option(
            "--tracks", metavar="N,M", help="With --from-run: with these numbers of tracks."
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option("--objective", metavar="A,B", help="With --from-run: for these objectives."),
    ] = None,
    priority: Annotated[
        list[str] | None,
        typer.Option(
            "--priority", metavar="TABLE=N", help="With --from-run: with other priorities."
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", metavar="TABLE=D", help="With --from-run: with other targets."),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            "--sweep",
            metavar="target",
            help="Freshness against cost under other targets, of FILE, of a run, or of a project "
            "by its learned costs.",
        ),
    ] = None,
    csv_out: Annotated[
        Path | None,
        typer.Option("--csv", metavar="OUT.csv", help="With --sweep: write its points."),
    ] = None,
) -> None:
    """Play a scenario or a recorded run, and report the result."""
    if from_run or sweep is not None:
        _what_if(
            file, from_run=from_run, project=project, run=run, policy=policy, tracks=tracks,
            objective=objective, priority=priority, target=target, sweep=sweep, csv_out=csv_out,
            plot=plot, json_out=json_out, others=trace is not None or bounds,
        )  # fmt: skip
        return
    asked = (run, policy, tracks, objective, priority, target, csv_out)
    if file is None or any(option is not None for option in asked):
        raise UserError(
            "no-scenario" if file is None else "unknown-option",
            "there is nothing to play"
            if file is None
            else "a scenario's file says its policy, tracks, objective, priorities, targets itself",
            rule="simulate plays a scenario's FILE, or the last run with --from-run",
            next_step="Give one of them." if file is None else "Leave the other options out.",
        )
    with _uncollected():
        document = YamlFile(file, shown_as=str(file))
    keys = document.data if isinstance(document.data, dict) else {}
    if "ticks" in keys:
        _refuse(plot is not None or bounds or trace is not None, "ticks", "--json")
        _simulate_queues(document, json_out=json_out)
    elif "reports" in keys:
        _refuse(plot is not None or bounds, "reports", "--json and --trace")
        _simulate_reports(document, json_out=json_out, trace=trace)
    else:
        with _uncollected():
            _simulate_updates(document, json_out=json_out, trace=trace, plot=plot, bounds=bounds)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector: what is made here lives to the end, and makes no cycles.

    With 10,000 tables, looking all of it over again and again costs as much as reading the file.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _what_if(
    file: Path | None,
    *,
    from_run: bool,
    project: Path | None,
    run: int | None,
    policy: str | None,
    tracks: str | None,
    objective: str | None,
    priority: list[str] | None,
    target: list[str] | None,
    sweep: str | None,
    csv_out: Path | None,
    plot: Path | None,
    json_out: bool,
    others: bool,
) -> None:
    """A recorded run beside what else could have been, or the curve of targets."""
    from freshline.cli import what_if

    wishes = what_if.wishes_in(policy, tracks, objective, priority or (), target or ())
    if sweep is not None and sweep != "target":
        raise UserError(
            "bad-option",
            f"--sweep is '{sweep}'",
            rule="the only known one is target",
            next_step="Use it.",
        )
    apart = (from_run and file is not None) or (run is not None and not from_run and file is None)
    if apart or others or (sweep is None and (csv_out or plot)):
        raise UserError(
            "unknown-option",
            "these options do not go together",
            rule="--from-run stands instead of FILE, without --trace and --bounds; "
            "--run goes with it; --csv and --plot go with --sweep",
            next_step="See `freshline simulate --help`.",
        )
    if sweep is not None and (
        len(wishes.policies) > 1 or len(wishes.tracks) > 1 or wishes.objectives
    ):
        raise UserError(
            "unknown-option",
            "--sweep draws one curve",
            rule="it takes one policy and one number of tracks, and no --objective",
            next_step="Ask for each curve by itself.",
        )
    played: Scenario | RecordedRun
    if file is not None:
        if (run, wishes) != (None, what_if.wishes_in(None, None, None, ())):
            raise UserError(
                "unknown-option",
                "a scenario's file says its policy, tracks, objective, priorities, targets itself",
                rule="--policy, --tracks, --objective, --priority, --target, --run need --from-run",
                next_step="Leave these options out.",
            )
        played = scenario_in(YamlFile(file, shown_as=str(file)))
    elif from_run:
        played, wishes = what_if.recorded(project, run, wishes)
    else:
        played = what_if.learned(project, wishes)
    if sweep is not None:
        what_if.sweep(played, wishes, json_out=json_out, csv_out=csv_out, plot=plot)
    else:
        assert not isinstance(played, Scenario), "without a sweep, only a run comes here"
        what_if.compare(played, wishes, json_out=json_out)


def _refuse(given: bool, kind: str, known: str) -> None:
    if given:
        raise UserError(
            "unknown-option",
            f"a scenario with '{kind}' takes only {known}",
            next_step="Leave the other options out.",
        )


def _simulate_queues(document: YamlFile, *, json_out: bool) -> None:
    from freshline.sim.queues import render_queues, simulate_queues

    record = simulate_queues(document)
    if json_out:
        print_json(record)
    else:
        print(render_queues(record))


def _simulate_reports(document: YamlFile, *, json_out: bool, trace: Path | None) -> None:
    from freshline.sim.reports import render_simulation, simulate_reports

    lines = StringIO()  # a wrong scenario must not empty the trace of another
    record = simulate_reports(document, lines)
    with _written(trace) as file:
        if file is not None:
            file.write(lines.getvalue())
    if json_out:
        print_json(record)
    else:
        print(render_simulation(record))


def _simulate_updates(
    document: YamlFile, *, json_out: bool, trace: Path | None, plot: Path | None, bounds: bool
) -> None:
    scenario = scenario_in(document)
    drawing: Drawing | None = None
    sinks: list[Callable[[Finished], None]] = []
    with ExitStack() as stack:
        lines = stack.enter_context(_written(trace))
        if lines is not None:
            sinks.append(line_writer(lines))
        if plot is not None:
            drawing = Drawing(scenario.horizon_s)
            sinks.append(drawing.add)
        on_progress = stack.enter_context(_progress(scenario.horizon_s))
        result = simulate_updates(
            scenario, on_finished=_to_all(sinks) if sinks else None, on_progress=on_progress
        )
    if plot is not None and drawing is not None:
        draw(result, drawing, plot)
    proven = bounds_of(scenario, result.played) if bounds else {}
    if json_out:
        record = result.record()
        if bounds:
            record["bounds"] = {name: bound.record() for name, bound in proven.items()}
            record["tracks_needed"] = tracks_needed(scenario)
        print_json(record)
    else:
        show_result(result)
        show_bounds(result, proven)


def _to_all(sinks: list[Callable[[Finished], None]]) -> Callable[[Finished], None]:
    if len(sinks) == 1:
        return sinks[0]

    def hand_on(finished: Finished) -> None:
        for sink in sinks:
            sink(finished)

    return hand_on


@contextmanager
def _written(path: Path | None) -> Iterator[_Trace | None]:
    """The file at ``path`` to write to; None without a path."""
    if path is None:
        yield None
        return
    with closing(_Trace(path)) as file:
        yield file


class _Trace:
    """The file of ``--trace``. Its own errors name it; errors from elsewhere do not.

    Raises:
        UserError: It cannot be written (``unwritable-file``); so do the methods.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise self._unwritable(error) from error

    def write(self, text: str) -> None:
        try:
            self._file.write(text)
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            "unwritable-file",
            f"cannot write the trace {self._path}: {error.strerror}",
            next_step="Give a path that can be written, on a disk with room.",
        )


@contextmanager
def _progress(horizon_s: float) -> Iterator[Callable[[float], None] | None]:
    """A bar on the terminal once a run turns out to be long."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    begun_s = time.monotonic()
    with ExitStack() as stack:
        shown: list[tuple[Progress, Any]] = []

        def advance(now_s: float) -> None:
            if not shown and time.monotonic() - begun_s > _LONG_S:
                bar = stack.enter_context(Progress(console=console(stderr=True), transient=True))
                shown.append((bar, bar.add_task("simulating", total=horizon_s)))
            for bar, task in shown:
                bar.update(task, completed=now_s)

        yield advance
