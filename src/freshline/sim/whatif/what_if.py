"""A recorded run compared with other policies, tracks and priorities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from freshline.core.errors import UserError
from freshline.core.model import TableSpec
from freshline.core.objective.targets import stated_lags
from freshline.core.recorded import RecordedRun
from freshline.project.names import correction, listed
from freshline.sim.accounts import Accounts, Figures
from freshline.sim.whatif.history import Durations, History, history_of
from freshline.sim.whatif.recorded import Overrides, played

Target = tuple[float | None, bool]
"""target_lag in seconds, and whether it is DOWNSTREAM."""


@dataclass(frozen=True, slots=True)
class Variations:
    """What to play; an empty one means as it was.

    Attributes:
        policies, tracks, objectives: Every combination of them is played.
        priorities: Of the tables whose priority is other than it was.
        targets: Of all tables, as the project has them now; None: as the run had them.
        lags_s: Target lags, in seconds, of the tables whose target is to be another one.
    """

    policies: tuple[str, ...] = ()
    tracks: tuple[int, ...] = ()
    objectives: tuple[str, ...] = ()
    priorities: Mapping[str, float] | None = None
    targets: Mapping[str, Target] | None = None
    lags_s: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the run, or would have.

    Attributes:
        policy, tracks, objective: Of the scheduler.
        tables: Figures of each table, in table order.
        weighted_staleness_s2: Sum of priority * integral of staleness, with the priorities asked
            for.
        recorded, modelled: Updates whose duration is that of the run, and others; None for
            what happened.
    """

    policy: str
    tracks: int
    objective: str
    tables: Mapping[str, Figures]
    weighted_staleness_s2: float
    recorded: int | None = None
    modelled: int | None = None

    @property
    def executor_s(self) -> float:
        """Seconds of all updates."""
        return sum(figures.executor_s for figures in self.tables.values())

    @property
    def updates(self) -> int:
        """How many ended."""
        return sum(figures.updates for figures in self.tables.values())

    @property
    def within(self) -> float | None:
        """Share of time within targets, mean of the tables that have one."""
        shares = [each.within for each in self.tables.values() if each.within is not None]
        return sum(shares) / len(shares) if shares else None

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        durations = {"recorded": self.recorded, "modelled": self.modelled}
        return {
            "policy": self.policy,
            "tracks": self.tracks,
            "objective": self.objective,
            "weighted_staleness": self.weighted_staleness_s2,
            "within": self.within,
            "executor_seconds": self.executor_s,
            "updates": self.updates,
            **({} if self.recorded is None else {"durations": durations}),
            "tables": {
                name: {
                    "mean": figures.mean_s,
                    "max": figures.max_s,
                    "target_lag": figures.target_s,
                    "within": figures.within,
                    "executor_seconds": figures.executor_s,
                    "updates": figures.updates,
                }
                for name, figures in self.tables.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """What happened, and what would have.

    Attributes:
        history: The run.
        priorities: Of every table, as the comparison weighs them.
        happened: The run itself.
        played: What was asked for, in order.
        notes: What a reader of the figures has to know, a sentence each.
    """

    history: History
    priorities: Mapping[str, float]
    happened: Outcome
    played: tuple[Outcome, ...]
    notes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        run = self.history.run
        return {
            "run": run.number,
            "seconds": run.end_s - run.start_s,
            "priorities": dict(self.priorities),
            "happened": self.happened.record(),
            "played": [outcome.record() for outcome in self.played],
            "notes": list(self.notes),
        }


def compared(run: RecordedRun, variations: Variations) -> Comparison:
    """Play ``run`` under every combination of the variations.

    Raises:
        UserError: The run cannot be told again, a table or policy is unknown, or a policy does
            not fit.
    """
    specs = varied_specs(run, variations)
    lags_s = stated_lags(specs)
    history = history_of(run, lags_s)
    weights = {spec.name: spec.priority for spec in specs}
    as_it_was = run.settings
    happened = _outcome(
        history.accounts, weights, as_it_was.policy, run.tracks, as_it_was.objective
    )
    outcomes = []
    unknown: set[str] = set()
    for policy in variations.policies or (as_it_was.policy,):
        for tracks in variations.tracks or (run.tracks,):
            for objective in variations.objectives or (as_it_was.objective,):
                settings = replace(as_it_was, policy=policy, objective=objective)
                durations = Durations(history)
                accounts = played(history, Overrides(settings, tracks, specs), durations, lags_s)
                unknown |= durations.unknown
                made = _outcome(accounts, weights, policy, tracks, objective)
                outcomes.append(
                    replace(made, recorded=durations.recorded, modelled=durations.modelled)
                )
    notes = _notes(history, outcomes, sorted(unknown))
    return Comparison(history, weights, happened, tuple(outcomes), notes)


def varied_specs(run: RecordedRun, variations: Variations) -> tuple[TableSpec, ...]:
    """The run's tables with the priorities and targets asked for.

    Raises:
        UserError: A priority or a target is given for a table that was not in the run.
    """
    of = f"run {run.number} of the journal"
    specs = []
    for spec in with_priorities(run.specs, variations.priorities or {}, of):
        lag_s, downstream = (variations.targets or {}).get(
            spec.name, (spec.target_lag_s, spec.target_downstream)
        )
        specs.append(
            replace(
                spec,
                target_lag_s=lag_s,
                target_downstream=downstream,
            )
        )
    return with_targets(specs, variations.lags_s or {}, of)


def with_targets(
    specs: Sequence[TableSpec], lags_s: Mapping[str, float], of: str
) -> tuple[TableSpec, ...]:
    """``specs`` with other targets where ``lags_s`` has them; ``of`` says whose they are.

    Raises:
        UserError: A target is given for a table that is not among them.
    """
    _check_names(specs, lags_s, of)
    return tuple(
        replace(spec, target_lag_s=lags_s[spec.name], target_downstream=False)
        if spec.name in lags_s
        else spec
        for spec in specs
    )


def with_priorities(
    specs: Sequence[TableSpec], priorities: Mapping[str, float], of: str
) -> tuple[TableSpec, ...]:
    """``specs`` with other priorities where ``priorities`` has them; ``of`` says whose they are.

    Raises:
        UserError: A priority is given for a table that is not among them.
    """
    _check_names(specs, priorities, of)
    return tuple(replace(spec, priority=priorities.get(spec.name, spec.priority)) for spec in specs)


def _check_names(specs: Sequence[TableSpec], named: Iterable[str], of: str) -> None:
    names = sorted(spec.name for spec in specs)
    for name in named:
        if name not in names:
            raise UserError(
                "unknown-table",
                f"{of} has no table '{name}'",
                rule=f"it has {listed(names)}",
                next_step=correction(name, names, "Use one of these names."),
            )


def _outcome(
    accounts: Accounts, weights: Mapping[str, float], policy: str, tracks: int, objective: str
) -> Outcome:
    figures = accounts.figures
    weighted_s2 = sum(weights[name] * each.integral_s2 for name, each in figures.items())
    return Outcome(policy, tracks, objective, figures, weighted_s2)


def _notes(
    history: History, outcomes: Sequence[Outcome], unknown: Sequence[str]
) -> tuple[str, ...]:
    run = history.run
    notes = []
    modelled = sum(outcome.modelled or 0 for outcome in outcomes)
    if modelled:
        notes.append(
            f"{modelled} of {modelled + sum(outcome.recorded or 0 for outcome in outcomes)} updates"
            " were not made in that form by the run: they take alpha + beta * new data, learned"
            " from their table's updates, times the ratio of one of those to what was learned"
        )
    if unknown:
        notes.append(
            f"no update of {', '.join(unknown)} ended in the run: theirs take the first guess"
        )
    # Upkeep that gave way to an update ends so, too, and nothing failed.
    failed = sum(
        type(each.event).__name__ == "UpdateFailed" and not each.command.upkeep
        for each in history.ended
    )
    if failed:
        updates = "failed update" if failed == 1 else "failed updates"
        notes.append(f"what is played leaves out {failed} {updates} of the run")
    if any(outcome.tracks != run.tracks for outcome in outcomes):
        notes.append(
            f"updates take what they took on {run.tracks} tracks, however many run beside them"
        )
    return tuple(notes)
