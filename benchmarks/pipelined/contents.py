"""What a table held when, from its Delta log alone: freshness by ``due_s``, and emptiness."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.overload.staleness import Commit


def contents(table: Path, start_s: float) -> list[tuple[Commit, int]]:
    """Every commit and how many rows there are after it, oldest first.

    Freshness is the greatest ``due_s`` that any commit so far brought, counted from
    ``start_s``, and ``start_s`` before there is one.
    """
    rows: dict[str, int] = {}
    fresh_s = start_s
    made = []
    for path in sorted((table / "_delta_log").glob("*.json")):
        if not path.stem.isdigit():
            continue
        for name, stats in _changes(path):
            if stats is None:
                rows.pop(name, None)
                continue
            rows[name] = stats["numRecords"]
            due_s = stats.get("maxValues", {}).get("due_s")
            if due_s is not None:
                fresh_s = max(fresh_s, start_s + due_s)
        commit = Commit(int(path.stem), path.stat().st_mtime, fresh_s)
        made.append((commit, sum(rows.values())))
    return made


def empty_s(made: list[tuple[Commit, int]], start_s: float, end_s: float) -> float:
    """Seconds of [start, end] in which a table that had had rows had none."""
    ends = [*(commit.at_s for commit, _ in made[1:]), end_s][: len(made)]
    total_s, filled = 0.0, False
    for (commit, rows), until_s in zip(made, ends, strict=True):
        if filled and not rows:
            total_s += max(0.0, min(until_s, end_s) - max(commit.at_s, start_s))
        filled = filled or rows > 0
    return total_s


def _changes(log: Path) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Files taken out, with None, then files brought in, with their statistics."""
    actions = [json.loads(line) for line in log.read_text().splitlines() if line]
    for action in actions:
        if "remove" in action:
            yield action["remove"]["path"], None
    for action in actions:
        if "add" in action:
            yield action["add"]["path"], json.loads(action["add"]["stats"])
