"""``python -m benchmarks.paging.readers URL COUNT TABLE...``: so many pages, without a browser.

Each asks as the page's script does: the stream of events, its views when it is opened, again one
and a half seconds after something happened, and after ten seconds at the latest, but never before
the server can have a newer answer; what it has, it names by its tag. Nothing is parsed, and the
process has the lowest priority: real readers have machines of their own. Reads lines: ``open`` and
``close`` open and close all pages; at ``close`` it prints a line of JSON: the answers, how many
were new, and seconds to answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from urllib.parse import quote, urlsplit

_DEBOUNCE_S = 1.5
_EVERY_S = 10.0


class Connection:
    """One connection that stays open."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, path: str, tag: str = "") -> asyncio.StreamReader:
        """Send a GET; returns where its answer begins."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        known = f"If-None-Match: {tag}\r\n" if tag else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n{known}\r\n".encode())
        await writer.drain()
        return reader

    async def get(self, path: str, tag: str = "") -> tuple[int, str, float]:
        """Status, tag and seconds kept of an answer; its body is thrown away."""
        reader = await self.send(path, tag)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        named = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        if length := int(named.get("content-length", 0)):
            await reader.readexactly(length)
        kept_s = float(named.get("freshline-kept-s", 0.0))
        return int(head[0].split()[1]), named.get("etag", ""), kept_s

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()


class Page:
    """One open page.

    Args:
        server: Host and port.
        views: What it asks for.
    """

    def __init__(self, server: tuple[str, int], views: list[str]) -> None:
        self._stream, self._asking = Connection(*server), Connection(*server)
        self._views = views
        self._tags: dict[str, str] = {}
        self._new_at_s: dict[str, float] = {}
        self._happened = asyncio.Event()
        self.answers = 0
        self.new = 0
        self.seconds: list[float] = []

    async def run(self) -> None:
        """Ask until it is closed."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._listen())
                tasks.create_task(self._ask())
        finally:
            self._stream.close()
            self._asking.close()

    async def _listen(self) -> None:
        reader = await self._stream.send("/v1/events")
        while line := await reader.readline():
            if line.startswith(b"event: "):
                self._happened.set()

    async def _ask(self) -> None:
        await self._asking.get("/v1/ui/session")
        while True:
            for view in self._views:
                await asyncio.sleep(self._new_at_s.get(view, 0.0) - time.perf_counter())
                begun_s = time.perf_counter()
                status, tag, kept_s = await self._asking.get(view, self._tags.get(view, ""))
                answered_s = time.perf_counter()
                self.seconds.append(answered_s - begun_s)
                self._new_at_s[view] = answered_s + kept_s
                assert status in (200, 304), (view, status)
                self._tags[view] = tag
                self.answers += 1
                self.new += status == 200
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EVERY_S):
                    await self._happened.wait()
                    await asyncio.sleep(_DEBOUNCE_S)
            self._happened.clear()


def views_of(number: int, tables: list[str]) -> list[str]:
    """What the page of that number shows: most show all tables or one of them."""
    name = quote(tables[number % len(tables)])
    kinds = (
        ["/v1/ui/tables?last=3600"],
        [
            f"/v1/tables/{name}", f"/v1/tables/{name}/staleness?last=3600",
            f"/v1/tables/{name}/why", f"/v1/tables/{name}/updates?last=3600",
        ],
        ["/v1/ui/tables?last=3600"],
        [["/v1/tracks?last=900"], ["/v1/graph?depth=3"], ["/v1/ui/feeds"]][number // 4 % 3],
    )  # fmt: skip
    return kinds[number % 4]


async def main() -> None:
    """Open and close pages as the lines say."""
    url, count, tables = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    os.nice(19)
    parts = urlsplit(url)
    server = (parts.hostname or "", parts.port or 80)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    pages: list[Page] = []
    running: list[asyncio.Task[None]] = []
    while line := (await lines.readline()).strip():
        if line == b"open":
            pages = [Page(server, views_of(number, tables)) for number in range(count)]
            running = [asyncio.create_task(page.run()) for page in pages]
        else:
            failed = [each for each in running if each.done() and each.exception()]
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            seconds = sorted(each for page in pages for each in page.seconds)
            print(
                json.dumps(
                    {
                        "answers": sum(page.answers for page in pages),
                        "new": sum(page.new for page in pages),
                        "median_s": seconds[len(seconds) // 2] if seconds else None,
                        "p95_s": seconds[int(len(seconds) * 0.95)] if seconds else None,
                        "failed": len(failed),
                        "error": repr(failed[0].exception()) if failed else None,
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    asyncio.run(main())
