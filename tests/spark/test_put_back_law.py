"""A law: whatever is put back from whichever copy, a view's next version equals its query.

Tables and states go back to copies of other moments, alone and together, and go on from there by
other rows, so that the same versions come again with other contents.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from freshline.spark.engine import jvm
from tests.spark.arrivals import Arrivals
from tests.spark.conftest import Shop
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

_STEPS = 14 if WHOLE else 7
_VIEWS = {
    "people": "SELECT person, count(*) AS n, sum(cents) AS cents FROM events GROUP BY person",
    "means": "SELECT person, avg(cents) AS mean FROM events GROUP BY person",
    "hourly": "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM events GROUP BY 1",
    "sizes": "SELECT n, count(*) AS people FROM people GROUP BY n",
    "costly": "SELECT id, at, person FROM events WHERE cents > 300",
}


class _Warehouse:
    """A table, views and their states, all of which can be copied and put back."""

    def __init__(self, shop: Shop, chance: random.Random) -> None:
        self._shop, self._chance = shop, chance
        self.arrivals = Arrivals(shop, chance)
        self._states = Path(shop.project.own_path) / "state"
        self._tables = [Path(shop.path(name)) for name in ("events", *_VIEWS)]
        self._copies: list[Path] = []

    def come(self, number: int) -> None:
        self.arrivals.come("events", self.arrivals.rows(number, 8))

    def go(self, number: int) -> None:
        self.arrivals.go("events", f"id % 5 = {number % 5}")

    def copy(self, number: int) -> None:
        copy = self._shop.root / f"copy {number}"
        for part in self._parts():
            shutil.copytree(part, copy / part.relative_to(self._shop.root))
        self._copies.append(copy)

    def put_back(self, number: int) -> None:
        if not self._copies:
            self.copy(number)
        copy, parts = self._chance.choice(self._copies), self._parts()
        for part in self._chance.sample(parts, self._chance.choice((1, 1, 2, len(parts)))):
            shutil.rmtree(part)
            before = copy / part.relative_to(self._shop.root)
            if before.exists():  # a state may not have been there yet
                shutil.copytree(before, part)
        spark = self._shop.session
        jvm.named(spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()
        self._shop.restart()

    def update(self) -> None:
        """Some views, parents first; each is compared with its query."""
        for name in _VIEWS:
            if self._chance.random() < 0.8:
                self.arrivals.update(name)

    def _parts(self) -> list[Path]:
        return [*self._tables, *sorted(self._states.glob("*"))]


@pytest.mark.parametrize("seed", share(range(24), part=24))
def test_a_view_equals_its_query_whatever_was_put_back(seed, shop):
    chance = random.Random(f"put back {seed}")
    shop.feed("events_feed", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
    shop.table("events", "SELECT * FROM STREAM events_feed")
    for name, query in _VIEWS.items():
        shop.table(name, query, refresh="incremental")
    warehouse = _Warehouse(shop, chance)
    warehouse.come(0)
    for name in _VIEWS:
        warehouse.arrivals.update(name)
    deeds = (warehouse.come, warehouse.go, warehouse.copy, warehouse.put_back)
    for number in range(_STEPS):
        (deed,) = chance.choices(deeds, (6, 1, 3, 3))
        deed(number)
        warehouse.update()
