"""``freshline status``: how every table stands, without Spark."""

from __future__ import annotations

import time

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.cli.render.output import console, print_json
from freshline.cli.render.pushed import pushed_record, pushed_remarks
from freshline.cli.render.reported import report_table, shown
from freshline.cli.render.status import headline, remarks, status_record, status_table
from freshline.runtime.status.status import (
    read_status,
)
from freshline.ui.address import served_at


def status(project: ProjectDir = None, as_json: AsJson = False) -> None:
    """Show how fresh every table is, what waits, what failed, and what comes next."""
    shop = opened(project)
    found = read_status(shop, time.time())
    if as_json:
        pushed = pushed_record(shop)
        record = status_record(found) | {"server": {"url": served_at(shop)}}
        print_json(record | ({} if pushed is None else {"ingest": pushed}))
        return
    out = console()
    out.print(headline(found))
    if found.note:
        out.print(found.note)
    out.print(status_table(found))
    if found.reports:
        out.print(report_table(shown(found.reports), found.now_s))
    for line in remarks(found) + pushed_remarks(shop, found.now_s):
        out.print(line, markup=False)
