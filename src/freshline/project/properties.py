"""The freshline.* properties of a table: what is known, on which tables, with which values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from freshline.core.errors import Place, UserError
from freshline.project import deadlines
from freshline.project.deadlines import read_deadline
from freshline.project.model import ReportSettings
from freshline.project.names import correction
from freshline.project.yaml import durations
from freshline.project.yaml.numbers import PRIORITY_RULE, priority_in, whole_number
from freshline.sql.text.statements import Property, Statement

PREFIX = "freshline."
_LEAST_WINDOW_S = 1.0
"""Shorter ones follow each other faster than anything is looked at, and some would be left out."""
_WINDOW_RULE = f"it is at least 1 second; {durations.RULE}"
_MOST_GROUPS = 999_999_999


@dataclass(frozen=True, slots=True)
class _Known:
    """One property.

    Attributes:
        fault: What is wrong with a value, or None.
        rule: What is right.
        derived_only: Base tables cannot have it.
        base_only: Materialized views cannot have it.
    """

    fault: Callable[[str], str | None]
    rule: str
    derived_only: bool = False
    base_only: bool = False


@dataclass(frozen=True, slots=True)
class TableProperties:
    """What a table's properties ask for, read."""

    priority: float
    target_lag_s: float | None
    target_downstream: bool
    time_column: str | None
    refresh: str
    catch_up: str
    emit: str
    period_s: float | None
    report: ReportSettings | None


def _one_of(*names: str, derived_only: bool = False, base_only: bool = False) -> _Known:
    rule = f"it is one of {', '.join(names)}"
    return _Known(lambda value: None if value in names else "", rule, derived_only, base_only)


def _duration_fault(value: str) -> str | None:
    try:
        durations.duration_s(value)
    except ValueError as error:
        return str(error)
    return None


def _window_fault(value: str) -> str | None:
    fault = _duration_fault(value)
    if fault is None and durations.duration_s(value) < _LEAST_WINDOW_S:
        return "it is shorter than a second"
    return fault


def _target_fault(value: str) -> str | None:
    return None if value.upper() == "DOWNSTREAM" else _duration_fault(value)


def _priority_fault(value: str) -> str | None:
    return None if priority_in(value) is not None else ""


def _deadline_fault(value: str) -> str | None:
    try:
        read_deadline(value)
    except ValueError as error:
        return str(error)
    return None


def _groups_fault(value: str) -> str | None:
    return None if whole_number(value, _MOST_GROUPS) else ""


KNOWN = {
    "freshline.priority": _Known(_priority_fault, PRIORITY_RULE),
    "freshline.target_lag": _Known(_target_fault, f"{durations.RULE}; or DOWNSTREAM"),
    "freshline.time": _Known(
        lambda value: None if value.strip() else "", "it names the event-time column"
    ),
    "freshline.refresh": _one_of("auto", "incremental", "incremental_strict", "full"),
    "freshline.emit": _one_of("early", "final", derived_only=True),
    "freshline.catch_up": _one_of("oldest", "newest", base_only=True),
    "freshline.period": _Known(_duration_fault, durations.RULE, derived_only=True),
    "freshline.window": _Known(_window_fault, _WINDOW_RULE, derived_only=True),
    "freshline.deadline": _Known(_deadline_fault, deadlines.RULE, derived_only=True),
    "freshline.groups": _Known(
        _groups_fault, "it is a whole number above 0, of at most nine digits", derived_only=True
    ),
}


def check_properties(statement: Statement, file: str, errors: list[UserError]) -> TableProperties:
    """Adds what is wrong to ``errors``; wrong values count as missing."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for each in statement.properties:
        if each.key in lines:
            errors.append(
                UserError(
                    "duplicate-property",
                    f"table {statement.name} gives the property '{each.key}' twice",
                    where=Place(each.file or file, each.line),
                    rule=f"its first value is on line {lines[each.key]}",
                    next_step="Keep one of the two.",
                )
            )
            continue
        lines[each.key] = each.line
        if each.key.lower().startswith(PREFIX):
            error = _fault(each, statement, file)
            if error is None:
                values[each.key] = each.value
            else:
                errors.append(error)
    target = values.get("freshline.target_lag")
    downstream = target is not None and target.upper() == "DOWNSTREAM"
    period = values.get("freshline.period")
    return TableProperties(
        float(values.get("freshline.priority", "1")),
        durations.duration_s(target) if target is not None and not downstream else None,
        downstream,
        values.get("freshline.time"),
        values.get("freshline.refresh", "auto"),
        values.get("freshline.catch_up", "oldest"),
        values.get("freshline.emit", "early"),
        durations.duration_s(period) if period is not None else None,
        _report(values, lines, statement, file, errors),
    )


def _report(
    values: Mapping[str, str],
    lines: Mapping[str, int],
    statement: Statement,
    file: str,
    errors: list[UserError],
) -> ReportSettings | None:
    """The report that the properties ask for; window and deadline come together."""
    window, deadline = values.get("freshline.window"), values.get("freshline.deadline")
    wanted = [name for name in _OF_REPORTS if name in lines]
    # A property with a wrong value counts as given: it has its error already.
    missing = [name for name in _OF_REPORTS[:2] if name not in lines]
    if wanted and missing:
        errors.append(
            UserError(
                "half-a-report",
                f"view {statement.name} has the property '{wanted[0]}', but not '{missing[0]}'",
                where=Place(file, lines[wanted[0]]),
                rule="a report has a window and a deadline",
                next_step=f"Add '{missing[0]}', or remove '{wanted[0]}'.",
            )
        )
    errors += [
        UserError(
            "not-of-reports",
            f"the report {statement.name} has the property '{name}'",
            where=Place(file, lines[name]),
            rule="a report is made once per window, by its deadline",
            next_step="Remove one of the two.",
        )
        for name in (_NOT_OF_REPORTS if wanted else ())
        if name in values
    ]
    if window is None or deadline is None:
        return None
    return ReportSettings(
        durations.duration_s(window),
        read_deadline(deadline),
        int(values.get("freshline.groups", "1")),
    )


_OF_REPORTS = ("freshline.window", "freshline.deadline", "freshline.groups")
_NOT_OF_REPORTS = (
    "freshline.target_lag", "freshline.refresh", "freshline.emit", "freshline.period",
)  # fmt: skip


def _fault(each: Property, statement: Statement, file: str) -> UserError | None:
    where = Place(each.file or file, each.line)
    known = KNOWN.get(each.key)
    if known is None:
        return UserError(
            "unknown-property",
            f"table {statement.name} has the unknown property '{each.key}'",
            where=where,
            rule=f"the known ones are {', '.join(KNOWN)}",
            next_step=correction(each.key, KNOWN, "Remove the property."),
        )
    if known.derived_only and statement.kind == "base":
        return UserError(
            "property-of-views",
            f"the base table {statement.name} has the property '{each.key}'",
            where=where,
            rule="only a materialized view can have it",
            next_step=(
                "Give the feed its period in freshline.yml instead."
                if each.key == "freshline.period"
                else "Remove the property."
            ),
        )
    if known.base_only and statement.kind == "derived":
        return UserError(
            "property-of-base-tables",
            f"view {statement.name} has the property '{each.key}'",
            where=where,
            rule="only a streaming table can have it: it loads files",
            next_step="Give it to the base table, or remove the property.",
        )
    fault = known.fault(each.value)
    if fault is None:
        return None
    detail = f": {fault}" if fault else ""
    return UserError(
        "bad-duration" if durations.RULE in known.rule else "bad-property",
        f"'{each.key}' of table {statement.name} is '{each.value}'{detail}",
        where=where,
        rule=known.rule,
        next_step="Correct the value.",
    )
