"""``/v1/tables/NAME``: one table as ``status --json`` has it, with its SQL and columns."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from freshline.delta.log import last_commit
from freshline.delta.stores import delta_table
from freshline.executor.distrust import differing_rows
from freshline.executor.explained import kept_explanation
from freshline.project.model import Project
from freshline.render.explained import cost_lines, costs_told
from freshline.render.output import shortened
from freshline.render.status import table_record
from freshline.render.strategies import strategies_record
from freshline.render.verified import audits_record, wrong_record
from freshline.render.watched import watched_record
from freshline.runtime.status.status import TableStatus
from freshline.ui.answers import Problem
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.reasons import Reasons

_MOST_SQL = 60_000
_MOST_COLUMNS = 500
_MOST_ROWS = 10


def asked(reader: Reader, request: Request) -> str:
    """The table's name, as the project writes it."""
    return known_name(reader.project, request.path_params["name"])


def known_name(project: Project, name: str) -> str:
    """The name as the project writes it.

    Raises:
        Problem: 404.
    """
    if (report := project.report(name)) is not None:
        message = f"{report.name} is a report: its windows are on the page of reports"
        raise Problem(404, "a-report", message)
    if not project.has_table(name):
        raise Problem(404, "unknown-table", "the project has no table of this name")
    return project.table(name).name


def has_page(project: Project, name: str) -> bool:
    """Whether a name leads to a page: a report's says where its windows are."""
    return project.has_table(name) or project.report(name) is not None


def answer(reader: Reader, name: str) -> dict[str, Any]:
    """The table's status, definition and relations; ``reason`` says why it is late."""
    project = reader.project
    found = reader.status(account=True)
    item = next(each for each in found.tables if each.name == name)
    table = project.table(name)
    return {
        "at_s": found.now_s,
        "reason": Reasons(project, found).reason(item),
        **table_record(item, found.uses(name)),
        **strategies_record(found, name),
        **watched_record(found.watched_table(name), running=found.run.running),
        "wrong": _wrong(item),
        "audits": audits_record(found.uses(name)),
        "explained": {
            "text": kept_explanation(project, table),
            "costs": cost_lines(costs_told(last_commit(project.table_path(name)))),
        },
        "columns": columns_of(project.table_path(name), known=item.freshness_s is not None),
        "definition": {
            "sql": table.query[:_MOST_SQL],
            "file": str(table.place),
            "comment": table.comment,
            "refresh": table.refresh,
            "emit": table.emit,
            "time": table.time_column,
            "feed": table.feed,
            "parents": list(table.parents),
            "children": [child.name for child in project.children(name)],
        },
    }


def _wrong(item: TableStatus) -> dict[str, Any] | None:
    """What an audit found wrong, with some of the rows that differ."""
    wrong = item.wrong
    if wrong is None:
        return None
    return {
        **wrong_record(wrong, rebuilt=item.rebuilt),
        # A browser's numbers have 53 bits: rows that differ must not look the same.
        "rows": [
            {**each, "text": json.dumps(each["row"], ensure_ascii=False)}
            for each in differing_rows(wrong, _MOST_ROWS)
        ],
    }


def columns_of(path: str, *, known: bool) -> list[dict[str, Any]]:
    """The columns of a table's newest version, at most 500; none where it cannot be read here.

    Args:
        path: Of the Delta table.
        known: Whether it has a version.
    """
    if not known:
        return []
    from deltalake.exceptions import DeltaError

    try:
        fields = delta_table(path).schema().fields
    except (DeltaError, OSError):
        return []
    return [
        {
            "name": field.name,
            "type": _type(field.type),
            "comment": shortened(str(field.metadata.get("comment", "")), 200),
        }
        for field in fields[:_MOST_COLUMNS]
    ]


def _type(kind: Any) -> str:
    """A type as Delta writes it; a nested one by its kind alone."""
    return str(kind.type)
