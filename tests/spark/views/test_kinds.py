"""Ninety views, one warehouse: after every commit each view equals its query."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa
import pytest

from freshline.sql.maintenance import Buckets
from freshline.sql.strategy import strategy
from tests.spark.conftest import Shop
from tests.spark.share import share
from tests.spark.views.arrivals import START, fixed, some
from tests.spark.views.document import assert_up_to_date, kinds_section, uncertain_section
from tests.spark.views.kinds import KINDS, OVER_VIEWS, STATICS, STREAMS, UNCERTAIN
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.unit.sql.view_cases import CASES, SOURCES

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1800)]

ALL = (*KINDS, *OVER_VIEWS)
WAYS = {kind.name: kind.way for kind in ALL}
READ_USERS = ("v_stream_with_static", "v_union_with_a_static_branch")
READS_CALENDAR = "v_calendar_keeps_its_days"
OVER_A_VIEW = "x_days_of_hours"
ONE_OF_EACH = ("v_filter", "v_band_join", "v_hourly", "w_totals_per_user", "w_order_before")
PROVED = share(
    list(WAYS), part=8, always=(*READ_USERS, READS_CALENDAR, OVER_A_VIEW, *ONE_OF_EACH), first=1
)


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
        name = f"full {way.code}" if way.name == "full" else way.name
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


def test_every_commit_of_every_view_equals_its_query(proving):
    chance = random.Random(20)
    ways = {view: WAYS[view] for view in PROVED}
    merging = [view for view, way in ways.items() if way.endswith("-merge")]
    inserted = [view for view, way in ways.items() if way != "bucket-recompute"]
    tells = {view for view in PROVED if proving.tells_groups(view)}
    rewritten = [
        view for view, way in ways.items() if way.startswith(("append", "bucket")) or view in tells
    ]
    come(proving, chance, 40, 0)
    proving.step(PROVED)
    for view in merging:
        proving.dear(view, "bucket-recompute")
    come(proving, chance, 25, 1)
    proving.step(inserted)
    come(proving, chance, 25, 2)
    proving.step(merging)
    for name in ("orders", "clicks", "days"):
        proving.gone(name, "id % 6 = 1")
    come(proving, chance, 15, 3)
    proving.step(rewritten)
    for view, way in ways.items():
        name, _, code = way.partition(" ")
        steps = [*UPDATES[name], *(["group-recompute"] if view in tells else [])]
        if view == OVER_A_VIEW:  # its parent rewrites hours: nothing of that merges
            assert {told for told, _ in proving.told[view][1:]} == {"bucket-recompute"}
            continue
        assert [told for told, _ in proving.told[view]] == ["full", *steps], view
        codes = [told for _, told in proving.told[view]]
        assert codes[0] == "first-build"
        if name.endswith("-merge"):
            assert codes[1:3] == ["state-built", "merges"], view
        if code:
            assert codes[1:] == [code] * len(steps), view


UPDATES = {
    "append": ["append", "bucket-recompute"],
    "bucket-recompute": ["bucket-recompute"],
    "bucket-merge": ["bucket-merge", "bucket-merge", "bucket-recompute"],
    "group-merge": ["group-merge", "group-merge"],
    "full": ["full"],
}


def test_a_static_table_that_changes_means_all_anew(proving):
    proving.shop.delta("static/users", pa.table({
        "usr": pa.array([4], pa.int32()), "name": ["new"],
        "since": pa.array([START], pa.timestamp("us", "UTC")),
    }))  # fmt: skip
    for view in READ_USERS:
        result = proving.update(view)
        assert (result.strategy, result.code) == ("full", "static-changed"), view
    assert proving.update(READS_CALENDAR).rows == 0


def test_nothing_new_moves_the_pins_and_no_row(proving):
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
