"""After a take-over from a process that may wake up: a commit in each table that stops its commits.

Such a process may have passed every check and be about to commit. Delta refuses a commit when
another one under the same application's name came after the version that it read. The commit made
here changes no row and carries the last one's metadata on, as a compaction's does.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

from freshline.delta.log import CommitRecord, application, last_commit, version
from freshline.delta.log_files import unreadable
from freshline.delta.metadata import carried_on
from freshline.delta.stores import delta_table
from freshline.project.model import Project
from freshline.runtime.notices import one_line

_AT_ONCE = 8
_TRIES = 5
"""What fails a try is a commit of the other process, which makes one at a time in a table."""
_PAUSE_S = 0.5
"""Before another try where it was something else, which may have passed by then."""


def fence_tables(project: Project, epoch: int) -> list[str]:
    """Make sure that no commit of an earlier epoch gets into a table any more.

    A table without a commit needs none: its first update has the same number in both processes,
    and Delta lets one of the two make the table.

    Returns:
        What people should hear: tables whose log can be read, but that delta-rs cannot open or
        write. The fault is the table's own, and may last: it must not keep the others from
        being run.

    Raises:
        PlatformError: A table's log cannot be read, or another process commits all the time.
    """
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fence") as pool:
        told = pool.map(lambda table: _fence(project, table.name, epoch), project.tables)
        return [each for each in told if each is not None]


def _fence(project: Project, name: str, epoch: int) -> str | None:
    from deltalake.exceptions import CommitFailedError, DeltaError

    path = project.table_path(name)
    failure: Exception | None = None
    is_conflict = False
    for left in reversed(range(_TRIES)):
        # Raises where the store is away: that is no fault of the table's own.
        before = version(path)
        if _to_carry_on(last_commit(path), epoch) is None:
            return None
        try:
            _commit(path, name, epoch)
        except (DeltaError, OSError) as error:
            failure = error
            # Delta-rs tells a feature that it cannot write in the same way as a conflict.
            is_conflict = isinstance(error, CommitFailedError) and version(path) != before
            if left and not is_conflict:
                time.sleep(_PAUSE_S)
        else:
            return None
    if _to_carry_on(last_commit(path), epoch) is None:
        return None  # it was made, though nobody answered
    assert failure is not None
    if is_conflict:
        raise unreadable(path, failure) from failure
    return (
        f"table {name} cannot be fenced off from the process that ran before, which may still"
        f" commit to it if it wakes up: {one_line(failure)}"
    )


def _commit(path: str, name: str, epoch: int) -> None:
    """Make one table's fence, unless it needs none.

    Raises:
        deltalake.exceptions.CommitFailedError: Another commit came in between, or delta-rs does
            not know a feature of the table.
        deltalake.exceptions.DeltaError, OSError: The table cannot be opened or written.
    """
    import deltalake

    table = delta_table(path)
    # Read up to the version that is opened: Delta refuses the fence where a later one has
    # come, and one that came in between would be denied by a fence that stands on it.
    last = _to_carry_on(last_commit(path, until=table.version()), epoch)
    if last is None:
        return
    fields = carried_on(last.metadata, last.update, "fence")
    # What others did between the two is for the next update to notice.
    fields |= {"epoch": epoch, "after": last.version}
    table.create_write_transaction(
        [],
        "append",
        table.schema(),
        partition_by=table.metadata().partition_columns,
        commit_properties=deltalake.CommitProperties(
            custom_metadata={"userMetadata": json.dumps(fields, ensure_ascii=False)},
            max_commit_retries=0,
            app_transactions=[deltalake.Transaction(application(name), last.update)],
        ),
        post_commithook_properties=deltalake.PostCommitHookProperties(
            create_checkpoint=False, cleanup_expired_logs=False
        ),
    )


def _to_carry_on(last: CommitRecord | None, epoch: int) -> CommitRecord | None:
    """The commit whose metadata a fence carries on; None where the table needs no fence."""
    if last is None or int(last.metadata.get("epoch", 0)) >= epoch:
        return None
    return last
