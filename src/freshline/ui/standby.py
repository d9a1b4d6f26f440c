"""What a standby answers while it waits for the lease: that it lives, and does not lead.

``/healthz`` tells whoever would start it again that it is well, ``/readyz`` whoever would send it
requests that another process takes them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from freshline.core.errors import UserError
from freshline.core.lease import Holder
from freshline.delta.stores import LONGEST_S
from freshline.ingest.http.exchange import Receive, Scope, Send
from freshline.ingest.http.server import HttpServer
from freshline.project.model import Project
from freshline.runtime.lease.leadership import boot_s
from freshline.runtime.lease.machine import this_machine
from freshline.runtime.metrics.standing import LEADER
from freshline.ui.access import Access
from freshline.ui.address import note_standby
from freshline.ui.answers import Problem, json_response
from freshline.ui.pulse import STILL_S, Pulse
from freshline.ui.serving import Address, stop


class StandingBy:
    """Serves a project's address from when it turns out that another machine's process leads.

    A leader on this machine has the address itself; so may have the push gateway, which can be a
    process of its own and start at any time.

    Args:
        project: What is waited for.
        tell: Told what people should hear.

    Attributes:
        pulse: The clock of whoever waits for the lease, asked at every look. One that waits for
            an answer of the storage for ever is not live.
    """

    def __init__(self, project: Project, tell: Callable[[str], None]) -> None:
        self._project = project
        self._tell = tell
        self._told = ""
        # To ask a storage that does not answer is a look like any other.
        self.pulse = Pulse(boot_s, leads=lambda: False, still_s=LONGEST_S + STILL_S)
        self._held: tuple[Address, HttpServer] | None = None

    def seen(self, leader: Holder) -> None:
        """Another process leads; called again and again.

        Raises:
            UserError: The certificate is none (``bad-tls``).
        """
        if leader.machine == this_machine():
            self.close()
        elif self._held is None and self._project.ingest is None:
            self._serve()

    def close(self) -> None:
        """Give the address back."""
        if self._held is not None:
            address, server = self._held
            self._held = None
            note_standby(self._project, None)
            stop(server)
            address.close()

    def _serve(self) -> None:
        try:
            address = Address(self._project.server, movable=False)
        except UserError as error:
            if error.code != "address":
                raise
            self._tell_once(f"no health check while standing by: {error.render()}")
            return
        try:
            server = address.serve(StandbySite(Access(self._project), self.pulse))
        except BaseException:
            address.close()
            raise
        self._held = address, server
        note_standby(self._project, server.url)
        self._tell_once(f"health check while standing by: {server.url}/healthz")

    def _tell_once(self, text: str) -> None:
        if self._told != text:
            self._told = text
            self._tell(text)


class StandbySite:
    """The ASGI application.

    Args:
        access: Who may read metrics.
        pulse: Of the wait for the lease.
    """

    def __init__(self, access: Access, pulse: Pulse) -> None:
        self._access = access
        self._pulse = pulse
        self._registry = CollectorRegistry(auto_describe=False)
        Gauge(*LEADER, registry=self._registry).set(0.0)
        handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
            HTTPException: _elsewhere,
            Problem: _problem,
        }
        routes = [
            Route("/healthz", self._healthz),
            Route("/readyz", self._readyz),
            Route("/metrics", self._scrape),
        ]
        self._app = Starlette(routes=routes, exception_handlers=handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def drain(self) -> None:
        """No answer takes long."""

    def close(self) -> None:
        """It holds nothing."""

    async def _healthz(self, _: Request) -> Response:
        status, record = self._pulse.health("none")
        return json_response(record, status=status)

    async def _readyz(self, _: Request) -> Response:
        record = self._pulse.health("none")[1]
        why = "it stands by: another process runs the warehouse"
        return json_response({**record, "ready": False, "reason": why}, status=503)

    async def _scrape(self, request: Request) -> Response:
        self._access.check_metrics(request)
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={"content-type": kind})


async def _elsewhere(_: Request, __: Exception) -> Response:
    return Problem(
        503,
        "standing-by",
        "this process stands by: another one runs the warehouse; `freshline status` says which",
        {"Retry-After": "5"},
    ).response()


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()
