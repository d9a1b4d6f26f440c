"""Which windows a report's time is cut into.

Windows of whole days begin at midnight in the session's time zone, as ``date_trunc('DAY', t)``
does, so a day of a change of clocks has 23 or 25 hours; several days are counted from a Monday.
All others follow each other from the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo

from freshline.project.deadlines import zone_named

SESSION_ZONE = "spark.sql.session.timeZone"
_DAY_S = 86400.0
_MONDAY = date(1970, 1, 5)
_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
    "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
"""Java's short names of zones, which a session of Spark takes, too."""


def window_at(moment_s: float, length_s: float, zone: str = "UTC") -> tuple[float, float]:
    """The window that holds a moment: [start, end), seconds since the epoch.

    Raises:
        ValueError: There is no such time zone.
    """
    if not is_of_days(length_s):
        start_s = moment_s // length_s * length_s
        return start_s, start_s + length_s
    days = round(length_s / _DAY_S)
    day = datetime.fromtimestamp(moment_s, session_zone(zone)).date()
    first = _MONDAY + timedelta(days=(day - _MONDAY).days // days * days)
    return _midnight_s(first, zone), _midnight_s(first + timedelta(days=days), zone)


def is_of_days(length_s: float) -> bool:
    """Whether windows of that length are whole days, which begin at the session's midnight."""
    return length_s > 0.0 and length_s % _DAY_S == 0.0


def _midnight_s(day: date, zone: str) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=session_zone(zone)).timestamp()


def zone_name(configuration: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """The time zone of the session in which a table's query runs."""
    return {**configuration, **settings}.get(SESSION_ZONE, "UTC")


def session_zone(name: str) -> tzinfo:
    """What ``spark.sql.session.timeZone`` means.

    Raises:
        ValueError: There is no such time zone.
    """
    return zone_named(_SHORT.get(name, name))
