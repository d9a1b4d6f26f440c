"""Stands before an S3 server: counts what it is asked, and can be away for some of it."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

_OF_ONE_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class S3Front:
    """Hands every request on, one by one.

    Args:
        port: Of the server behind, on this machine.

    Attributes:
        url: Where it answers itself.
        away: Which paths it has no answer for: the connection is closed, as a store does that
            dies; None: it answers everything.
        asked: Method and path of each request that was answered, in order.
    """

    def __init__(self, port: int) -> None:
        self.away: Callable[[str], bool] | None = None
        self.asked: list[tuple[str, str]] = []
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _handed_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if front.away is not None and front.away(self.path):
                    self.close_connection = True
                    return
                behind = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                try:
                    behind.putrequest(
                        self.command, self.path, skip_host=True, skip_accept_encoding=True
                    )
                    for name, value in self.headers.items():
                        if name.lower() not in _OF_ONE_HOP | {"expect"}:
                            behind.putheader(name, value)
                    if body or self.command in ("PUT", "POST"):
                        behind.putheader("Content-Length", str(len(body)))
                    behind.endheaders(body)
                    answer = behind.getresponse()
                    content = answer.read()
                    front.asked.append((self.command, self.path))
                    self.send_response_only(answer.status, answer.reason)
                    for name, value in answer.getheaders():
                        if name.lower() not in _OF_ONE_HOP:
                            self.send_header(name, value)
                    if self.command == "HEAD":
                        self.send_header("Content-Length", answer.getheader("Content-Length", "0"))
                    elif answer.status != 204:
                        self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True
                finally:
                    behind.close()

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handed_on  # noqa: N815 - theirs

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def lists_of(self, prefix: str) -> int:
        """How often objects below a prefix of the bucket were listed."""
        return sum(
            method == "GET" and _listed(path).startswith(prefix) for method, path in self.asked
        )

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, name="s3 front", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _listed(path: str) -> str:
    """The prefix that a request lists; empty for others, and where all of a bucket is listed."""
    asked = parse_qs(urlsplit(path).query)
    return asked.get("prefix", [""])[0] if "list-type" in asked or "prefix" in asked else ""
