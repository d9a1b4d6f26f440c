"""What ``freshline explain`` says of each view, kept by a run for readers without Spark.

A file for each view beside the journal, ``explained/VIEW.json``. It holds for the query that it was
made of alone: of a query that changed since nothing is said.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef


def keep_explanation(project: Project, table: TableDef, text: str) -> None:
    """Write down what is said of ``table``; a disk that is full leaves what was there.

    Args:
        project: Of the view.
        table: The view.
        text: Lines for people.
    """
    file = _file(project, table.name)
    if not project.own_folder.is_dir():
        return  # a project that is tried, not run
    said = json.dumps({"definition": definition_of(table), "text": text}, ensure_ascii=False)
    unfinished = file.with_suffix(".tmp")
    with contextlib.suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        unfinished.write_text(said, "utf-8")
        unfinished.replace(file)


def kept_explanation(project: Project, table: TableDef) -> str | None:
    """What was written down of the view's present query; None: nothing."""
    try:
        said = json.loads(_file(project, table.name).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(said, dict) or said.get("definition") != definition_of(table):
        return None
    return str(said.get("text", ""))


def _file(project: Project, table: str) -> Path:
    return project.own_folder / "explained" / f"{table}.json"
