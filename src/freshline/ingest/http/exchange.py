"""One request and its answer, over ASGI: headers, a bounded body, one reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from freshline.ingest.http.pace import Budget, Patience
from freshline.ingest.refusals import Refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON_TYPE = "application/json"


@dataclass(slots=True)
class Answer:
    """A status, a body and its type."""

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(status: int, content: object, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer of JSON."""
    return Answer(status, json.dumps(content).encode(), headers=headers or {})


def refusal_answer(refusal: Refusal) -> Answer:
    """A refusal as the answer that it is."""
    headers = dict(refusal.headers)
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(refusal.retry_after_s)
    return json_answer(refusal.status, refusal.body(), headers)


class ClientGoneError(Exception):
    """The client has closed the connection; nobody waits for an answer."""


class Exchange:
    """One request.

    Attributes:
        method: Of the request.
        path: Without its escapes.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, patience: Patience, budget: Budget
    ) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._receive = receive
        self._send = send
        self._patience = patience
        self._budget = budget
        self._reserved_bytes = 0
        self._feed = ""
        # Without either header there is no body (RFC 9112, 6.3).
        self._whole = not (self.header("content-length") or self.header("transfer-encoding"))

    def header(self, name: str) -> str | None:
        """A header's value; several are joined, as RFC 9110 has it."""
        wanted = name.encode()
        found = [value for key, value in self._headers if key == wanted]
        return b", ".join(found).decode("latin-1").strip() if found else None

    async def body(self, most_bytes: int, feed: str = "") -> bytes:
        """The request's body; its bytes count for ``feed`` as they come in.

        Raises:
            Refusal: It is too large (413), too slow (408), or too many come in at once (503).
            ClientGoneError: The client went away.
        """
        length = int(self.header("content-length") or 0)
        if length > most_bytes:
            raise _too_large(most_bytes)
        self._feed = feed
        loop = asyncio.get_running_loop()
        patience = self._patience
        begun_s = loop.time()
        deadline_s = begun_s + patience.body_s
        pieces: list[bytes] = []
        size_bytes = 0
        try:
            async with asyncio.timeout_at(deadline_s) as timeout:
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGoneError
                    piece = message.get("body", b"")
                    size_bytes += len(piece)
                    if size_bytes > most_bytes:
                        raise _too_large(most_bytes)
                    self._reserve(len(piece))
                    pieces.append(piece)
                    if not message.get("more_body", False):
                        self._whole = True
                        break
                    slow_s = deadline_s + size_bytes / patience.body_bytes_per_s
                    timeout.reschedule(min(slow_s, begun_s + patience.body_most_s))
        except TimeoutError as error:
            raise Refusal("slow-client", "the body came in too slowly") from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def release(self) -> None:
        """The body is no longer in memory."""
        if self._reserved_bytes:
            self._budget.give(self._reserved_bytes, self._feed)
        self._reserved_bytes = 0

    def _reserve(self, size_bytes: int) -> None:
        if not self._budget.take(size_bytes, self._feed):
            raise Refusal("busy", "too many bytes are coming in at once", retry_after_s=1)
        self._reserved_bytes += size_bytes

    async def reply(self, answer: Answer, *, close: bool = False) -> None:
        """Send the answer.

        Where the body was not read to its end the connection cannot go on. Closing it at once
        could destroy the answer on its way (RFC 9112, 9.6), so the rest is read for a while.
        """
        headers = [
            (b"content-type", answer.content_type.encode()),
            (b"content-length", str(len(answer.body)).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            *((key.lower().encode(), value.encode()) for key, value in answer.headers.items()),
        ]
        if close or not self._whole:
            headers.append((b"connection", b"close"))
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        await self._send(start)
        if self._whole:
            await self._send({"type": "http.response.body", "body": answer.body})
            return
        await self._send({"type": "http.response.body", "body": answer.body, "more_body": True})
        try:
            async with asyncio.timeout(self._patience.linger_s):
                more = True
                while more:
                    message = await self._receive()
                    more = message["type"] == "http.request" and message.get("more_body", False)
        except TimeoutError:
            pass
        await self._send({"type": "http.response.body", "body": b""})


def _too_large(most_bytes: int) -> Refusal:
    return Refusal("too-large", f"the body has more than {most_bytes:,} bytes")
