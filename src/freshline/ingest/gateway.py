"""A project's gateway: engine, HTTP server and the state for ``status``, started and stopped.

bind, recover, listen  ...  stop taking in, answer what was taken in, land, close
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.settings import EngineSettings, FeedSpec
from freshline.ingest.exposition import metrics_record
from freshline.ingest.http.app import GatewayApp
from freshline.ingest.http.auth import Guard
from freshline.ingest.http.server import GatewayServer, bound_socket, tls_context
from freshline.ingest.records.arrow_types import arrow_schema
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import RecordChecker
from freshline.ingest.state import write_state
from freshline.project.ddl import Column, columns
from freshline.project.model import Feed, IngestSettings, Project, PushSource
from freshline.project.sections.ingest import is_loopback

_STATE_EVERY_S = 1.0
_CLOSE_S = 10.0


def push_feeds(project: Project) -> list[Feed]:
    """The feeds that the gateway takes in."""
    return [feed for feed in project.feeds.values() if feed.kind == "push"]


def make_engine(
    project: Project, settings: IngestSettings, by_feed: dict[str, tuple[Column, ...]]
) -> Engine:
    """The engine of a project's push feeds, not started."""
    specs = {}
    for feed in push_feeds(project):
        source = feed.settings
        assert isinstance(source, PushSource)
        specs[feed.name] = FeedSpec(
            name=feed.name,
            schema=arrow_schema(by_feed[feed.name]),
            landing=settings.landed(feed.name),
            quota_bytes=source.quota_bytes,
            time_column=source.time,
        )
    return Engine(settings.folder, specs, EngineSettings(memory_bytes=settings.memory_bytes))


def land_what_was_pushed(project: Project, timeout_s: float) -> bool:
    """Land all that stands in the log, without taking in anything.

    Returns:
        Whether everything was landed in time.

    Raises:
        UserError: A gateway runs (``already-running``), or the settings are wrong.
        PlatformError: The folder cannot be used.
    """
    assert project.ingest is not None
    engine = make_engine(project, project.ingest, feed_columns(project))
    engine.start()
    try:
        return engine.drain(timeout_s)
    finally:
        engine.close()


def feed_columns(project: Project) -> dict[str, tuple[Column, ...]]:
    """The columns of every push feed."""
    return {feed.name: columns(feed.schema or "") for feed in push_feeds(project)}


class Gateway:
    """The gateway of a project.

    Args:
        project: With push feeds.
        notice: Told what somebody should look at.
        clock: Wall-clock seconds since the epoch.

    Attributes:
        url: Where it listens, once it is started.
    """

    def __init__(
        self,
        project: Project,
        notice: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        assert project.ingest is not None
        self._settings = project.ingest
        self._notice = notice
        self._clock = clock
        self._columns = feed_columns(project)
        self._engine = make_engine(project, self._settings, self._columns)
        self._stopped = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="ingest-state", daemon=True)
        self._app: GatewayApp | None = None
        self._server: GatewayServer | None = None
        self.url = ""

    def start(self) -> None:
        """Recover what the log holds, then listen.

        Raises:
            UserError: Another process is the gateway (``already-running``), the address is
                taken, or the certificate is none.
            PlatformError: The folder cannot be used.
        """
        settings = self._settings
        tls = tls_context(settings.tls) if settings.tls is not None else None
        bound = bound_socket(settings.host, settings.port, settings.place)
        try:
            recovery = self._engine.start()
        except BaseException:
            bound.close()
            raise
        try:
            for message in recovery.messages:
                self._notice(f"ingest: {message}")
            limits = Limits(settings.max_body_bytes, settings.max_record_bytes)
            self._app = GatewayApp(
                self._engine,
                {name: RecordChecker(each, limits) for name, each in self._columns.items()},
                Guard(settings.tokens, public=not is_loopback(settings.host)),
                limits,
                budget_bytes=max(settings.memory_bytes // 4, 2 * settings.max_body_bytes),
            )
            self._server = GatewayServer(self._app, bound, settings.place, tls)
            self._server.start()
        except BaseException:
            bound.close()
            self._engine.close()
            raise
        self.url = self._server.url
        self._write_state(self.url)
        self._watching.start()

    def failed(self) -> str | None:
        """Why it takes in nothing any more and will not by itself; None: it goes on."""
        if self._server is None or self._stopped.is_set():
            return None
        if not self._server.alive:
            return "the HTTP server has ended"
        if self._engine.metrics().state == "closed":
            return "the log has failed; a new start recovers it"
        return None

    def stop(self, grace_s: float) -> None:
        """Stop taking in, answer what was taken in, land what is left within ``grace_s``.

        What is not landed is safe in the log, for the next start.
        """
        if self._server is None:
            return
        self._stopped.set()
        self._watching.join(_STATE_EVERY_S * 2)
        self._server.stop(_CLOSE_S)
        self._engine.drain(grace_s)
        self._write_state(None)
        self._engine.close()
        self._server = None

    def _watch(self) -> None:
        """Write the state down again and again; pass on what the engine has to say."""
        told = self._engine.metrics().messages
        while not self._stopped.wait(_STATE_EVERY_S):
            messages = self._write_state(self.url)
            for message in messages:
                if message not in told:
                    self._notice(f"ingest: {message}")
            told = messages

    def _write_state(self, url: str | None) -> tuple[str, ...]:
        metrics = self._engine.metrics()
        refused = dict(self._app.refused) if self._app is not None else {}
        record: dict[str, Any] = {
            "url": url,
            "pid": os.getpid(),
            "at": self._clock(),
            **metrics_record(metrics, refused),
        }
        write_state(self._settings.folder, record)
        return metrics.messages
