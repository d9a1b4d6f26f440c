"""``freshline status``: how every table stands, without Spark."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.project.model import Project
from freshline.render.output import console, print_json
from freshline.render.push_status import pushed_record, pushed_remarks
from freshline.render.report_table import report_table
from freshline.render.status import (
    StatusTable,
    faults,
    headline,
    remarks,
    status_record,
)
from freshline.runtime.lease.leader import LeaderLook, leader_look, leader_record
from freshline.runtime.reports.store import standing
from freshline.runtime.requests.client import running_process
from freshline.runtime.status.status import WarehouseStatus, read_status
from freshline.ui.address import served_at


def status(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit with 3 and print the reasons, one a line, if no run is alive, or a table is"
            " late, fails, misses files, or was found wrong.",
        ),
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Show how fresh every table is, what waits, what failed, and what comes next."""
    shop = opened(project)
    # Beside the other look at a storage that may hang, not after it; none that nobody waits for.
    is_told = as_json or not (check or running_process(shop))
    look = leader_look(shop) if is_told else None
    found = read_status(shop, time.time())
    reasons = faults(found) if check else []
    if as_json:
        pushed = pushed_record(shop)
        record = status_record(found) | {
            "server": {"url": served_at(shop)},
            "leader": leader_record(shop, look),
        }
        record |= {} if pushed is None else {"ingest": pushed}
        print_json(record | ({"faults": reasons} if check else {}))
    elif check:
        for reason in reasons:
            print(reason)
    else:
        _show(shop, found, look)
    return 3 if reasons else 0


def _show(shop: Project, found: WarehouseStatus, look: LeaderLook | None) -> None:
    out = console()
    out.print(headline(found))
    record = None if found.run.running or look is None else look.leader()
    if record is not None:
        out.print(f"{record.holder} has the lease (epoch {record.epoch})")
    if (url := served_at(shop)) is not None:
        out.print(f"web page: {url}")
    if found.note:
        out.print(found.note)
    out.print(StatusTable(found))
    if found.reports:
        out.print(report_table(standing(found.reports), found.now_s))
    for line in remarks(found) + pushed_remarks(shop, found.now_s):
        out.print(line)
