"""The picture of a run: staleness over time, and what ran on which track."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from freshline.core.errors import UserError
from freshline.sim.result import Result
from freshline.sim.trace import Finished

_LINES = 10
"""Tables with a line and a colour of their own: as many as eyes tell apart."""
_OTHERS = "0.75"


def draw(result: Result, trace: Sequence[Finished], path: Path) -> None:
    """Write the picture to ``path``; its ending decides the format (png, svg, pdf).

    The tables with the largest weighted staleness have colours, all others are grey.

    Args:
        result: The run.
        trace: Its finished updates, in order.
        path: Where to.

    Raises:
        UserError: The file cannot be written, or its format is not known.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colours = _colours(result)
    figure = Figure(figsize=(12, 7), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_staleness(above, result, trace, colours)
    _draw_tracks(below, result, trace, colours)
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise UserError(
            "unwritable-file",
            f"cannot write the picture {path}: {error}",
            next_step="Give a path that can be written, ending in .png, .svg or .pdf.",
        ) from error


def staleness_line(
    trace: Sequence[Finished], table: str, horizon_s: float
) -> tuple[list[float], list[float]]:
    """Times and staleness at the corners of ``table``'s saw-tooth, from 0 to the horizon."""
    times, values = [0.0], [0.0]
    freshness_s = 0.0
    for update in trace:
        if update.table == table:
            times += [update.finish_s, update.finish_s]
            values += [update.finish_s - freshness_s, update.finish_s - update.to_s]
            freshness_s = update.to_s
    return [*times, horizon_s], [*values, horizon_s - freshness_s]


def _colours(result: Result) -> dict[str, str]:
    weights = {table.name: table.priority for table in result.scenario.tables}
    integrals = result.played.staleness
    worst = sorted(weights, key=lambda name: -weights[name] * integrals[name].integral_s2)
    return {name: f"C{number}" for number, name in enumerate(worst[:_LINES])}


def _draw_staleness(
    axes: Any, result: Result, trace: Sequence[Finished], colours: dict[str, str]
) -> None:
    for name, colour in colours.items():
        times, values = staleness_line(trace, name, result.scenario.horizon_s)
        axes.plot(times, values, color=colour, linewidth=1.0, label=name)
    axes.set_ylabel("staleness, s")
    axes.set_ylim(bottom=0.0)
    left_out = len(result.scenario.tables) - len(colours)
    title = "largest weighted staleness first"
    axes.legend(
        loc="upper left",
        fontsize="small",
        title=f"{title}; {left_out} more not drawn" if left_out else title,
        ncols=2,
    )
    policy = result.scenario.policy.name
    axes.set_title(f"{policy}, {result.scenario.tracks} tracks, {result.played.updates} updates")


def _draw_tracks(
    axes: Any, result: Result, trace: Sequence[Finished], colours: dict[str, str]
) -> None:
    bars: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for update in trace:
        colour = colours.get(update.table, _OTHERS)
        bar = (update.start_s, update.finish_s - update.start_s)
        bars.setdefault((update.track, colour), []).append(bar)
    for (track, colour), spans in bars.items():
        axes.broken_barh(spans, (track - 0.4, 0.8), facecolors=colour, edgecolors="none")
    axes.set_xlim(0.0, result.scenario.horizon_s)
    axes.set_ylim(result.scenario.tracks - 0.5, -0.5)
    axes.set_yticks(range(result.scenario.tracks))
    axes.set_ylabel("track")
    axes.set_xlabel("time, s")
