"""Staleness of every table from the Delta logs alone, in the same way for every variant.

A base table's freshness after a commit is the greatest ``due_s`` in it, from the files'
statistics; a view's is the least of its parents' at the versions that the commit's
userMetadata says it read. A commit counts from the moment its log file is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshline.project.model import Project


@dataclass(frozen=True, slots=True)
class Commit:
    """A version: when it was there (seconds since the epoch), and the freshness it brought."""

    version: int
    at_s: float
    fresh_s: float


def commits(project: Project, start_s: float) -> dict[str, list[Commit]]:
    """Every table's commits, oldest first; freshness is ``start_s`` before any file."""
    found: dict[str, list[Commit]] = {}
    for table in project.tables:  # parents come before children
        log = Path(project.table_path(table.name)) / "_delta_log"
        fresh_s = start_s
        made = []
        for path in sorted(log.glob("*.json")):
            if not path.stem.isdigit():
                continue
            actions = [json.loads(line) for line in path.read_text().splitlines() if line]
            if table.kind == "base":
                due_s = _greatest_due_s(actions)
                fresh_s = max(fresh_s, start_s + due_s) if due_s is not None else fresh_s
            else:
                fresh_s = _least_of_parents(actions, found, fresh_s)
            made.append(Commit(int(path.stem), path.stat().st_mtime, fresh_s))
        found[table.name] = made
    return found


def _greatest_due_s(actions: list[dict[str, Any]]) -> float | None:
    added = [json.loads(action["add"]["stats"]) for action in actions if "add" in action]
    found = [stats.get("maxValues", {}).get("due_s") for stats in added]
    return max((due_s for due_s in found if due_s is not None), default=None)


def _least_of_parents(
    actions: list[dict[str, Any]], found: Mapping[str, list[Commit]], before_s: float
) -> float:
    infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
    pins = json.loads(infos[0].get("userMetadata") or "{}").get("parents") if infos else None
    if not pins:
        return before_s  # the commit that made the table
    return min(
        next(commit.fresh_s for commit in found[name] if commit.version == version)
        for name, version in pins.items()
    )


def area_s2(made: list[Commit], start_s: float, end_s: float) -> float:
    """Integral of now - F over [start, end]; F is the start until a commit moves it."""
    total_s2, since_s, fresh_s = 0.0, start_s, start_s
    for commit in [*made, Commit(-1, end_s, end_s)]:
        until_s = min(max(commit.at_s, since_s), end_s)
        total_s2 += (until_s - since_s) * ((since_s + until_s) / 2.0 - fresh_s)
        since_s, fresh_s = until_s, max(fresh_s, commit.fresh_s)
    return total_s2


def worst_s(made: list[Commit], start_s: float, since_s: float, end_s: float) -> float:
    """The greatest now - F within [since, end]; F is the start until a commit moves it."""
    worst, fresh_s = 0.0, start_s
    for commit in made:
        if commit.at_s > end_s:
            break
        if commit.at_s >= since_s:
            worst = max(worst, commit.at_s - fresh_s)
        fresh_s = max(fresh_s, commit.fresh_s)
    return max(worst, end_s - fresh_s)
