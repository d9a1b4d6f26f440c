"""Which tables are analysed at the same time: those that read none of each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from freshline.spark.analysis import levels


def table(name: str, *sources: str, feed: str | None = None) -> Any:
    return SimpleNamespace(name=name, sources=(feed,) if feed else sources, feed=feed)


def test_parents_are_a_level_above_and_the_order_of_the_project_is_kept():
    tables = [
        table("a", feed="f"),
        table("b", "a"),
        table("c", feed="b"),  # a feed with the name of a view
        table("d", "b", "c"),
        table("alone"),
        table("e", "c", "nowhere"),
        table("report", "d", "a"),
    ]
    found = levels(tables)
    assert [[each.name for each in level] for level in found] == [
        ["a", "c", "alone"],
        ["b", "e"],
        ["d"],
        ["report"],
    ]
    assert levels([]) == []
