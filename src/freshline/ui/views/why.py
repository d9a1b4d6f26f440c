"""``/v1/tables/NAME/why?at=``: why a table was, or was not, being updated at a moment."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from freshline.render.output import clock, counted
from freshline.runtime.journal.store import Journal, Row
from freshline.times import brief_s
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.updates import behind_id, on_tracks, update_after, update_at
from freshline.ui.reads.window import moment_s
from freshline.ui.views.one_update import update_record
from freshline.ui.views.table import known_name

_MOST_DECISIONS = 8
_MOST_LOOKED_AT = 200


def asked(reader: Reader, request: Request) -> tuple[str, float | None]:
    """Table and moment; None: now."""
    at = request.query_params.get("at")
    name = known_name(reader.project, request.path_params["name"])
    return name, None if at is None else moment_s(at, "at")


def answer(reader: Reader, asked_for: tuple[str, float | None]) -> dict[str, Any]:
    """Its state at that moment (running, waiting, paused, idle), and the reason in sentences.

    ``update`` is the one that ran, or that ended the wait; ``decisions`` are the choices made while
    it waited, newest first, each with this table's score where it was among the best;
    ``tracks`` is what ran.
    """
    name, at_s = asked_for
    now_s = reader.clock()
    at_s = now_s if at_s is None else min(at_s, now_s)
    with reader.journal() as journal:
        if journal is None:
            return _told(name, at_s, "unknown", ["No run is in the journal."], None, [], [])
        return _why(reader, journal, name, at_s, now_s)


def _why(reader: Reader, journal: Journal, name: str, at_s: float, now_s: float) -> dict[str, Any]:
    tracks = [_track(row) for row in on_tracks(journal, at_s, now_s)]
    last = update_at(journal, name, at_s, now_s)
    if last is not None and _runs_at(last, at_s):
        running = update_record(reader, journal, last)
        lines = [f"An update was running, since {clock(last['start_s'], at_s)} UTC."]
        return _told(name, at_s, "running", lines, running, [], tracks)
    following = update_after(journal, name, at_s, now_s)
    record = None if following is None else update_record(reader, journal, following)
    since_s = _waiting_since(journal, name, following, at_s)
    paused_s = _paused_since(journal, name, at_s)
    if paused_s is not None:
        lines = [f"It was paused at {clock(paused_s, at_s)} UTC: no update of it starts."]
        return _told(name, at_s, "paused", lines, record, [], tracks)
    if since_s is None:
        return _told(name, at_s, "idle", _idle(reader, name, last, following, at_s), record, [],
                     tracks)  # fmt: skip
    waits_s, lines = _waits(last, since_s, at_s)
    decisions = _decisions(journal, name, waits_s, at_s, now_s)
    if tracks:
        names = ", ".join(each["table"] for each in tracks)
        lines.append(f"{counted(len(tracks), 'track')} ran {names}.")
    else:
        lines.append("No track was running an update.")
    passed = next((each for each in decisions if each["this"]), None)
    if passed is not None:
        lines.append(
            f"At {clock(passed['at_s'], at_s)} {passed['table']} was chosen over it:"
            f" {passed['score']}, against {passed['this']}."
        )
    if following is not None:
        lines.append(f"It started at {clock(following['start_s'], at_s)}.")
    elif (retry_s := _retry_s(journal, name)) is not None and retry_s > at_s:
        lines.append(f"It is tried again from {clock(retry_s, at_s)} on.")
    return _told(name, at_s, "waiting", lines, record, decisions, tracks)


def _told(
    name: str,
    at_s: float,
    state: str,
    lines: list[str],
    update: dict[str, Any] | None,
    decisions: list[dict[str, Any]],
    tracks: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "table": name,
        "at_s": at_s,
        "state": state,
        "told": lines,
        "update": update,
        "decisions": decisions,
        "tracks": tracks,
    }


def _runs_at(row: Row, at_s: float) -> bool:
    if row["start_s"] > at_s + 1e-6:
        return False  # noted by a clock that was put back since
    if row["finish_s"] is not None:
        return bool(row["finish_s"] >= at_s)
    return bool(row["state"] == "running")


def _waiting_since(journal: Journal, name: str, following: Row | None, at_s: float) -> float | None:
    """When the work that waits at ``at_s`` had arrived; None: nothing waited."""
    if following is not None:
        release_s = following["release_s"]
        return release_s if release_s is not None and release_s <= at_s else None
    row = journal.row("SELECT since_s FROM tables WHERE name=?", (name,))
    since_s = None if row is None else row["since_s"]
    return since_s if since_s is not None and since_s <= at_s else None


def _waits(last: Row | None, since_s: float, at_s: float) -> tuple[float, list[str]]:
    """Since when work that arrived at ``since_s`` waits, and that in sentences.

    An attempt that failed was no waiting: it waits since then.
    """
    since = f"Its work had been there since {clock(since_s, at_s)} UTC"
    failed = last is not None and last["state"] == "failed" and last["start_s"] >= since_s
    if last is None or not failed:
        return since_s, [f"{since}, for {brief_s(at_s - since_s)}."]
    ended_s = last["finish_s"]
    failure = f"An update of it failed at {clock(ended_s, at_s)}"
    took, again = brief_s(ended_s - last["start_s"]), brief_s(at_s - ended_s)
    return ended_s, [
        f"{since}.",
        f"{failure}, after {took}; it waited again from then on, for {again}.",
    ]


def _retry_s(journal: Journal, name: str) -> float | None:
    row = journal.row("SELECT retry_s FROM tables WHERE name=?", (name,))
    return None if row is None else row["retry_s"]


def _paused_since(journal: Journal, name: str, at_s: float) -> float | None:
    for row in journal.each(
        "SELECT kind, answered_s, answer FROM requests WHERE table_name=?"
        " AND kind IN ('pause','resume') AND answered_s<=? ORDER BY id DESC",
        (name, at_s),
    ):
        if json.loads(row["answer"] or "{}").get("ok"):  # else it was refused
            return row["answered_s"] if row["kind"] == "pause" else None
    return None


def _decisions(
    journal: Journal, name: str, since_s: float, at_s: float, now_s: float
) -> list[dict[str, Any]]:
    behind = behind_id(journal, at_s + 1e-6, now_s)
    found: list[dict[str, Any]] = []
    for row in journal.rows(
        "SELECT * FROM updates WHERE id<? AND start_s>=? AND table_name<>?"
        " ORDER BY id DESC LIMIT ?",
        (behind, since_s, name, _MOST_LOOKED_AT),
    ):
        this = next((score for each, score in json.loads(row["passed_over"]) if each == name), None)
        found.append({**_track(row), "at_s": row["start_s"], "score": row["score"], "this": this})
    # Those in which this table was among the best say most.
    found.sort(key=lambda each: (each["this"] is None, -each["at_s"]))
    return found[:_MOST_DECISIONS]


def _track(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "track": row["track"],
        "table": row["table_name"],
        "number": row["number"],
        "start_s": row["start_s"],
        "finish_s": row["finish_s"],
    }


def _idle(
    reader: Reader, name: str, last: Row | None, following: Row | None, at_s: float
) -> list[str]:
    table = reader.project.table(name)
    source = f"feed {table.feed}" if table.feed is not None else _listed(table.parents)
    lines = [f"There was nothing to load: {source} had brought nothing new."]
    if last is not None and last["finish_s"] is not None:
        lines.append(
            f"The update before ended at {clock(last['finish_s'], at_s)}; it was fresh to"
            f" {clock(last['to_s'], at_s)} UTC."
        )
    if following is not None:
        lines.append(f"The next one started at {clock(following['start_s'], at_s)}.")
    return lines


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names) if names else "its sources"
