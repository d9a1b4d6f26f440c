"""Views of a grammar, over rows on every edge: each commit equals its query, as Spark runs it.

``make test`` runs one seed. ``FRESHLINE_SEEDS=0-99`` runs as many as are named, 20 views each, and
the proof the first 20, and ten with the sizes that choose an update's way at their extremes.
``python -m tests.spark.generated.searching`` does so for hours, resumes where it was stopped, and
shrinks what it finds.
"""

from __future__ import annotations

import os

import pytest

from tests.spark.generated.running import Outcome
from tests.spark.generated.searching import run_seed, seeds_of
from tests.support.share import WHOLE

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3600)]

ASKED = os.environ.get("FRESHLINE_SEEDS", "")
SEEDS = seeds_of(ASKED or ("0-19" if WHOLE else "1"))
VIEWS = 20 if ASKED or WHOLE else 6


@pytest.mark.parametrize("seed", SEEDS)
def test_every_commit_equals_its_query(spark, tmp_path, seed):
    tries = 40 if ASKED or WHOLE else 0
    outcome, kept = run_seed(spark, tmp_path, seed, views=VIEWS, tries=tries)
    told = "\n".join(f"{each}: {path}" for each, path in zip(outcome.failures, kept, strict=True))
    assert not outcome.failures, told
    assert_maintained(outcome)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(100, 110))
def test_no_size_that_decides_changes_a_row(spark, tmp_path, seed):
    """Large tables take other ways than the tests' small ones; here small ones take those, too."""
    tries = 40 if WHOLE else 0
    outcome, kept = run_seed(spark, tmp_path, seed, views=VIEWS, tries=tries, limits=True)
    told = "\n".join(f"{each}: {path}" for each, path in zip(outcome.failures, kept, strict=True))
    assert not outcome.failures, told
    assert_maintained(outcome)


def assert_maintained(outcome: Outcome) -> None:
    maintained = sum(n for way, n in outcome.strategies.items() if not way.startswith("full"))
    assert maintained > VIEWS // 2
