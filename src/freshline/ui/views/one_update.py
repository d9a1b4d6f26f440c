"""``/v1/updates/ID``: one update, why it was chosen, and what ran while it waited."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from freshline.render.story import chapter_record, told
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.status.story import chapter_of
from freshline.ui.answers import Problem
from freshline.ui.reads.reading import Reader
from freshline.ui.views.table import has_page
from freshline.ui.views.updates import whole

_MOST_MEANWHILE = 100


def asked(_: Reader, request: Request) -> int:
    """Its id."""
    return whole(request.path_params, "id", 0)


def answer(reader: Reader, wanted: int) -> dict[str, Any]:
    """The update as ``story`` tells it, in words and as JSON."""
    with reader.journal() as journal:
        row = (
            None if journal is None else journal.row("SELECT * FROM updates WHERE id=?", (wanted,))
        )
        if journal is None or row is None:
            raise Problem(404, "unknown-update", "the journal has no update of this id")
        return update_record(reader, journal, row)


def update_record(reader: Reader, journal: Journal, row: Row) -> dict[str, Any]:
    """One row of ``updates`` for the page; of what ran meanwhile at most a hundred, the longest."""
    name = row["table_name"]
    project = reader.project
    base = project.has_table(name) and project.table(name).kind == "base"
    chapter = chapter_of(journal, row, base=base)
    record = chapter_record(chapter)
    meanwhile = sorted(record["meanwhile"], key=lambda each: -each["overlap_s"])
    record["meanwhile_total"] = len(meanwhile)
    record["meanwhile"] = meanwhile[:_MOST_MEANWHILE]
    return {
        "id": row["id"],
        "table": name,
        "dropped": not has_page(project, name),
        **record,
        "told": told(name, chapter).splitlines(),
    }
