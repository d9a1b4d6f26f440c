"""Random views of a grammar, random changes: DuckDB finds no row that analysis did not name."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.records import Buckets
from tests.support.view_cases import SOURCES, Case
from tests.support.view_grammar import views
from tests.unit.sql.test_timeline_oracle import Oracle, violation


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(views(), st.integers(0, 2**20))
def test_changes_touch_only_the_buckets_that_the_analysis_names(query, seed):
    found = buckets(query, SOURCES)
    assert isinstance(found, Buckets), (query, found)
    assert found.column == "t"
    event(" ".join(sorted(found.reads)))
    with Oracle(Case(query, query, "t", {})) as oracle:
        assert violation(oracle, found, seed) is None
