"""Whether others changed the rows of a table that freshline fills."""

from __future__ import annotations

from freshline.delta.changelog import ChangesGoneError, logged_changes
from freshline.delta.log import CommitRecord, last_update
from freshline.delta.metadata import COMPACT
from freshline.spark.commits.transaction import Transaction


def changed_by_others(path: str, transaction: Transaction, last: CommitRecord) -> bool:
    """Whether somebody else changed the rows of the table at ``path`` since its last update.

    Also just before that update's commit: Delta lets a commit follow another one that does not
    touch what it read.

    Args:
        path: Of the table.
        transaction: Begun on it.
        last: Its newest commit of ours.
    """
    made = last
    if last.metadata.get("strategy") == COMPACT:
        # A fence or a compaction says of itself alone what it came after.
        made = last_update(path) or last
    after = int(made.metadata.get("after", made.version - 1))
    spans = ((after, made.version - 1), (made.version, transaction.version))
    return any(since < until and _changed(path, since, until) for since, until in spans)


def _changed(path: str, since: int, until: int) -> bool:
    try:
        changes = logged_changes(path, since, until)
    except ChangesGoneError:
        return True
    return changes is None or bool(changes)  # None: the log is elsewhere and tells nothing
