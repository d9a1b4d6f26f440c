"""The trial of a view of a running warehouse."""

from __future__ import annotations

import time
from dataclasses import replace

from pyspark.sql import SparkSession

from freshline.core.background.upkeep import TRY
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.executor.trials import Verdict
from freshline.project.model import Project, TableDef
from freshline.spark.engine.errors import SparkError, one_line, update_failed
from freshline.spark.engine.pins import at_version
from freshline.spark.trials.runner import is_cancelled, try_view
from freshline.spark.views.derived import DerivedUpdates


def trial_of(
    session: SparkSession,
    project: Project,
    table: TableDef,
    updates: DerivedUpdates,
    request: UpdateRequest,
) -> UpdateResult:
    """Try a view's strategies; nothing of the warehouse is read but its parents' columns.

    Args:
        session: The trial's own.
        project: Of the view.
        table: The view.
        updates: Of the view.
        request: Names the parents' versions.

    Raises:
        FreshlineError: Spark ended, or the trial's jobs were cancelled.
    """
    started_s = time.monotonic()
    try:
        plan, key = updates.plan_and_key(session, request)
        parents = {
            name: at_version(session, project.table_path(name), version).schema
            for name, version in request.parents.items()
        }
        verdict = try_view(session, project, table, parents, plan)
    except Exception as error:
        if isinstance(error, SparkError):
            raise update_failed(project, table, error) from error
        if is_cancelled(session, error):
            raise
        # A fault of the trial itself is no fault of the view, and leaves it in full.
        verdict, key = Verdict("undecided", reason=one_line(error)), ""
    seconds = time.monotonic() - started_s
    return UpdateResult(
        version=0,
        rows=0,
        rejected_rows=0,
        seconds=seconds,
        strategy=TRY,
        reason=verdict.reason or "every strategy gave what the query gives",
        repeated=False,
        parents={},
        schema_changed=False,
        code=verdict.outcome,
        verdict=replace(verdict, key=key),
    )
