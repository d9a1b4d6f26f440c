"""An HTTP server that keeps what is posted to it, and answers as it is told."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PATIENCE_S = 120.0


class Sink:
    """A receiver of events.

    Attributes:
        answers: Statuses of the next answers; 200 when none is left.
        posts: Path, content type and body of each request that was answered with 200.
        attempts: How many requests came.
    """

    def __init__(self, port: int = 0) -> None:
        self.answers: list[int] = []
        self.posts: list[tuple[str, str, Any]] = []
        self.attempts = 0
        self._changed = threading.Condition()
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = sink._took(self.path, self.headers["Content-Type"], body)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_S)

    def wait_for(self, count: int) -> list[Any]:
        """The bodies, once so many were taken."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.posts) >= count, PATIENCE_S)
        assert came, f"{len(self.posts)} of {count} came: {self.posts}"
        return self.bodies

    @property
    def bodies(self) -> list[Any]:
        return [body for _, _, body in self.posts]

    def _took(self, path: str, content_type: str, body: bytes) -> int:
        with self._changed:
            self.attempts += 1
            status = self.answers.pop(0) if self.answers else 200
            if status == 200:
                self.posts.append((path, content_type, json.loads(body)))
            self._changed.notify_all()
        return status
