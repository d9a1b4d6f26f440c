"""The picture of a sweep: what each second of staleness costs."""

from __future__ import annotations

from pathlib import Path

from freshline.sim.pictures import blank, save
from freshline.sim.whatif.sweep import Sweep


def draw_sweep(swept: Sweep, path: Path) -> None:
    """Write the picture to ``path``; its ending decides the format (png, svg, pdf).

    Above: mean staleness against executor seconds, each point with its least target. Below: the
    share of time within targets, against the same.

    Raises:
        UserError: The file cannot be written, or its format is not known.
    """
    figure = blank(9, 7)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    seconds = [point.executor_s for point in swept.points]
    above.plot(seconds, [p.staleness_s for p in swept.points], "o-", label="mean, by priority")
    above.plot(seconds, [p.max_staleness_s for p in swept.points], "s:", label="largest")
    eager = swept.eager
    above.plot([eager.executor_s], [eager.staleness_s], "k*", label="as fresh as can be")
    for point in swept.points:
        above.annotate(
            f"{point.target_s:,.4g} s",
            (point.executor_s, point.staleness_s),
            textcoords="offset points",
            xytext=(4, 4),
            fontsize="small",
        )
    above.set_yscale("log")
    above.set_ylabel("staleness, s")
    above.legend(title="labels: the least target")
    shares = [100.0 * (point.within or 0.0) for point in swept.points]
    below.plot(seconds, shares, "o-")
    below.set_ylim(-5.0, 105.0)
    below.set_ylabel("time within\ntargets, %")
    below.set_xlabel("executor seconds")
    save(figure, path)
