"""``freshline ui``: the web page of a project that is not running, or of a recorded run."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Annotated, Any

import typer

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.cli.signals import ended_by
from freshline.project.model import Project
from freshline.render.output import print_json


def ui(
    from_run: Annotated[
        int | None,
        typer.Option(
            "--from-run", metavar="N", help="Show that run of the journal as it was at its end."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Another port than the project's; 0: any."),
    ] = None,
    new_token: Annotated[
        bool,
        typer.Option(
            "--new-token", help="Create a token for the page, print it and its hash, and exit."
        ),
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Serve the web page until SIGINT or SIGTERM; read-only for whoever has no token."""
    if new_token:
        return _show_token(as_json=as_json)
    return _serve(opened(project), from_run, port, as_json=as_json)


def _show_token(*, as_json: bool) -> int:
    from freshline.ingest.http.auth import new_token

    token, hashed = new_token()
    if as_json:
        print_json({"token": token, "sha256": hashed})
        return 0
    print(f"token of the page, shown only now: {token}")
    print("for freshline.yml:")
    print(f"  server: {{tokens: [{hashed}]}}")
    return 0


def _serve(project: Project, run: int | None, port: int | None, *, as_json: bool) -> int:
    from freshline.runtime.status.recorded_run import recorded_end_s
    from freshline.ui.access import Access
    from freshline.ui.reads.reading import Reader
    from freshline.ui.serving import address_of, stop
    from freshline.ui.site import Site

    reader = Reader(project)
    if run is not None:
        end_s = recorded_end_s(project, run)
        reader = Reader(project, lambda: end_s, run=run)
    stopped = threading.Event()

    def heard(_: int, __: FrameType | None) -> None:
        stopped.set()

    address = address_of(project, port=port, movable=port is None)
    try:
        with ended_by(heard):
            server = address.serve(Site(reader, Access(project), _healthy, run=run))
            print(f"web page: {server.url}", file=sys.stderr, flush=True)
            if as_json:
                print_json({"url": server.url})
            stopped.wait()
            stop(server)
    finally:
        address.close()
    return 0


def _healthy() -> tuple[int, dict[str, Any]]:
    """No loop turns here, and no Spark is needed: the page is served."""
    record = {"live": True, "leader": False, "spark": "none", "ready": True}
    return 200, {**record, "at": round(time.time(), 3)}
