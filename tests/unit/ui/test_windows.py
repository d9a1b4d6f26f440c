"""What a request says of its window: what is taken, and what is refused with which reason."""

from __future__ import annotations

import pytest

from freshline.ui.answers import Problem
from freshline.ui.reads.window import LONGEST_S, Window, asked_window

NOW_S = 1_700_000_000.0


@pytest.mark.parametrize(
    ("parameters", "window"),
    [
        ({}, Window(NOW_S - 3600.0, NOW_S)),
        ({"last": "60"}, Window(NOW_S - 60.0, NOW_S)),
        ({"from": "1699999000"}, Window(1_699_999_000.0, NOW_S)),
        ({"from": "1699999000", "to": "1699999500", "last": "9"}, Window(1.699999e9, 1.6999995e9)),
        ({"to": "2023-11-14T22:00:00Z"}, Window(1_699_995_600.0, 1_699_999_200.0)),
        ({"to": "2023-11-14T23:00:00 01:00", "last": "60"}, Window(1.69999914e9, 1.6999992e9)),
    ],
)
def test_windows(parameters, window):
    assert asked_window(parameters).at(NOW_S) == window


@pytest.mark.parametrize("text", ["-5", "nan", "inf", "1e12", "soon", "", "2026-01-01", "1h"])
def test_a_length_is_a_number_of_seconds(text):
    with pytest.raises(Problem) as told:
        asked_window({"last": text})
    assert told.value.code == "bad-length"


@pytest.mark.parametrize("text", ["-5", "nan", "soon", "", "2026-13-01"])
@pytest.mark.parametrize("end", ["from", "to"])
def test_an_end_is_a_moment(end, text):
    with pytest.raises(Problem) as told:
        asked_window({end: text})
    assert told.value.code == "bad-moment"
    assert end in str(told.value)


@pytest.mark.parametrize(
    "parameters",
    [{"last": "0"}, {"from": str(NOW_S)}, {"from": str(NOW_S + 1)}, {"last": str(LONGEST_S + 1)}],
)
def test_a_window_has_a_length_and_an_end(parameters):
    with pytest.raises(Problem) as told:
        asked_window(parameters).at(NOW_S)
    assert told.value.code == "bad-window"
