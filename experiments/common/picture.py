"""Pictures as SVG that are the same, byte for byte, for the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GREY = "0.6"


@contextmanager
def axes_of(path: Path, columns: int = 1, lines: int = 1, **settings: Any) -> Iterator[list[Any]]:
    """Axes to draw on, by line and column; saved to ``path`` at the end.

    Args:
        path: Where to; its folder's name makes the picture's identifiers its own.
        columns, lines: Of the axes.
        settings: For matplotlib's ``subplots`` (``sharex`` and so on).
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": path.parent.name, "font.size": 9}):
        size = settings.pop("figsize", (max(5.5, 4.2 * columns), 1.0 + 2.9 * lines))
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(lines, columns, squeeze=False, **settings)
        yield list(axes.flat)
        figure.savefig(path, metadata={"Date": None})
