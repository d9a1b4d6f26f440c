"""Moments as text: those that a calendar has read back as they were, others end where it ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.render.output import clock
from freshline.times import fixed_offset, rfc3339, seconds


@given(st.floats(-6.2e10, 2.5e11))
def test_a_moment_reads_back(moment_s):
    assert seconds(rfc3339(moment_s)) == pytest.approx(moment_s, abs=1e-6 + abs(moment_s) * 1e-15)


@given(st.floats(allow_nan=False))
def test_every_number_of_seconds_is_shown(moment_s):
    assert len(rfc3339(moment_s)) == len("2026-01-31T08:00:00.000000Z")
    assert len(clock(moment_s)) == len("2026-01-31 08:00:00")


def test_years_have_four_digits():
    assert rfc3339(-62_135_596_800.0) == "0001-01-01T00:00:00.000000Z"
    assert rfc3339(-4.2e11) == "0001-01-01T00:00:00.000000Z"
    assert clock(-62_135_596_800.0) == "0001-01-01 00:00:00"
    assert rfc3339(1e300) == "9999-12-31T23:59:59.000000Z"


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [("Z", 0), ("UTC", 0), ("GMT", 0), ("+02:00", 120), ("-0530", -330), ("UTC-3", -180),
     ("GMT+1:30", 90), ("+18", 1080), ("+18:01", None), ("+02:60", None), ("", None), ("utc", None),
     ("Europe/Berlin", None), ("UTC ", None), ("+\u0662", None)],
)  # fmt: skip
def test_the_name_of_a_zone_says_its_offset(zone, minutes):
    expected = None if minutes is None else timedelta(minutes=minutes)
    assert fixed_offset(zone) == expected
