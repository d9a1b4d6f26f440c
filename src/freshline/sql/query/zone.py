"""How far a session's time zone bends days and hours, in microseconds.

Spark truncates to hours and days on the wall clock of the session's zone, and a date means
the instant at which it begins there. Where clocks are put back, an hour or a day of the wall
clock lasts longer; where they are put forward over the start of an hour or a day, that start
may be taken for a later instant. Both are bounded here from the zone's own history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from freshline.times import fixed_offset

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_FIRST, _LAST = datetime(1800, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_OFFSET_US = 18 * HOUR_US  # of any zone in java.time
_TOLD_AS: Mapping[str, str] = {
    "Africa/Abidjan": "Africa/Accra Africa/Lome Africa/Ouagadougou Africa/Timbuktu",
    "Africa/Johannesburg": "Africa/Maseru Africa/Mbabane",
    "Africa/Lagos": "Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa"
    " Africa/Libreville Africa/Luanda Africa/Porto-Novo",
    "Africa/Maputo": "Africa/Bujumbura Africa/Harare Africa/Kigali Africa/Lubumbashi Africa/Lusaka",
    "Africa/Nairobi": "Africa/Addis_Ababa Africa/Asmara Africa/Dar_es_Salaam Africa/Djibouti"
    " Africa/Mogadishu Indian/Antananarivo Indian/Comoro Indian/Mayotte",
    "America/Chicago": "CST6CDT",
    "America/Denver": "MST7MDT",
    "America/Los_Angeles": "PST8PDT",
    "America/New_York": "EST5EDT",
    "America/Panama": "America/Atikokan America/Cayman EST",
    "America/Phoenix": "America/Creston MST",
    "America/Puerto_Rico": "America/Anguilla America/Antigua America/Aruba America/Blanc-Sablon"
    " America/Curacao America/Dominica America/Grenada America/Guadeloupe America/Montserrat"
    " America/Port_of_Spain America/St_Kitts America/St_Lucia America/St_Thomas"
    " America/St_Vincent America/Tortola",
    "America/Toronto": "America/Nassau",
    "Asia/Bangkok": "Asia/Phnom_Penh Asia/Vientiane Indian/Christmas",
    "Asia/Dubai": "Asia/Muscat Indian/Mahe Indian/Reunion",
    "Asia/Kuching": "Asia/Brunei",
    "Asia/Riyadh": "Antarctica/Syowa Asia/Aden",
    "Asia/Yangon": "Indian/Cocos",
    "Europe/Athens": "EET",
    "Europe/Belgrade": "Europe/Ljubljana Europe/Sarajevo Europe/Zagreb",
    "Europe/Berlin": "Europe/Copenhagen Europe/Oslo Europe/Stockholm",
    "Europe/Brussels": "CET Europe/Amsterdam Europe/Luxembourg MET",
    "Europe/Lisbon": "WET",
    "Europe/Zurich": "Europe/Vaduz",
    "Pacific/Auckland": "Antarctica/McMurdo",
    "Pacific/Guam": "Pacific/Saipan",
    "Pacific/Honolulu": "HST",
    "Pacific/Pago_Pago": "Pacific/Midway",
    "Pacific/Tarawa": "Pacific/Funafuti Pacific/Wallis",
}
"""By zone: those of which some databases tell its history, and others one of their own.

They differ before 1970, those of WET and a few others later, too. So a day of 1945 in Stockholm
begins an hour earlier to Spark, as Java tells it, than to Python on many a Linux.
"""
_OTHER = {name: one for one, names in _TOLD_AS.items() for name in names.split()}


@dataclass(frozen=True, slots=True)
class Shift:
    """Clocks are put from one wall time to another; both as microseconds since 1970."""

    before_us: int
    after_us: int

    @property
    def back_us(self) -> int:
        """By how much they are put back; negative: forward."""
        return self.before_us - self.after_us


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone's offsets and shifts.

    Attributes:
        name: As Spark's ``spark.sql.session.timeZone`` has it.
        offset_lo_us: Least offset of the wall clock from UTC, ever.
        offset_hi_us: Greatest one.
        shifts: Every time clocks are put back or forward; none where the offset is fixed. All of
            two histories where databases tell different ones.
    """

    name: str
    offset_lo_us: int
    offset_hi_us: int
    shifts: tuple[Shift, ...]

    @property
    def spread_us(self) -> int:
        """By how much two equal lengths on the wall clock can differ in truth."""
        return self.offset_hi_us - self.offset_lo_us

    @property
    def back_us(self) -> int:
        """By how much clocks are put back at most, 0 if never: a day lasts 24 hours and this."""
        return max((0, *(shift.back_us for shift in self.shifts)))

    @property
    def dates_come_back(self) -> bool:
        """Whether clocks are put back from behind a midnight to before it."""
        return any(
            (shift.before_us - 1) // DAY_US > shift.after_us // DAY_US for shift in self.shifts
        )

    def longer_us(self, unit_us: int) -> int:
        """By how much a wall-clock unit (a minute to a day) can last longer than it says.

        A shift back between two starts of a unit repeats whole units, which stay apart.
        """
        return max(
            (
                shift.back_us
                for shift in self.shifts
                if shift.back_us > 0 and (shift.before_us % unit_us or shift.after_us % unit_us)
            ),
            default=0,
        )

    def later_us(self, unit_us: int) -> int:
        """By how much the start of a unit can be taken for a later instant than one in it.

        That is where clocks skip the start and a part of the unit before it.
        """
        return max(
            (
                -shift.back_us
                for shift in self.shifts
                if shift.before_us % unit_us
                and shift.before_us // unit_us < (shift.after_us - 1) // unit_us
            ),
            default=0,
        )


@lru_cache(maxsize=64)
def zone(name: str) -> Zone:
    """The zone called ``name``; of one that is not known the worst is assumed."""
    if (fixed := fixed_offset(name)) is not None:
        offset_us = fixed // timedelta(microseconds=1)
        return Zone(name, offset_us, offset_us, ())
    try:
        infos = [ZoneInfo(each) for each in (name, _OTHER.get(name)) if each is not None]
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        worst = (Shift(1, 1 - DAY_US), Shift(1 - DAY_US, 1))
        return Zone(name, -_LARGEST_OFFSET_US, _LARGEST_OFFSET_US, worst)
    shifts = tuple(shift for info in infos for shift in _shifts(info))
    ends = (_offset_us(info, at) for info in infos for at in (_FIRST, _LAST))
    offsets = {*ends, *(offset for _, pair in shifts for offset in pair)}
    return Zone(
        name,
        min(offsets),
        max(offsets),
        tuple(Shift(at_us + before, at_us + after) for at_us, (before, after) in shifts),
    )


def _offset_us(info: ZoneInfo, at: datetime) -> int:
    offset = at.astimezone(info).utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


def _shifts(info: ZoneInfo) -> Iterator[tuple[int, tuple[int, int]]]:
    """Instant and offsets before and after of each shift, found by bisection of days."""
    step = timedelta(days=1)
    at, offset_us = _FIRST, _offset_us(info, _FIRST)
    while at < _LAST:
        later = at + step
        later_offset_us = _offset_us(info, later)
        if later_offset_us != offset_us:
            low, high = at, later
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) // 2
                middle = middle.replace(microsecond=0)
                if middle == low:
                    break
                if _offset_us(info, middle) == offset_us:
                    low = middle
                else:
                    high = middle
            instant_us = (high - _EPOCH) // timedelta(microseconds=1)
            yield instant_us, (offset_us, later_offset_us)
        at, offset_us = later, later_offset_us
