"""A project's gateway: engine, application and the state for ``status``, started and stopped.

recover, open, listen  ...  stop accepting, answer what was accepted, land, close

Within ``freshline run`` its application is mounted in the project's one server; ``freshline
ingest`` serves it alone.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from freshline.core.errors import UserError
from freshline.ingest.engine.engine import Engine
from freshline.ingest.engine.metrics import Metrics
from freshline.ingest.engine.settings import EngineSettings, FeedSpec
from freshline.ingest.exposition import metrics_record
from freshline.ingest.http.app import GatewayApp
from freshline.ingest.http.auth import Guard
from freshline.ingest.http.server import HttpServer, bound_socket, tls_context
from freshline.ingest.memory import keep_little
from freshline.ingest.records.arrow_types import arrow_schema
from freshline.ingest.records.limits import Limits
from freshline.ingest.records.records import RecordChecker
from freshline.ingest.state import write_state
from freshline.project.ddl import Column, columns
from freshline.project.model import Feed, IngestSettings, Project, PushSource
from freshline.project.sections.server import is_loopback
from freshline.project.windows import SESSION_ZONE, session_zone, zone_name

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
            store=settings.in_store(feed.name),
            zones=_zones(project, feed.name, source.time, by_feed[feed.name]),
        )
    own = project.own_folder
    return Engine(
        settings.folder,
        specs,
        EngineSettings(memory_bytes=settings.memory_bytes, landing_period_s=settings.land_after_s),
        # A folder that the user named may be shared with others; the files in it are private.
        private=(own,) if settings.folder.is_relative_to(own) else (),
    )


def _zones(
    project: Project, feed: str, time_column: str | None, schema: Sequence[Column]
) -> tuple[tzinfo, ...]:
    """Of which a feed's times may be: those in which the tables that load it read them.

    Raises:
        UserError: The times have no zone, and nobody can tell what the session's is.
    """
    kinds = [column.type for column in schema if column.name == time_column]
    if not kinds or kinds[0].kind == "timestamp":
        return (UTC,)
    settings = [table.settings for table in project.tables if table.feed == feed] or [{}]
    names = {zone_name(project.configuration, each) for each in settings}
    try:
        # One with a variable is known to Spark alone.
        return tuple(UTC if "${" in name else session_zone(name) for name in sorted(names))
    except ValueError as error:
        raise UserError(
            "bad-value",
            f"time of feed {feed} is a {kinds[0].name}, and the session's time zone, "
            f"{SESSION_ZONE}, cannot be read: {error}",
            rule="its values are of that zone",
            next_step="Write a zone there, or make the column a TIMESTAMP.",
        ) from error


def land_what_was_pushed(project: Project, timeout_s: float) -> dict[str, int]:
    """Land all that stands in the log, without taking in anything.

    Returns:
        By feed, how many records could not be landed in time; they are safe in the log.

    Raises:
        UserError: A gateway runs (``already-running``), or the settings are wrong.
        PlatformError: The folder cannot be used.
    """
    assert project.ingest is not None
    engine = make_engine(project, project.ingest, feed_columns(project))
    engine.start()
    try:
        engine.drain(timeout_s)
        metrics = engine.metrics()
        write_state(project.ingest.folder, _state(metrics, {}, None, time.time()))
        left = {name: each.backlog_records for name, each in metrics.feeds.items()}
        return {name: records for name, records in left.items() if records}
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
        app: The application, once it is opened; None again when it has stopped.
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
        self._address = project.server
        self._notice = notice
        self._clock = clock
        self._columns = feed_columns(project)
        self._engine = make_engine(project, self._settings, self._columns)
        self._stopped = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="ingest-state", daemon=True)
        self.app: GatewayApp | None = None
        self._server: HttpServer | None = None
        self.url = ""

    def start(self) -> None:
        """Recover what the log holds, then listen, with a server of its own.

        Raises:
            UserError: Another process is the gateway (``already-running``), the address is
                taken, or the certificate is none.
            PlatformError: The folder cannot be used.
        """
        address = self._address
        tls = tls_context(address.tls) if address.tls is not None else None
        try:
            bound = bound_socket(address.host, address.port, address.place)
        except UserError:
            self._engine.check_free()  # the address is most often another gateway's of this storage
            raise
        try:
            app = self.open()
        except BaseException:
            bound.close()
            raise
        try:
            self._server = HttpServer(app, bound, address.place, tls)
            self._server.start()
        except BaseException:
            bound.close()
            self._engine.close()
            raise
        self.listening(self._server.url)

    def open(self) -> GatewayApp:
        """Recover what the log holds; the application, to be served by whoever asks for it.

        Raises:
            UserError: Another process is the gateway (``already-running``).
            PlatformError: The folder cannot be used.
        """
        keep_little()
        settings = self._settings
        recovery = self._engine.start()
        for message in recovery.messages:
            self._notice(f"ingest: {message}")
        limits = Limits(settings.max_body_bytes, settings.max_record_bytes)
        self.app = GatewayApp(
            self._engine,
            {name: RecordChecker(each, limits) for name, each in self._columns.items()},
            Guard(settings.tokens, public=not is_loopback(self._address.host)),
            limits,
            budget_bytes=max(settings.memory_bytes // 4, 2 * settings.max_body_bytes),
        )
        return self.app

    def listening(self, url: str) -> None:
        """The application is served at ``url`` from now on."""
        self.url = url
        self._write_state(url)
        self._watching.start()

    def failed(self) -> str | None:
        """Why it takes in nothing any more and will not by itself; None: it goes on."""
        if not self.url or self._stopped.is_set():
            return None
        if self._server is not None and not self._server.alive:
            return "the HTTP server has ended"
        if not self._engine.alive:
            return "the log's threads have ended; a new start recovers it"
        return None

    def stop(self, grace_s: float) -> None:
        """Stop accepting, answer what was accepted, land what is left within ``grace_s``.

        A server that is not its own has stopped before. What is not landed is safe in the log,
        for the next start.
        """
        if self.app is None:
            return
        self._stopped.set()
        if self._watching.is_alive():
            self._watching.join(_STATE_EVERY_S * 2)
        if self._server is not None:
            self._server.stop(_CLOSE_S)
        else:
            self.app.close()
        self._engine.drain(grace_s)
        self._write_state(None)
        self._engine.close()
        self.app = self._server = None

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
        refused = dict(self.app.refused) if self.app is not None else {}
        write_state(self._settings.folder, _state(metrics, refused, url, self._clock()))
        return metrics.messages


def _state(
    metrics: Metrics, refused: Mapping[tuple[str, str], int], url: str | None, now_s: float
) -> dict[str, Any]:
    """What ``status`` reads of a gateway; without ``url`` none listens."""
    return {"url": url, "pid": os.getpid(), "at": now_s, **metrics_record(metrics, refused)}
