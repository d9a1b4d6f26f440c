"""A site over a journal, asked over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from freshline.project.model import Project
from freshline.ui.access import Access
from freshline.ui.pulse import Pulse
from freshline.ui.reads import reading
from freshline.ui.reads.reading import Reader
from freshline.ui.serving import address_of, stop
from freshline.ui.site import Site


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
