"""Random views of a grammar in one warehouse, random arrivals and rewriting, real updates."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from freshline.sql.query.normal import normalise
from tests.spark.conftest import Shop
from tests.spark.views.arrivals import START, fixed, some
from tests.spark.views.by_hand import DEEDS, deed
from tests.spark.views.kinds import STATICS, STREAMS
from tests.spark.views.proving import Proving, over_statics, session_in
from tests.support.view_cases import SOURCES
from tests.support.view_grammar import views

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(10_800)]


# A view that fails is reported with its query; shrinking it would take hours. Six warehouses of
# six views, which differ from run to run; tests/spark/generated has 400 of a larger grammar.
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=False,
)
@given(st.lists(views(), min_size=6, max_size=6, unique=True), st.integers(0, 2**20))
def test_every_commit_equals_its_query(spark, tmp_path_factory, queries, seed):
    assume(seed)  # Hypothesis begins with the simplest of everything, which is no news
    chance = random.Random(seed)
    proving = Proving(Shop(tmp_path_factory.mktemp("grammar"), session_in(spark, "UTC")))
    for source in SOURCES:
        if source.static:
            proving.shop.delta(f"static/{source.name}", fixed(source, START))
        elif source.name != "days":
            proving.feed(source)
    for number, query in enumerate(queries):
        other = normalise(query, SOURCES).sql(dialect="duckdb")
        proving.view(f"view{number}", over_statics(query, STATICS), duckdb=other)
    proving.plan()
    for step in range(3):
        for source in STREAMS[:2]:
            rows = some(source, chance, chance.choice((0, 5, 20)), START, 100 * step)
            proving.arrive(source.name, rows)
            if step and chance.random() < 0.5:
                proving.by_hand(deed(chance.choice(list(DEEDS)), source.name))
        proving.step()
    incremental = [told for told in proving.told.values() if "full" not in dict(told[1:])]
    assert len(incremental) == len(queries), dict(zip(queries, proving.told.values(), strict=True))
