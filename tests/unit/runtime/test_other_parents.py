"""A view that reads other tables than before the start: what it claims, and what is shown of it."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.delta.log import last_commit
from freshline.times import seconds
from tests.support.shop import made_shop


def claim_s(shop, name):
    commit = last_commit(shop.project.table_path(name))
    assert commit is not None
    return seconds(commit.metadata["to"])


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_view_with_a_parent_that_is_less_fresh_claims_no_more_than_that_one(tmp_path, is_loaded):
    tables = {"orders": (), "parts": (), "total": ("orders",), "below": ("total",)}
    shop = made_shop(tmp_path, tables)
    shop.file("orders", 50, [50])
    if is_loaded:
        shop.file("parts", 5, [5])
    shop.run_until_idle()
    assert claim_s(shop, "below") == claim_s(shop, "orders")
    other = tuple(
        dataclasses.replace(each, parents=("orders", "parts"), query="SELECT n FROM both")
        if each.name == "total"
        else each
        for each in shop.project.tables
    )
    shop.project = shop.executor.project = dataclasses.replace(shop.project, tables=other)
    if not is_loaded:
        shop.file("parts", 5, [5])
    shop.run_until_idle()
    assert shop.executor.numbers("below") == [5, 50]
    assert claim_s(shop, "total") == claim_s(shop, "below") == claim_s(shop, "parts")
    (row,) = shop.journal_rows("SELECT freshness_s FROM tables WHERE name='below'")
    assert row["freshness_s"] == claim_s(shop, "parts")
