"""``freshline simulate``: play a scenario on the product's own scheduling core."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from freshline.cli.output import console, counted, percent, print_json
from freshline.core.errors import UserError
from freshline.core.kept import Kept
from freshline.project.yamlfile import YamlFile
from freshline.sim.bounds import Bound, bounds_of, tracks_needed
from freshline.sim.result import Result, simulate_updates
from freshline.sim.scenario_file import scenario_in
from freshline.sim.trace import Finished, line_writer

_LONG_S = 1.0
"""A run that takes longer shows how far it is."""


def simulate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, YAML or JSON.")],
    # Not ``as_json``: the contract wants nothing on standard output when a scenario is wrong.
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
        bool, typer.Option("--bounds", help="Print what theory proves of the run as well.")
    ] = False,
) -> None:
    """Play a scenario of updates, reports or queues and tell what came of it."""
    document = YamlFile(file, shown_as=str(file))
    keys = document.data if isinstance(document.data, dict) else {}
    if "ticks" in keys:
        _refuse(plot is not None or bounds or trace is not None, "ticks", "--json")
        _simulate_queues(document, json_out=json_out)
    elif "reports" in keys:
        _refuse(plot is not None or bounds, "reports", "--json and --trace")
        _simulate_reports(document, json_out=json_out, trace=trace)
    else:
        _simulate_updates(document, json_out=json_out, trace=trace, plot=plot, bounds=bounds)


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

    with _written(trace) as lines:
        record = simulate_reports(document, lines)
    if json_out:
        print_json(record)
    else:
        print(render_simulation(record))


def _simulate_updates(
    document: YamlFile, *, json_out: bool, trace: Path | None, plot: Path | None, bounds: bool
) -> None:
    scenario = scenario_in(document)
    kept: list[Finished] = []
    sinks: list[Callable[[Finished], None]] = []
    with ExitStack() as stack:
        lines = stack.enter_context(_written(trace))
        if lines is not None:
            sinks.append(line_writer(lines))
        if plot is not None:
            sinks.append(kept.append)
        on_progress = stack.enter_context(_progress(scenario.horizon_s))
        result = simulate_updates(
            scenario, on_finished=_to_all(sinks) if sinks else None, on_progress=on_progress
        )
    if plot is not None:
        from freshline.sim.plot import draw  # a third of a second, only for pictures

        draw(result, kept, plot)
    proven = bounds_of(scenario, result.played) if bounds else {}
    if json_out:
        record = result.record()
        if bounds:
            record["bounds"] = {name: bound.record() for name, bound in proven.items()}
        print_json(record)
    else:
        _show(result)
        _show_bounds(result, proven)


def _to_all(sinks: list[Callable[[Finished], None]]) -> Callable[[Finished], None]:
    if len(sinks) == 1:
        return sinks[0]

    def hand_on(finished: Finished) -> None:
        for sink in sinks:
            sink(finished)

    return hand_on


@contextmanager
def _written(path: Path | None) -> Iterator[TextIO | None]:
    """The file at ``path`` to write to; None without a path."""
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(
            "unwritable-file",
            f"cannot write the trace {path}: {error.strerror}",
            next_step="Give a path that can be written.",
        ) from error
    with file:
        yield file


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


def _show(result: Result) -> None:
    from rich.table import Table as Grid

    record = result.record()
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("table")
    kept = result.played.kept
    headings = ["priority", "mean staleness", "largest", "freshness at the end", "share"]
    if kept is not None:
        headings += ["target", "within it", "executor"]
    for heading in headings:
        grid.add_column(heading, justify="right")
    total = record["weighted_staleness"]
    for spec in result.scenario.tables:
        measured = result.played.staleness[spec.name]
        share = spec.priority * measured.integral_s2 / total if total else 0.0
        figures = record["staleness"][spec.name]
        grid.add_row(
            spec.name,
            f"{spec.priority:g}",
            f"{figures['mean']:,.3f} s",
            f"{figures['max']:,.3f} s",
            f"{figures['final_freshness']:,.3f}",
            f"{share:.1%}",
            *(() if kept is None else _kept_cells(kept[spec.name], result.scenario.horizon_s)),
        )
    out = console()
    out.print(grid)
    out.print()
    lateness, stretch = record["relative_lateness"], record["stretch"]
    scenario = result.scenario
    lines = [
        ("weighted staleness", f"{total:,.6g}"),
        ("relative lateness", "no staleness" if lateness is None else f"{lateness:,.4f}"),
        ("stretch", "nothing loaded" if stretch is None else f"{stretch:,.4f}"),
        ("low, penalty", f"{record['low']:,.6g}, {record['penalty']:,.6g}"),
        ("updates", counted(record["jobs"], "update") + " finished"),
        ("events", f"{record['events']:,} in {scenario.horizon_s:,g} s"),
        ("policy", f"{scenario.policy.name} on {counted(scenario.tracks, 'track')}"),
    ]
    if kept is not None:
        lines.append(("executor", f"{record['executor_seconds']:,.3f} s"))
        lines.append(("objective", scenario.policy.objective))
    if record["lower_bound"] is not None:
        lines.insert(2, ("lower bound", f"{record['lower_bound']:,.6g}"))
    for name, value in lines:
        out.print(f"{name:<20}{value}")


def _kept_cells(kept: Kept, horizon_s: float) -> list[str]:
    share = kept.share(horizon_s)
    return [
        "" if kept.target_s is None else f"{kept.target_s:,g} s",
        "" if share is None else percent(share),
        f"{kept.executor_s:,.3f} s",
    ]


def _show_bounds(result: Result, proven: dict[str, Bound]) -> None:
    if not proven:
        return
    out = console()
    out.print()
    names = {
        "low": "staleness >= LOW/2",
        "penalty": "staleness <= penalty/2",
        "theorem_3_1": "penalty (Theorem 3.1)",
        "theorem_4_3": "stretch (Theorem 4.3)",
        "utilisation": "load to carry",
    }
    for name, bound in proven.items():
        if bound.limit is None:
            said = f"not proven: {bound.why_not}"
        elif bound.measured is None:
            said = f"limit {bound.limit:,.6g}, nothing measured"
        else:
            sign = ">=" if bound.at_least else "<="
            broken = "  too much" if name == "utilisation" else "  BROKEN"
            kept = "" if bound.holds else broken
            said = f"{bound.measured:,.6g} {sign} {bound.limit:,.6g}{kept}"
        out.print(f"{names[name]:<24}{said}")
    needed = tracks_needed(result.scenario)
    if needed > result.scenario.tracks:
        out.print(f"these tables need {counted(needed, 'track')} whatever the policy")
