"""Moments as text: those that a calendar has read back as they were, others end where it ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.render.output import clock
from freshline.times import rfc3339, seconds


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
