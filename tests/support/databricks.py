"""A script of Databricks' as a project, and what every page without ANSI_MODE says."""

from __future__ import annotations

from pathlib import Path

from freshline.importing.databricks.script import read_databricks
from freshline.importing.items import Outcome
from freshline.importing.writing import write
from freshline.project.load import load_project
from freshline.project.model import Project

NO_ANSI = (
    "The script does not set ANSI_MODE above its first table, and it is on here. Where it is off"
    " there (clusters before"
    " Runtime 17, warehouses of older accounts), size(NULL), '1.5' = 1 and 1 + '1' have other"
    ' values, and errors are NULL: then set spark.sql.ansi.enabled: "false" under configuration:.'
)


def imported(tmp_path: Path, text: str) -> tuple[Project, dict[str, Outcome]]:
    """The project that a script becomes, and the rows of its page by key."""
    path = tmp_path / "one.sql"
    path.write_text(text)
    into = tmp_path / "new"
    rows = {each.item.key: each for each in write(read_databricks(path), into).assembly.outcomes}
    return load_project(into, into), rows
