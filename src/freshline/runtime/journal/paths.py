"""Where a warehouse keeps what is its own: journal and lock, beside the tables.

STORAGE/_freshline for storage on a local path; SQLite and file locks need one. For a URI
they stand in ``.freshline`` beside freshline.yml, so one project directory then means one
warehouse; the journal is a cache all the same.
"""

from __future__ import annotations

from pathlib import Path

from freshline.project.model import Project


def own_folder(project: Project) -> Path:
    """The local folder of journal and lock."""
    return project.own_folder


def journal_path(project: Project) -> Path:
    """The journal's file."""
    return own_folder(project) / "journal.db"
