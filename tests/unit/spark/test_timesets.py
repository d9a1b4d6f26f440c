"""Sets of event times, and what they mean for buckets; laws by Hypothesis."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from freshline.spark.views.timesets import (
    BEGINNING_US,
    TimeSet,
    changed_by,
    covered,
    earlier,
    literal,
    read_by,
    spread_us,
    time_set,
    within,
)
from freshline.sql.query.records import Reads

intervals = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(0, 20)).map(lambda each: (each[0], sum(each))),
    max_size=12,
)


def members(wanted: TimeSet) -> set[int]:
    return {at for lo, hi in wanted.intervals for at in range(lo, hi + 1)}


@given(intervals, st.integers(1, 20))
def test_a_union_holds_what_its_parts_hold_and_is_in_order(parts, most):
    found = time_set(parts, most=most)
    assert members(time_set(parts, most=1000)) == members(TimeSet(tuple(parts)))
    assert members(found) >= members(TimeSet(tuple(parts)))
    assert len(found.intervals) <= most
    bounds = [bound for interval in found.intervals for bound in interval]
    assert bounds == sorted(bounds)


def test_the_closest_are_joined_first():
    parts = [(0, 1), (10, 11), (13, 14), (100, 101)]
    assert time_set(parts, most=3).intervals == ((0, 1), (10, 14), (100, 101))
    assert time_set(parts, most=1).intervals == ((0, 101),)


@given(intervals, st.integers(-9, 9), st.integers(0, 9))
def test_every_bucket_that_reads_a_touched_row_is_found_and_reads_it(parts, lo_us, width):
    reads = Reads("at", lo_us, lo_us + width)
    touched = time_set(parts, most=1000)
    found = members(changed_by(touched, reads))
    right = {
        bucket
        for bucket in range(-200, 200)
        if any(bucket + reads.lo_us <= at <= bucket + reads.hi_us for at in members(touched))
    }
    assert found == right
    assert members(read_by(changed_by(touched, reads), reads)) >= members(touched)


def test_null_stays_null():
    reads = Reads("at", 0, 9)
    alone = time_set([], null=True)
    assert alone
    assert changed_by(alone, reads) == read_by(alone, reads) == alone
    assert alone.until(0) == alone
    assert time_set([(0, 5), (8, 9)]).until(4) == time_set([(0, 4)])
    assert not time_set([])


def test_times_are_compared_with_literals():
    half_past = time_set([(1_800_000_000, 1_800_000_001)])
    assert within("at", "timestamp", half_past, "Asia/Tokyo") == (
        "(at IS NOT NULL AND ((at >= TIMESTAMP_LTZ'1970-01-01 00:30:00.000000Z'"
        " AND at <= TIMESTAMP_LTZ'1970-01-01 00:30:00.000001Z')))"
    )
    assert within("a b", "timestamp_ntz", time_set([(0, 0)], null=True), "UTC") == (
        "((`a b` >= TIMESTAMP_NTZ'1970-01-01 00:00:00.000000'"
        " AND `a b` <= TIMESTAMP_NTZ'1970-01-01 00:00:00.000000') OR `a b` IS NULL)"
    )
    assert within("at", "timestamp", time_set([(-(2**63), 2**62)]), "UTC") == (
        "(at IS NOT NULL AND ((at IS NOT NULL)))"
    )


def test_times_beyond_the_years_1_to_9999_are_not_cut_off():
    new_year_us = 253_402_300_800_000_000  # of 10000, in UTC
    for kind, constant in {
        "timestamp": f"timestamp_micros({new_year_us})",
        "timestamp_ntz": "(TIMESTAMP_NTZ'1970-01-01' + make_dt_interval(2932897, 0, 0, 0.000000))",
        "date": "date_from_unix_date(2932897)",
    }.items():
        assert literal(new_year_us, kind) == constant
        assert within("at", kind, time_set([(new_year_us, new_year_us)]), "UTC") == (
            f"(at IS NOT NULL AND ((at >= {constant} AND at <= {constant})))"
        )
    year_0_us = -62_135_596_800_000_001
    assert literal(year_0_us + 1, "date") == "DATE'0001-01-01'"
    assert literal(year_0_us, "date") == "date_from_unix_date(-719163)"
    assert literal(year_0_us, "timestamp_ntz").endswith("(-719163, 0, 0, 86399.999999))")


def test_what_is_earlier_than_a_set():
    half_past = time_set([(1_800_000_000, 1_800_000_001), (9_000_000_000, 9_000_000_000)])
    assert earlier("at", "timestamp", half_past, "UTC") == (
        "(at IS NOT NULL AND ((at <= TIMESTAMP_LTZ'1970-01-01 00:29:59.999999Z')))"
    )
    assert earlier("at", "timestamp", time_set([], null=True), "UTC") is None
    assert earlier("at", "timestamp", time_set([(BEGINNING_US, 0)]), "UTC") is None


def test_a_date_is_its_first_microsecond():
    day_us = 86_400_000_000
    assert within("day", "date", time_set([(1, day_us)]), "UTC") == (
        "(day IS NOT NULL AND ((day >= DATE'1970-01-02' AND day <= DATE'1970-01-02')))"
    )
    assert within("day", "date", time_set([(1, day_us - 1)]), "UTC") == "false"
    assert within("day", "date", time_set([(1, 2)], null=True), "UTC") == "day IS NULL"
    assert covered("date", time_set([(1, day_us)]), "UTC") == time_set([(day_us, day_us)])


def test_a_day_of_which_java_and_python_tell_different_beginnings_is_found():
    """To Java clocks in Stockholm were three hours ahead in June 1945, as in Berlin."""
    begins = int(datetime(1945, 6, 14, 21, tzinfo=UTC).timestamp()) * 1_000_000
    days = within("born", "date", TimeSet(((begins, begins),)), "Europe/Stockholm")
    assert days == (
        "(born IS NOT NULL AND ((born >= DATE'1945-06-15' AND born <= DATE'1945-06-15')))"
    )


def test_away_from_utc_dates_are_those_that_may_begin_in_the_interval():
    noon_us, hour_us = 43_200_000_000, 3_600_000_000
    for zone, days in (("+02:00", "02"), ("-12:00", "01")):
        wanted = time_set([(noon_us, noon_us + 10 * hour_us)])
        assert within("day", "date", wanted, zone) == (
            f"(day IS NOT NULL AND ((day >= DATE'1970-01-{days}' AND day <= DATE'1970-01-{days}')))"
        )
    # In Berlin a day began 53 minutes to three hours (in 1945) before UTC's.
    evening = time_set([(22 * hour_us, 22 * hour_us)])
    assert within("day", "date", evening, "Europe/Berlin") == (
        "(day IS NOT NULL AND ((day >= DATE'1970-01-02' AND day <= DATE'1970-01-02')))"
    )
    (interval,) = covered("date", evening, "Europe/Berlin").intervals
    assert interval[0] == 21 * hour_us
    assert spread_us("date", "Europe/Berlin") == interval[1] - interval[0] > hour_us
    assert spread_us("timestamp", "Europe/Berlin") == spread_us("date", "UTC") == 0
