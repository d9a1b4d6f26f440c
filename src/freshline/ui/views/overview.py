"""``/v1/ui/tables?from=&to=&state=&q=&after=``: every table in a line, those in trouble first."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from freshline.executor.distrust import WrongView
from freshline.render.output import counted, shortened
from freshline.render.watched import feed_record
from freshline.runtime.journal.store import Journal
from freshline.runtime.status.run import RunStatus
from freshline.runtime.status.status import TableStatus, WarehouseStatus
from freshline.ui.address import served_at
from freshline.ui.answers import MOST_BYTES, Problem
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.reasons import Reasons
from freshline.ui.reads.sparks import Known, Spark, sparks
from freshline.ui.reads.window import AskedWindow, Window, asked_window

_ROOM_BYTES = 2_000
FILTERS = ("wrong", "late", "failing", "paused", "running", "waiting", "fresh", "new")
_Asked = tuple[AskedWindow, str | None, str, str]
DEFAULT: _Asked = (AskedWindow(None, None), None, "", "")
"""What the page asks for when it is opened."""


def asked(_: Reader, request: Request) -> _Asked:
    """The window, the filter, a part of the names, and the table behind which a page begins."""
    said = request.query_params
    state = said.get("state") or None
    if state is not None and state not in FILTERS:
        raise Problem(400, "bad-state", f"state is one of {', '.join(FILTERS)}")
    return asked_window(said), state, said.get("q", "").lower(), said.get("after", "")


def answer(reader: Reader, asked_for: _Asked) -> dict[str, Any]:
    """Counts of all tables, and those that pass the filter, as many as fit into 200 kB.

    ``line`` is the largest staleness in each of 24 equal parts of the window, in seconds, null
    where there was no data; ``kept`` and ``executor_s`` are of the window, too, and the object's
    own ``executor_s`` is the sum over all tables. ``last`` are the latest updates in it: their
    numbers, ``ok`` or ``failed``, and which of ``strategies`` it was.
    A late table has a ``reason``, another one says what comes ``next``; ``failures``, ``error``
    and ``wrong`` are there where they say something: so 500 tables fit.
    """
    asked_window_, state, part, after = asked_for
    now_s = reader.clock()
    window = asked_window_.at(now_s)
    found = reader.status()
    with reader.journal() as journal:
        lines = {} if journal is None else _lines(found, journal, window, now_s)
    kept = [
        each
        for each in found.tables
        if (state is None or state in flags(each)) and part in each.name.lower()
    ]
    kept.sort(key=_urgency)
    names = [each.name for each in kept]
    start = names.index(after) + 1 if after in names else 0
    record: dict[str, Any] = {
        "at_s": now_s,
        "from_s": window.from_s,
        "to_s": window.to_s,
        "project": found.project,
        "note": found.note,
        "run": run_record(found.run),
        "url": served_at(reader.project),
        "counts": {name: sum(name in flags(each) for each in found.tables) for name in FILTERS},
        "silent": [
            each.name
            for each in found.feeds
            if feed_record(each, running=found.run.running)["out_since"]
        ],
        "total": len(found.tables),
        "own": sum(each.state != "dropped" for each in found.tables),
        "targets": sum(each.target_lag_s is not None for each in found.tables),
        "executor_s": round(sum(each.executor_s for each in lines.values()), 3),
        "strategies": [],
        "tables": [],
        "next": None,
    }
    reasons = Reasons(reader.project, found)
    strategies: dict[str | None, int] = {}
    size_bytes = _ROOM_BYTES + len(json.dumps(record))
    for place, each in enumerate(kept[start:]):
        line = _line(each, lines.get(each.name), reasons.reason(each), strategies)
        size_bytes += len(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()) + 1
        if size_bytes > MOST_BYTES and place:
            more = {**asked_window_.said(), **({"state": state} if state else {})}
            more |= {"q": part} if part else {}
            more["after"] = kept[start + place - 1].name
            record["next"] = f"/v1/ui/tables?{urlencode(more)}"
            break
        record["tables"].append(line)
    record["strategies"] = list(strategies)
    return record


def flags(item: TableStatus) -> set[str]:
    """Every filter that shows a table."""
    found = {item.state if item.state != "retrying" else "failing"}
    if item.within_target is False:
        found.add("late")
        found.discard("fresh")  # it has all there is, and that is too old
    if item.failures:
        found.add("failing")
    return found


def _urgency(item: TableStatus) -> tuple[int, float, str]:
    """Wrong, failing, then late by how many times its target, then in order of name."""
    if item.state == "wrong":
        return 0, 0.0, item.name
    over = 0.0
    if item.within_target is False and item.target_lag_s:
        over = (item.staleness_s or 0.0) / item.target_lag_s
    return (1 if item.failures else 2 if over else 3), -over, item.name


def _lines(
    found: WarehouseStatus, journal: Journal, window: Window, now_s: float
) -> dict[str, Spark]:
    known = {
        each.name: Known(
            each.freshness_s,
            each.target_lag_s,
            None if each.last_update is None else each.last_update.at_s,
        )
        for each in found.tables
        if each.freshness_s is not None
    }
    return sparks(journal, known, window, now_s)


def _line(
    item: TableStatus, spark: Spark | None, reason: str | None, strategies: dict[str | None, int]
) -> dict[str, Any]:
    line: dict[str, Any] = {
        "name": item.name,
        "kind": item.kind,
        "state": item.state,
        "fresh_to_s": _rounded(item.freshness_s),
        "target_lag_s": item.target_lag_s,
        "late": item.within_target is False,
        "pending": item.pending_files or _rounded(item.pending_s) or 0,
        "priority": item.priority,
        **({"next": shortened(item.next, 80)} if reason is None else {"reason": reason}),
        "kept": None if spark is None else spark.kept,
        "executor_s": 0.0 if spark is None else spark.executor_s,
        "line": [] if spark is None else spark.line,
        "last": [
            [number, outcome, strategies.setdefault(strategy, len(strategies))]
            for number, outcome, strategy in ([] if spark is None else spark.last)
        ],
    }
    if item.failures:
        line["failures"] = item.failures
    if item.error is not None:
        line["error"] = shortened(item.error, 120)
    if item.wrong is not None:
        line["wrong"] = _wrong(item, item.wrong)
    return line


def _wrong(item: TableStatus, wrong: WrongView) -> str:
    """What an audit found, in half a sentence."""
    rows = ", ".join(
        f"{counted(number, 'row')} {word}"
        for number, word in ((wrong.missing, "missing"), (wrong.extra, "extra"))
        if number
    )
    now = "rebuilt since" if item.rebuilt else "to be rebuilt"
    return f"version {wrong.version} did not equal its query: {rows or 'other columns'}; {now}"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def run_record(run: RunStatus) -> dict[str, Any]:
    """The run that goes on, or the last one."""
    return {
        "running": run.running,
        "since_s": run.since_s,
        "ready": run.ready_s is not None,
        "stopped_s": run.stopped_s,
        "tracks": run.tracks,
        "policy": run.policy,
    }
