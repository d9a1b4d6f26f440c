"""The push gateway within ``freshline run``: its thread beside the warehouse's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from freshline.core.errors import UserError
from freshline.project.model import Project
from freshline.runtime.warehouse import RunOptions

_LOOK_S = 1.0
_LAND_S = 300.0
"""With ``--until-idle`` everything that was pushed before belongs to what is there."""


class Listener(Protocol):
    """Who is told."""

    def notice(self, text: str) -> None:
        """Something people should hear."""


@contextmanager
def pushes(project: Project, options: RunOptions, listener: Listener) -> Iterator[None]:
    """Take in pushes during a run, where the project has feeds for them.

    With ``until_idle`` nothing is taken in: what was pushed before is landed first, and the run
    then ends when that is loaded. A gateway that runs already, as ``freshline ingest``, is left
    to do its work: what it lands is loaded all the same.

    Raises:
        UserError: The gateway's settings are wrong, or its address is taken.
        PlatformError: Its log cannot be opened.
    """
    if not any(feed.kind == "push" for feed in project.feeds.values()):
        yield
        return
    try:
        if options.until_idle:
            _land(project, listener)
            stop = None
        else:
            stop = _serve(project, options, listener)
    except UserError as error:
        if error.code != "already-running":
            raise
        listener.notice(f"pushes come in elsewhere: {error.what}")
        stop = None
    try:
        yield
    finally:
        if stop is not None:
            stop()


def _land(project: Project, listener: Listener) -> None:
    from freshline.ingest.gateway import land_what_was_pushed

    if not land_what_was_pushed(project, _LAND_S):
        listener.notice(f"not all that was pushed could be landed within {_LAND_S:.0f} s")


def _serve(project: Project, options: RunOptions, listener: Listener) -> Callable[[], None]:
    from freshline.ingest.gateway import Gateway

    gateway = Gateway(project, listener.notice)
    gateway.start()
    listener.notice(f"pushed records come in at {gateway.url}")
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(_LOOK_S):
            failure = gateway.failed()
            if failure is not None:
                listener.notice(f"nothing more can be pushed: {failure}; start the run again")
                return

    watching = threading.Thread(target=watch, name="ingest-watch", daemon=True)
    watching.start()

    def stop() -> None:
        stopped.set()
        watching.join()
        gateway.stop(options.grace_s)

    return stop
