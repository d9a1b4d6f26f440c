"""The checksum file that Delta writes beside each commit, for tables that tests write by delta-rs.

It holds what the commits up to its own come to: size, columns, files. Without it Spark computes a
version's files and size by jobs over the log, which take longer than the update that needs them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_checksum(path: str) -> None:
    """Write it for the newest version of a table without checkpoints and deletion vectors."""
    log = Path(path) / "_delta_log"
    commits = sorted(log.glob("*.json"))
    assert int(commits[-1].stem) == len(commits) - 1, "commits were removed from the log"
    files: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for commit in commits:
        for line in commit.read_text().splitlines():
            ((kind, action),) = json.loads(line).items()
            if kind == "add":
                files[action["path"]] = {**action, "dataChange": False}
            elif kind == "remove":
                del files[action["path"]]
            elif kind in ("metaData", "protocol"):
                last[kind] = action
            else:
                assert kind in ("commitInfo", "cdc"), kind
    told = {
        "tableSizeBytes": sum(each["size"] for each in files.values()),
        "numFiles": len(files),
        "numMetadata": 1,
        "numProtocol": 1,
        "setTransactions": [],
        "domainMetadata": [],
        "metadata": last["metaData"],
        "protocol": last["protocol"],
        "allFiles": list(files.values()),
    }
    commits[-1].with_suffix(".crc").write_text(json.dumps(told))
