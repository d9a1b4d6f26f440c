"""The same query in other words has the same plan: strategies, keys and bounds.

For every query of the suites and every way to spell it. Whether it is the same query is what Spark
says of its own optimized plans. ``make test`` tries a part of the pairs, ``make proof`` a fifth,
each commit another one: a spelling is read by code that is the same for each query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.spark.spelling.laws import all_spellings, spelled
from tests.spark.spelling.suites import SUITES, Suite, gist
from tests.spark.spelling.words import cut, text
from tests.support.resuming import state_of_the_code
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3600)]

MENDED = (
    ("kinds", "v_sliding_window_s_end", "backticks"),
    ("kinds", "v_tumbling_window", "backticks"),
    ("traps", "windows_do_not_know_summer", "backticks"),
    ("kinds", "v_dates_before_timestamps_in_a_union", "casts with colons"),
    ("kinds", "v_hour_that_compares_with_the_day_s", "implicit joins"),
    ("kinds", "v_null_safe_join", "implicit joins"),
    ("kinds", "v_chain_of_bands", "implicit joins"),
    ("kinds", "v_the_same_source_twice", "implicit joins"),
    ("traps", "the_same_parent_twice", "implicit joins"),
    ("traps", "constant_as_a_group", "groups by place"),
    ("traps", "struct_as_an_aggregate", "capitals"),
)
"""Suite, view and spelling of what was planned otherwise once: tried in each part."""

OTHER_PLANS = (
    "units in capitals", "units in small letters", "IN as OR", "cross joins", "groups by ALL",
)  # fmt: skip
"""Spark's optimized plans differ in literals as they are written, and in an order of its own."""

FIELDS = ("names_in_other_case", "struct_as_an_aggregate")
"""Views in whose plans names of fields stand as they are written."""


PART = 120
"""Of as many pairs of a view and a spelling one is tried in every run of the tests."""
PART_PROVED = 5
"""The same for the proof. No spelling has the same place in all queries: there are 38."""
TURN = int(state_of_the_code()[:8], 16) % PART_PROVED if WHOLE else 0


def spellings_of(
    suite: Suite, first: int = 0, always: Sequence[tuple[str, str]] = ()
) -> dict[tuple[str, str], str]:
    """By view and spelling the texts that are tried and are not the query's own."""
    pairs = [(view, name) for view in suite.queries for name in all_spellings(suite.columns)]
    if WHOLE:
        turn = pairs[TURN::PART_PROVED]
        pairs = [pair for pair in pairs if pair in turn or pair in always]
    found = {}
    for view, name in share(pairs, part=PART, first=first, always=always):
        query = suite.queries[view]
        other = spelled(query, [name], suite.columns, seed=len(view))
        if other != text(cut(query)):
            found[view, name] = other
    assert WHOLE or len(found) < len(pairs) / 10
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {suite.name: tmp_path_factory.mktemp(suite.name) for suite in SUITES}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_each_spelling_means_the_same_to_spark(spark, suite):
    session = spark.newSession()
    for source in suite.sources:
        ddl = ", ".join(f"{name} {kind}" for name, kind in source.columns.items())
        session.createDataFrame([], ddl).createOrReplaceTempView(source.name)

    def planned(query: str) -> Any:
        return session.sql(query)._jdf.queryExecution().optimizedPlan()

    texts = spellings_of(suite, first=3)
    plans = {view: planned(suite.queries[view]) for view in {view for view, _ in texts}}
    # A plan that is not even the same as that of the same text tells nothing.
    unsure = {
        view for view, plan in plans.items() if not plan.sameResult(planned(suite.queries[view]))
    }
    differs = [
        (view, name)
        for view, name in texts
        if not planned(texts[view, name]).sameResult(plans[view])
        and name not in OTHER_PLANS
        and view not in FIELDS
        and view not in unsure
    ]
    assert differs == []


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_each_spelling_has_the_plan_of_its_query(spark, folders, suite):
    proving = suite.warehouse(spark, folders[suite.name])
    mended = [(view, spelling) for name, view, spelling in MENDED if name == suite.name]
    texts = spellings_of(suite, always=mended)
    views: dict[tuple[str, str], str] = {}
    for view in dict.fromkeys(view for view, _ in texts):
        views[view, ""] = f"q{len(views)}"
        proving.view(views[view, ""], suite.read(suite.queries[view]))
    for pair in texts:
        views[pair] = f"q{len(views)}"
        proving.view(views[pair], suite.read(texts[pair]))
    found = proving.shop.executor.analyse()
    refused = {str(error.where).split(".sql")[0].split("/")[-1] for error in found.errors}
    differs = {}
    for view, name in texts:
        own, other = views[view, ""], views[view, name]
        if other in refused:
            differs[suite.name, view, name] = "refused"
        elif gist(found.plans[other]) != gist(found.plans[own]):
            one, two = gist(found.plans[own]), gist(found.plans[other])
            differs[suite.name, view, name] = str(
                {way: (one[way], two[way]) for way in one if one[way] != two[way]}
            )
    assert not differs, "\n".join(
        f"{pair}: {why}\n    {texts[pair[1:]]}" for pair, why in differs.items()
    )
