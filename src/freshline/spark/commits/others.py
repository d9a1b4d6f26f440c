"""Whether others changed the rows of a table that freshline fills."""

from __future__ import annotations

from freshline.delta.changelog import ChangesGoneError, logged_changes
from freshline.delta.log import CommitRecord, since_update


def changed_by_others(path: str, last: CommitRecord, until: int) -> bool:
    """Whether somebody else changed the rows of a table since its last update.

    An OPTIMIZE or VACUUM changes none.

    Args:
        path: Of the table.
        last: Its newest commit of ours, or that of an older version.
        until: The version up to which.
    """
    return any(_changed(path, *span) for span in since_update(path, last, until))


def _changed(path: str, since: int, until: int) -> bool:
    try:
        changes = logged_changes(path, since, until)
    except ChangesGoneError:
        return True
    return changes is None or bool(changes)  # None: the log is elsewhere and tells nothing
