"""States beside views, put back from copies and written to by others: never merged with."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import deltalake
import pytest

from freshline.spark.views import state
from tests.spark.arrivals import Arrivals
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark

MEANS = "SELECT person, avg(cents) AS mean FROM events GROUP BY person"


@pytest.fixture(scope="module")
def three_updates(spark, tmp_path_factory) -> Arrivals:
    """A view beside a state that the third update merged into."""
    shop = Shop(tmp_path_factory.mktemp("means"), spark)
    shop.feed("events_feed", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
    shop.table("events", "SELECT * FROM STREAM events_feed")
    shop.table("means", MEANS, refresh="incremental")
    arrivals = Arrivals(shop, random.Random(11))
    arrivals.come("events", arrivals.rows(0, 40))
    arrivals.update("means")
    for hour in (1, 2):
        step(arrivals, hour)
    return arrivals


@pytest.fixture
def arrivals(shop: Shop, three_updates: Arrivals) -> Arrivals:
    """The same in a copy."""
    shop.begin_as(three_updates.shop)
    return replace(three_updates, shop=shop, chance=random.Random(12))


def step(arrivals: Arrivals, hour: int) -> str:
    """More rows, and an update of the view; its code. It is compared with its query."""
    arrivals.come("events", arrivals.rows(hour, 10))
    result = arrivals.update("means")
    assert result.strategy in ("group-merge", "full")
    return result.code


def put_back(copy: Path, path: Path) -> None:
    shutil.rmtree(path)
    shutil.copytree(copy, path)


def test_a_state_and_its_view_from_copies_of_different_moments(shop, arrivals):
    states = Path(shop.project.own_path) / "state" / "means"
    view = Path(shop.path("means"))
    older, older_view, newer_view = (shop.root / name for name in ("older", "view", "newer"))
    shutil.copytree(states, older)
    shutil.copytree(view, older_view)
    assert [step(arrivals, hour) for hour in (3, 4)] == ["merges", "merges"]
    shutil.copytree(view, newer_view)
    # Both go back, and reach the same versions by other rows.
    put_back(older, states)
    put_back(older_view, view)
    shop.restart()
    assert [step(arrivals, hour) for hour in (5, 6)] == ["merges", "merges"]
    # The view alone, as it was before that: its commit names a version that the state has.
    put_back(newer_view, view)
    shop.restart()
    assert [step(arrivals, hour) for hour in (7, 8)] == ["state-built", "merges"]


def test_a_folder_of_states_that_was_away_and_comes_back(shop, arrivals):
    states = Path(shop.project.own_path) / "state"
    states.rename(states.with_name("aside"))
    shop.restart()
    codes = [step(arrivals, hour) for hour in (3, 4, 5)]
    assert codes == ["changes-gone", "state-built", "merges"]
    put_back(states.with_name("aside"), states)
    shop.restart()
    codes = [step(arrivals, hour) for hour in (7, 8)]
    assert codes == ["state-built", "merges"]


def test_an_append_of_others_between_the_look_and_the_commit(shop, arrivals, monkeypatch):
    (name,) = arrivals.facts("means")["state"]["versions"]
    path = f"{shop.project.own_path}/state/means/{name}"

    def append(where: str) -> None:
        if where == "state.before_commit":
            patch.undo()
            there = deltalake.DeltaTable(path).to_pyarrow_table()
            deltalake.write_deltalake(path, there.slice(0, 2), mode="append")

    with monkeypatch.context() as patch:
        patch.setattr(state, "failpoint", append)
        assert step(arrivals, 3) == "changed-by-others"
    assert [step(arrivals, hour) for hour in (4, 5)] == ["state-built", "merges"]
