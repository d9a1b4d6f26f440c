from __future__ import annotations

from demo.commits import Commit
from demo.measure import Staleness, staleness


def commit(at_s, to_s):
    return Commit(0, at_s, to_s, (), {}, "full", 0)


def test_a_table_that_never_came_grows_stale_from_the_start():
    assert staleness([], 100.0, 110.0) == Staleness(mean_s=5.0, max_s=10.0, area_s2=50.0)


def test_a_commit_takes_staleness_down_to_the_age_of_its_data():
    log = [commit(104.0, 103.0), commit(108.0, 108.0)]
    # 0 to 4, then 1 to 5, then 0 to 2.
    assert staleness(log, 100.0, 110.0) == Staleness(mean_s=2.2, max_s=5.0, area_s2=22.0)


def test_what_happens_after_the_end_counts_for_nothing():
    log = [commit(104.0, 103.0), commit(150.0, 149.0)]
    assert staleness(log, 100.0, 106.0) == Staleness(mean_s=2.0, max_s=4.0, area_s2=12.0)
