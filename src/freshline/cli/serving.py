"""The server of a run: page, API, metrics and gateway at one address, beside the warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from freshline.cli.push_thread import pushes
from freshline.core.errors import UserError
from freshline.core.lease import LOOK_S
from freshline.project.model import Project
from freshline.render.log_observer import Counting
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.options import RunOptions
from freshline.ui.access import Access
from freshline.ui.address import note_address
from freshline.ui.pulse import Pulse
from freshline.ui.reads.reading import Reader
from freshline.ui.serving import CLOSE_S, address_of, stop
from freshline.ui.site import Site

_GIVEN_BACK_S = LOOK_S + CLOSE_S
"""A standby of this machine may have the address, until it sees who leads and has closed."""


@contextmanager
def served(
    project: Project,
    options: RunOptions,
    observer: Counting,
    pulse: Pulse,
    metrics: RunMetrics,
    *,
    beside: bool = False,
    patient: bool = False,
) -> Iterator[str]:
    """Serve the project while it runs.

    Not for a ``refresh`` in a process of its own, which is over in a moment: it lands what was
    pushed for its tables, and no more.

    Args:
        project: What runs.
        options: Of the run.
        observer: Told the address.
        pulse: Of the run's loop.
        metrics: Of the run.
        beside: A process that ran the warehouse before still exists and may have the address: the
            run then goes on without a page and without the gateway.
        patient: A standby of this machine may have the address.

    Yields:
        The address; empty where nothing is served.

    Raises:
        UserError: The address is taken, or the gateway's settings are wrong.
        PlatformError: The gateway's log cannot be opened.
    """
    if options.refresh:
        with pushes(project, options, observer):
            yield ""
        return
    try:
        patience_s = _GIVEN_BACK_S if patient or options.standby else 0.0
        address = address_of(project, movable=beside, patience_s=patience_s)
    except UserError as error:
        if not beside:
            raise
        observer.notice(f"no web page and no pushes until a restart: {error.render()}")
        with pushes(project, options, observer) if options.until_idle else nullcontext():
            yield ""
        return
    try:
        with pushes(project, options, observer) as gateway:
            app = None if gateway is None else gateway.app
            if app is not None:
                metrics.add(app.picture())
            site = Site(
                Reader(project),
                Access(project),
                lambda: pulse.health(observer.spark),
                gateway=app,
                metrics=metrics.scraped,
            )
            server = address.serve(site)
            try:
                observer.notice(f"web page: {server.url}")
                if address.moved:
                    observer.notice(address.moved)
                if gateway is not None:
                    gateway.listening(server.url)
                    observer.notice(f"pushed records come in at {server.url}")
                note_address(project, server.url)
                yield server.url
            finally:
                stop(server)
    finally:
        address.close()
