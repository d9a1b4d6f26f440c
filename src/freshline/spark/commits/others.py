"""Whether others changed the rows of a table that freshline fills."""

from __future__ import annotations

from freshline.delta.arrivals import read_commit
from freshline.delta.changelog import ChangesGoneError, logged_changes
from freshline.delta.log import CommitRecord, local_log, since_update


def changed_by_others(path: str, last: CommitRecord, until: int) -> bool:
    """Whether somebody else changed the rows of a table since its last update.

    An OPTIMIZE or VACUUM changes none, nor does a compaction or a fence of ours.

    Args:
        path: Of the table.
        last: Its newest commit of ours, or that of an older version.
        until: The version up to which.

    Raises:
        PlatformError: The log cannot be read.
    """
    try:
        return any(has_changes(path, *span) for span in since_update(path, last, until))
    except ChangesGoneError:
        return True


def has_changes(path: str, since: int, until: int) -> bool:
    """Whether commits ``since`` + 1 to ``until`` changed rows or columns.

    Raises:
        ChangesGoneError: One of the commits' files was cleaned up.
        PlatformError: The log cannot be read.
    """
    if local_log(path) is None:
        return any(_changes(path, version) for version in range(since + 1, until + 1))
    changes = logged_changes(path, since, until)
    return changes is None or bool(changes)


def _changes(path: str, version: int) -> bool:
    """The same of one commit in an object store."""
    commit = read_commit(path, version)
    if commit is None:
        raise ChangesGoneError(f"commit {version} of {path} was cleaned up")
    return bool(commit.appended) or commit.rewrote or commit.redefined
