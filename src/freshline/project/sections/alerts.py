"""``alerts:`` of freshline.yml: where changes of state are posted, and which."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from freshline.project.model import ALERT_KINDS, AlertSettings
from freshline.project.names import correction, listed
from freshline.project.yaml.section import Section

RECOVERED = "recovered"
_WORDS = (ALERT_KINDS[0], RECOVERED, *ALERT_KINDS[1:])
_URL_RULE = (
    "it is an address like https://hooks.example.com/freshline, without a user's name, and other"
    " characters than ASCII's are percent-encoded"
)


def read_alerts(top: Section) -> tuple[AlertSettings, ...]:
    """The section, an empty tuple where it is missing.

    Args:
        top: The whole file; faults are added to it.
    """
    entries = top.data.get("alerts")
    if entries is None:
        return ()
    if not isinstance(entries, list):
        top.fault(
            "bad-value",
            "alerts is no list",
            key="alerts",
            rule="it is a list of mappings with url, on and for",
            next_step="Write each alert as - {url: ..., on: [late, recovered]}.",
        )
        return ()
    found: list[AlertSettings] = []
    for index in range(len(entries)):
        section = Section(top.file, ("alerts", index), f"alert {index + 1}", top.errors)
        entry = _entry(section)
        if entry is None:
            continue
        twice = [
            kind
            for other in found
            if other.url == entry.url
            for kind in entry.kinds
            if kind in other.kinds
        ]
        if twice:
            section.fault(
                "duplicate-alert",
                f"{section.what} posts {listed(twice)} to an address that has it already",
                key="url",
                rule="each change of state is posted once to an address",
                next_step="Put the kinds into one alert.",
            )
        found.append(entry)
    return tuple(found)


def _entry(section: Section) -> AlertSettings | None:
    if not section.data and section.errors:
        return None
    section.only("url", "on", "for")
    section.require("url")
    url = section.text("url") or ""
    if url and not _is_address(url):
        # It is not shown: what a log should not have may stand in it, with the mistake behind it.
        section.fault(
            "bad-value",
            f"nothing can be posted to the url of {section.what}",
            key="url",
            rule=_URL_RULE,
            next_step="Correct the address.",
        )
    words = _words(section)
    kinds = tuple(kind for kind in ALERT_KINDS if kind in words)
    for_s = _for_s(section)
    return AlertSettings(url, kinds or ALERT_KINDS, bool(kinds), for_s) if url else None


def _is_address(url: str) -> bool:
    """Whether events can be posted to it: HTTP's first line takes nothing else as it is."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        (parts.hostname or "").encode("idna")  # as the name of a host is looked up
        is_http = parts.scheme in ("http", "https") and parts.username is None
        return is_http and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _words(section: Section) -> tuple[str, ...]:
    value: Any = section.data.get("on")
    if value is None:
        return _WORDS
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words:
        section.fault(
            "bad-value",
            f"on of {section.what} is no list of words",
            key="on",
            rule=f"it is a list of {listed(_WORDS)}",
            next_step="Correct the list, or remove it to have all of them.",
        )
        return _WORDS
    for word in words:
        if word not in _WORDS:
            section.fault(
                "bad-value",
                f"on of {section.what} has the unknown word '{word}'",
                key="on",
                rule=f"the words are {listed(_WORDS)}",
                next_step=correction(str(word), _WORDS, "Use one of them."),
            )
    return tuple(str(word) for word in words)


def _for_s(section: Section) -> float:
    written = section.data.get("for")
    if written == 0 or (isinstance(written, str) and written.strip() in ("0", "0s")):
        return 0.0
    return section.duration_s("for") or 0.0
