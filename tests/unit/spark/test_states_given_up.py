"""States that no update goes on from are removed once they are old."""

from __future__ import annotations

import os
from pathlib import Path

from freshline.delta.states import remove_given_up
from tests.support.shop import made_project

_DAY_S = 86_400.0
NOW_S = 2_000_000_000.0


def state(project, view, name, age_s):
    folder = Path(project.own_path) / "state" / view / name
    (folder / "_delta_log").mkdir(parents=True)
    for each in (folder / "_delta_log", folder):
        os.utime(each, (NOW_S - age_s, NOW_S - age_s))


def test_states_that_the_last_commit_does_not_name_go_when_they_are_old(tmp_path):
    project = made_project(tmp_path, {"orders": (), "total": ("orders",), "other": ("orders",)})
    for name, age_s in (("now", 30 * _DAY_S), ("before", 8 * _DAY_S), ("just", 6 * _DAY_S)):
        state(project, "total", name, age_s)
        state(project, "other", name, age_s)
    assert remove_given_up(project, "total", ["now"], NOW_S) == ["before"]
    left = {view: sorted(os.listdir(Path(project.own_path) / "state" / view))  # noqa: PTH208
            for view in ("total", "other")}  # fmt: skip
    assert left == {"total": ["just", "now"], "other": ["before", "just", "now"]}
    assert remove_given_up(project, "orders", [], NOW_S) == []
