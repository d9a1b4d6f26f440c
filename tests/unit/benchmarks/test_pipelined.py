"""What a run of spark-pipelines tells of its order, and the seconds in which a view is empty."""

import json

from benchmarks.overload.staleness import Commit
from benchmarks.pipelined.contents import empty_s
from benchmarks.pipelined.declarative import too_early
from benchmarks.pipelined.project import PRIORITIES, SOURCES, empty_streams, write_pipeline

STEP = "2026-01-01: Flow spark_catalog.default.{} {}.\n"


def test_a_view_before_its_source_is_told():
    right = "".join(
        STEP.format(name, step)
        for name in ("clicks", "clicks_by_key", "orders", "orders_by_key", "orders_per_click")
        for step in ("is STARTING", "is RUNNING", "has COMPLETED")
    )
    assert too_early(right) == ()
    early = STEP.format("totals", "is STARTING") + right
    assert too_early(early) == ("totals before orders_by_key",)


def test_a_view_is_empty_from_its_truncation_to_its_rows():
    made = [
        (Commit(0, 0.0, 0.0), 0),
        (Commit(1, 2.0, 0.0), 5),
        (Commit(2, 7.0, 0.0), 0),
        (Commit(3, 9.5, 0.0), 6),
    ]
    assert empty_s(made, 1.0, 20.0) == 2.5
    assert empty_s(made, 8.0, 9.0) == 1.0
    assert empty_s([], 8.0, 9.0) == 0.0  # never made


def test_the_folder_is_a_pipeline_with_the_tables_that_are_measured(tmp_path):
    write_pipeline(tmp_path)
    assert json.loads((tmp_path / "spark-pipeline.yml").read_text())["libraries"] == [
        {"glob": {"include": "definitions/**"}}
    ]
    text = "".join(path.read_text() for path in sorted((tmp_path / "definitions").iterdir()))
    for name in PRIORITIES:
        assert f"def {name}()" in text or f"VIEW {name}\n" in text
    assert set(SOURCES) < set(PRIORITIES)
    (tmp_path / "feed" / "clicks_feed" / "a.csv").write_text("1")
    empty_streams(tmp_path)
    assert list((tmp_path / "feed" / "clicks_feed").iterdir()) == []
