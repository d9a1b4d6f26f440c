"""Ninety views, one warehouse: after every commit each view equals its query."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa
import pytest

from freshline.sql.query.records import Buckets, Keys
from freshline.sql.strategy import strategy
from tests.spark.conftest import Shop
from tests.spark.views.arrivals import START, fixed, some
from tests.spark.views.by_hand import STEPS
from tests.spark.views.document import assert_up_to_date, kinds_section, uncertain_section
from tests.spark.views.kinds import KINDS, OVER_VIEWS, STATICS, STREAMS, UNCERTAIN
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.share import WHOLE, share
from tests.support.view_cases import CASES, SOURCES

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

ALL = (*KINDS, *OVER_VIEWS)
WAYS = {kind.name: kind.way for kind in ALL}
READ_USERS = ("v_stream_with_static", "v_union_with_a_static_branch")
READS_CALENDAR = "v_calendar_keeps_its_days"
OVER_A_VIEW = tuple(kind.name for kind in OVER_VIEWS)
KEEPS_ROWS = "w_outer_join_in_groups"
ONE_OF_EACH = (
    *("v_filter", "v_band_join", "v_hourly", "w_totals_per_user", "w_order_before"),
    *("w_unbounded_join_by_number", "w_newest_row_of_each_key_by_its_rank"),
)
PROVED = share(list(WAYS), part=100, always=(*OVER_A_VIEW[:1], *ONE_OF_EACH, KEEPS_ROWS), first=1)


def warehouse(spark, folder) -> Proving:
    """The views, planned, before a row has come."""
    proving = Proving(Shop(folder, session_in(spark, "UTC")))
    for source in SOURCES:
        if source.static:
            proving.shop.delta(f"static/{source.name}", fixed(source, START))
        else:
            proving.feed(source)
    for kind in ALL:
        query = over_statics(kind.query, STATICS)
        proving.view(kind.name, query, duckdb=kind.duckdb)
    proving.plan()
    return proving


def uncertain(spark, folder) -> Proving:
    """Views whose results nobody can check, planned."""
    proving = Proving(Shop(folder, session_in(spark, "UTC")))
    for source in STREAMS:
        proving.feed(source)
    for name, (query, _) in UNCERTAIN.items():
        proving.view(f"u_{name}", query)
    proving.plan()
    return proving


@pytest.fixture(scope="module")
def proving(spark, tmp_path_factory):
    return warehouse(spark, tmp_path_factory.mktemp("kinds"))


def come(proving, chance, count, step):
    """Rows of every stream, in three of four steps; the last one's are a day further on."""
    for number, source in enumerate(STREAMS):
        rows = some(source, chance, count, START + timedelta(hours=step), 1000 * step)
        proving.arrive(source.name, rows if (step + number) % 4 != 3 else rows.slice(0, 0))


def test_each_view_has_the_strategy_that_its_query_allows(proving):
    told = {}
    for view in proving.views:
        plan = proving.shop.plans[view]
        way = strategy(proving.shop.project.table(view), plan)
        name = f"{way.name} {way.code}" if way.name == "full" or way.code == "joined" else way.name
        merged = name == "bucket-recompute" and proving.merges(view)
        told[view] = "bucket-merge" if merged else name
    assert told == WAYS


def test_spark_gives_the_analysis_no_other_bounds(proving):
    found = {}
    for case, kind in zip(CASES, KINDS, strict=False):
        buckets = proving.shop.plans[kind.name].buckets
        assert isinstance(buckets, Buckets), (kind.name, buckets)
        reads = {name: (read.lo_us, read.hi_us) for name, read in buckets.reads.items()}
        found[case.name] = (buckets.column, reads)
    assert found == {case.name: (case.column, case.reads) for case in CASES}


class Expected:
    """What the updates of a view must be, worked out from what it is and what happens.

    Args:
        view: Its name.
        tells: Whether its rows show which groups they are of.
        keys: Whether they fall apart by keys.
        merged: The code of its updates that merge.
        first_merge: The code of the first of them after another update.
    """

    def __init__(
        self, view: str, *, tells: bool, keys: bool, merged: str, first_merge: str
    ) -> None:
        self.way, _, self._code = WAYS[view].partition(" ")
        self.told = [("full", "first-build")]
        self._tells = tells
        self._taken_back = ("key-recompute", "keys") if keys else ("full", "parent-rewrote")
        self._merged = merged
        self._first_merge = first_merge
        self._over_a_view = view in OVER_A_VIEW
        self._has_state = False

    def update(self, *, rewrote: bool) -> None:
        """One more, after rows came and ``rewrote`` tells whether others were rewritten."""
        name, code = self.way, self._code or CODES.get(self.way, "")
        # A parent that is a view has rewritten rows of its own whenever rows came.
        if rewrote or self._over_a_view:
            if code == "joined":
                name, code = self._taken_back
            elif name in ("append", "bucket-merge"):
                name, code = "bucket-recompute", "buckets"
            elif name == "group-merge":
                name, code = ("group-recompute", "groups") if self._tells else self._taken_back
        if name.endswith("-merge"):
            code = self._merged if self._has_state else self._first_merge
        self._has_state = name.endswith("-merge") or (name == "group-recompute" and self._has_state)
        self.told.append((name, code))


CODES = {"append": "row-wise", "bucket-recompute": "buckets", "key-recompute": "keys"}


def test_every_commit_of_every_view_equals_its_query(proving):
    chance = random.Random(20)
    expected = {
        view: Expected(
            view,
            tells=proving.tells_groups(view),
            keys=isinstance(proving.shop.plans[view].keys, Keys),
            merged=proving.merged(view) if proving.merges(view) else "",
            first_merge=proving.first_merge(view) if proving.merges(view) else "",
        )
        for view in PROVED
    }
    merging = [view for view in PROVED if expected[view].way.endswith("-merge")]
    inserted = [view for view in PROVED if expected[view].way != "bucket-recompute"]
    rewritten = [view for view in PROVED if expected[view].way != "full"]

    def updated(views, *, rewrote=False):
        proving.step(views)
        for view in views:
            expected[view].update(rewrote=rewrote)

    def cheap_to_merge():
        for view in merging:
            if WAYS[view] == "bucket-merge":
                proving.dear(view, "bucket-recompute")

    come(proving, chance, 40, 0)
    proving.step(PROVED)
    cheap_to_merge()
    come(proving, chance, 25, 1)
    updated(inserted)
    come(proving, chance, 25, 2)
    updated(merging)
    for number, deeds in enumerate(STEPS):
        proving.by_hand(*deeds)
        come(proving, chance, 15, 3 + number)
        updated(rewritten, rewrote=True)
    # A state that was kept up with all that is merged with; one that was not is built anew.
    cheap_to_merge()
    come(proving, chance, 10, 8)
    updated([view for view in inserted if WHOLE or view in ONE_OF_EACH])
    told = {view: proving.told[view] for view in PROVED}
    assert told == {view: each.told for view, each in expected.items()}


def test_a_static_table_that_changes_means_all_anew(proving):
    for view in (*READ_USERS, READS_CALENDAR):
        proving.update(view)
    proving.shop.delta("static/users", pa.table({
        "usr": pa.array([4], pa.int32()), "name": ["new"],
        "since": pa.array([START], pa.timestamp("us", "UTC")),
    }))  # fmt: skip
    for view in READ_USERS:
        result = proving.update(view)
        assert (result.strategy, result.code) == ("full", "static-changed"), view
    assert proving.update(READS_CALENDAR).rows == 0


def test_nothing_new_moves_the_pins_and_no_row(proving):
    proving.step(ONE_OF_EACH)
    for source in STREAMS:
        proving.arrive(source.name, some(source, random.Random(0), 1, START, 0).slice(0, 0))
    for view in ONE_OF_EACH:
        result = proving.update(view)
        if result.strategy != "full":
            assert (result.rows, result.read_rows) == (0, 0), view
        assert result.parents["orders"] == proving.version("orders")


def test_what_nobody_can_check_is_computed_in_full_and_says_why(spark, tmp_path):
    proving = uncertain(spark, tmp_path)
    plans = proving.shop.plans
    told = {}
    for name in UNCERTAIN:
        way = strategy(proving.shop.project.table(f"u_{name}"), plans[f"u_{name}"])
        told[name] = f"{way.name} {way.code}"
    assert told == {name: way for name, (_, way) in UNCERTAIN.items()}
    assert_up_to_date(uncertain_section(plans))


def test_the_docs_have_the_table(proving):
    assert_up_to_date(kinds_section(proving.shop.plans))
