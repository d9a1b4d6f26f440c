"""TPC-H and the paper's custom queries, batch by batch and merged, against all at once."""

from __future__ import annotations

import pytest

from freshline.sql.query.records import Decomposition, Reason
from tests.support.tpch import WITHOUT_STREAM, generate, tpch_names, tpch_query, tpch_sources
from tests.unit.sql.merging import Merging

pytestmark = pytest.mark.slow

SCALE = 0.01
BATCHES = 5
EMPTY = 2
INNER_JOINED = ("q03", "q05", "q07", "q08", "q09", "q10", "q12", "q18", "q21")
PARTIALS = {"q17": 2, "q18": 1, "q20": 1, "q21": 1, "q22": 1, "q13": 1, "q15": 1}


@pytest.fixture(scope="module")
def tpch(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, SCALE)
    merging = Merging(tpch_sources(batch_keys=True), BATCHES)
    for source in merging.sources:
        file = folder / f"{source.name}.parquet"
        if source.static:
            merging.database.execute(f"CREATE TABLE {source.name} AS FROM '{file}'")
            continue
        (key,) = source.batch_key
        # Ranges of order keys, and between them a batch in which nothing came.
        last = SCALE * 6_000_000
        batch = f"CAST(floor({key} * {BATCHES - 1} / {last + 1}) AS INTEGER)"
        merging.database.execute(
            f"CREATE TABLE all_{source.name} AS SELECT *, "
            f"CASE WHEN {batch} >= {EMPTY} THEN {batch} + 1 ELSE {batch} END AS batch_of "
            f"FROM '{file}'"
        )
    return merging


def test_the_batches_are_several_and_one_is_empty(tpch):
    found = tpch.database.execute(
        "SELECT DISTINCT batch_of FROM all_orders WHERE batch_of IN "
        "(SELECT batch_of FROM all_lineitem) ORDER BY 1"
    ).fetchall()
    assert found == [(0,), (1,), (3,), (4,)]


@pytest.mark.parametrize("name", tpch_names())
def test_merged_batches_equal_the_query_at_once(tpch, name):
    cut = tpch.check(tpch_query(name))
    assert cut.linearity == "joint"
    assert len(cut.partials) == PARTIALS.get(name, 1)
    if name != "q19":
        assert tpch.at_once(tpch_query(name)), "an empty result would prove little"


@pytest.mark.parametrize("name", INNER_JOINED)
def test_without_batch_keys_inner_joins_merge_each_stream_in_turn(tpch, name):
    tpch.sources = tpch_sources(batch_keys=False)
    try:
        cut = tpch.check(tpch_query(name))
    finally:
        tpch.sources = tpch_sources(batch_keys=True)
    assert cut.linearity == "each"


@pytest.mark.parametrize("name", sorted(set(tpch_names()) - set(INNER_JOINED)))
def test_without_batch_keys_a_query_that_joins_no_streams_is_joint(tpch, name):
    tpch.sources = tpch_sources(batch_keys=False)
    try:
        cut = tpch.check(tpch_query(name))
    finally:
        tpch.sources = tpch_sources(batch_keys=True)
    assert cut.linearity == "joint"


@pytest.mark.parametrize("name", WITHOUT_STREAM)
def test_a_query_over_static_tables_runs_once(tpch, name):
    cut = tpch.cut(tpch_query(name))
    assert isinstance(cut, Reason)
    assert cut.code == "NO_STREAM"


def test_one_state_serves_a_query_that_is_read_twice(tpch):
    cut = tpch.cut(tpch_query("q15"))
    assert isinstance(cut, Decomposition)
    assert [partial.name for partial in cut.partials] == ["partial_1"]


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("q01", {"l_returnflag": "k0", "l_linestatus": "k1"}),
        ("q04", {"o_orderpriority": "k0"}),
        ("cq2", {"o_orderpriority": "k0"}),
        ("cq4", {"l_partkey": "k0"}),
        ("q03", None),  # its LIMIT
        ("q06", None),  # one group, no key
        ("q13", None),  # an aggregate above
        ("q17", None),  # two partials
    ],
)
def test_output_rows_that_are_functions_of_one_group_are_named(tpch, name, groups):
    cut = tpch.cut(tpch_query(name))
    assert isinstance(cut, Decomposition)
    assert cut.group_columns == groups
