"""A site over a journal, asked over HTTP."""

from __future__ import annotations

import json
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.project.model import Project
from freshline.ui.access import Access
from freshline.ui.pulse import Pulse
from freshline.ui.reads import reading
from freshline.ui.reads.reading import Reader
from freshline.ui.serving import address_of, stop
from freshline.ui.site import Site
from tests.support.shop import made_shop
from tests.unit.ui.journals import write_journal, write_project

PATIENCE_MS = 120_000


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Client:
    """Asks one server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, path: str, *, method: str = "GET", body: object = None, **headers) -> Reply:
        data = None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, data, named, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return Reply(reply.status, dict(reply.headers), reply.read())
        except urllib.error.HTTPError as reply:
            return Reply(reply.code, dict(reply.headers), reply.read())


@contextmanager
def site_of(project: Project, clock=None, port: int = 0, **settings) -> Iterator[Client]:
    """A running server over what the project's journal says."""
    reader = Reader(project) if clock is None else Reader(project, clock)
    pulse = Pulse()

    def health():
        pulse()  # a loop that turns
        return pulse.health("ready")

    address = address_of(project, port=port)
    server = address.serve(Site(reader, Access(project), health, **settings))
    try:
        yield Client(server.url)
    finally:
        stop(server)
        address.close()


@pytest.fixture
def serve():
    return site_of


@pytest.fixture
def unhurried(monkeypatch):
    """A machine so slow that reading costs an hour's share: what is kept by its cost stays."""
    monkeypatch.setattr(reading, "kept_s", lambda *_: 3600.0)


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Opens pages; at the end none may have asked another host, nor have met an error."""
    asked, wrong, contexts = [], [], []

    def open_page(url, *, scheme="light", width=1280, height=800):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            # A server that has stopped is refused, which the browser notes by itself.
            lambda message: (
                wrong.append(message.text)
                if message.type == "error" and "ERR_CONNECTION_REFUSED" not in message.text
                else None
            ),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert asked
    assert {re.sub(r"^(http://127\.0\.0\.1):\d+/.*", r"\1", url) for url in asked} == {
        "http://127.0.0.1"
    }
    assert wrong == []


@pytest.fixture
def shop(tmp_path):
    tables = {"orders": (), "big": ("orders",), "small": ("orders",)}
    lags = {"big": 600.0, "small": 1e9}
    return made_shop(tmp_path, tables, SchedulerSettings(tracks=1), lags=lags)


@pytest.fixture
def recorded(tmp_path):
    project = write_project(tmp_path, 24)
    write_journal(project, 1500, time.time())
    return project
