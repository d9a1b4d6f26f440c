"""What the benchmark of reports is made of, as far as it needs no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.common.metered import Tasks
from benchmarks.intermittent.batches import Spent
from benchmarks.intermittent.queries import JOINED, of_stored, over, streams_of, text
from benchmarks.intermittent.revealed import Revealed
from benchmarks.intermittent.slices import FLUSH_S, START_S, write
from benchmarks.intermittent.timed import Learned, Outcome, deadlines_s, policy


def spent(sizes: list[tuple[int, float]], final_s: float) -> Spent:
    wall_s = sum(seconds for _, seconds in sizes) + final_s
    return Spent("q", len(sizes), Tasks(), wall_s, sizes, final_s)


def test_deadlines_follow_each_other_by_what_the_reports_cost():
    assert deadlines_s({"a": 2.0, "b": 1.0}, 10.0, 1.5) == {"a": 13.0, "b": 14.5}


def test_a_deadline_is_met_by_a_report_that_is_not_late():
    assert Outcome("llf", {"a": -0.1, "b": 0.0, "c": 0.2}).met == 2


def test_only_joint_plans_with_a_margin():
    margins = {name: policy(name).margin for name in ("llf", "edf", "sjf", "rr", "joint")}
    assert margins == {"llf": 1.0, "edf": 1.0, "sjf": 1.0, "rr": 1.0, "joint": 1.25}


def test_a_report_in_one_batch_costs_its_final_too():
    learned = Learned.of([spent([(10, 3.0)], 1.0), spent([(1, 1.0), (9, 2.5)], 1.2)])
    assert learned.cost(1) == 1.0
    assert learned.cost(9) < learned.cost(10) < 3.1
    assert 0.0 < learned.final(1) < learned.final(2)
    assert learned.final(2) == pytest.approx(1.2)


def test_versions_of_a_copy_appear_when_told(tmp_path: Path):
    source = tmp_path / "source"
    (source / "_delta_log").mkdir(parents=True)
    for version in range(3):
        (source / f"part-{version}.parquet").write_text("rows")
        (source / "_delta_log" / f"{version:020d}.json").write_text("{}")
    (source / "_delta_log" / f"{2:020d}.checkpoint.parquet").write_text("rows")
    copy = Revealed(source, tmp_path / "copies" / "copy")
    log = tmp_path / "copies" / "copy" / "_delta_log"
    assert [path.name for path in log.iterdir()] == [f"{0:020d}.json"]
    assert len(list(copy.path.glob("*.parquet"))) == 3
    copy.upto(2)
    assert sorted(path.name for path in log.iterdir()) == [f"{v:020d}.json" for v in range(3)]


def test_queries_know_their_streams_and_their_static_tables():
    assert streams_of("cq1") == ("orders",)
    assert streams_of("q14") == ("lineitem",)
    assert {name: streams_of(name) for name in JOINED} == dict.fromkeys(
        JOINED, ("orders", "lineitem")
    )
    q14 = over(text("q14"), {"part": Path("/static/part")})
    assert "FROM lineitem, delta.`/static/part` AS part\n" in q14
    assert of_stored("q03", "t") == "FROM t ORDER BY revenue DESC, o_orderdate LIMIT 10"


def test_slices_hold_every_row_once_and_a_row_that_moves_watermarks(tmp_path: Path):
    slices = write(tmp_path, 0.001, 3)
    assert slices.rows == {"orders": 1500, "lineitem": 6005}
    assert START_S < slices.end_s < FLUSH_S
    for name in slices.rows:
        files = sorted(Path(slices.project.feeds[f"{name}_feed"].path).iterdir())
        assert len(files) == 5  # nothing, three slices, and the last row
    assert slices.expected("cq1") == [(1500,)]
