"""uvicorn's HTTP/1.1 on httptools, with the limits that it leaves to a proxy in front.

The gateway has no proxy in front. What is added: a limit on connections and on the size of
headers, and a time within which a client has to finish its headers, to go on after an answer,
and to read what it is sent.
"""

from __future__ import annotations

import asyncio
import json

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from freshline.ingest.http.pace import Patience
from freshline.ingest.refusals import Refusal

_PHRASES = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class _HeadersTooLargeError(Exception):
    """Raised inside the parser to make it stop."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection; ``patience`` is set on a subclass (:func:`protocol_with`)."""

    patience = Patience()

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._in_head = True
        self._begun = False
        self._head_bytes = 0
        self._fields_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._half_closed_timer: asyncio.TimerHandle | None = None

    # ---- the connection ----

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say that there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.patience.connections:
            self._refuse(Refusal("busy", "too many connections", retry_after_s=1))
            return
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop_head_timer()
        if self._half_closed_timer is not None:
            self._half_closed_timer.cancel()
        self.resume_writing()
        super().connection_lost(exc)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends no more: one that has asked may still read its answer.

        One that has gone altogether says the same, so the answer has not for ever.

        Returns:
            Whether the connection stays open; with TLS it cannot.
        """
        if not self._is_answering() or self.cycle.more_body or self.scheme == "https":
            return None
        self.cycle.keep_alive = False
        self._stop_head_timer()
        self._half_closed_timer = self.loop.call_later(
            self.patience.half_closed_s, self.transport.abort
        )
        return True

    def data_received(self, data: bytes) -> None:
        """Feed the parser; whatever it does not take ends the connection."""
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        if self._in_head:
            self._head_bytes += len(data)
            self._start_head_timer()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # refused in on_headers_complete
        except httptools.HttpParserError as error:
            if self.transport.is_closing():
                return
            if isinstance(error.__context__, _HeadersTooLargeError):
                self._refuse_headers()
            else:
                self._refuse(Refusal("bad-request", "this is no HTTP/1.1 request"))
            return
        if self._in_head and self._head_bytes > self.patience.header_bytes:
            self._refuse_headers()

    # ---- the parser's callbacks ----

    def on_message_begin(self) -> None:
        """A request starts."""
        super().on_message_begin()
        self._in_head = self._begun = True
        self._fields_bytes = 0
        self._start_head_timer()

    def on_url(self, url: bytes) -> None:
        """A part of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are there; the application is asked."""
        self._in_head = self._begun = False
        self._head_bytes = 0
        self._stop_head_timer()
        if self.parser.should_upgrade():
            self._refuse(Refusal("bad-request", "only HTTP/1.1 is spoken here"))
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there; what follows is the next one's head."""
        self._in_head = True
        if not self.transport.is_closing():
            super().on_message_complete()

    def _count(self, size_bytes: int) -> None:
        self._fields_bytes += size_bytes
        if self._fields_bytes > self.patience.header_bytes:
            raise _HeadersTooLargeError

    # ---- time ----

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.patience.write_s, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().resume_writing()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.patience.header_s, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self._is_answering():
            self._start_head_timer()  # its answer goes first
        elif self._begun:
            self._refuse(Refusal("slow-client", "the headers came in too slowly"))
        else:
            self.transport.close()

    # ---- answers without the application ----

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _refuse_headers(self) -> None:
        most = self.patience.header_bytes
        self._refuse(Refusal("headers-too-large", f"the headers have more than {most:,} bytes"))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer and close; an answer that is on its way already is not mixed up with it."""
        self._stop_head_timer()
        if not self._is_answering():
            body = json.dumps(refusal.body()).encode()
            retry = (
                "" if refusal.retry_after_s is None else f"retry-after: {refusal.retry_after_s}\r\n"
            )
            head = (
                f"HTTP/1.1 {refusal.status} {_PHRASES[refusal.status]}\r\n"
                "content-type: application/json\r\n"
                f"content-length: {len(body)}\r\n{retry}connection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def protocol_with(patience: Patience) -> type[BoundedProtocol]:
    """The protocol with these limits: uvicorn makes connections from a class."""
    return type("Protocol", (BoundedProtocol,), {"patience": patience})
