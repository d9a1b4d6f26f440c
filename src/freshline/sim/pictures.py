"""What the pictures of simulations have in common: how one is begun, and how it is saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from freshline.core.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def blank(width: float, height: float) -> Figure:
    """A figure of so many inches, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture; the path's ending decides the format (png, svg, pdf).

    Raises:
        UserError: The file cannot be written, or its format is not known.
    """
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise UserError(
            "unwritable-file",
            f"cannot write the picture {path}: {error}",
            next_step="Give a path that can be written, ending in .png, .svg or .pdf.",
        ) from error
