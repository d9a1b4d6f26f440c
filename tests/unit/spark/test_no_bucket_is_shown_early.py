"""No bucket of a final view is shown before all rows of it are there, whatever clocks are between.

The oracle knows when a thing happens, what its row's time becomes in each table, by Python's own
zones, and that a base table has the row once it is fresh up to then. What the product says is only
from when on it shows a bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from freshline.core.errors import Place
from freshline.project.model import Project, TableDef
from freshline.spark.views.emission import emission
from freshline.spark.views.holds import Holds
from freshline.spark.views.timesets import spread_us
from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.records import Buckets, Reason, Source, ViewPlan
from freshline.sql.query.zone import DAY_US, HOUR_US, zone

HERE = Place("tables/a.sql", 1)
NO = Reason("NO", "not asked for")
FRESH = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",  # a midnight is skipped, and one comes twice
    "Pacific/Honolulu",
    "Pacific/Kiritimati",
    "Asia/Kolkata",
)
EPOCH, US = datetime(1970, 1, 1), timedelta(microseconds=1)  # noqa: DTZ001 - a wall clock's

# A TIMESTAMP is an instant, the others are what a clock shows, all in microseconds since 1970.
Step = Callable[[str, int, ZoneInfo], int]


def shown(at_us: int, clock: ZoneInfo) -> int:
    """What a clock shows at an instant."""
    at = (EPOCH + at_us * US).replace(tzinfo=UTC).astimezone(clock)
    return (at.replace(tzinfo=None) - EPOCH) // US


def instant(wall_us: int, clock: ZoneInfo) -> int:
    """When a clock shows this; the first time of two."""
    at = (EPOCH + wall_us * US).replace(tzinfo=clock).astimezone(UTC)
    return (at.replace(tzinfo=None) - EPOCH) // US


def same(_kind: str, time_us: int, _clock: ZoneInfo) -> int:
    return time_us


def as_timestamp(kind: str, time_us: int, clock: ZoneInfo) -> int:
    return time_us if kind == "timestamp" else instant(time_us, clock)


def as_wall(kind: str, time_us: int, clock: ZoneInfo) -> int:
    return shown(time_us, clock) if kind == "timestamp" else time_us


def as_date(kind: str, time_us: int, clock: ZoneInfo) -> int:
    return as_wall(kind, time_us, clock) // DAY_US * DAY_US


def day(kind: str, time_us: int, clock: ZoneInfo) -> int:
    return instant(as_date("timestamp", as_timestamp(kind, time_us, clock), clock), clock)


def hour(kind: str, time_us: int, clock: ZoneInfo) -> int:
    at_us = as_timestamp(kind, time_us, clock)
    return at_us - shown(at_us, clock) % HOUR_US


STEPS: dict[str, tuple[str | None, Step]] = {
    "at": (None, same),
    "CAST(at AS DATE)": ("date", as_date),
    "CAST(at AS TIMESTAMP)": ("timestamp", as_timestamp),
    "CAST(at AS TIMESTAMP_NTZ)": ("timestamp_ntz", as_wall),
    "date_trunc('DAY', at)": ("timestamp", day),
    "date_trunc('HOUR', at)": ("timestamp", hour),
}
VIEWS = st.tuples(st.sampled_from(list(STEPS)), st.sampled_from(ZONES), st.booleans())


def moments() -> Iterator[int]:
    """Instants about the changes of clocks in 2026."""
    for start in (datetime(2026, 3, 28), datetime(2026, 4, 4), datetime(2026, 9, 5),  # noqa: DTZ001
                  datetime(2026, 10, 24), datetime(2026, 10, 31)):  # noqa: DTZ001  # fmt: skip
        for step in range(4 * 48):
            at_us = (start - EPOCH) // US + step * HOUR_US // 2
            yield from (at_us - 1, at_us)


MOMENTS = tuple(moments())


@pytest.fixture(scope="module", autouse=True)
def _fresh_commits() -> Iterator[None]:
    fresh = SimpleNamespace(metadata={"to": FRESH.isoformat().replace("+00:00", "Z")})
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("freshline.spark.views.emission.commit_at", lambda *_: fresh)
        yield


class Chain:
    """A base table, and views one over the other, the last one final."""

    def __init__(self, kind: str, clock: str, views: list[tuple[str, str, bool]]) -> None:
        base = TableDef("t0", "base", "SELECT * FROM STREAM f", HERE, HERE, feed="f")
        self.kinds, self.zones, tables = [kind], [clock], [base]
        for number, (step, view_zone, final) in enumerate(views):
            query = f"SELECT {step} AS at, count(*) AS n FROM t{number} GROUP BY 1"
            emit = "final" if final or number == len(views) - 1 else "early"
            parents = (f"t{number}",)
            tables.append(
                TableDef(f"t{number + 1}", "derived", query, HERE, HERE, parents=parents, emit=emit)
            )
            self.kinds.append(STEPS[step][0] or self.kinds[-1])
            self.zones.append(view_zone)
        self.steps = [STEPS[step][1] for step, _, _ in views]
        self.tables = tables
        self.project = Project(
            "shop", Path("shop"), "shop/warehouse", tuple(tables), {}, {}, "local[1]"
        )
        self.holds = Holds(self.project, self._sources, self._clocks, lambda *_: True)

    def _sources(self, view: TableDef) -> tuple[str, list[Source]]:
        parent = int(view.parents[0][1:])
        columns = {"at": self.kinds[parent], **({"n": "bigint"} if parent else {})}
        return view.query, [Source(f"t{parent}", columns, time_column=None if parent else "at")]

    def _clocks(self, table: TableDef) -> tuple[str, bool]:
        return self.zones[int(table.name[1:])], False

    def lag_us(self, number: int) -> int:
        """How far the latest instant that a final view shows is behind its freshness."""
        view = self.tables[number]
        query, sources = self._sources(view)
        found = buckets(query, sources, session_zone=self.zones[number])
        if not isinstance(found, Buckets):
            reject()
        plan = self.holds.added(ViewPlan(NO, found, NO), view, sources)
        if not isinstance(plan.buckets, Buckets):
            reject()
        spread = spread_us(self.kinds[number], self.zones[number])
        until_us = emission(self.project, view, {view.parents[0]: 0}, plan, spread).until_us
        return (FRESH.replace(tzinfo=None) - EPOCH) // US - until_us

    def behind_us(self, number: int) -> int:
        """The same of what its clock shows then, where it shows a DATE or a wall clock's time."""
        lag_us = self.lag_us(number)
        if self.kinds[number] == "timestamp":
            return lag_us
        return lag_us - zone(self.zones[number]).offset_hi_us


BASES: dict[str, Step] = {"timestamp": same, "date": as_date, "timestamp_ntz": as_wall}


@given(
    st.sampled_from(list(BASES)),
    st.sampled_from(ZONES),
    st.lists(VIEWS, min_size=1, max_size=3),
)
def test_a_bucket_is_shown_once_every_row_of_it_has_come_through_all_views(kind, clock, views):
    chain = Chain(kind, clock, views)
    behind_us = {
        number: chain.behind_us(number)
        for number, table in enumerate(chain.tables)
        if table.emit == "final"
    }
    clocks = [ZoneInfo(name) for name in chain.zones]
    for at_us in MOMENTS:
        time_us = BASES[kind]("timestamp", at_us, clocks[0])
        there_us = at_us  # the freshness from which on the table has the row
        for number, step in enumerate(chain.steps, start=1):
            time_us = step(chain.kinds[number - 1], time_us, clocks[number])
            if number in behind_us:
                shown_us = time_us + behind_us[number]
                assert shown_us >= there_us, f"the row of {at_us} is not in t{number} before"
                there_us = shown_us
