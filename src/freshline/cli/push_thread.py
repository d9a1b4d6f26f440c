"""The push gateway within ``freshline run``: its threads beside the warehouse's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from freshline.core.errors import FreshlineError, UserError
from freshline.project.model import Project
from freshline.render.log_observer import Counting
from freshline.runtime.notices import Level
from freshline.runtime.options import RunOptions
from freshline.runtime.subset import subset
from freshline.times import brief_s

if TYPE_CHECKING:
    from freshline.ingest.gateway import Gateway

_LOOK_S = 1.0
_LAND_S = 300.0
"""With ``--until-idle`` everything that was pushed before belongs to what is there."""
_LAND_STANDBY_S = 30.0
"""A standby has to take over soon."""


class Listener(Protocol):
    """Who is told."""

    def notice(self, text: str, *, level: Level = "info") -> None:
        """Something people should hear."""


@contextmanager
def pushes(project: Project, options: RunOptions, observer: Counting) -> Iterator[Gateway | None]:
    """Open the gateway for a run, where the project has feeds for it; to be served by the caller.

    With ``until_idle`` nothing is accepted: what was pushed before is landed first, and the run
    then ends when that is loaded. The observer is told what cannot be landed. A gateway that runs
    already, as ``freshline ingest``, is left to do its work: what it lands is loaded all the same.
    In both cases there is no gateway here.

    Raises:
        UserError: The gateway's settings are wrong.
        PlatformError: Its log cannot be opened.
    """
    if not _are_wanted(project, options):
        yield None
        return
    gateway = None
    try:
        if options.until_idle:
            observer.not_landed = _land(project, observer)
        else:
            gateway = _opened(project, observer)
    except UserError as error:
        if error.code != "already-running":
            raise
        observer.notice(f"pushes come in elsewhere: {error.what}")
    if gateway is None:
        yield None
        return
    stopped = threading.Event()
    watching = threading.Thread(
        target=_watch, args=(gateway, observer, stopped), name="ingest-watch", daemon=True
    )
    watching.start()
    try:
        yield gateway
    finally:
        stopped.set()
        watching.join()
        gateway.stop(options.grace_s)


def land_before_standing_by(project: Project, listener: Listener) -> None:
    """Land what this host was still to land when its last run ended, for the leader to load.

    Only where landed files go to the storage: elsewhere a standby shares the leader's disk.
    """
    if project.ingest is None or project.ingest.store is None:
        return
    if not any(project.ingest.folder.glob("segment-*.db")):
        return
    try:
        _land(project, listener, _LAND_STANDBY_S)
    except FreshlineError as error:
        if error.code != "already-running":
            listener.notice(f"what was pushed here earlier waits: {error.what}")


def _are_wanted(project: Project, options: RunOptions) -> bool:
    """Whether pushed records concern a run: a refresh may be of tables that read none."""
    feeds = [feed.name for feed in project.feeds.values() if feed.kind == "push"]
    if not options.refresh:
        return bool(feeds)
    return any(table.feed in feeds for table in subset(project, options.refresh).tables)


def _land(project: Project, listener: Listener, timeout_s: float = _LAND_S) -> dict[str, int]:
    """Land what was pushed before; by feed, how many records could not be landed."""
    from freshline.ingest.gateway import land_what_was_pushed

    left = land_what_was_pushed(project, timeout_s)
    if left:
        text = f"not all that was pushed could be landed within {timeout_s:.0f} s"
        listener.notice(text, level="warning")
    return left


def _opened(project: Project, listener: Listener) -> Gateway:
    from freshline.ingest.gateway import Gateway

    gateway = Gateway(project, listener.notice)
    gateway.open()
    assert project.ingest is not None
    if project.ingest.store is not None:
        after = brief_s(project.ingest.land_after_s)
        listener.notice(
            f"pushed records go to the storage after {after}; until then only this host has them"
        )
    return gateway


def _watch(gateway: Gateway, listener: Listener, stopped: threading.Event) -> None:
    while not stopped.wait(_LOOK_S):
        failure = gateway.failed()
        if failure is not None:
            text = f"nothing more can be pushed: {failure}; start the run again"
            listener.notice(text, level="error")
            return
