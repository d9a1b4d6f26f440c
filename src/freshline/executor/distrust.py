"""Views whose maintenance from changes gave wrong rows once, and what was kept of it.

A file for each view beside the journal says so. The journal may be deleted, the file stays until
``freshline retry`` removes it, or the view has another query. Executor, status and retry read it.

    wrong/VIEW.json                    what is wrong, since when
    evidence/VIEW/VERSION/found.json   the commit, what was read, how many rows differ
    evidence/VIEW/VERSION/query.sql    what gave the rows expected
    evidence/VIEW/VERSION/plan.txt     Spark's plans of it
    evidence/VIEW/VERSION/rows.jsonl   rows that differ, at most 10,000
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from freshline.delta.log import commits
from freshline.delta.metadata import COMPACT
from freshline.executor.verified import VersionCheck
from freshline.project.definition import definition_of
from freshline.project.model import Project


@dataclass(frozen=True, slots=True)
class WrongView:
    """A version of a view that did not equal its query.

    Attributes:
        table: The view.
        version: The version.
        strategy: How it had been computed.
        missing, extra: Rows that differ.
        found_s: When it was found, seconds since the epoch.
        definition: The short name of the query then.
        evidence: The folder of what was kept.
    """

    table: str
    version: int
    strategy: str
    missing: int
    extra: int
    found_s: float
    definition: str
    evidence: str


def keep_evidence(
    project: Project, check: VersionCheck, now_s: float, more: dict[str, Any] | None = None
) -> Path:
    """Write down all that is known of a wrong version; the folder.

    Args:
        project: Of the table.
        check: What verifying it gave.
        now_s: Now, seconds since the epoch.
        more: Further facts, such as the versions of programs.
    """
    folder = project.own_folder / "evidence" / check.table / str(check.version)
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "table": check.table,
        "version": check.version,
        "strategy": check.strategy,
        "found_s": now_s,
        "missing": check.difference.missing,
        "extra": check.difference.extra,
        "columns": check.difference.columns,
        "commit": dict(check.facts),
        **(more or {}),
    }
    rows = [{"times": each.times, "row": dict(each.row)} for each in check.difference.rows]
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    (folder / "query.sql").write_text(check.query, "utf-8")
    (folder / "plan.txt").write_text(check.plan, "utf-8")
    (folder / "rows.jsonl").write_text(lines, "utf-8")
    (folder / "found.json").write_text(json.dumps(found, ensure_ascii=False, indent=1), "utf-8")
    return folder


def distrust(
    project: Project, check: VersionCheck, definition: str, now_s: float, evidence: Path
) -> None:
    """Have a view computed in full from now on."""
    wrong = WrongView(
        check.table,
        check.version,
        check.strategy,
        check.difference.missing,
        check.difference.extra,
        now_s,
        definition,
        str(evidence),
    )
    file = _file(project, check.table)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text(json.dumps(asdict(wrong), ensure_ascii=False), "utf-8")
    unfinished.replace(file)


def distrusted(project: Project, table: str, definition: str = "") -> WrongView | None:
    """What was wrong with a view; None where nothing was, or with another query.

    Args:
        project: Of the view.
        table: Its name.
        definition: The short name of its present query; empty: whatever it is.
    """
    try:
        wrong = WrongView(**json.loads(_file(project, table).read_text("utf-8")))
    except FileNotFoundError:
        return None
    return wrong if wrong.definition == definition or not definition else None


def distrusted_views(project: Project) -> dict[str, WrongView]:
    """What was wrong with each of the project's views, by name."""
    found = {
        table.name: distrusted(project, table.name, definition_of(table))
        for table in project.tables
        if table.kind == "derived"
    }
    return {name: wrong for name, wrong in found.items() if wrong is not None}


def is_rebuilt(project: Project, wrong: WrongView) -> bool:
    """Whether the view was computed again since it was found wrong.

    Raises:
        PlatformError: Its log cannot be read.
    """
    since = commits(project.table_path(wrong.table), since=wrong.version)
    return any(record.metadata.get("strategy") != COMPACT for record in since)


def trust_again(project: Project, table: str) -> bool:
    """Have a view maintained from changes again; whether it was not."""
    file = _file(project, table)
    was_wrong = file.exists()
    file.unlink(missing_ok=True)
    return was_wrong


def _file(project: Project, table: str) -> Path:
    return project.own_folder / "wrong" / f"{table}.json"
