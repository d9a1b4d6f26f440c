"""The project's one HTTP application: which request gets which answer.

GET  /  /tables ...          the web page; every view has an address
GET  /assets/...             its files
GET  /healthz  /readyz  /metrics      for whoever watches the process
GET  /v1/...                 what the page shows, as JSON (:mod:`freshline.ui.views`)
GET  /v1/events              what happens, as server-sent events
POST /v1/tables/NAME/...     pause, resume, refresh, prioritise
POST /v1/feeds/NAME          the push gateway, where the project has push feeds
GET  /openapi.json           all of it, described
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from freshline import __version__
from freshline.core.errors import FreshlineError
from freshline.core.registry import found_policies
from freshline.ingest.http.app import GatewayApp
from freshline.ingest.http.exchange import Receive, Scope, Send
from freshline.ui.access import Access
from freshline.ui.actions import ACTIONS, MOST_BODY_BYTES, act
from freshline.ui.answers import Problem, json_response, tagged
from freshline.ui.described import description
from freshline.ui.events import Events
from freshline.ui.page import asset, page
from freshline.ui.reads.reading import Reader
from freshline.ui.views import VIEWS, View, overview
from freshline.ui.views.overview import run_record
from freshline.ui.views.table import known_name
from freshline.ui.waiting import Waiting, is_wait
from freshline.ui.what_if import WhatIf

Health = Callable[[], tuple[int, dict[str, Any]]]
Metrics = Callable[[str], tuple[bytes, str]]
"""From an Accept header to the text of a scrape and its content type."""

_PAGES = (
    "/", "/tables", "/tables/{name:path}", "/tracks", "/graph", "/feeds", "/reports",
    "/guarantees", "/what-if",
)  # fmt: skip
WAITS_ON = VIEWS["/v1/tables/{name}"]
"""The view that can be waited for."""

_STATUS = {404: "not-found", 405: "method-not-allowed"}


class Site:
    """The ASGI application.

    Args:
        reader: Reads the journal.
        access: Who may read and act.
        health: What ``/healthz`` answers.
        gateway: Takes pushed records; None where the project has no feed for them, or another
            process takes them.
        metrics: The answer to a scrape; None: there are none.
        run: A recorded run is shown: its number. Nobody can act on it.
    """

    def __init__(
        self,
        reader: Reader,
        access: Access,
        health: Health,
        *,
        gateway: GatewayApp | None = None,
        metrics: Metrics | None = None,
        run: int | None = None,
    ) -> None:
        self._reader = reader
        self._access = access
        self._health = health
        self._gateway = gateway
        self._metrics = metrics
        self._run = run
        self._events = Events(reader)
        self._what_if = WhatIf(reader.project, run)
        self._waiting = Waiting(reader)
        routes: list[BaseRoute] = [
            Route("/healthz", self._healthz),
            Route("/readyz", self._readyz),
            Route("/metrics", self._scrape),
            *(Route(path, self._page) for path in _PAGES),
            Route("/assets/{path:path}", self._asset),
            *(Route(path, self._viewed(view)) for path, view in VIEWS.items()),
            Route("/v1/events", self._happens),
            Route("/openapi.json", self._described),
            Route("/v1/ui/what-if", self._played),
            Route("/v1/ui/session", self._session),
            Route("/v1/tables/{name}/{action}", self._acted, methods=["POST"]),
        ]
        if gateway is not None:
            # The gateway counts what its clients do wrong, reads bodies within bounds, and
            # knows nothing of Starlette: it is asked as it is.
            routes += [Mount("/v1/feeds", app=gateway)]
        handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
            HTTPException: _refused,
            Problem: _problem,
            FreshlineError: _failed,
        }
        self._app = Starlette(routes=routes, exception_handlers=handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    def prepare(self) -> None:
        """Begin with the answer that the page asks for first; before the server is started."""
        first = VIEWS["/v1/ui/tables"]
        asked = overview.DEFAULT
        self._reader.begin((first, asked), lambda: first.answer(self._reader, asked))

    def drain(self) -> None:
        """Refuse pushes that still come; end waits and the streams of events."""
        self._events.end()
        self._waiting.close()
        if self._gateway is not None:
            self._gateway.drain()

    def close(self) -> None:
        """Give back the threads; the gateway's are its own."""
        self._reader.close()

    async def _healthz(self, _: Request) -> Response:
        status, record = self._health()
        return json_response(record, status=status)

    async def _readyz(self, _: Request) -> Response:
        """As ``/healthz``; a run whose lease has lapsed lives, and may have a successor."""
        status, record = self._health()
        ready = status == HTTPStatus.OK and record.get("ready", record["leader"])
        if not ready:
            record = {"reason": "it does not hold the storage's lease now", **record}
        return json_response(
            {**record, "ready": ready},
            status=HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE,
        )

    async def _scrape(self, request: Request) -> Response:
        self._access.check_metrics(request)
        metrics = self._metrics
        if metrics is None:
            raise Problem(404, "not-found", "no warehouse runs here, so there are no metrics")
        content, kind = await self._reader.run(lambda: metrics(request.headers.get("accept", "")))
        return Response(content, headers={"content-type": kind})

    async def _page(self, request: Request) -> Response:
        self._access.check_name(request)
        return page()

    async def _asset(self, request: Request) -> Response:
        self._access.check_name(request)
        return asset(request, request.path_params["path"])

    async def _described(self, request: Request) -> Response:
        self._access.check_read(request)
        return json_response(
            description(None if self._gateway is None else self._gateway.description)
        )

    async def _happens(self, request: Request) -> Response:
        self._access.check_read(request)
        return StreamingResponse(
            self._events.stream(),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _played(self, request: Request) -> Response:
        self._access.check_read(request)
        return json_response(await self._what_if.played(request.query_params))

    async def _session(self, request: Request) -> Response:
        """Whether the asker may read and act, and what is shown."""
        self._access.check_read(request)
        now = await self._reader.run(lambda: run_record(self._reader.run_now()))
        may_act = self._run is None and self._access.may_act(request)
        return json_response(
            {
                "project": self._reader.project.name,
                "version": __version__,
                "run": self._run,
                "can_act": self._run is None and self._access.can_act,
                "may_act": may_act,
                "policies": sorted(found_policies()),
                "now": now,
                "at_s": self._reader.clock(),
            }
        )

    async def _acted(self, request: Request) -> Response:
        action = request.path_params["action"]
        if action not in ACTIONS:
            raise HTTPException(404)
        self._access.check_act(request)
        if self._run is not None:
            raise Problem(409, "recorded", "a recorded run is shown: nothing can be asked of it")
        name = known_name(self._reader.project, request.path_params["name"])
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BODY_BYTES:
                raise Problem(413, "too-large", "the body is larger than it can have to be")
        record = await self._reader.run(lambda: act(self._reader.project, name, action, body))
        self._reader.forget()
        return json_response(record)

    def _viewed(self, view: View) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            self._access.check_read(request)
            if view is WAITS_ON and is_wait(request):
                return await self._waiting.answer(request)
            asked = view.asked(self._reader, request)
            return tagged(
                request,
                await self._reader.body((view, asked), lambda: view.answer(self._reader, asked)),
            )

        return answered


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _STATUS.get(error.status_code, "bad-request")
    message = "there is nothing here; see /openapi.json"
    if error.status_code == 405:  # noqa: PLR2004 - Method Not Allowed
        message = f"only {(error.headers or {}).get('Allow', 'other methods')} is answered here"
    return Problem(error.status_code, code, message, error.headers or {}).response()


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, FreshlineError)
    status = 400 if error.exit_status == 2 else 503  # noqa: PLR2004 - the user's to correct
    return Problem(status, error.code, error.render()).response()
