"""Which files of a table are worth being put together; found without Spark.

The rule is that of size-tiered merging, as log-structured stores have it. Files of one
partition fall into tiers by size, each eight times as large as the one before. Where a tier
holds :data:`MOST_FILES` of them, these and the smaller ones are merged into one file, oldest
first. So a row is rewritten at most once a tier, however many small commits come (four times
until its file is large), and a table keeps a number of small files that grows with the
logarithm of its size, not with the number of its commits.

A view that replaces its newest buckets stays cheap to update: the merged file holds the old
ones, and is touched when late rows reach them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from freshline.delta.log_files import unreadable
from freshline.delta.stores import delta_table

LARGE_BYTES = 32 * 1024 * 1024
"""A file of this size is left alone."""

MOST_FILES = 16
"""So many of a tier are left as they are; each is another file for every query to open."""

BUDGET_BYTES = 64 * 1024 * 1024
"""Of one compaction: what it did is lost when it has to give way, and this takes seconds."""

BUDGET_FILES = 1000

_TIERS = (64 * 1024, 512 * 1024, 4 * 1024 * 1024, LARGE_BYTES)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a table's newest version.

    Attributes:
        name: Behind the last slash of its path; no two files of a table share it.
        size_bytes: As the log has it.
        modified_ms: When it was written.
        partition: Its partition's folder; files of one partition can be put together.
    """

    name: str
    size_bytes: int
    modified_ms: int
    partition: str = ""


def files_of(path: str) -> list[DataFile]:
    """The data files of the newest version of the table at ``path``; none where it is not.

    Raises:
        PlatformError: The log cannot be read.
    """
    import pyarrow as pa
    from deltalake.exceptions import TableNotFoundError

    try:
        actions = delta_table(path).get_add_actions(flatten=False)
        columns = ["path", "size_bytes", "modification_time"]
        rows: list[dict[str, Any]] = pa.table(actions).select(columns).to_pylist()
    except TableNotFoundError:
        return []
    except Exception as error:
        raise unreadable(path, error) from error
    found = []
    for row in rows:
        partition, _, name = str(row["path"]).rpartition("/")
        found.append(DataFile(name, row["size_bytes"], row["modification_time"], partition))
    return found


def worth_merging(files: Iterable[DataFile]) -> list[DataFile]:
    """What to put together: one new file a partition; empty where it would not pay.

    Args:
        files: Of the table's newest version.
    """
    by_partition: dict[str, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size_bytes < LARGE_BYTES:
            by_partition[file.partition].append(file)
    taken: list[DataFile] = []
    budget_bytes = BUDGET_BYTES
    # The partition with most small files gains most.
    for _, small in sorted(by_partition.items(), key=lambda item: (-len(item[1]), item[0])):
        merged = _merged(small, budget_bytes, BUDGET_FILES - len(taken))
        taken += merged
        budget_bytes -= sum(file.size_bytes for file in merged)
    return taken


def _merged(small: list[DataFile], budget_bytes: int, budget_files: int) -> list[DataFile]:
    """Those of one partition's small files that its fullest tier says to merge."""
    counts = [0] * len(_TIERS)
    for file in small:
        counts[_tier(file)] += 1
    full = [tier for tier, count in enumerate(counts) if count >= MOST_FILES]
    if not full:
        return []
    chosen: list[DataFile] = []
    for file in sorted(small, key=lambda file: (file.modified_ms, file.name)):
        if _tier(file) > full[-1]:
            continue
        if file.size_bytes > budget_bytes or len(chosen) == budget_files:
            break
        chosen.append(file)
        budget_bytes -= file.size_bytes
    return chosen if len(chosen) > 1 else []


def _tier(file: DataFile) -> int:
    return next(tier for tier, below in enumerate(_TIERS) if file.size_bytes < below)
