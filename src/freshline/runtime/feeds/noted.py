"""Loaded files that have changed: recorded and reported."""

from __future__ import annotations

from collections.abc import Iterable

from freshline.executor.records import FeedFile
from freshline.runtime.feeds.changed import ChangedFile, LoadedFile
from freshline.runtime.journal.writer import Ledger
from freshline.times import rfc3339


def note_changes(ledger: Ledger, changed: Iterable[ChangedFile], now_s: float) -> list[str]:
    """Write down which loaded files have changed; what people should hear, a line a table.

    The caller flushes the journal.
    """
    told: dict[str, list[ChangedFile]] = {}
    for each in changed:
        was, now = each.loaded, each.now
        row = ledger.file_as_loaded(was.table, was.name)
        if row is None or not was.differs(now.size_bytes, now.modified_s):
            continue
        known = LoadedFile(was.table, was.name, row["size_bytes"], row["modified_s"])
        if known.size_bytes is None:  # the journal was lost: what is there now counts as loaded
            ledger.file_read(was.table, was.name, now.size_bytes, now.modified_s)
        elif not known.differs(now.size_bytes, now.modified_s):
            ledger.file_unchanged(was.table, was.name)  # reloaded meanwhile, or put back
        else:
            ledger.file_changed(was.table, now, reason(known, now), now_s)
            told.setdefault(was.table, []).append(each)
    return [
        f"{table}: {_named(each)} changed after being loaded; the table keeps the rows it has:"
        f" `freshline refresh {table} --full` loads every file again, `freshline accept {table}`"
        " leaves it so"
        for table, each in told.items()
    ]


def reason(was: LoadedFile, now: FeedFile) -> str:
    """How a file has changed, in one line."""
    return (
        f"[file-changed] it was loaded with {was.size_bytes} bytes of"
        f" {_second(was.modified_s or 0.0)} and has {now.size_bytes} bytes of"
        f" {_second(now.modified_s)}"
    )


def _named(changed: list[ChangedFile]) -> str:
    first = changed[0].now.name
    if len(changed) == 1:
        return f"the file {first}"
    return f"{len(changed)} files ({first}, ...)"


def _second(moment_s: float) -> str:
    return rfc3339(moment_s).split(".")[0].replace("T", " ")
