"""From conditions to changes: which alert is raised at an instant, and which has ended.

Pure: the same settings, memory and conditions give the same changes. What is raised ends when
its condition does, and only what was raised ends, so every alert has exactly one recovery.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from freshline.project.model import ALERT_KINDS, AlertSettings
from freshline.runtime.alerts.conditions import SUBJECTS, Condition
from freshline.times import rfc3339

LASTING = ("late", "failing", "silent")
"""Kinds that wait for ``for``; the others do not pass by themselves, and are told at once."""

_TYPES = {"report-late": "late"}
Key = tuple[str, str, str]
"""URL, kind, subject."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A condition that one URL is told of, or will be.

    Attributes:
        url, kind, subject: What, and to whom.
        since_s: Since when it holds, seconds since the epoch.
        seen_s: When it was seen first.
        told_s: When its alert was raised; None: it has not held long enough yet.
    """

    url: str
    kind: str
    subject: str
    since_s: float
    seen_s: float
    told_s: float | None = None

    @property
    def key(self) -> Key:
        """What tells it from the others."""
        return self.url, self.kind, self.subject


@dataclass(frozen=True, slots=True)
class Change:
    """An alert was raised, or has ended; ``event`` is None where nobody is to be told."""

    raised: Raised
    ended: bool
    event: Mapping[str, Any] | None


def changes(
    project: str,
    settings: Iterable[AlertSettings],
    memory: Mapping[Key, Raised],
    conditions: Mapping[tuple[str, str], Condition],
    now_s: float,
    *,
    judged: Collection[str] = ALERT_KINDS,
    lasting: Collection[tuple[str, str]] = (),
) -> list[Change]:
    """What changes at ``now_s``.

    Args:
        project: The project's name, for the events' source.
        settings: The project's alerts.
        memory: What was raised, or seen, before.
        conditions: What holds now.
        now_s: Seconds since the epoch.
        judged: Kinds of which ``conditions`` tells everything; others stay as they are.
        lasting: Kinds and subjects whose alert, once it is told, does not end now.

    Returns:
        One change for each row of the memory that is new, told, or over.
    """
    found: list[Change] = []
    wanted: set[Key] = set()
    for setting in settings:
        for condition in conditions.values():
            if condition.kind not in setting.kinds or condition.kind not in judged:
                continue
            key = (setting.url, *condition.key)
            wanted.add(key)
            before = memory.get(key)
            row = before or Raised(
                setting.url, condition.kind, condition.subject, condition.since_s, now_s
            )
            for_s = setting.for_s if condition.kind in LASTING else 0.0
            if row.told_s is None and now_s - row.seen_s >= for_s:
                row = replace(row, told_s=now_s)
                event = raised_event(project, row, condition) if setting.alerts else None
                found.append(Change(row, ended=False, event=event))
            elif before is None:
                found.append(Change(row, ended=False, event=None))
    addresses = {(setting.url, kind) for setting in settings for kind in setting.kinds}
    for key, row in memory.items():
        if key in wanted or row.kind not in judged:
            continue
        is_told = row.told_s is not None and key[:2] in addresses
        if is_told and (row.kind, row.subject) in lasting:
            continue
        event = recovered_event(project, row, now_s) if is_told else None
        found.append(Change(row, ended=True, event=event))
    return found


def raised_event(project: str, row: Raised, condition: Condition) -> dict[str, Any]:
    """The CloudEvent of an alert."""
    data = {
        "kind": row.kind,
        "since": rfc3339(row.since_s),
        "reason": condition.reason,
        **condition.data,
    }
    assert row.told_s is not None
    return _event(project, row, _TYPES.get(row.kind, row.kind), row.told_s, data)


def recovered_event(project: str, row: Raised, now_s: float) -> dict[str, Any]:
    """The CloudEvent of an alert's end."""
    data = {
        "kind": row.kind,
        "since": rfc3339(row.since_s),
        "until": rfc3339(now_s),
        "reason": f"no longer {row.kind}",
    }
    return _event(project, row, "recovered", now_s, data)


def _event(
    project: str, row: Raised, name: str, at_s: float, data: Mapping[str, Any]
) -> dict[str, Any]:
    subject = SUBJECTS.get(row.kind, "table")
    return {
        "specversion": "1.0",
        # The same change has the same id, however often it is posted.
        "id": f"{row.kind}/{row.subject}/{round(row.seen_s * 1e6)}/{name}",
        "source": f"/freshline/{project}",
        "type": f"freshline.{subject}.{name}",
        "subject": row.subject,
        "time": rfc3339(at_s),
        "datacontenttype": "application/json",
        "data": dict(data),
    }
