"""How a warehouse made its updates: by which strategy, for what reason and in what time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path

_SQL = """
SELECT table_name, strategy, reason, count(*) AS updates, avg(seconds) AS mean_s,
  min(seconds) AS least_s, max(seconds) AS most_s
FROM updates WHERE state = 'done' GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC
"""


def made_by_way(project: Project) -> list[dict[str, Any]]:
    """A line for each table, strategy and reason, from the journal; times in seconds."""
    with closing(sqlite3.connect(journal_path(project))) as journal:
        journal.row_factory = sqlite3.Row
        return [dict(row) for row in journal.execute(_SQL)]
