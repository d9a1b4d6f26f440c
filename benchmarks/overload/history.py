"""What every base table holds before the clock starts: rows of the day before.

The base tables are loaded once, by freshline's own updates from one file a feed, and every way
begins with a copy of them: every side has the same rows in the same files. Views are first built
when the clock runs.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from benchmarks.common.projects import FeedSpec, file_name, listed, write_file, write_project
from benchmarks.overload.workload import Workload
from freshline.delta.log import version
from freshline.executor.records import UpdateRequest
from freshline.project.definition import definition_of
from freshline.project.load import load_project
from freshline.spark.engine.session import start_session
from freshline.spark.updates import SparkExecutor

_BEFORE_S = 86_400.0
_FIRST_ID = -1_000_000_000
"""Of the history's rows; those of the workload's files count from 0."""

_FILE_ROWS = 1_000_000


def load_history(workload: Workload, root: Path, rows: int) -> Path:
    """Load the base tables of a project in ``root``, unless that was done; their folder."""
    done, storage = root / "loaded", root / "project" / "warehouse"
    if done.exists():
        return storage
    if storage.exists():  # it was stopped on the way
        project = load_project(root / "project", root / "project")
    else:
        shutil.rmtree(root, ignore_errors=True)
        project = write_project(root / "project", workload.feeds, workload.tables)
    session = start_session(project)
    try:
        executor = SparkExecutor(project, session)
        for table in project.tables:
            if table.feed is None:
                continue
            feed = next(each for each in workload.feeds if each.name == table.feed)
            there = version(project.table_path(table.name))
            for number, first in enumerate(range(0, rows, _FILE_ROWS), start=1):
                if there is not None and number <= there + 1:
                    continue
                moment_s = time.time() - _BEFORE_S
                name = _staged(project.feeds[feed.name].path, feed, moment_s, rows, first)
                file = listed(project, feed, name)
                executor.run(
                    UpdateRequest(
                        number,
                        table.name,
                        moment_s - 1.0,
                        moment_s,
                        (file,),
                        definition=definition_of(table),
                        filled=number > 1,
                    )
                )
    finally:
        session.stop()
    done.touch()
    return storage


def _staged(folder: str, feed: FeedSpec, moment_s: float, rows: int, first: int) -> str:
    """The name of a new file with the history's rows from ``first`` on."""
    path = Path(folder) / file_name(feed, moment_s)
    write_file(path, min(_FILE_ROWS, rows - first), -_BEFORE_S, first_id=_FIRST_ID + first)
    return path.name
