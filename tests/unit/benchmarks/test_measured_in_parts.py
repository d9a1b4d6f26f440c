"""What the benchmarks of histories, choices and many tables make of what they measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import choices, incremental, many
from benchmarks.common.metered import Metered
from benchmarks.common.projects import write_project


def test_a_strategy_that_was_not_right_for_an_update_says_nothing():
    ways = {
        "auto": [("full", 0.9), ("group-merge", 0.5)],
        "full": [("full", 0.8), ("full", 1.0)],
        "group-merge": [("group-merge", 0.4), ("group-merge", 0.6)],
        "bucket-recompute": [("full", 0.1), ("full", 0.1)],
    }
    line = choices._line("by_key", 20_000, ways)
    assert line["ways_s"] == {"full": 0.9, "group-merge": 0.5}
    report = choices.report([line], quick=True)
    taken, alike, lost = report.goals
    assert (taken.ratio, alike.ratio, taken.met) == (0.5, 0.5, False)
    assert lost.ratio == pytest.approx(0.4 / 1.0)  # 0.9 s where 0.5 would have done, once of two
    assert report.rows[0][2:4] == ("group-merge", "0.50")


def test_views_of_a_history_are_held_against_an_append_and_against_all_rows(tmp_path: Path):
    lengths = (100_000, 10_000_000)
    feeds = [incremental._feed(rows) for rows in lengths]
    tables = [each for rows in lengths for each in incremental._tables(rows, tmp_path / "keys")]
    project = write_project(tmp_path / "project", feeds, tables)
    parents = {table.name: table.parents for table in project.tables}
    assert parents["by_day_10000000_full"] == ("by_hour_10000000_full",)
    assert "by_day_100000_full" not in parents

    def made(name: str, wall_s: float) -> list[Metered]:
        return [Metered(name, "a way", 0.0, 0.0, each) for each in (9.0, wall_s, 0.0)]

    found = {table.name: made(table.name, 0.6) for table in project.tables}
    found |= {name: made(name, 6.0) for name in found if name.endswith("_full")}
    found["by_key_10000000_incremental"] = made("by_key", 0.9)
    found |= {f"plain append_{rows}": made("append", 0.4) for rows in lengths}
    histories = {rows: incremental._of_history(found, rows) for rows in lengths}
    ratios = [goal.ratio for goal in incremental.report(histories, quick=True).goals]
    assert ratios == pytest.approx([1.5, 2.25, 24.0 / 2.7, 1.5])


def test_many_tables_have_three_levels_each(tmp_path: Path):
    project = write_project(tmp_path, many._feeds(many._MANY), many._tables(many._MANY))
    assert len(project.tables) == 300
    parents = {table.name: table.parents for table in project.tables}
    assert [parents[f"{level}_07"] for level in many._LEVELS] == [
        (), ("b_07",), ("v1_07",), ("v2_07",),
    ]  # fmt: skip
