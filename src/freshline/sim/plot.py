"""The picture of a run: staleness over time, and what ran on which track."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.sim.pictures import blank, save
from freshline.sim.result import Result
from freshline.sim.trace import Finished

_LINES = 10
"""Tables with a line and a colour of their own: as many as eyes tell apart."""
_OTHERS = "0.75"
_COLUMNS = 1440
"""As many as the picture has pixels: 12 inches of 120."""


@dataclass(slots=True)
class _Column:
    """What a table's staleness does within one column of the picture.

    Attributes:
        first_s, before_s: When its first update there finished, and the staleness until then.
        highest_s, lowest_s: Of all corners there.
        last_s, after_s: When its last update there finished, and the staleness from then on.
    """

    first_s: float
    before_s: float
    highest_s: float
    lowest_s: float
    last_s: float
    after_s: float


@dataclass(slots=True)
class _Bar:
    """What ran on a track: one update, or several that together are narrower than a column."""

    start_s: float
    seconds: float
    table: str
    longest_s: float


class Drawing:
    """Takes finished updates and keeps what a picture can show of them.

    At most a column's width of detail is kept, so memory does not grow with the number of
    updates; what is not narrower than a column is drawn as it was.

    Args:
        horizon_s: The end of the run.
    """

    def __init__(self, horizon_s: float) -> None:
        self.horizon_s = horizon_s
        self._column_s = horizon_s / _COLUMNS
        self._lines: dict[str, dict[int, _Column]] = {}
        self._freshness_s: dict[str, float] = {}
        self._bars: dict[int, dict[tuple[int, bool], _Bar]] = {}

    def add(self, update: Finished) -> None:
        """Take the next one in order of finish."""
        self._add_corner(update)
        self._add_bar(update)

    def _add_corner(self, update: Finished) -> None:
        finish_s = update.finish_s
        before_s = finish_s - self._freshness_s.get(update.table, 0.0)
        after_s = finish_s - update.to_s
        self._freshness_s[update.table] = update.to_s
        columns = self._lines.setdefault(update.table, {})
        at = int(finish_s / self._column_s)
        column = columns.get(at)
        if column is None:
            columns[at] = _Column(finish_s, before_s, before_s, after_s, finish_s, after_s)
            return
        column.highest_s = max(column.highest_s, before_s)
        column.lowest_s = min(column.lowest_s, after_s)
        column.last_s, column.after_s = finish_s, after_s

    def _add_bar(self, update: Finished) -> None:
        seconds = update.finish_s - update.start_s
        key = (int(update.start_s / self._column_s), seconds >= self._column_s)
        bars = self._bars.setdefault(update.track, {})
        bar = bars.get(key)
        if bar is None:
            bars[key] = _Bar(update.start_s, seconds, update.table, seconds)
            return
        bar.seconds += seconds
        if seconds > bar.longest_s:
            bar.table, bar.longest_s = update.table, seconds

    def line(self, table: str) -> tuple[list[float], list[float]]:
        """Times and staleness at the corners of ``table``'s saw-tooth, from 0 to the horizon."""
        times, values = [0.0], [0.0]
        for column in self._lines.get(table, {}).values():
            times += [column.first_s, column.first_s]
            if column.last_s == column.first_s:
                values += [column.before_s, column.after_s]
            else:
                times += [column.last_s, column.last_s]
                values += [column.before_s, column.lowest_s, column.highest_s, column.after_s]
        end_s = self.horizon_s - self._freshness_s.get(table, 0.0)
        return [*times, self.horizon_s], [*values, end_s]

    def bars(self) -> Iterator[tuple[int, str, float, float]]:
        """Track, table, start and seconds of everything that ran."""
        for track, bars in self._bars.items():
            for bar in bars.values():
                yield track, bar.table, bar.start_s, bar.seconds


def draw(result: Result, drawing: Drawing, path: Path) -> None:
    """Write the picture to ``path``; its ending decides the format (png, svg, pdf).

    The tables with the largest weighted staleness have colours, all others are grey.

    Args:
        result: The run.
        drawing: What it took of the run's updates.
        path: Where to.

    Raises:
        UserError: The file cannot be written, or its format is not known.
    """
    colours = _colours(result)
    figure = blank(12, 7)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_staleness(above, result, drawing, colours)
    _draw_tracks(below, result, drawing, colours)
    save(figure, path)


def _colours(result: Result) -> dict[str, str]:
    weights = {table.name: table.priority for table in result.scenario.tables}
    integrals = result.played.staleness
    worst = sorted(weights, key=lambda name: -weights[name] * integrals[name].integral_s2)
    return {name: f"C{number}" for number, name in enumerate(worst[:_LINES])}


def _draw_staleness(axes: Any, result: Result, drawing: Drawing, colours: dict[str, str]) -> None:
    for name, colour in colours.items():
        times, values = drawing.line(name)
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
    policy = result.scenario.settings.policy
    axes.set_title(f"{policy}, {result.scenario.tracks} tracks, {result.played.updates} updates")


def _draw_tracks(axes: Any, result: Result, drawing: Drawing, colours: dict[str, str]) -> None:
    bars: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for track, table, start_s, seconds in drawing.bars():
        colour = colours.get(table, _OTHERS)
        bars.setdefault((track, colour), []).append((start_s, seconds))
    for (track, colour), spans in bars.items():
        axes.broken_barh(spans, (track - 0.4, 0.8), facecolors=colour, edgecolors="none")
    axes.set_xlim(0.0, result.scenario.horizon_s)
    axes.set_ylim(result.scenario.tracks - 0.5, -0.5)
    axes.set_yticks(range(result.scenario.tracks))
    axes.set_ylabel("track")
    axes.set_xlabel("time, s")
