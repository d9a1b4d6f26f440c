"""The files of a table's version from its checksum file, without a Spark job.

Delta finds them by replaying the log in a job of its own, one for every version that is read or
replaced: of a small update's processor time a quarter (docs/design/0017). Beside each commit it
writes what that came to, the files themselves while there are at most fifty, and has it in
memory from the commit on.
"""

from __future__ import annotations

from typing import Any

from freshline.delta.log import commit_mark

SMALL_BYTES = 64 * 1024 * 1024
"""Up to here to leave files out by their statistics gains less than the job that finds them; within
a file Parquet's own statistics leave out what a query does not need."""


def listed_files(snapshot: Any, limit_bytes: int | None = None) -> Any | None:
    """A Scala sequence of AddFile: all files of Delta's ``snapshot``; None: it has to be asked.

    Not known after a crash between commit and checksum, of many files, or where another writer
    leaves the checksum out; nor where it is of a commit that was there before, since Delta writes
    no checksum over another one. Deletion vectors are left to Delta's own way.

    Args:
        snapshot: Delta's object.
        limit_bytes: Of all files together; None as well where they are larger.
    """
    known = snapshot.checksumOpt()
    if not known.isDefined():
        return None
    checksum = known.get()
    if limit_bytes is not None and int(checksum.tableSizeBytes()) > limit_bytes:
        return None
    if not _is_of_the_commit(checksum, snapshot):
        return None
    files, vectors = checksum.allFiles(), checksum.numDeletionVectorsOpt()
    if not files.isDefined() or (vectors.isDefined() and int(vectors.get()) > 0):
        return None
    listed = files.get()
    return listed if int(listed.size()) == int(checksum.numFiles()) else None


def _is_of_the_commit(checksum: Any, snapshot: Any) -> bool:
    """Whether the version's commit is the one that the checksum was written for.

    A table whose newest commits were taken away, as when it is put back, may have kept their
    checksums; its next commits have the same numbers.
    """
    known = checksum.txnId()
    if not known.isDefined():  # ours (trials)
        return True
    mark = mark_of(snapshot)
    return mark is None or mark == str(known.get())


def mark_of(snapshot: Any, version: int | None = None) -> str | None:
    """The mark of a version's commit (:func:`.commit_mark`); None: the log does not tell.

    Args:
        snapshot: Of the table.
        version: None: the snapshot's own.
    """
    path = str(snapshot.deltaLog().dataPath().toString())
    return commit_mark(path, int(snapshot.version()) if version is None else version)
