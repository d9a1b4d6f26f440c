"""The gateway's HTTP interface: which request gets which answer.

    POST /v1/feeds/NAME     read, decompress, check, submit, answer when it is on disk
    GET  /healthz           is anything taken in right now?
    GET  /metrics           for Prometheus
    GET  /openapi.json      this interface, described

One event loop speaks HTTP. Decompressing, checking and submitting is work, so it is done by a
few threads; how many also bounds how many large requests are unfolded in memory at once.
"""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from freshline.ingest.engine.metrics import Metrics
from freshline.ingest.exposition import Picture, exposition, families
from freshline.ingest.http.auth import Guard
from freshline.ingest.http.encodings import decoded
from freshline.ingest.http.exchange import (
    Answer,
    ClientGoneError,
    Exchange,
    Receive,
    Scope,
    Send,
    json_answer,
    refusal_answer,
)
from freshline.ingest.http.openapi import description
from freshline.ingest.http.pace import Budget, Patience
from freshline.ingest.receipts import Batch, OverQuota, Receipt, RefusedError, Unavailable
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import CONTENT_TYPES, RecordChecker
from freshline.ingest.refusals import STATUS_OF_CODE, Refusal

_FEEDS = "/v1/feeds/"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_THREADS = 4
_DRAINING_S = 5
_log = logging.getLogger("freshline.ingest")


class EnginePort(Protocol):
    """What the interface needs of the engine."""

    def submit(self, batch: Batch, key: str | None) -> Future[Receipt]:
        """Take in a request; see :class:`freshline.ingest.engine.engine.Engine`."""

    def metrics(self) -> Metrics:
        """A picture of now."""


class GatewayApp:
    """The ASGI application.

    Args:
        engine: Stores what is pushed.
        checkers: By feed.
        guard: Who may push.
        limits: Of a request.
        patience: With clients.
        budget_bytes: Of all bodies that are being read or checked.

    Attributes:
        refused: Requests by (feed, code) that were not stored; the feed is empty where there
            is none of that name.
        draining: Whether what still comes is refused.
        description: In OpenAPI's form.
    """

    def __init__(
        self,
        engine: EnginePort,
        checkers: Mapping[str, RecordChecker],
        guard: Guard,
        limits: Limits,
        *,
        patience: Patience | None = None,
        budget_bytes: int | None = None,
    ) -> None:
        self.refused: Counter[tuple[str, str]] = Counter()
        self.draining = False
        self._engine = engine
        self._checkers = checkers
        self._guard = guard
        self._limits = limits
        self._patience = patience or Patience()
        budget_bytes = budget_bytes or 2 * limits.body_bytes
        self._budget = Budget(budget_bytes, len(checkers), limits.body_bytes)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="ingest-check")
        columns = {name: checker.columns for name, checker in checkers.items()}
        self.description = description(columns, limits)
        self._description = json_answer(200, self.description)

    def drain(self) -> None:
        """Refuse what still comes."""
        self.draining = True

    def close(self) -> None:
        """Give back the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = Exchange(scope, receive, send, self._patience, self._budget)
        close = self.draining
        try:
            answer = await self._answered(exchange)
        except Refusal as refusal:
            answer = refusal_answer(refusal)
            close = close or refusal.code == "slow-client"
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, this client hears of it
            self._note_fault(error)
            answer = refusal_answer(Refusal("internal", "the gateway failed; its log says more"))
        finally:
            exchange.release()
        await exchange.reply(answer, close=close)

    async def _answered(self, exchange: Exchange) -> Answer:
        path, method = exchange.path, exchange.method
        if path.startswith(_FEEDS):
            feed = path.removeprefix(_FEEDS)
            if method != "POST":
                raise _not_allowed("POST")
            try:
                return await self._pushed(exchange, feed)
            except Refusal as refusal:
                self.refused[feed if feed in self._checkers else "", refusal.code] += 1
                raise
        if path not in ("/healthz", "/metrics", "/openapi.json"):
            raise Refusal("not-found", "there is nothing here; see /openapi.json")
        if method not in ("GET", "HEAD"):
            raise _not_allowed("GET, HEAD")
        if path == "/healthz":
            return self._health()
        self._guard.check_read(exchange.header("authorization"), exchange.header("host") or "")
        if path == "/openapi.json":
            return self._description
        accept = exchange.header("accept") or ""
        taken_bytes = self._budget.taken_bytes
        text, kind = exposition(self._engine.metrics(), self.refused, taken_bytes, accept)
        return Answer(200, text, kind)

    def picture(self) -> Picture:
        """The gateway's metrics, for the registry of a run."""
        return Picture(
            lambda: families(self._engine.metrics(), dict(self.refused), self._budget.taken_bytes)
        )

    def _health(self) -> Answer:
        state = "draining" if self.draining else self._engine.metrics().state
        if state == "open":
            return json_answer(200, {"status": "ok"})
        code = state if state in STATUS_OF_CODE else "draining"
        raise Refusal(code, f"no records are accepted: {state}", retry_after_s=_DRAINING_S)

    async def _pushed(self, exchange: Exchange, feed: str) -> Answer:
        authorization, host = exchange.header("authorization"), exchange.header("host") or ""
        self._guard.check_push(feed, authorization, host)
        checker = self._checkers.get(feed)
        if checker is None:
            raise Refusal("unknown-feed", "no feed of this name takes pushed records")
        if self.draining:
            raise Refusal("draining", "the gateway is stopping", retry_after_s=_DRAINING_S)
        content_type = _content_type(exchange.header("content-type"))
        key = exchange.header("idempotency-key")
        if key is not None and not _KEY.fullmatch(key):
            raise Refusal(
                "bad-key", "Idempotency-Key is 1 to 255 visible ASCII characters, given once"
            )
        coding = exchange.header("content-encoding") or ""
        body = await exchange.body(self._limits.body_bytes, feed)

        def take() -> Future[Receipt]:
            whole = decoded(coding, body, self._limits.body_bytes)
            checked = checker.check(content_type, whole)
            return self._engine.submit(Batch(feed, checked.records, checked.body, whole), key)

        try:
            loop = asyncio.get_running_loop()
            stored = await loop.run_in_executor(self._threads, take)
            # Shielded: a server that stops may give up this answer, never the engine's future.
            receipt = await asyncio.shield(asyncio.wrap_future(stored))
        except RefusedError as error:
            raise _refusal(error) from error
        return json_answer(
            200,
            {
                "accepted": receipt.accepted,
                "first": receipt.first,
                "last": receipt.last,
                "duplicate": receipt.duplicate,
            },
        )

    def _note_fault(self, error: Exception) -> None:
        """Where it happened, not what it says: that could hold what somebody pushed."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
        _log.error("a request failed: %s at %s", type(error).__name__, place)


def _content_type(value: str | None) -> str:
    """The media type, if it is one of ours and in UTF-8."""
    name, _, parameters = (value or "").partition(";")
    name = name.strip().lower()
    charset = re.search(r"charset\s*=\s*\"?([\w-]+)", parameters, re.IGNORECASE)
    if name not in CONTENT_TYPES:
        said = f"the type '{name[:60]}' is" if name else "a request without Content-Type is"
        raise Refusal(
            "unsupported-media-type",
            f"{said} not taken; Content-Type is one of {', '.join(CONTENT_TYPES)}",
            headers={"Accept-Post": ", ".join(CONTENT_TYPES)},
        )
    if charset and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise Refusal("unsupported-media-type", "JSON is accepted in UTF-8 only")
    return name


def _not_allowed(allowed: str) -> Refusal:
    return Refusal(
        "method-not-allowed", f"only {allowed} is answered here", headers={"Allow": allowed}
    )


def _refusal(error: RefusedError) -> Refusal:
    retry_after_s: int | None = None
    if isinstance(error, Unavailable | OverQuota):
        retry_after_s = error.retry_after_s
    code: Any = error.code if error.code in STATUS_OF_CODE else "internal"
    return Refusal(code, error.message, retry_after_s=retry_after_s)
