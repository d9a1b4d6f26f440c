"""The checksum file beside a commit, as Delta on Spark writes it and delta-rs does not.

With it Spark knows a version's files without a job (:mod:`freshline.spark.engine.listed`), so a
trial goes the way that the updates of a warehouse go, and takes half the time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_checksum(folder: Path, version: int) -> None:
    """Write a version's checksum file, unless its writer did.

    Args:
        folder: Of the table, whose log has all its commits.
        version: The newest.
    """
    log = folder / "_delta_log"
    target = log / f"{version:020}.crc"
    if target.exists():
        return
    files: dict[str, dict[str, Any]] = {}
    told: dict[str, Any] = {}
    for number in range(version + 1):
        text = (log / f"{number:020}.json").read_text(encoding="utf-8")
        for line in text.rstrip("\n").split("\n"):
            ((kind, action),) = json.loads(line).items()
            if kind == "add":
                known = {name: value for name, value in action.items() if value is not None}
                files[action["path"]] = {**known, "dataChange": False}
            elif kind == "remove":
                files.pop(action["path"], None)
            elif kind in ("metaData", "protocol"):
                told[kind] = action
    checksum = {
        "tableSizeBytes": sum(file["size"] for file in files.values()),
        "numFiles": len(files),
        "numMetadata": 1,
        "numProtocol": 1,
        "setTransactions": [],
        "domainMetadata": [],
        "metadata": told["metaData"],
        "protocol": told["protocol"],
        "allFiles": list(files.values()),
    }
    target.write_text(json.dumps(checksum))
