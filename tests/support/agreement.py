"""A law without Spark: both readings say the same of what recorded queries choose among ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.records import Buckets
from freshline.sql.readings.choices import Chooser
from freshline.sql.readings.comparison import bucketed
from freshline.sql.readings.operators import Reader
from freshline.sql.readings.plans import output
from freshline.sql.readings.terms import Attribute
from tests.support.recorded_plans import CHOOSING, recorded
from tests.support.view_cases import SOURCES

SPLIT: Mapping[str, Mapping[str, Sequence[str]]] = {
    "numbers of a day": {"ts": ["RowNumber"], "h": ["RowNumber"], "d": []},
    "ranks of a day": {"ts": []},
    "neighbours": {"ts": ["Lag"]},
    "next neighbours": {"ts": ["Lead"]},
    "neighbours' times": {"ts": []},
    "frame of rows of a day": {"ts": ["Sum"]},
    "best of some rows": {"ts": ["MaxBy"]},
    "best of a day": {"h": ["MaxBy"], "d": []},
    "one best of a day": {"h": []},
    "list of a day": {"h": ["ListAgg"]},
    "groups in order": {"h": []},
    "groups that tie": {"h": ["Lag"]},
    "window over numbers of hours": {"h": ["RowNumber"]},
    "window beside numbers of hours": {"h": []},
    "frame over first rows": {"ts": ["RowNumber"]},
    "first rows in sliding windows": {"w": ["RowNumber"]},
    "first rows in windows": {"w": []},
    "numbers that nobody looks at": {"ts": []},
    "days of numbers of hours": {"d": []},
    "numbers of one branch": {"a": [], "b": []},
    "days without numbered rows": {"ts": ["RowNumber"]},
    "beside first rows": {"ts": ["RowNumber"], "d": [], "a": ["RowNumber"]},
    "with a number": {"ts": []},
    "either side's days": {"t": []},
    "best in a subquery": {"ts": ["MaxBy"], "d": []},
    "first in a subquery": {"ts": ["LocalLimit", "GlobalLimit"], "d": []},
    "window over a subquery": {"h": ["MaxBy"]},
    "among the best": {"ts": ["MaxBy"], "d": []},
    "a day has a number": {"ts": []},
    "best beside each row": {"ts": ["MaxBy"], "d": []},
    "subtotals of numbers": {"ts": ["RowNumber"]},
    "tiles of a day": {"ts": ["NTile"]},
    "tiles in order of time": {"ts": []},
    "next neighbours' times": {"ts": []},
    "rows before": {"ts": ["Count"]},
    "neighbours by a remainder": {"ts": ["Lag"]},
    "mode of a day": {"h": ["Mode"]},
    "least of a day": {"h": ["MinBy"]},
    "most frequent of a day": {"h": ["ApproxTopK"]},
    "distinct rows in order": {"ts": []},
    "distinct rows that tie": {"ts": ["Lag"]},
    "groups of two keys that tie": {"h": ["Lag"]},
    "groups of two keys in order": {"h": []},
    "subtotals that tie": {"h": ["Lag"]},
    "numbers of moments": {"ts": [], "shipped": ["RowNumber"], "g": ["RowNumber"], "t": []},
    "a first row exists": {"ts": ["RowNumber"], "d": ["RowNumber"]},
    "neighbours in windows": {"h": ["Lag"]},
    "read twice": {"ts": []},
}
"""By recorded query and column of times: what chooses across it, as somebody worked out by hand."""

SAYS_LESS = {
    "window beside numbers of hours", "numbers that nobody looks at", "beside first rows",
    "either side's days", "best in a subquery", "first in a subquery", "a day has a number",
}  # fmt: skip
"""Queries of which the first reading is the more careful one."""

STREAMS = {source.name: "ts" for source in SOURCES if not source.static}


def split(name: str) -> dict[str, list[str]]:
    """By column of a recorded query: what the second reading finds that chooses across it."""
    plan = recorded(name)
    chooser = Chooser(Reader(STREAMS), STREAMS)
    return {each.text("name"): chooser.split(plan, Attribute(each.number)) for each in output(plan)}


def disagreements() -> Iterator[str]:
    """Queries, and what a reading says wrongly of a column or unlike the other."""
    for name, query in CHOOSING.items():
        found = split(name)
        for column, chosen in SPLIT[name].items():
            if list(chosen) != found[column]:
                yield f"{query}: {column} is split by {found[column]}"
            first = buckets(query, SOURCES, column=column)
            if isinstance(first, Buckets):
                for each in bucketed(first, recorded(name), set(STREAMS)):
                    yield f"{query}: {column}: {each}"
            elif first.code == "TIES" and not chosen and name not in SAYS_LESS:
                yield f"{query}: {column}: {first.message}"
