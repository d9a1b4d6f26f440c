"""The input profiles (figure 9) as figures 10 and 11 use them here.

Source: Chandrasekaran and Sudarshan 2024, section 7.4, which shows them as a picture only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.reports import PROFILES, TUPLES, WINDOW_S
from experiments.common.size import Size

HERE = Path(__file__).parent
EVERY_S = 60


def play(_size: Size) -> list[Row]:
    """Tuples there by time, a row a minute, until the last of all profiles is there."""
    last_s = max(arrived_s[-1] for arrived_s in PROFILES.values())
    times = [*range(0, int(last_s) + 1, EVERY_S), int(last_s)]
    return [
        {"time_s": str(time_s)}
        | {name: str(bisect_right(arrived_s, time_s)) for name, arrived_s in PROFILES.items()}
        for time_s in times
    ]


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What 7.4 says of them."""
    last_s = {name: arrived_s[-1] for name, arrived_s in PROFILES.items()}
    late = {name: at_s - WINDOW_S for name, at_s in last_s.items()}
    jumps = {name: max(int(b[name]) - int(a[name]) for a, b in pairwise(rows)) for name in PROFILES}
    return [
        Finding("FR: the fixed rate", f"the last at {last_s['FR']:.0f}", late["FR"] == 0.0),
        Finding(
            "VR1 and VR2 are faster",
            f"the last at {last_s['VR1']:.0f} and {last_s['VR2']:.0f}",
            late["VR1"] < 0.0 and late["VR2"] < 0.0,
        ),
        Finding(
            "VR2 comes in bursts",
            f"up to {jumps['VR2']} tuples a minute, VR1 {jumps['VR1']}",
            jumps["VR2"] > 1.5 * jumps["VR1"],
        ),
        Finding(
            "VR3 ends 20 s, VR4 7 s late",
            f"{late['VR3']:.0f} s and {late['VR4']:.0f} s",
            late["VR3"] == 20.0 and late["VR4"] == 7.0,
        ),
        Finding(
            "all bring the same tuples",
            ", ".join(sorted({rows[-1][name] for name in PROFILES})),
            all(rows[-1][name] == str(TUPLES) for name in PROFILES),
        ),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Tuples there over time."""
    times = [int(row["time_s"]) for row in rows]
    with axes_of(path) as (axis,):
        for name in PROFILES:
            axis.step(times, [int(row[name]) for row in rows], where="post", label=name)
        axis.set(xlabel="time, s", ylabel="tuples (files)")
        axis.legend()


EXPERIMENT = Experiment(HERE, play, findings, draw)
