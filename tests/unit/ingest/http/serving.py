"""A gateway on a real socket, over an engine that only remembers."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from freshline.core.errors import Place
from freshline.ingest.engine.metrics import (
    GROUP_BOUNDS,
    LATENCY_BOUNDS_S,
    FeedMetrics,
    Histogram,
    Metrics,
)
from freshline.ingest.http.app import GatewayApp
from freshline.ingest.http.auth import Guard
from freshline.ingest.http.pace import Patience
from freshline.ingest.http.server import HttpServer, bound_socket
from freshline.ingest.receipts import Batch, KeyConflict, Receipt, RefusedError
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import NDJSON, RecordChecker
from freshline.project.ddl import columns

DDL = "id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(15,2), note STRING"
HERE = Place("freshline.yml", 9)
WAIT_S = 120.0
"""Only what is broken takes as long."""


class MemoryEngine:
    """Numbers, keys and refusals as the engine's; nothing on disk."""

    def __init__(self, feeds: list[str]) -> None:
        self.batches: dict[str, list[Batch]] = {feed: [] for feed in feeds}
        self.last = dict.fromkeys(feeds, 0)
        self.keys: dict[tuple[str, str], tuple[bytes, Receipt]] = {}
        self.refusals: list[RefusedError] = []  # one for each of the next requests
        self.held: list[tuple[Future[Receipt], Receipt]] | None = None
        self.is_holding = threading.Event()
        self.state = "open"
        self._lock = threading.Lock()

    def submit(self, batch: Batch, key: str | None) -> Future[Receipt]:
        answer: Future[Receipt] = Future()
        with self._lock:
            if self.refusals:
                raise self.refusals.pop(0)
            known = self.keys.get((batch.feed, key)) if key is not None else None
            if known is not None:
                body, receipt = known
                if body != batch.body:
                    raise KeyConflict("the key was used with other records")
                answer.set_result(Receipt(receipt.accepted, receipt.first, receipt.last, True))
                return answer
            first = self.last[batch.feed] + 1
            self.last[batch.feed] += batch.records
            receipt = Receipt(batch.records, first, self.last[batch.feed], False)
            self.batches[batch.feed].append(batch)
            if key is not None:
                self.keys[batch.feed, key] = (batch.body, receipt)
            if self.held is not None:
                self.held.append((answer, receipt))
                self.is_holding.set()
                return answer
        answer.set_result(receipt)
        return answer

    def rows(self, feed: str) -> list[dict[str, Any]]:
        """All that was stored."""
        return [
            row
            for batch in self.batches[feed]
            for row in pa.ipc.open_stream(batch.body).read_all().to_pylist()
        ]

    def metrics(self) -> Metrics:
        return Metrics(
            feeds={feed: FeedMetrics(1, 2, 3, 4, 5, {}, 6, 7, 8, 9.5, 10, 11, 12, 13)
                   for feed in self.batches},
            state=self.state,
            land_after_s=4.0,
            memory_limit_bytes=100,
            memory_bytes=14,
            memory_peak_bytes=15,
            reads=16,
            writes=17,
            rewritten_bytes=0,
            group_requests=Histogram(GROUP_BOUNDS),
            commit_s=Histogram(LATENCY_BOUNDS_S),
            segments=18,
            log_bytes=19,
            disk_free_bytes=20,
            corrupt_rows=21,
            recovery_s=0.5,
            messages=("look here",),
        )  # fmt: skip


@dataclass
class Reply:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A running gateway."""

    url: str
    engine: MemoryEngine
    app: GatewayApp
    trust: ssl.SSLContext | None = None
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request on a connection of its own."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=WAIT_S, context=self.trust
            )
        else:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=WAIT_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def push(self, body: bytes, feed: str = "clicks", **headers: str) -> Reply:
        """A push of JSON lines, unless the headers say otherwise."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", f"/v1/feeds/{feed}", body, {"content-type": NDJSON} | named)

    def raw(self) -> socket.socket:
        """A plain connection."""
        parts = urlsplit(self.url)
        return socket.create_connection((parts.hostname, parts.port), timeout=WAIT_S)


def until_closed(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


@contextmanager
def served(
    feeds: Mapping[str, str] | None = None,
    *,
    limits: Limits | None = None,
    patience: Patience | None = None,
    tokens: Mapping[str, tuple[str, ...]] | None = None,
    public: bool = False,
    tls: ssl.SSLContext | None = None,
    budget_bytes: int | None = None,
) -> Iterator[Served]:
    """A gateway for ``feeds`` (name to schema) that is stopped at the end."""
    feeds = feeds or {"clicks": DDL}
    limits = limits or Limits(body_bytes=100_000, record_bytes=10_000, records=1000)
    patience = patience or Patience(linger_s=0.5)
    engine = MemoryEngine(list(feeds))
    checkers = {name: RecordChecker(columns(ddl), limits) for name, ddl in feeds.items()}
    guard = Guard(tokens or {}, public=public)
    app = GatewayApp(engine, checkers, guard, limits, patience=patience, budget_bytes=budget_bytes)
    server = HttpServer(app, bound_socket("127.0.0.1", 0, HERE), HERE, tls, patience)
    server.start()
    try:
        yield Served(server.url, engine, app)
    finally:
        server.stop(WAIT_S)
        assert not server.alive
