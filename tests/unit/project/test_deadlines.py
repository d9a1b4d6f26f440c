"""Deadlines and windows: which moments they mean, changes of clocks included."""

from datetime import datetime

import pytest

from freshline.project.deadlines import Deadline, read_deadline
from freshline.project.windows import window_at


def _s(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("text", "end", "deadline"),
    [
        ("06:00 UTC", "2026-03-02T00:00Z", "2026-03-02T06:00Z"),
        ("06:00 UTC", "2026-03-02T06:00Z", "2026-03-03T06:00Z"),  # behind the end, not at it
        ("06:00 Europe/Berlin", "2026-07-02T00:00Z", "2026-07-02T04:00Z"),
        ("06:00:30 Europe/Berlin", "2026-01-02T00:00Z", "2026-01-02T05:00:30Z"),
        ("02:30 Europe/Berlin", "2026-03-28T23:00Z", "2026-03-29T01:30Z"),  # left out that night
        ("02:30 Europe/Berlin", "2026-10-24T22:00Z", "2026-10-25T00:30Z"),  # twice that night
        ("0 6 * * 1-5", "2026-03-07T00:00Z", "2026-03-09T06:00Z"),  # a Saturday's on Monday
        ("0 6 * * * Europe/Berlin", "2026-01-02T00:00Z", "2026-01-02T05:00Z"),
        ("06:00 +02:00", "2026-03-02T00:00Z", "2026-03-02T04:00Z"),
        ("0 6 * * * GMT-3", "2026-03-02T00:00Z", "2026-03-02T09:00Z"),
        ("0 6 * * THU", "2026-03-02T00:00Z", "2026-03-05T06:00Z"),
        ("1h 30m", "2026-03-02T00:00Z", "2026-03-02T01:30Z"),
    ],
)
def test_the_first_such_moment_behind_the_window(text: str, end: str, deadline: str) -> None:
    assert read_deadline(text).after(_s(end)) == _s(deadline)


def test_a_deadline_keeps_its_text() -> None:
    assert read_deadline(" 30 minutes ") == Deadline("30 minutes", delay_s=1800.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("06:00", "'06:00' has no time zone"),
        ("24:00 UTC", "'24:00 UTC' is no time of day"),
        ("06:00 Atlantis", "'Atlantis' is no time zone"),
        ("0 6 * * * Atlantis", "'Atlantis' is no time zone"),
        ("0 6 * * 9", "'0 6 * * 9' is no cron expression of five fields"),
        ("R 6 * * *", "'R 6 * * *' is no cron expression of five fields"),
        ("0 6 30 2 *", "'0 6 30 2 *' never comes"),
        ("06:00 +20:00", "'+20:00' is no time zone"),
        ("06:00 +18:30", "'+18:30' is no time zone"),
        ("soon", "'soon' is no duration"),
        ("", "'' is not longer than zero"),
    ],
)
def test_what_is_no_deadline(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        read_deadline(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("moment", "length_s", "zone", "start", "end"),
    [
        ("2026-03-02T13:00Z", 86400, "UTC", "2026-03-02T00:00Z", "2026-03-03T00:00Z"),
        ("2026-03-02T00:00Z", 86400, "UTC", "2026-03-02T00:00Z", "2026-03-03T00:00Z"),
        ("2026-03-02T13:00Z", 86400, "-03:30", "2026-03-02T03:30Z", "2026-03-03T03:30Z"),
        ("2026-03-02T13:00Z", 86400, "GMT+2", "2026-03-01T22:00Z", "2026-03-02T22:00Z"),
        ("2026-03-02T13:00Z", 86400, "PST", "2026-03-02T08:00Z", "2026-03-03T08:00Z"),
        ("2026-03-29T12:00Z", 86400, "Europe/Berlin", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),
        ("2026-03-04T12:00Z", 604800, "UTC", "2026-03-02T00:00Z", "2026-03-09T00:00Z"),
        ("2026-03-02T13:07Z", 900, "Europe/Berlin", "2026-03-02T13:00Z", "2026-03-02T13:15Z"),
    ],
)
def test_windows(moment: str, length_s: float, zone: str, start: str, end: str) -> None:
    assert window_at(_s(moment), length_s, zone) == (_s(start), _s(end))
