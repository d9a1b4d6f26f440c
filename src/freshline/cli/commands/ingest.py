"""``freshline ingest``: the push gateway alone, without Spark."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, duration_of, opened
from freshline.cli.signals import ended_by
from freshline.core.errors import InternalError, UserError
from freshline.project.model import Project
from freshline.project.names import correction, listed
from freshline.render.guarded import guarded_stderr
from freshline.render.output import print_json

_LOOK_S = 1.0


def ingest(
    new_token: Annotated[
        str | None,
        typer.Option(
            "--new-token",
            metavar="FEED",
            help="Create a token for a feed, print it and its hash once, and exit.",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How long landing may take to finish after a stop."),
    ] = "30s",
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Accept pushed records and land them as files, until SIGINT or SIGTERM."""
    found = opened(project)
    pushed = [feed.name for feed in found.feeds.values() if feed.kind == "push"]
    if not pushed:
        raise UserError(
            "no-push-feed",
            f"project {found.name} has no feed of kind push",
            rule="the gateway accepts records of such feeds",
            next_step="Add one to feeds: in freshline.yml.",
        )
    if new_token is not None:
        return _show_token(new_token, pushed, as_json=as_json)
    with guarded_stderr():
        return _serve(found, duration_of("--grace", grace, zero=True), as_json=as_json)


def _show_token(feed: str, pushed: list[str], *, as_json: bool) -> int:
    from freshline.ingest.http.auth import new_token

    if feed not in pushed:
        raise UserError(
            "unknown-feed",
            f"there is no push feed '{feed}'",
            rule=f"the feeds of kind push are {listed(pushed)}",
            next_step=correction(feed, pushed, "Use one of these names."),
        )
    token, hashed = new_token()
    if as_json:
        print_json({"feed": feed, "token": token, "sha256": hashed})
        return 0
    print(f"token of {feed}, shown only now: {token}")
    print("for freshline.yml, under ingest:")
    print(f"  tokens: {{{feed}: {hashed}}}")
    return 0


def _serve(project: Project, land_s: float, *, as_json: bool) -> int:
    from freshline.ingest.gateway import Gateway

    stopped = threading.Event()

    def heard(number: int, _: FrameType | None) -> None:
        if stopped.is_set() and number != signal.SIGHUP:  # a closed terminal sends it twice
            os._exit(128 + number)  # what was acknowledged is on disk; the next start lands it
        stopped.set()

    with ended_by(heard):
        gateway = Gateway(project, lambda text: print(text, file=sys.stderr, flush=True))
        gateway.start()
        if as_json:
            with contextlib.suppress(OSError):  # pushes are taken although nobody reads it
                print_json({"url": gateway.url})
        else:
            print(f"pushed records come in at {gateway.url}", file=sys.stderr, flush=True)
        failure = None
        while failure is None and not stopped.wait(_LOOK_S):
            failure = gateway.failed()
        gateway.stop(land_s)
    if failure is not None:
        raise InternalError(
            "ingest",
            f"no more records can be accepted: {failure}",
            next_step="Start `freshline ingest` again; nothing that was acknowledged is lost.",
        )
    return 0
