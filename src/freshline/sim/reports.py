"""Report scenarios: `freshline plan FILE` and the ``reports:`` of `freshline simulate FILE`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from freshline.core.errors import UserError, UserErrors
from freshline.project.yaml.file import YamlFile
from freshline.project.yaml.numbers import is_number
from freshline.reports.arrivals import (
    COUNT_TOLERANCE,
    Arrivals,
    ConstantRate,
    ListedArrivals,
)
from freshline.reports.auto_slack import choose_slack_factor
from freshline.reports.costs import TOLERANCE_S, CostModel, FinalCost, LinearCost, PiecewiseCost
from freshline.reports.events import InputKind, Report
from freshline.reports.planning.model import Infeasible, Objective, Window
from freshline.reports.planning.planner import plan_window, solvers
from freshline.reports.policies import KEYS, ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.reports.virtual_run import BatchRun, Outcome, ReportInput, VirtualRun
from freshline.sim.scenario.report_fields import MOST, Fields

DIGITS = 9
"""Decimals of printed seconds: finer than any tolerance, coarser than floating-point noise."""

MOST_TUPLES = 1_000_000
"""Of one window: each is a time in memory, and a plan of so many takes seconds."""

PLAN_KEYS = ("window", "input", "deadline", "cost", "final", "solver", "objective")
RUN_KEYS = ("policy", "tracks", "reports")
PAIR = ("tuples", "seconds")
REPORT_KEYS = (
    "name", "submit", "remove", "window", "input", "actual", "deadline", "groups", "cost", "final",
)  # fmt: skip
POLICY_KEYS = (
    "name", "slack_factor", "max_batch_time", "min_batch", "reanchor", "margin", "eager",
)  # fmt: skip


def plan_file(document: YamlFile) -> dict[str, Any]:
    """Plan the one report of a document.

    Returns:
        The answer as ``--json`` prints it; an infeasible plan is one, too.

    Raises:
        UserError: The document is wrong; names key and line.
    """
    fields = Fields(document, (), PLAN_KEYS)
    solver = fields.choice("solver", "exact", solvers())
    goal = fields.choice("objective", "batches", ("batches", "cost"))
    objective: Objective = "cost" if goal == "cost" else "batches"
    start_s, end_s = _window(fields)
    arrivals = _arrivals(fields, start_s, end_s)
    window = Window(
        start_s,
        end_s,
        arrivals.times_s(start_s, end_s),
        fields.number("deadline"),
        _cost(fields),
        _final(fields),
    )
    if solver == "milp":
        _check_milp(fields, arrivals, window.cost)
    plan = plan_window(window, solver=solver, objective=objective)
    if isinstance(plan, Infeasible):
        return {
            "feasible": False,
            "earliest_deadline": _seconds(plan.earliest_deadline_s),
            "slack": _seconds(plan.slack_s),
        }
    return {
        "feasible": True,
        "batches": [
            {
                "tuples": batch.tuples,
                "start": _seconds(batch.start_s),
                "end": _seconds(batch.end_s),
            }
            for batch in plan.batches
        ],
        "cost": _seconds(plan.cost_s),
        "final_cost": _seconds(plan.final_cost_s),
        "slack": _seconds(plan.slack_s),
    }


def simulate_reports(document: YamlFile, trace: TextIO | None = None) -> dict[str, Any]:
    """Run the reports of a document in virtual time.

    Args:
        trace: Gets one JSON line for each batch, in the order of starts.

    Returns:
        The answer as ``--json`` prints it.

    Raises:
        UserError: The document is wrong; names key and line.
    """
    fields = Fields(document, (), RUN_KEYS)
    policy = _policy(fields)
    tracks = fields.whole("tracks", 1, least=1)
    inputs = _reports(fields)
    scheduler = ReportScheduler(policy, tracks=tracks, choose_slack_factor=choose_slack_factor)
    run = VirtualRun(scheduler, inputs)
    outcomes = run.run()
    if trace is not None:
        for batch in run.batches:
            trace.write(json.dumps(_traced(batch)) + "\n")
    return _result(inputs, outcomes, scheduler.min_batches)


def render_plan(result: Mapping[str, Any]) -> str:
    """The answer of `plan_file` for people."""
    if not result["feasible"]:
        return (
            "infeasible: no plan meets the deadline\n"
            f"earliest deadline  {result['earliest_deadline']:.3f}\n"
            f"slack              {result['slack']:.3f}\n"
        )
    lines = [f"{'batch':>5}  {'tuples':>8}  {'start':>12}  {'end':>12}"]
    lines.extend(
        f"{number:>5}  {batch['tuples']:>8}  {batch['start']:>12.3f}  {batch['end']:>12.3f}"
        for number, batch in enumerate(result["batches"], 1)
    )
    lines.append(
        f"cost {result['cost']:.3f} (final aggregation {result['final_cost']:.3f}), "
        f"slack {result['slack']:.3f}"
    )
    return "\n".join(lines) + "\n"


def render_simulation(result: Mapping[str, Any]) -> str:
    """The answer of `simulate_reports` for people."""
    width = max(6, *(len(name) for name in result["reports"]))
    lines = [f"{'report':<{width}}  {'finish':>12}  {'deadline':>12}  met  batches  {'cost':>10}"]
    for name, report in result["reports"].items():
        finish = "withdrawn" if report["removed"] else f"{report['finish']:.3f}"
        met = {True: "yes", False: "NO", None: "-"}[report["met"]]
        lines.append(
            f"{name:<{width}}  {finish:>12}  {report['deadline']:>12.3f}  {met:>3}  "
            f"{report['batches']:>7}  {report['cost']:>10.3f}"
        )
    lines.append(f"cost {result['cost']:.3f}, normalised {result['normalised_cost']:.3f}")
    return "\n".join(lines) + "\n"


def _traced(batch: BatchRun) -> dict[str, Any]:
    return {
        "report": batch.report,
        "start": _seconds(batch.start_s),
        "end": _seconds(batch.end_s),
        "tuples": batch.tuples,
        "final": batch.final,
    }


def _result(
    inputs: list[ReportInput],
    outcomes: Mapping[str, Outcome],
    min_batches: Mapping[str, int | None],
) -> dict[str, Any]:
    reports: dict[str, Any] = {}
    for item in inputs:
        report, outcome = item.report, outcomes[item.report.name]
        finish_s = outcome.finish_s
        met = None if finish_s is None else finish_s <= report.deadline_s + TOLERANCE_S
        reports[report.name] = {
            "finish": None if finish_s is None else _seconds(finish_s),
            "deadline": report.deadline_s,
            "met": met,
            "batches": outcome.batches,
            "cost": _seconds(outcome.cost_s),
            "min_batch": min_batches.get(report.name),
            "removed": finish_s is None,
        }
    cost_s = sum(outcome.cost_s for outcome in outcomes.values())
    single_s = sum(item.report.cost(len(item.arrivals_s)) for item in inputs)
    return {
        "reports": reports,
        "cost": _seconds(cost_s),
        "normalised_cost": _seconds(cost_s / single_s) if single_s > 0 else 1.0,
    }


def _seconds(value: float) -> float:
    return round(value, DIGITS)


def _policy(fields: Fields) -> ReportPolicy:
    default = ReportPolicy()
    if not fields.has("policy"):
        return default
    policy = fields.below("policy", POLICY_KEYS)
    auto = policy.data.get("slack_factor") == "auto"
    limit_s: float | None = None
    if "max_batch_time" not in policy.data or policy.has("max_batch_time"):
        limit_s = policy.number("max_batch_time", default.max_batch_time_s)
        if limit_s <= 0:
            raise policy.bad("max_batch_time", f"must be more than 0 or null, not {limit_s:g}")
    margin = policy.number("margin", default.margin)
    if margin <= 0:
        raise policy.bad("margin", f"must be more than 0, not {margin:g}")
    return ReportPolicy(
        name=policy.choice("name", default.name, (*KEYS, "joint")),
        slack_factor=None if auto else policy.number("slack_factor", 0.5, least=0),
        max_batch_time_s=limit_s,
        min_batch=policy.flag("min_batch", default=default.min_batch),
        reanchor=policy.flag("reanchor", default=default.reanchor),
        margin=margin,
        eager=policy.flag("eager", default=default.eager),
    )


def _reports(fields: Fields) -> list[ReportInput]:
    listed = fields.require("reports")
    if not isinstance(listed, list) or not listed:
        raise fields.bad("reports", "must be a list of at least one report")
    errors: list[UserError] = []
    inputs: list[ReportInput] = []
    names: set[str] = set()
    for number in range(len(listed)):
        try:
            item = _report(Fields(fields.document, ("reports", number), REPORT_KEYS))
            if item.report.name in names:
                raise Fields(fields.document, ("reports", number), REPORT_KEYS).bad(
                    "name", f"is given twice: '{item.report.name}'"
                )
            names.add(item.report.name)
            inputs.append(item)
        except UserError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else UserErrors(errors)
    return inputs


def _report(fields: Fields) -> ReportInput:
    name = fields.require("name")
    if not isinstance(name, str) or not name:
        raise fields.bad("name", f"must be a name, not {name!r}")
    start_s, end_s = _window(fields)
    submit_s = fields.number("submit", start_s) if fields.has("submit") else start_s
    remove_s = fields.number("remove") if fields.has("remove") else None
    if remove_s is not None and remove_s < submit_s:
        raise fields.bad("remove", f"must not be before 'submit' ({submit_s:g})")
    predicted_s = _arrivals(fields, start_s, end_s).times_s(start_s, end_s)
    actual_s = fields.times("actual", start_s, open_=False) if fields.has("actual") else None
    kind = InputKind.KNOWN
    if actual_s is not None and actual_s != predicted_s:
        same = len(actual_s) == len(predicted_s)
        kind = InputKind.RATE_VARIES if same else InputKind.TOTAL_VARIES
    report = Report(
        name=name,
        start_s=start_s,
        end_s=end_s,
        deadline_s=fields.number("deadline"),
        predicted_s=tuple(predicted_s),
        cost=_cost(fields),
        final=_final(fields),
        groups=fields.whole("groups", 1, least=0),
        input_kind=kind,
    )
    return ReportInput(report, submit_s, remove_s, predicted_s if actual_s is None else actual_s)


def _window(fields: Fields) -> tuple[float, float]:
    window = fields.below("window", ("start", "end"))
    start_s, end_s = window.number("start"), window.number("end")
    if end_s <= start_s:
        raise window.bad("end", f"must be after 'start' ({start_s:g}), not {end_s:g}")
    return start_s, end_s


def _arrivals(fields: Fields, start_s: float, end_s: float) -> Arrivals:
    source = fields.below("input", ("rate", "arrivals"))
    if source.has("rate") and source.has("arrivals"):
        raise source.bad("arrivals", "cannot be given together with 'rate'")
    if source.has("arrivals"):
        return ListedArrivals(tuple(source.times("arrivals", start_s, end_s, open_=True)))
    rate = source.number("rate", least=0)
    if rate * (end_s - start_s) >= MOST_TUPLES + 1:
        raise source.bad(
            "rate",
            f"brings {rate * (end_s - start_s):,.0f} tuples into the window",
            f"a window of a scenario has at most {MOST_TUPLES:,}; let one stand for several, with"
            " the cost and the rate to match",
        )
    return ConstantRate(rate)


def _cost(fields: Fields) -> CostModel:
    cost = fields.below("cost", ("kind", "per_tuple", "overhead", "points"))
    cost.require("kind")
    if cost.choice("kind", "", ("linear", "piecewise")) == "linear":
        if "points" in cost.data:
            raise cost.bad("points", "belongs to the kind 'piecewise'")
        return LinearCost(cost.number("per_tuple", least=0), cost.number("overhead", 0.0, least=0))
    for key in ("per_tuple", "overhead"):
        if key in cost.data:
            raise cost.bad(key, "belongs to the kind 'linear'")
    points = cost.require("points")
    if not isinstance(points, list) or len(points) <= 1:
        raise cost.bad("points", "must list at least two pairs [tuples, seconds]")
    read: list[tuple[float, float]] = []
    for place, point in enumerate(points):
        if not isinstance(point, list) or len(point) != len(PAIR) or not all(map(is_number, point)):
            raise cost.bad("points", f"must hold pairs [tuples, seconds], not {point!r}", "", place)
        tuples, seconds = float(point[0]), float(point[1])
        if tuples < 0 or seconds < 0:
            raise cost.bad("points", f"must not be negative, as in {point!r}", "", place)
        if max(tuples, seconds) > MOST:
            raise cost.bad("points", f"must be at most {MOST:g}, not as in {point!r}", "", place)
        if read and tuples <= read[-1][0] + COUNT_TOLERANCE:
            raise cost.bad("points", "must increase in tuples", f"{point!r} does not", place)
        if read and seconds < read[-1][1] - TOLERANCE_S:
            raise cost.bad("points", "must not decrease in seconds", f"{point!r} does", place)
        read.append((tuples, max(seconds, read[-1][1]) if read else seconds))
    return PiecewiseCost(tuple(read))


def _final(fields: Fields) -> FinalCost:
    if not fields.has("final"):
        return FinalCost()
    final = fields.below("final", ("per_batch", "overhead"))
    return FinalCost(
        final.number("per_batch", 0.0, least=0), final.number("overhead", 0.0, least=0)
    )


def _check_milp(fields: Fields, arrivals: Arrivals, cost: CostModel) -> None:
    """Constraints (5) to (8) know a linear cost and a constant rate only (C8)."""
    if not isinstance(cost, LinearCost):
        raise fields.below("cost", fields.data["cost"]).bad(
            "kind", "must be 'linear' for the solver 'milp'", "'exact' plans any cost"
        )
    if not isinstance(arrivals, ConstantRate):
        raise fields.below("input", fields.data["input"]).bad(
            "arrivals", "cannot be planned by the solver 'milp'", "it needs a constant 'rate'"
        )
