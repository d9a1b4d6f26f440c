"""When a feed is out, when it is back, and when it brings more than its period promises."""

from __future__ import annotations

import pytest

from freshline.core.oversight.feeds import FeedHealth


def regular(count: int, period_s: float = 10.0) -> FeedHealth:
    feed = FeedHealth(period_s, 0.0)
    for number in range(1, count + 1):
        assert feed.arrived(period_s * number, period_s * number) == (False, "")
    return feed


def test_a_feed_is_out_once_period_and_jitter_have_passed_and_says_since_when():
    feed = regular(8)
    assert feed.jitter_s == 1.0  # a tenth of the period: nothing came later than that
    assert feed.due_s == 91.0
    assert not feed.look(91.0)
    assert feed.look(91.1)
    assert feed.out_since_s == 80.0
    assert not feed.look(200.0)  # told once


def test_the_jitter_is_what_nine_of_ten_gaps_kept():
    feed = FeedHealth(10.0, 0.0)
    at = 0.0
    for late in (0, 3, 0, 2, 0, 3, 0, 1, 3, 0, 3):
        at += 10.0 + late
        feed.arrived(at, at)
    assert feed.jitter_s == 3.0


def test_while_few_gaps_are_known_a_whole_period_is_allowed():
    feed = regular(3)
    assert feed.due_s == 50.0


def test_silence_counts_from_when_somebody_listens():
    feed = FeedHealth(10.0, float("inf"))
    feed.restored(last_s=0.0, silent_since_s=None)
    assert not feed.look(1e9)
    feed.listened_from(1000.0)
    assert feed.due_s == 1020.0
    assert feed.look(1020.5)
    assert feed.out_since_s == 0.0


def test_an_outage_that_a_former_run_saw_goes_on():
    feed = FeedHealth(10.0, 500.0)
    feed.restored(last_s=100.0, silent_since_s=100.0)
    assert not feed.look(600.0)
    assert feed.arrived(700.0, 110.0) == (True, "")
    assert (feed.went_out_s, feed.came_back_s, feed.out_since_s) == (100.0, 700.0, None)


def test_a_backlog_comes_at_once_and_is_no_excess():
    feed = regular(8)
    feed.look(200.0)
    told = [feed.arrived(200.0, 90.0 + 10.0 * n) for n in range(12)]
    assert told == [(True, "")] + [(False, "")] * 11


@pytest.mark.parametrize(
    ("stamps", "what"),
    [
        ([81, 82, 83, 84], "more files than its period promises"),
        ([130], "a file of more than a period's data"),
    ],
)
def test_more_than_the_period_promises(stamps, what):
    feed = regular(8)
    told = [feed.arrived(80.0 + n, float(stamp))[1] for n, stamp in enumerate(stamps, 1)]
    assert what in told


def test_of_a_feed_without_a_period_nothing_is_said():
    feed = FeedHealth(None, 0.0)
    feed.arrived(1.0, 1.0)
    assert not feed.look(1e9)
    feed.period_s = 5.0
    assert feed.look(1e9)


def test_people_hear_of_a_silence_once_and_when_it_is_certain():
    feed = regular(8)  # due at 91
    assert feed.look(95.0)
    assert not feed.fell_silent(121.0)  # 30 s beyond: a late file would be no news
    assert feed.fell_silent(121.1)
    assert feed.silent_since_s == 80.0
    assert not feed.fell_silent(500.0)
    feed.arrived(600.0, 90.0)
    assert feed.silent_since_s is None


def test_long_periods_need_longer_silences():
    feed = FeedHealth(100.0, 0.0)
    feed.arrived(100.0, 100.0)
    assert feed.due_s == 300.0
    assert not feed.fell_silent(500.0)
    assert feed.fell_silent(500.1)


def test_a_file_that_is_a_little_late_is_no_news():
    feed = regular(8)
    assert feed.look(95.0)
    assert feed.arrived(96.0, 90.0) == (True, "")
    assert feed.silent_since_s is None


def test_a_feed_that_never_brought_anything_is_not_silent():
    feed = FeedHealth(10.0, 0.0)
    assert feed.look(1000.0)  # its tables' bounds still miss what was due
    assert not feed.fell_silent(1000.0)
    assert feed.silent_since_s is None
