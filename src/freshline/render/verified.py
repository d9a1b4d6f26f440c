"""What freshline verify prints, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freshline.core.background.upkeep import VERIFY
from freshline.executor.distrust import WrongView
from freshline.executor.verified import (
    RIGHT,
    SKIPPED,
    WRONG,
    Difference,
    RowCheck,
    VersionCheck,
)
from freshline.render.output import clock, counted, moment
from freshline.runtime.journal.strategies import StrategyUse

SAMPLE_ROWS = 5

Checks = Mapping[str, Sequence[VersionCheck]]
"""By table, in the order of versions; nothing for one without a version."""


def verified_record(checks: Checks, of_rows: Sequence[RowCheck] = ()) -> dict[str, Any]:
    """The whole as JSON; ``checks`` of a table where freshline.yml has some of it."""
    record = {name: _table_record(found) for name, found in checks.items()}
    for each in of_rows:
        record[each.table].setdefault("checks", []).append(
            {
                "name": each.check,
                "outcome": each.outcome,
                "severity": "warn" if each.warns else "error",
                "failing": each.failing,
                "reason": each.reason,
                "versions": dict(each.versions),
                "sample": [dict(row) for row in each.sample],
            }
        )
    return {"tables": record}


def row_lines(of_rows: Sequence[RowCheck]) -> list[str]:
    """The checks of rows: a line for those that hold, and for each other."""
    held = sum(each.outcome == RIGHT for each in of_rows)
    lines = [f"{counted(held, 'check')} of rows held"] if held else []
    for each in of_rows:
        if each.outcome == SKIPPED:
            lines.append(f"{each.table}: {each.check}: not checked: {each.reason}")
        elif each.outcome == WRONG:
            mild = " (warning)" if each.warns else ""
            told = (
                each.reason or f"{counted(each.failing, 'row or value', 'rows or values')} fail it"
            )
            lines.append(f"{each.table}: {each.check}{mild}: {told}")
            lines += [f"    {dict(row)}" for row in each.sample]
    return lines


def verified_lines(checks: Checks) -> list[str]:
    """A line or some for each table."""
    lines = []
    for name, found in checks.items():
        right = sum(each.outcome == RIGHT for each in found)
        skipped = [each for each in found if each.outcome == SKIPPED]
        wrong = [each for each in found if each.outcome == WRONG]
        told = [f"{counted(right, 'version')} right"] if right else []
        told += [f"{counted(len(wrong), 'version')} wrong"] if wrong else []
        told += [f"{counted(len(skipped), 'version')} not verified"] if skipped else []
        lines.append(f"{name}: {', '.join(told) or 'it has no version yet'}")
        for reason, versions in _by_reason(skipped).items():
            lines.append(f"  {_versions(versions)} not verified: {reason}")
        for each in wrong:
            lines.append(f"  {each.told()}")
            lines += [f"    missing {row}" for row in _sample(each.difference, -1)]
            lines += [f"    extra {row}" for row in _sample(each.difference, 1)]
    return lines


def unverified_lines(tables: Sequence[str], checks: Checks) -> list[str]:
    """The next step where the newest version of tables was not verified; none where all were."""
    names = [name for name in tables if checks.get(name) and checks[name][-1].outcome == SKIPPED]
    if not names:
        return []
    which = " ".join(names) if len(names) <= SAMPLE_ROWS else "TABLE..."
    made = f"`freshline refresh {which} --full` makes versions that can be verified"
    return [f"next: {made}, unless a reason holds for every version"]


def wrong_record(wrong: WrongView, *, rebuilt: bool) -> dict[str, Any]:
    """What an audit found, as ``status --json`` has it."""
    return {
        "version": wrong.version,
        "strategy": wrong.strategy,
        "missing": wrong.missing,
        "extra": wrong.extra,
        "found": moment(wrong.found_s),
        "rebuilt": rebuilt,
        "trusted": wrong.trusted,
        "evidence": wrong.evidence,
    }


def audits_record(uses: Sequence[StrategyUse]) -> dict[str, Any]:
    """What came of the audits of a view: how often each outcome, and the last one.

    Args:
        uses: Every strategy of the view; those of audits are taken.
    """
    audits = [use for use in uses if use.strategy == VERIFY]
    newest = max(audits, key=lambda use: use.last_s, default=None)
    return {
        "outcomes": {use.code: use.updates for use in audits},
        "last": None if newest is None else moment(newest.last_s),
        "last_outcome": None if newest is None else newest.code,
        "reason": None if newest is None else newest.reason,
    }


def wrong_remark(wrong: WrongView, *, rebuilt: bool, now_s: float) -> str:
    """The same in a line."""
    until = f"computed in full until `freshline retry {wrong.table}`"
    if wrong.trusted:
        now = "to be rebuilt, then maintained from changes again"
    else:
        now = f"rebuilt, and {until}" if rebuilt else f"to be rebuilt, then {until}"
    return (
        f"{wrong.table}: version {wrong.version} ({wrong.strategy}) was found wrong at"
        f" {clock(wrong.found_s, now_s)}: {counted(wrong.missing, 'row')} missing,"
        f" {counted(wrong.extra, 'row')} extra; {now};"
        f" evidence: {wrong.evidence}"
    )


def _table_record(found: Sequence[VersionCheck]) -> dict[str, Any]:
    return {
        "checked": [each.version for each in found if each.outcome != SKIPPED],
        "skipped": {str(each.version): each.reason for each in found if each.outcome == SKIPPED},
        "wrong": [
            {
                "version": each.version,
                "strategy": each.strategy,
                "missing": each.difference.missing,
                "extra": each.difference.extra,
                "sample": {
                    "missing": _sample(each.difference, -1),
                    "extra": _sample(each.difference, 1),
                },
            }
            | ({"columns": each.difference.columns} if each.difference.columns else {})
            | ({"reason": each.reason} if each.reason and not each.difference.columns else {})
            for each in found
            if each.outcome == WRONG
        ],
    }


def _sample(difference: Difference, sign: int) -> list[dict[str, Any]]:
    """Some rows of one side."""
    rows = [dict(each.row) for each in difference.rows if each.times * sign > 0]
    return rows[:SAMPLE_ROWS]


def _by_reason(skipped: Sequence[VersionCheck]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in skipped:
        found.setdefault(each.reason, []).append(each.version)
    return found


def _versions(versions: Sequence[int]) -> str:
    if len(versions) == 1:
        return f"version {versions[0]}"
    return f"versions {versions[0]} to {versions[-1]} ({len(versions)})"
