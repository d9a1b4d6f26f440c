"""Spark's own plan confirms the keys that are found, and no other column that is claimed as one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import product

import pytest

from freshline.spark.views.readings import confirmed
from freshline.sql.buckets.keys import keys
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Keys, Reason, ViewPlan
from freshline.sql.strategy import READINGS_DIFFER
from freshline.sql.text.reads import reads_of
from tests.support.share import share
from tests.support.view_cases import SOURCES
from tests.unit.sql.test_keys import FOUND, NONE

pytestmark = pytest.mark.spark

NOT = Reason("NOT_THIS_WAY", "in a test")
NOTHING = ViewPlan(NOT, NOT, NOT)
TRUE_AS_WELL = "SELECT o.usr, c.usr AS other FROM orders o JOIN clicks c ON o.usr <=> c.usr"
"""Both columns are the same key, of which one is enough."""


def claims(query: str) -> Iterator[Keys]:
    """Every column that the query names as a key, told by every whole number of what it reads."""
    read = {each.name.lower() for each in reads_of(query)}
    moving = [each for each in SOURCES if each.name in read and not each.static]
    numbers = [[name for name, kind in each.columns.items() if kind == "int"] for each in moving]
    for name in normalise(query, SOURCES).named_selects:
        for columns in product(*numbers):
            told = {each.name: (column,) for each, column in zip(moving, columns, strict=True)}
            yield Keys((name.lower(),), told)


def held(found: Keys | Reason) -> list[Keys]:
    """Keys of one column that hold, by the first reading."""
    return [] if isinstance(found, Reason) else [
        Keys((column,), {name: (columns[at],) for name, columns in found.reads.items()})
        for at, column in enumerate(found.columns)
    ]  # fmt: skip


@pytest.mark.parametrize("query", FOUND)
def test_spark_confirms_the_keys(empty, query):
    found = keys(query, SOURCES)
    plan = dataclasses.replace(NOTHING, keys=found)
    assert confirmed(empty, query, SOURCES, plan) == plan


@pytest.mark.parametrize("query", share([*NONE, *FOUND], part=3))
def test_spark_confirms_no_column_that_is_no_key(empty, query):
    if query == TRUE_AS_WELL:
        return
    right = held(keys(query, SOURCES))
    for claim in claims(query):
        if claim not in right:
            plan = dataclasses.replace(NOTHING, keys=claim)
            found = confirmed(empty, query, SOURCES, plan).keys
            assert isinstance(found, Reason), claim
            assert found.code == READINGS_DIFFER


def test_keys_that_are_not_confirmed_cost_no_other_way(empty):
    query = "SELECT usr, id FROM orders WHERE amount > 3"
    plan = ViewPlan("joint", NOT, NOT, keys=Keys(("usr",), {"orders": ("id",)}))
    found = confirmed(empty, query, SOURCES, plan)
    assert found.appends == "joint"
    assert found.keys == Reason(
        READINGS_DIFFER,
        "our reading of the query and Spark's are not the same: the rows of orders on which those"
        " of a key depend, told by usr: by our reading those of the key, by Spark's others as well",
    )
