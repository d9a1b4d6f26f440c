"""The report planner's events and commands as JSON, and the replay of a recorded run.

What the planner was told and what it ordered stands in the journal; a fresh planner that is told
the same orders the same.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from freshline.core.errors import UserError
from freshline.reports import events as kinds
from freshline.reports.costs import CostModel, FinalCost, LinearCost, PiecewiseCost
from freshline.reports.events import Command, Event, InputKind, Report, Submitted
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.store import forget_old

_KINDS: dict[str, type] = {
    name: value
    for name, value in vars(kinds).items()
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


KEPT_STEPS = 50_000
"""Of the planner, in the journal: weeks of a busy warehouse."""

PRUNED_EVERY = 1000
"""Steps of a run after which it is looked what may go, of ended reports too; and at its start."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """An instant at which the replay ordered something else."""

    now_s: float
    recorded: list[Any]
    replayed: list[Any]


class Recording:
    """Writes down one run's steps of the planner; the caller flushes.

    The newest ``KEPT_STEPS`` stay, and of earlier runs only whole ones: a planner can be told a
    run again from its beginning alone. A run that outgrows them is cut, and marked as such.

    Args:
        journal: The open journal.
        run: Number of the run.
    """

    def __init__(self, journal: Journal, run: int) -> None:
        self._journal = journal
        self._run = run
        self._steps = 0
        self._prune()

    def step(self, now_s: float, events: Sequence[Event], commands: Sequence[Command]) -> None:
        """Write down one step."""
        self._journal.write(
            "INSERT INTO report_instants (run, now_s, events, commands) VALUES (?,?,?,?)",
            (
                self._run,
                now_s,
                json.dumps([encoded(each) for each in events]),
                json.dumps([encoded(each) for each in commands]),
            ),
        )
        self._steps += 1
        if self._steps % PRUNED_EVERY == 0:
            self._prune()

    def _prune(self) -> None:
        forget_old(self._journal)
        newest = "(SELECT max(id) FROM report_instants)"
        self._journal.write(
            "DELETE FROM report_instants WHERE run IN (SELECT run FROM report_instants"
            f" WHERE run<>? GROUP BY run HAVING min(id) <= {newest} - ?)",
            (self._run, KEPT_STEPS),
        )
        self._journal.write(
            "UPDATE report_instants SET now_s=NULL, events='[]', commands='[]'"
            f" WHERE run=? AND id = {newest} - ?",
            (self._run, KEPT_STEPS),
        )
        self._journal.write(
            f"DELETE FROM report_instants WHERE run=? AND id < {newest} - ?",
            (self._run, KEPT_STEPS),
        )


def replay_reports(journal: Journal, run: int, policy: ReportPolicy) -> list[Difference]:
    """Where a fresh planner differs from the recorded one; nowhere, if it reads events alone.

    Raises:
        UserError: The beginning of the run is no longer in the journal.
    """
    planner = ReportScheduler(policy, tracks=1)
    found = []
    rows = journal.rows("SELECT * FROM report_instants WHERE run=? ORDER BY id", (run,))
    if rows and rows[0]["now_s"] is None:
        raise UserError(
            "run-cut",
            f"the beginning of run {run} is no longer in the journal",
            rule=f"it keeps {KEPT_STEPS:,} steps of reports",
            next_step="Name a later run.",
        )
    for row in rows:
        events = [decoded(each) for each in json.loads(row["events"])]
        replayed = [encoded(each) for each in planner.step(row["now_s"], events)]
        recorded = json.loads(row["commands"])
        if json.loads(json.dumps(replayed)) != recorded:
            found.append(Difference(row["now_s"], recorded, replayed))
    return found


def encoded(each: Event | Command) -> dict[str, Any]:
    """One event or command as a JSON object."""
    values = {field.name: getattr(each, field.name) for field in dataclasses.fields(each)}
    if isinstance(each, Submitted):
        values["report"] = _report(each.report)
    return {"kind": type(each).__name__, **values}


def decoded(values: dict[str, Any]) -> Any:
    """The event that ``encoded`` made ``values`` of."""
    given = {name: value for name, value in values.items() if name != "kind"}
    if values["kind"] == "Submitted":
        report = dict(given["report"])
        report["predicted_s"] = tuple(report["predicted_s"])
        report["cost"] = _cost(report["cost"])
        report["final"] = FinalCost(**report["final"])
        report["input_kind"] = InputKind(report["input_kind"])
        given["report"] = Report(**report)
    return _KINDS[values["kind"]](**given)


def _report(report: Report) -> dict[str, Any]:
    values = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    values["predicted_s"] = list(report.predicted_s)
    values["cost"] = _plain(report.cost)
    values["final"] = dataclasses.asdict(report.final)
    values["input_kind"] = report.input_kind.value
    return values


def _plain(cost: CostModel) -> dict[str, Any]:
    if isinstance(cost, PiecewiseCost):
        return {"points": [list(point) for point in cost.points]}
    assert isinstance(cost, LinearCost)
    return dataclasses.asdict(cost)


def _cost(values: dict[str, Any]) -> CostModel:
    if "points" in values:
        return PiecewiseCost(tuple((size, seconds) for size, seconds in values["points"]))
    return LinearCost(**values)
