"""``GET /v1/tables/NAME?fresh_to=T&timeout=D``: answered when the table is fresh enough.

The answer is that of ``/v1/tables/NAME`` with ``fresh``, ``waited_s`` and ``held_up``; at the
timeout ``fresh`` is false. ``within=D`` waits for a staleness instead.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from freshline.project.model import Project
from freshline.project.yaml.durations import duration_s
from freshline.runtime.status.waiting import Awaited, Goal, look
from freshline.runtime.subset import subset
from freshline.ui.answers import Problem, json_response
from freshline.ui.pace import kept_s
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.window import moment_s
from freshline.ui.views import table

_LOOK_S = 0.25
_DEFAULT_S = 60.0
_LONGEST_S = 3600.0
_MOST_WAITING = 100
"""Each looks up to four times a second, in threads that the page shares."""


def is_wait(request: Request) -> bool:
    """Whether a request waits for a table."""
    return "fresh_to" in request.query_params or "within" in request.query_params


class Waiting:
    """Requests that wait.

    Args:
        reader: Reads the journal.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._waiting = 0
        self._closing = False

    def close(self) -> None:
        """Answer those who wait, with what is known now."""
        self._closing = True

    async def answer(self, request: Request) -> Response:
        """The answer, when the table is fresh enough or the time is over.

        Raises:
            Problem: 400, a parameter is wrong; 404, no such table; 503, too many wait.
        """
        reader = self._reader
        name = table.asked(reader, request)
        goal, timeout_s = _asked(request)
        if self._waiting >= _MOST_WAITING:
            raise Problem(503, "too-many-waiting", "too many requests wait; ask again", {
                "retry-after": "5",
            })  # fmt: skip
        self._waiting += 1
        try:
            waited_s, found = await self._waited(request, name, goal, timeout_s)
        finally:
            self._waiting -= 1
        record: dict[str, Any] = await reader.run(lambda: table.answer(reader, name))
        record |= {
            "fresh": found.fresh,
            "waited_s": round(waited_s, 3),
            "held_up": found.held_up,
        }
        return json_response(record)

    async def _waited(
        self, request: Request, name: str, goal: Goal, timeout_s: float
    ) -> tuple[float, Awaited]:
        part = subset(self._reader.project, (name,))
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while True:
            found, cost_s = await self._reader.run(lambda: self._look(part, name, goal))
            waited_s = loop.time() - began_s
            over = waited_s >= timeout_s or self._closing
            if found[0].fresh or over or await request.is_disconnected():
                return waited_s, found[0]
            pause_s = max(_LOOK_S, kept_s(cost_s, cost_s * (self._waiting - 1)))
            await asyncio.sleep(min(pause_s, timeout_s - waited_s))

    def _look(self, part: Project, name: str, goal: Goal) -> tuple[tuple[Awaited, ...], float]:
        """How the table stands, and seconds of the processor that looking took."""
        used_s = time.thread_time()
        found = look(part, (name,), goal, self._reader.clock())
        return found, time.thread_time() - used_s


def _asked(request: Request) -> tuple[Goal, float]:
    parameters = request.query_params
    if "fresh_to" in parameters and "within" in parameters:
        raise Problem(400, "bad-wait", "a wait has fresh_to or within, not both")
    if "fresh_to" in parameters:
        goal = Goal(fresh_to_s=moment_s(parameters["fresh_to"], "fresh_to"))
    else:
        goal = Goal(within_s=_duration_s(parameters["within"], "within"))
    timeout_s = _DEFAULT_S
    if "timeout" in parameters:
        timeout_s = _duration_s(parameters["timeout"], "timeout")
    return goal, min(timeout_s, _LONGEST_S)


def _duration_s(text: str, name: str) -> float:
    if text.strip() in ("0", "0s"):
        return 0.0
    try:
        return duration_s(text)
    except ValueError as error:
        raise Problem(400, "bad-duration", f"{name}: {error}") from error
