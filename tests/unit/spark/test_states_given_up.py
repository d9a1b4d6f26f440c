"""States that no update goes on from are removed once they are old."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

from freshline.delta.states import remove_given_up, remove_of_others
from freshline.delta.stores import use
from tests.support.s3_server import S3Server
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


def test_states_of_views_that_left_the_project_go_when_they_are_old(tmp_path):
    project = made_project(tmp_path, {"orders": (), "total": ("orders",)})
    for view, age_s in (("total", 30 * _DAY_S), ("before", 8 * _DAY_S), ("just", 6 * _DAY_S)):
        state(project, view, "s", age_s)
        folder = Path(project.own_path) / "state" / view
        os.utime(folder, (NOW_S - age_s, NOW_S - age_s))
    assert remove_of_others(project, NOW_S) == ["before"]
    left = sorted(os.listdir(Path(project.own_path) / "state"))  # noqa: PTH208
    assert left == ["just", "total"]


def test_states_in_an_object_store_go_as_well(tmp_path):
    with S3Server() as server:
        use(server.settings)
        made = made_project(tmp_path, {"orders": (), "total": ("orders",)})
        project = dataclasses.replace(made, storage="s3a://lake/shop")
        for name in ("total/now", "total/before", "gone/s"):
            key = f"shop/_freshline/state/{name}/_delta_log/0.json"
            server.client().put_object(Bucket="lake", Key=key, Body=b"")
        assert remove_given_up(project, "total", ["now"], time.time()) == []
        later_s = time.time() + 8 * _DAY_S
        assert remove_given_up(project, "total", ["now"], later_s) == ["before"]
        assert remove_of_others(project, later_s) == ["gone"]
        left = [name for name in server.names() if name.endswith(".json")]
        assert left == ["shop/_freshline/state/total/now/_delta_log/0.json"]
        use({})
