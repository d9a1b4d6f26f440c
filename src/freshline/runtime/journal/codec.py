"""Events and commands as JSON, so that a run can be recorded and replayed."""

from __future__ import annotations

import dataclasses
from typing import Any

from freshline.core import events as event_kinds
from freshline.core.commands import Candidate, StartUpdate
from freshline.core.events import Event

_EVENTS: dict[str, type] = {
    name: value
    for name, value in vars(event_kinds).items()
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


def encoded(record: Event | StartUpdate) -> dict[str, Any]:
    """The record as a JSON object; fields at their defaults are left out."""
    values: dict[str, Any] = {"kind": type(record).__name__}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if value != field.default:
            values[field.name] = _plain(value)
    return values


def decoded_event(values: dict[str, Any]) -> Event:
    """The event that ``encoded`` made ``values`` of."""
    kind = _EVENTS[values["kind"]]
    given = {name: value for name, value in values.items() if name != "kind"}
    for name in ("names", "files"):
        if given.get(name) is not None:
            given[name] = tuple(given[name])
    if given.get("parents") is not None:
        given["parents"] = tuple((name, version) for name, version in given["parents"])
    if given.get("reports") is not None:
        given["reports"] = tuple(tuple(demand) for demand in given["reports"])
    event: Event = kind(**given)
    return event


def decoded_command(values: dict[str, Any]) -> StartUpdate:
    """The command that ``encoded`` made ``values`` of."""
    given = {name: value for name, value in values.items() if name != "kind"}
    given["files"] = tuple(given.get("files", ()))
    given["parents"] = tuple((name, version) for name, version in given.get("parents", ()))
    if given.get("backfill") is not None:
        given["backfill"] = tuple(given["backfill"])
    given["over"] = tuple(Candidate(**item) for item in given.get("over", ()))
    return StartUpdate(**given)


def _plain(value: Any) -> Any:
    if isinstance(value, Candidate):
        return {"table": value.table, "score": value.score}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
