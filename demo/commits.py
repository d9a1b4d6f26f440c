"""What the Delta logs of the warehouse say, read with delta-rs and nothing of freshline.

The format is the contract's: each commit's userMetadata is one JSON object with the key
freshline.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import deltalake


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of freshline's.

    Attributes:
        version: The Delta version that it made.
        at_s: When it was made, seconds since the epoch.
        to_s: The table's freshness after it, seconds since the epoch.
        files: Names of the feed files in it; empty for derived tables.
        offsets: From topics: first offset of each partition, and the one behind the last.
        parents: Version of every Delta table that its query read.
        strategy: append, full, ...; compact for a commit without news.
        rows: Rows that it wrote.
    """

    version: int
    at_s: float
    to_s: float
    files: tuple[str, ...]
    parents: Mapping[str, int]
    strategy: str
    rows: int
    offsets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def commits(table: Path) -> list[Commit]:
    """All commits of freshline's in a table, oldest first; none where there is no table."""
    if not deltalake.DeltaTable.is_deltatable(str(table)):
        return []
    found = []
    for entry in deltalake.DeltaTable(str(table)).history():
        fields = json.loads(entry.get("userMetadata") or "{}")
        if "freshline" not in fields:
            continue
        found.append(
            Commit(
                version=entry["version"],
                at_s=entry["timestamp"] / 1000.0,
                to_s=datetime.fromisoformat(fields["to"]).timestamp(),
                files=tuple(fields.get("files", ())),
                parents=fields["parents"],
                strategy=fields["strategy"],
                rows=fields["rows"],
                offsets={
                    int(partition): tuple(pairs)
                    for partition, pairs in fields.get("offsets", {}).items()
                },
            )
        )
    return sorted(found, key=lambda commit: commit.version)


def newest_news(log: Sequence[Commit]) -> int:
    """The version of the newest commit that changed what the table says; -1 without one."""
    return max((each.version for each in log if each.strategy != "compact"), default=-1)
