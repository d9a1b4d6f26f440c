"""A trial finds what fourteen mends ended, each taken out alone; nobody reads a second time."""

from __future__ import annotations

import pytest

from tests.spark.mutation.judging import ZONE, Judges
from tests.spark.mutation.mends import FOREIGN_SOURCES, MENDS
from tests.spark.views.proving import session_in

pytestmark = [
    pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1800),
]  # fmt: skip

LEAST = 11
"""Of fourteen. What stays unfound is arithmetic or an order that no trial can judge."""


def test_a_trial_finds_what_a_mend_ended(spark, tmp_path):
    queries = [mend.query for mend in MENDS]
    judges = Judges(session_in(spark, ZONE), tmp_path, queries, (), FOREIGN_SOURCES)
    verdicts = {mend.name: judges.taken_out(mend) for mend in MENDS}
    assert [name for name, each in verdicts.items() if each.by == "stale"] == []
    found = [name for name, each in verdicts.items() if each.by == "trial"]
    assert len(found) >= LEAST, verdicts
