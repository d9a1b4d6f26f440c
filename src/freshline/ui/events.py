"""``/v1/events``: what happens, as server-sent events.

One reader looks into the journal while anybody listens: a page more costs a queue. Events are
``update-started``, ``update-committed``, ``update-failed``, ``table-late``, ``table-recovered``,
``table-paused``, ``table-resumed``,
``run`` (it began, is ready, ended) and ``behind`` (some were left out: ask for the views again).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freshline.project.lags import target_lags
from freshline.render.output import shortened
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import own_folder
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import NO_UPKEEP, UPKEEP
from freshline.ui.reads.reading import Reader

_LOOK_S = 1.0
_QUEUED = 200
_MOST_NEW = 500
_KEEP_ALIVE_S = 15.0

Event = tuple[str, Mapping[str, Any]]


@dataclass(slots=True)
class _Seen:
    """What the last look saw; None: there was none."""

    newest_id: int | None = None
    running: dict[int, str] = field(default_factory=dict)
    late: set[str] | None = None
    paused: set[str] | None = None
    run: tuple[Any, ...] | None = None


class Events:
    """The stream of one project's events.

    Args:
        reader: Reads the journal.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lags = target_lags(reader.project)
        self._queues: set[asyncio.Queue[bytes | None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = False

    def end(self) -> None:
        """End every stream; called in any thread."""
        self._ended = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        for queue in self._queues:
            while queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    async def stream(self) -> AsyncIterator[bytes]:
        """What one listener is sent, until it goes away or the server stops."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUED)
        self._loop = asyncio.get_running_loop()
        self._queues.add(queue)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            yield b"retry: 2000\n: here begins what happens\n\n"
            while not self._ended:
                try:
                    async with asyncio.timeout(_KEEP_ALIVE_S):
                        event = await queue.get()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                # All that waits goes in one piece: a listener that has gone costs one write.
                waiting = [event]
                while not queue.empty():
                    waiting.append(queue.get_nowait())
                if told := b"".join(each for each in waiting if each is not None):
                    yield told
                if None in waiting:
                    return
        finally:
            self._queues.discard(queue)

    async def _look(self) -> None:
        seen = _Seen()
        while self._queues:
            try:
                look = partial(_news, self._reader, self._lags, seen)
                seen, events = await self._reader.run(look)
            except Exception:  # noqa: BLE001 - the next look sees it all; views tell the reason
                events = []
            if events:
                self._reader.forget()
            self._tell([_written(each) for each in events])
            await asyncio.sleep(_LOOK_S)

    def _tell(self, events: Sequence[bytes]) -> None:
        """Written once, and queued for every listener."""
        for event in events:
            for queue in self._queues:
                if queue.full():
                    while not queue.empty():
                        queue.get_nowait()
                    queue.put_nowait(_BEHIND)
                else:
                    queue.put_nowait(event)


def _written(event: Event) -> bytes:
    """An event as the protocol has it."""
    kind, data = event
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {text}\n\n".encode()


_BEHIND = _written(("behind", {}))


def _news(reader: Reader, lags: Mapping[str, float], before: _Seen) -> tuple[_Seen, list[Event]]:
    """What this look saw, and what happened since the one before.

    The first look says whether a run goes on: who listens may have asked for it before, and what
    happened between that answer and this look nobody else tells.
    """
    events: list[Event] = []
    seen = replace(before, running=dict(before.running))
    now_s = reader.clock()
    pid = holder(own_folder(reader.project))
    with reader.journal() as journal:
        run = (
            None if journal is None else journal.row("SELECT * FROM runs ORDER BY id DESC LIMIT 1")
        )
        seen.run = (pid, None if run is None else run["id"], run is not None and run["ready_s"])
        if seen.run != before.run:
            events.append(("run", {"running": pid is not None, "ready": bool(seen.run[2])}))
        if journal is not None:
            events += _updates(journal, seen)
            events += _lateness(journal, lags, seen, now_s)
    return seen, events


def _updates(journal: Journal, seen: _Seen) -> list[Event]:
    events: list[Event] = []
    newest = journal.row("SELECT max(id) AS id FROM updates")
    newest_id = int(newest["id"] or 0) if newest is not None else 0
    if seen.newest_id is None or newest_id < seen.newest_id:
        seen.newest_id, seen.running = newest_id, {}
        for row in journal.rows(
            f"SELECT id, table_name FROM updates WHERE id>? AND state='running' AND {NO_UPKEEP}",
            (newest_id - 200,),
        ):
            seen.running[row["id"]] = row["table_name"]
        return events
    new = journal.rows(
        "SELECT * FROM updates WHERE id>? ORDER BY id LIMIT ?", (seen.newest_id, _MOST_NEW)
    )
    marks = ",".join("?" * len(seen.running))
    old = journal.rows(f"SELECT * FROM updates WHERE id IN ({marks}) ORDER BY id", [*seen.running])
    for row in old:
        if row["state"] != "running":
            events.append(_ended(row))
            del seen.running[row["id"]]
    for row in new:
        seen.newest_id = row["id"]
        if row["strategy"] in UPKEEP:
            continue
        events.append(("update-started", _brief(row)))
        if row["state"] == "running":
            seen.running[row["id"]] = row["table_name"]
        else:
            events.append(_ended(row))
    return events


def _ended(row: Row) -> Event:
    kind = "update-committed" if row["state"] == "done" else "update-failed"
    error = None if row["error"] is None else shortened(row["error"], 300)
    return kind, {
        **_brief(row),
        "finish_s": row["finish_s"],
        "fresh_to_s": row["to_s"] if row["state"] == "done" else None,
        "rows": row["rows"],
        "strategy": row["strategy"],
        "error": error,
    }


def _brief(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "table": row["table_name"],
        "number": row["number"],
        "track": row["track"],
        "start_s": row["start_s"],
    }


def _lateness(
    journal: Journal, lags: Mapping[str, float], seen: _Seen, now_s: float
) -> list[Event]:
    rows = journal.rows("SELECT name, freshness_s, version, paused FROM tables WHERE dropped=0")
    fresh = {row["name"]: row["freshness_s"] for row in rows if row["version"] is not None}
    paused = {row["name"] for row in rows if row["paused"]}
    late = {
        name
        for name, lag_s in lags.items()
        if fresh.get(name) is not None and now_s - fresh[name] > lag_s
    }
    before, seen.late = seen.late, late
    paused_before, seen.paused = seen.paused, paused
    if before is None or paused_before is None:
        return []
    stops: list[Event] = [
        ("table-paused", {"table": each}) for each in sorted(paused - paused_before)
    ]
    stops += [("table-resumed", {"table": each}) for each in sorted(paused_before - paused)]
    changes = [("table-late", each) for each in sorted(late - before)]
    changes += [("table-recovered", each) for each in sorted(before - late)]
    return stops + [
        (kind, {"table": name, "staleness_s": now_s - (fresh.get(name) or now_s),
                "target_lag_s": lags[name], "at_s": now_s})
        for kind, name in changes
    ]  # fmt: skip
