"""Lengths of days and hours in zones, against the zones themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from freshline.sql.query.calendar import Span, date_us, span_of_text, truncation_us
from freshline.sql.query.zone import DAY_US, HOUR_US, zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def test_fixed_offsets_have_no_shifts():
    names = ("UTC", "Z", "GMT", "+05:30", "UTC-3", "GMT+01:00")
    assert [zone(name).offset_lo_us / HOUR_US for name in names] == [0, 0, 0, 5.5, -3, 1]
    assert all(not zone(name).shifts for name in names)


@pytest.mark.parametrize(
    "name", ["America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca"]
)
def test_truncation_stays_within_its_bounds_around_every_shift(name):
    info, known = ZoneInfo(name), zone(name)
    assert known.shifts
    for shift in (*known.shifts[:8], *known.shifts[-4:]):
        middle = _EPOCH + timedelta(microseconds=shift.after_us - known.offset_hi_us)
        for minutes in range(-360, 1_500, 20):
            at = (middle + timedelta(minutes=minutes)).astimezone(info)
            hour = at.replace(minute=0, second=0, microsecond=0)
            for unit, start in (("hour", hour), ("day", hour.replace(hour=0))):
                change = (start.astimezone(UTC) - at.astimezone(UTC)) // timedelta(microseconds=1)
                bounds = truncation_us(unit, known)
                assert bounds is not None
                lo, hi = bounds
                assert lo <= change <= hi, (unit, at)


@pytest.mark.parametrize(
    ("name", "lo_s", "hi_s"),
    [("Europe/Stockholm", 3208, 10_800), ("CET", 0, 7_200), ("WET", 0, 7_200)],
)
def test_a_zone_has_the_offsets_of_each_history_that_databases_tell(name, lo_s, hi_s):
    """Those of Java, which has Berlin's history for Stockholm and Brussels' for CET."""
    known = zone(name)
    assert known.offset_lo_us <= lo_s * 1_000_000
    assert known.offset_hi_us >= hi_s * 1_000_000
    assert known.back_us == HOUR_US


def test_where_clocks_were_only_ever_put_forward_a_day_has_24_hours():
    """In Dubai once, by 18 minutes and 48 seconds, in 1920."""
    known = zone("Asia/Dubai")
    assert [shift.back_us for shift in known.shifts] == [-1_128_000_000]
    assert known.back_us == 0
    assert date_us(known) == (1 - DAY_US, 0)


def test_units_and_intervals():
    utc = zone("UTC")
    assert truncation_us("mm", utc) == (1 - 31 * DAY_US, 0)
    assert truncation_us("QUARTER", utc) == (1 - 92 * DAY_US, 0)
    assert truncation_us("century", utc) is None
    assert span_of_text("interval 1 hour 30 minutes") == Span(micros=HOUR_US * 3 // 2)
    assert span_of_text("an hour") is None
    assert Span(months=1).bounds_us(utc) == (28 * DAY_US, 31 * DAY_US)
    assert Span(months=-12).bounds_us(utc) == (-366 * DAY_US, -365 * DAY_US)
