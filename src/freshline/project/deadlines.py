"""When the result of a window is wanted: a time of day, a cron expression, or a delay.

All three are relative to the window's end: the first such moment behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from freshline.project.yaml.durations import duration_s
from freshline.times import fixed_offset

RULE = (
    "a deadline is a time of day with its zone ('06:00 UTC'), a cron expression, with or without "
    "a zone ('0 6 * * 1-5 Europe/Berlin'), or a delay after the window's end ('30 minutes')"
)

_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(\S*)\Z")
_CRON_FIELDS = 5
_CHANCE = re.compile(r"(?i)(?<![a-z])[hr](?![a-z])")
"""What stands for any number in some programs' cron expressions, each time for another one."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """One of the three; the fields of the others are None.

    Attributes:
        text: As it was written.
        delay_s: Seconds after the window's end.
        time_of_day: Hours, minutes and seconds in ``zone``.
        cron: Five fields, in ``zone``.
        zone: Name of the time zone.
    """

    text: str
    delay_s: float | None = None
    time_of_day: tuple[int, int, int] | None = None
    cron: str | None = None
    zone: str = "UTC"

    def after(self, end_s: float) -> float:
        """The deadline of the window that ends at ``end_s``, seconds since the epoch.

        A time of day that a change of clocks leaves out counts as if the clocks had not been
        changed; one that comes twice counts when it comes first.
        """
        if self.delay_s is not None:
            return end_s + self.delay_s
        zone = zone_named(self.zone)
        end = datetime.fromtimestamp(end_s, zone)
        if self.cron is not None:
            from croniter import croniter  # tens of milliseconds, only where one is written

            found: datetime = croniter(self.cron, end).get_next(datetime)
            return found.timestamp()
        assert self.time_of_day is not None
        hours, minutes, seconds = self.time_of_day
        for days in range(3):
            day = end.date() + timedelta(days=days)
            moment = datetime(
                day.year, day.month, day.day, hours, minutes, seconds, tzinfo=zone
            ).timestamp()
            if moment > end_s:
                return moment
        raise AssertionError(self)


def read_deadline(text: str) -> Deadline:
    """A deadline as people write it.

    Raises:
        ValueError: It is none; the message says what is wrong with it.
    """
    written = text.strip()
    found = _TIME_OF_DAY.match(written)
    if found is not None:
        time = (int(found[1]), int(found[2]), int(found[3] or 0))
        if time[0] > 23 or time[1] > 59 or time[2] > 59:  # noqa: PLR2004 - a clock's numbers
            raise ValueError(f"'{written}' is no time of day")
        if not found[4]:
            raise ValueError(f"'{written}' has no time zone")
        zone_named(found[4])
        return Deadline(written, time_of_day=time, zone=found[4])
    fields = written.split()
    if len(fields) in (_CRON_FIELDS, _CRON_FIELDS + 1):
        from croniter import CroniterBadDateError, croniter

        cron, zone = " ".join(fields[:_CRON_FIELDS]), (fields[_CRON_FIELDS:] or ["UTC"])[0]
        if croniter.is_valid(cron) and not _CHANCE.search(cron):
            zone_named(zone)
            found_one = Deadline(written, cron=cron, zone=zone)
            try:
                found_one.after(0.0)
            except CroniterBadDateError:
                raise ValueError(f"'{written}' never comes") from None
            return found_one
    if written[:1] == "*" or (len(fields) >= _CRON_FIELDS and "*" in written):
        raise ValueError(f"'{written}' is no cron expression of five fields")
    return Deadline(written, delay_s=duration_s(written))


def zone_named(name: str) -> tzinfo:
    """The time zone of that name, or of that offset: ``Europe/Berlin``, ``+02:00``, ``GMT+2``.

    Raises:
        ValueError: There is none.
    """
    offset = fixed_offset(name.upper() if len(name) <= len("UTC") else name)
    if offset is not None:
        return timezone(offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"'{name}' is no time zone") from None
