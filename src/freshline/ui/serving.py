"""The server of a project's one address: bound, started, written down, stopped."""

from __future__ import annotations

import dataclasses
import socket
import time
from typing import Protocol

from freshline.core.errors import UserError
from freshline.ingest.http.server import (
    App,
    HttpServer,
    address_error,
    bound_socket,
    tls_context,
)
from freshline.ingest.state import read_state
from freshline.project.model import Project, ServerSettings
from freshline.runtime.journal.lock import holder

CLOSE_S = 5.0
"""How long a server that is stopped may have its address."""
_LOOK_S = 0.1


class Served(App, Protocol):
    """What an address can serve."""

    def prepare(self) -> None:
        """What is to be done before anybody asks."""


class Address:
    """A project's address, taken but not served yet.

    Args:
        settings: Host, port and TLS.
        movable: A port that is taken may be another one.
        patience_s: How long one that is taken may take to become free.

    Attributes:
        moved: Why it is not the address that was wanted; empty: it is.

    Raises:
        UserError: The address is not ours, or taken; or the certificate is none.
    """

    def __init__(self, settings: ServerSettings, *, movable: bool, patience_s: float = 0.0) -> None:
        self._settings = settings
        self._tls = tls_context(settings.tls) if settings.tls is not None else None
        self.moved = ""
        try:
            self.bound: socket.socket = _free_in_time(settings, patience_s)
        except UserError:
            if not movable:
                raise
            self.moved = f"port {settings.port} is taken, another one is used"
            self.bound = _listening(settings, 0)

    def serve(self, site: Served) -> HttpServer:
        """Serve ``site`` there; returns once connections are accepted."""
        server = HttpServer(site, self.bound, self._settings.place, self._tls)
        site.prepare()
        server.start()
        return server

    def close(self) -> None:
        """Give it back, unserved."""
        self.bound.close()


def _listening(settings: ServerSettings, port: int) -> socket.socket:
    """A socket that holds the address: two can be bound to it while neither listens.

    Who connects before the address is served waits for its answer.
    """
    bound = bound_socket(settings.host, port, settings.place)
    try:
        bound.listen()
    except OSError as error:
        bound.close()
        raise address_error(f"{settings.host}, port {port}", error, settings.place) from error
    return bound


def moves(project: Project) -> bool:
    """Whether a run takes another port than the project's where that is taken.

    Who pushes has the address written down somewhere: it does not move by itself. But where the
    project's gateway is another process, that one has it, and the run has another.
    """
    ingest = project.ingest
    if (
        ingest is not None
        and holder(ingest.folder) is not None
        and (read_state(ingest.folder) or {}).get("url")
    ):
        return True
    pushed = any(feed.kind == "push" for feed in project.feeds.values())
    return not (project.server.written or pushed)


def _free_in_time(settings: ServerSettings, patience_s: float) -> socket.socket:
    end_s = time.monotonic() + patience_s
    while True:
        try:
            return _listening(settings, settings.port)
        except UserError:
            if time.monotonic() >= end_s:
                raise
        time.sleep(_LOOK_S)


def address_of(
    project: Project,
    *,
    port: int | None = None,
    movable: bool = False,
    patience_s: float = 0.0,
) -> Address:
    """Take the project's address.

    Args:
        project: With its server settings.
        port: Another port than the project's; it does not move.
        movable: Where the project's is taken, another one will do even where :func:`moves` says no.
        patience_s: How long it may take to become free.

    Raises:
        UserError: It cannot be had (``address``).
    """
    settings = project.server
    if port is not None:
        return Address(
            dataclasses.replace(settings, port=port), movable=movable, patience_s=patience_s
        )
    return Address(settings, movable=movable or moves(project), patience_s=patience_s)


def stop(server: HttpServer) -> None:
    """Answer what is under way, and close."""
    server.stop(CLOSE_S)
