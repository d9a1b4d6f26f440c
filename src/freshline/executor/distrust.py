"""Views whose maintenance from changes gave wrong rows once, and what was kept of it.

A file for each view beside the tables says so, wherever they are: the next leader must know it.
The journal may be deleted, the file stays until ``freshline retry`` removes it, or the view has
another query. A view that is still to be rebuilt when retry names it keeps its file until then:
an update from changes would go on from the wrong rows. Executor, status and retry read it.

    wrong/VIEW.json                    what is wrong, since when
    evidence/VIEW/VERSION/found.json   the commit, what was read, how many rows differ
    evidence/VIEW/VERSION/query.sql    what gave the rows expected
    evidence/VIEW/VERSION/plan.txt     Spark's plans of it
    evidence/VIEW/VERSION/rows.jsonl   rows that differ, at most 10,000
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.log import commits_there
from freshline.delta.own_files import OwnFiles
from freshline.executor.verified import VersionCheck
from freshline.project.definition import definition_of
from freshline.project.model import Project

_FOLDER = "wrong"


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
        trusted: ``freshline retry`` named the view before it was rebuilt: after that nothing is
            wrong with it any more.
    """

    table: str
    version: int
    strategy: str
    missing: int
    extra: int
    found_s: float
    definition: str
    evidence: str
    trusted: bool = False

    def found(self) -> dict[str, Any]:
        """What was found, by the names of the attributes."""
        told = asdict(self)
        del told["trusted"]
        return told


def keep_evidence(
    project: Project, check: VersionCheck, now_s: float, more: dict[str, Any] | None = None
) -> str:
    """Write down all that is known of a wrong version; the folder, a path or a URI.

    Args:
        project: Of the table.
        check: What verifying it gave.
        now_s: Now, seconds since the epoch.
        more: Further facts, such as the versions of programs.
    """
    folder = f"evidence/{check.table}/{check.version}"
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
    own = OwnFiles(project.own_path)
    own.write(f"{folder}/query.sql", check.query)
    own.write(f"{folder}/plan.txt", check.plan)
    own.write(f"{folder}/rows.jsonl", lines)
    own.write(f"{folder}/found.json", json.dumps(found, ensure_ascii=False, indent=1))
    return f"{own.place}/{folder}"


def distrust(
    project: Project, check: VersionCheck, definition: str, now_s: float, evidence: str
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
        evidence,
    )
    _write(project, check.table, wrong.found())


def distrusted(project: Project, table: str, definition: str = "") -> WrongView | None:
    """What was wrong with a view; None where nothing was, or with another query.

    Args:
        project: Of the view.
        table: Its name.
        definition: The short name of its present query; empty: whatever it is.

    Raises:
        PlatformError: The storage does not answer, or the view's log cannot be read.
    """
    wrong = _read(project, table, definition)
    is_over = wrong is not None and wrong.trusted and is_rebuilt(project, wrong)
    return None if is_over else wrong


def must_be_whole(project: Project, table: str, definition: str) -> bool:
    """Whether the next update of a view computes all of it, since it was found wrong.

    For whoever updates it. Where it was to be trusted once it is rebuilt, and is, that is
    forgotten here: later its log may not tell any more that it was rebuilt.

    Raises:
        PlatformError: As :func:`distrusted`.
    """
    wrong = _read(project, table, definition)
    if wrong is None or not (wrong.trusted and is_rebuilt(project, wrong)):
        return wrong is not None
    trust_again(project, table)
    return False


def distrusted_views(project: Project) -> dict[str, WrongView]:
    """What was wrong with each of the project's views, by name.

    A view whose log is damaged counts as not rebuilt: one such log says nothing of the others.

    Raises:
        PlatformError: The storage does not answer.
    """
    there = OwnFiles(project.own_path).names(_FOLDER)  # one question, also at a URI
    found: dict[str, WrongView] = {}
    for table in project.tables:
        if table.kind != "derived" or _name(table.name).rpartition("/")[2] not in there:
            continue
        wrong = _read(project, table.name, definition_of(table))
        if wrong is not None and not (wrong.trusted and rebuilt_if_known(project, wrong)):
            found[table.name] = wrong
    return found


def is_rebuilt(project: Project, wrong: WrongView) -> bool:
    """Whether all of the view was computed again since the version that is wrong.

    A backfill computes one range, and an update from changes goes on from the wrong rows.

    Raises:
        PlatformError: Its log cannot be read.
    """
    since = commits_there(project.table_path(wrong.table), since=wrong.version)
    return any(record.metadata.get("strategy") == "full" for record in since)


def rebuilt_if_known(project: Project, wrong: WrongView) -> bool | None:
    """The same; None where the view's log is damaged, or may not be read.

    Raises:
        PlatformError: The storage does not answer.
    """
    try:
        return is_rebuilt(project, wrong)
    except PlatformError as error:
        why = error.__cause__
        of_the_log = isinstance(why, FileNotFoundError | PermissionError)
        if isinstance(why, OSError) and not of_the_log:
            raise
        return None


def trust_again(project: Project, table: str) -> bool:
    """Have a view that is rebuilt maintained from changes again; whether it was not."""
    return OwnFiles(project.own_path).remove(_name(table))


def trust_when_rebuilt(project: Project, wrong: WrongView) -> None:
    """Have a view maintained from changes again once it is rebuilt, and until then in full."""
    # A former version does not know the word, so it stands only where it says something.
    _write(project, wrong.table, wrong.found() | {"trusted": True})


def differing_rows(wrong: WrongView, most: int) -> list[dict[str, Any]]:
    """The first of the rows that were kept: ``times`` (less than 0: missing) and ``row``.

    None where the evidence was taken away.
    """
    try:
        text = OwnFiles(wrong.evidence).read("rows.jsonl") or ""
        # Texts in the rows may have the other characters that end a line.
        return [json.loads(line) for line in text.rstrip("\n").split("\n")[:most] if line]
    except (PlatformError, ValueError):
        return []


def _read(project: Project, table: str, definition: str) -> WrongView | None:
    text = OwnFiles(project.own_path).read(_name(table))
    if text is None:
        return None
    wrong = WrongView(**json.loads(text))
    return wrong if wrong.definition == definition or not definition else None


def _write(project: Project, table: str, told: dict[str, Any]) -> None:
    OwnFiles(project.own_path).write(_name(table), json.dumps(told, ensure_ascii=False))


def _name(table: str) -> str:
    return f"{_FOLDER}/{table}.json"
