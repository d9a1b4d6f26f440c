"""An audit: the newest version of a view verified, and what follows if it is wrong.

The evidence is kept and the view distrusted before anybody is told, so that no death in between
lets it go on from the wrong rows.
"""

from __future__ import annotations

import time
from importlib.metadata import version as program_version

from pyspark.sql import SparkSession

from freshline.core.background.upkeep import VERIFY
from freshline.core.errors import PlatformError
from freshline.delta.log import version as newest_version
from freshline.executor.distrust import distrust, keep_evidence
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.executor.verified import BY_OTHERS, WRONG
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.verification.versions import Verifier


def audit(
    session: SparkSession, project: Project, table: TableDef, request: UpdateRequest
) -> UpdateResult:
    """Verify the newest version of ``table``; its result's code is right, wrong or skipped.

    Args:
        session: The audit's own.
        project: Of the view.
        table: The view.
        request: Names the present query.

    Raises:
        FreshlineError: It failed, or was told to stop; nothing is known of the version.
    """
    started_s = time.monotonic()
    version = newest_version(project.table_path(table.name))
    if version is None:
        raise PlatformError(
            "nothing-to-verify",
            f"table {table.name} has no version",
            where=table.place,
            next_step="Its next update makes one.",
        )
    check = Verifier(project).check(session, table, version)
    if check.outcome == WRONG:
        now_s = time.time()
        programs = {"freshline": program_version("freshline"), "spark": session.version}
        evidence = keep_evidence(project, check, now_s, {"programs": programs})
        failpoint("audit.before_distrust")
        if check.strategy != BY_OTHERS:  # whose rows say nothing of how we compute ours
            distrust(project, check, request.definition, now_s, evidence)
        failpoint("audit.after_distrust")
    return UpdateResult(
        version=version,
        rows=0,
        rejected_rows=0,
        seconds=time.monotonic() - started_s,
        strategy=VERIFY,
        reason=check.told(),
        repeated=False,
        parents={},
        schema_changed=False,
        code=check.outcome,
    )
