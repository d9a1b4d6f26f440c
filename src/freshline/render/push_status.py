"""What freshline status shows of the push gateway, from the state it writes every second."""

from __future__ import annotations

from typing import Any

from freshline.ingest.state import read_state
from freshline.project.model import Project
from freshline.render.output import counted, moment
from freshline.runtime.journal.lock import holder
from freshline.times import brief_s

_STALE_S = 10.0
"""A state older than this is told with its age: the disk is full, or the process stands still."""


def pushed_record(project: Project) -> dict[str, Any] | None:
    """The gateway for JSON; None where the project has no push feeds.

    ``url`` is null while no gateway runs; the other figures are then those of the last one.
    """
    if project.ingest is None or not _push_feeds(project):
        return None
    pid = holder(project.ingest.folder)
    state = read_state(project.ingest.folder) or {}
    same = pid is not None and state.get("pid") == pid
    return {
        **state,
        "url": state.get("url") if same else None,
        "running": pid is not None,
        "pid": pid,
        "at": moment(state.get("at")),
        "state": state.get("state") if same else "starting" if pid is not None else "stopped",
    }


def pushed_remarks(project: Project, now_s: float) -> list[str]:
    """The gateway for people, a line each."""
    record = pushed_record(project)
    if record is None or project.ingest is None:
        return []
    feeds = record.get("feeds", {})
    waiting = sum(feed["backlog_records"] for feed in feeds.values())
    at_s = (read_state(project.ingest.folder) or {}).get("at", now_s)
    age_s = max((feed["backlog_age_s"] for feed in feeds.values()), default=0.0)
    age_s += max(0.0, now_s - at_s)  # records wait on while nobody writes the state
    where = ", on this host alone" if project.ingest.store is not None else ""
    waits = f"{counted(waiting, 'record')} not landed, for {brief_s(age_s)}{where}"
    backlog = f", {waits}" if waiting else ""
    if record["url"] is None:
        state = "is starting" if record["running"] else "does not run"
        return [f"gateway: {state}{backlog}"]
    old = f", as of {brief_s(now_s - at_s)} ago" if now_s - at_s > _STALE_S else ""
    lines = [f"gateway: {record['url']}, {record['state']}{backlog}{old}"]
    lines += [f"gateway: {message}" for message in record["messages"]]
    if record["corrupt_rows"]:
        rows = counted(record["corrupt_rows"], "damaged request")
        lines.append(f"gateway: {rows} in quarantine, see {project.ingest.folder / 'quarantine'}")
    return lines


def _push_feeds(project: Project) -> bool:
    return any(feed.kind == "push" for feed in project.feeds.values())
