"""The thirteen reports under other input than predicted: what figures 10 and 11 share."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.common.report_grid import Cell
from experiments.common.reports import PROFILES, Scene
from experiments.common.size import Size
from freshline.reports.policies import ReportPolicy

PAPER = ("edf", "llf", "sjf", "rr")
REANCHORED, JOINT = "llf reanchored", "joint"
SLOWER = ("VR3", "VR4")
_QUICK = ("FR", "VR3")
"""Where tests play the last two."""


def cells(size: Size, factor: float, slack_factor: float) -> Iterator[Cell]:
    """A cell for every profile and policy: the paper's as it printed them, and ours."""
    for profile, arrived_s in PROFILES.items():
        scene = Scene(factor, arrived_s)
        for name in PAPER:
            settings = ReportPolicy(name, slack_factor=slack_factor, reanchor=False)
            yield Cell(profile, name, scene, settings)
        if not size.quick or profile in _QUICK:
            reanchored = ReportPolicy("llf", slack_factor=slack_factor)
            yield Cell(profile, REANCHORED, scene, reanchored, orders=5)
            yield Cell(profile, JOINT, scene, ReportPolicy(JOINT), orders=3)
