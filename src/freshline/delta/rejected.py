"""Rejected rows have an end, and few files: their table is neither a feed's nor a view's.

An update that rejects rows makes a file and a commit of them. A person has to look at them, so they
stay for months (``maintenance: {rejected: 90 days}``). delta-rs does the work: it is a delete and
a rewrite of small files, while no update of the base table runs.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.log import application, last_commit
from freshline.delta.log_files import unreadable
from freshline.delta.metadata import carried_on
from freshline.delta.stores import delta_table
from freshline.executor.fence import before_commit
from freshline.project.model import Project
from freshline.project.names import rejected_name

FEWEST_FILES = 50
"""Fewer are left as they are."""


def forget_rejected(project: Project, table: str, now_s: float) -> bool:
    """Remove a base table's oldest rejected rows, and put small files of the others together.

    Args:
        project: Of the table.
        table: The base table; no update of it runs.
        now_s: Wall-clock seconds since the epoch.

    Returns:
        Whether there are any rejected rows.

    Raises:
        PlatformError: Their table cannot be read or written.
    """
    from deltalake.exceptions import DeltaError

    name = rejected_name(table)
    path = project.table_path(name)
    if last_commit(path) is None:
        return False
    before = datetime.fromtimestamp(now_s - project.maintenance.rejected_s, UTC)
    try:
        found = delta_table(path)
        if _oldest(found) < before:
            found.delete(f"at < '{before.isoformat()}'", **_committed(path, name))
            found = delta_table(path)
        if found.get_add_actions().num_rows >= FEWEST_FILES:
            found.optimize.compact(**_committed(path, name))
    except (DeltaError, OSError) as error:
        raise unreadable(path, error) from error
    return True


def _oldest(table: Any) -> datetime:
    """When the oldest row was rejected; now where there is none, or nobody noted it."""
    now = datetime.now(UTC)
    actions = table.get_add_actions(flatten=True)
    if "min.at" not in actions.schema.names:
        return now
    times = [each for each in actions["min.at"].to_pylist() if each is not None]
    return min((each.replace(tzinfo=each.tzinfo or UTC) for each in times), default=now)


def _committed(path: str, name: str) -> dict[str, Any]:
    """How such a commit is made: as ours, so that the next update goes on from it.

    Raises:
        PlatformError: This process may not commit (any more).
    """
    import deltalake

    last = last_commit(path)
    if last is None:
        raise PlatformError("no-table", f"table {name} has no commit made by freshline")
    fields = carried_on(last.metadata, last.update, "rejected")
    metadata = json.dumps(fields, ensure_ascii=False)
    return {
        "commit_properties": deltalake.CommitProperties(
            custom_metadata={"userMetadata": before_commit(metadata)},
            max_commit_retries=0,
            app_transactions=[deltalake.Transaction(application(name), last.update)],
        ),
        "post_commithook_properties": deltalake.PostCommitHookProperties(
            create_checkpoint=False, cleanup_expired_logs=False
        ),
    }
