"""When files come: calendars, outages, windows."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from freshline.sim.arrivals import Arrivals
from freshline.sim.scenario.feeds import chained, files
from freshline.sim.scenario.model import FeedSpec
from tests.support.update_scenarios import feeds


def test_a_file_due_in_an_outage_comes_at_its_end_with_its_own_timestamp():
    feed = FeedSpec(5.0, 10.0, outages=((10.0, 30.0),))
    assert list(islice(files(feed), 4)) == [(5.0, 5.0), (30.0, 15.0), (30.0, 25.0), (35.0, 35.0)]


def test_outages_that_touch_or_overlap_chain_and_move_given_arrivals_too():
    outages = ((30.0, 40.0), (10.0, 20.0), (15.0, 30.0), (50.0, 50.0))
    assert chained(outages) == [(10.0, 40.0)]
    feed = FeedSpec(0.0, 1.0, ((9.0, 8.0), (10.0, 10.0), (40.0, 11.0)), outages)
    assert list(files(feed)) == [(9.0, 8.0), (40.0, 10.0), (40.0, 11.0)]


def test_files_that_hold_nothing_count_and_are_left_out():
    first_at_zero = FeedSpec(0.0, 4.0)
    given_ones = FeedSpec(1.0, 1.0, ((1.0, 1.0), (2.0, 1.0), (3.0, 0.5), (4.0, 3.0)))
    arrivals = Arrivals([first_at_zero, None, given_ones], 4.0)
    assert arrivals.window() == [(1.0, 2, 1.0), (4.0, 0, 4.0), (4.0, 2, 3.0)]
    assert arrivals.window() == []
    assert arrivals.count == 6
    assert arrivals.low_s2 == 4.0**2 + 1.0**2 + 2.0**2


@given(st.lists(st.one_of(st.none(), feeds(3.0)), max_size=4), st.integers(1, 50))
def test_windows_together_are_all_feeds_by_arrival_and_table(specs, wanted):
    horizon_s = 40.0
    expected = []
    for order, feed in enumerate(specs):
        before_s = 0.0
        for arrival_s, timestamp_s in files(feed) if feed is not None else ():
            if arrival_s > horizon_s:
                break
            if timestamp_s > before_s:
                expected.append((arrival_s, order, timestamp_s))
                before_s = timestamp_s
    expected.sort(key=lambda file: file[:1])
    arrivals = Arrivals(specs, horizon_s)
    arrivals._window_s = wanted / 4
    found = []
    while window := arrivals.window():
        found += window
    assert found == expected
