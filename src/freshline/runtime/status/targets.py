"""Targets that the bounds cannot keep, now or after a change of the project.

A table's bound on staleness (Leontyev et al. 2009, Definition 13) is what it may be stale at
most while no update takes longer than assumed. A ``freshline.target_lag`` below it is a wish
that nobody can promise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from freshline.core.assembly import SchedulerSettings
from freshline.core.aus.assessment import Assessment
from freshline.core.errors import Place, UserError
from freshline.core.model import TableSpec
from freshline.project.lags import target_lags
from freshline.project.model import Project
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.needs import demands, needs_in
from freshline.runtime.status.guarantees import assessment_of
from freshline.runtime.status.measured import known_costs
from freshline.times import brief_s

Judge = Callable[[Sequence[TableSpec], SchedulerSettings], Assessment]
"""What can be promised of tables under some settings."""


@dataclass(frozen=True, slots=True)
class Unkept:
    """A target that its table's bound does not keep.

    Attributes:
        table: Which.
        target_s: The lag asked for.
        bound_s: What can be promised; None: nothing.
        place: Where the table stands.
    """

    table: str
    target_s: float
    bound_s: float | None
    place: Place

    def text(self) -> str:
        """One sentence."""
        can = "nothing can be promised" if self.bound_s is None else (
            f"no more than {brief_s(self.bound_s)} can be promised"
        )  # fmt: skip
        return f"table {self.table} asks for a target_lag of {brief_s(self.target_s)}; {can}"

    def error(self) -> UserError:
        """The same as an error, for ``validate --strict``."""
        return UserError(
            "target-not-kept",
            self.text(),
            where=self.place,
            rule="a target_lag is at least the table's bound on staleness",
            next_step="Ask for less, add tracks, or see `freshline guarantees`.",
        )


def unkept_targets(project: Project, assessment: Assessment) -> list[Unkept]:
    """The targets that ``assessment`` does not keep, in the project's order."""
    found = []
    for name, target_s in sorted(
        target_lags(project).items(), key=lambda item: _order(project, item[0])
    ):
        bound_s = _bound_s(assessment, name)
        if bound_s is None or bound_s > target_s:
            found.append(Unkept(name, target_s, bound_s, project.table(name).place))
    return found


def targets_to_keep(project: Project) -> tuple[list[Unkept], list[str]]:
    """The targets that cannot be kept, also where some table was never updated.

    Returns:
        They, and what was assumed, a sentence each.

    Raises:
        UserError: A table reads a feed that this version cannot run.
        PlatformError: The journal is there and cannot be read.
    """
    if not target_lags(project):
        return [], []
    with journal_read(project) as journal:
        costs = None if journal is None else known_costs(project, journal)
        if journal is None or costs is None or not costs.mean:
            return [], ["no target was judged: no update was measured yet"]
        specs, notes = _with_guesses(costs.specs, costs.mean)
        assessment = assessment_of(
            specs, project.scheduler, reports=demands(needs_in(project, journal))
        )
    return unkept_targets(project, assessment), notes


# ---- against what runs ----


def check_against_running(project: Project) -> list[str]:
    """Refuse a change that would break the bound of a table that has a target today.

    What runs is what the journal's last run of all tables was made of, with the project's reports
    beside it as far as they were measured. Costs are the means that it learned; a new table is
    taken to cost what the known ones of its kind do on average.

    Returns:
        What was assumed, a sentence each.

    Raises:
        UserError: A bound would break, or no run is recorded.
        UserErrors: Several would.
    """
    with journal_read(project) as journal:
        setting = None if journal is None else _newest_setting(journal)
        if journal is None or setting is None:
            raise UserError(
                "no-run",
                "there is no run to compare the project with",
                rule="--against-running compares with the run that the journal recorded last",
                next_step="Leave the option out, or run the project first.",
            )
        return _compare(project, journal, setting)


def _newest_setting(journal: Journal) -> dict[str, Any] | None:
    """That of the last run of the whole project: a refresh of some tables is none."""
    for row in journal.each("SELECT setting FROM runs WHERE setting IS NOT NULL ORDER BY id DESC"):
        setting: dict[str, Any] = json.loads(row["setting"])
        if not setting.get("narrowed"):
            return setting
    return None


def _compare(project: Project, journal: Journal, setting: Mapping[str, Any]) -> list[str]:
    from freshline.core.errors import UserErrors

    costs = known_costs(project, journal)
    after, notes = _with_guesses(costs.specs, costs.mean)
    rows = {
        row["name"]: row
        for row in journal.rows("SELECT name, alpha_s, beta, period_s, updates FROM tables")
    }
    before = [_recorded(values, rows) for values in setting["specs"]]
    chosen = SchedulerSettings(**setting["scheduler"])
    judge = partial(assessment_of, reports=demands(needs_in(project, journal)))
    now = judge(before, chosen)
    then = judge(after, project.scheduler)
    errors = []
    for name, target_s in setting.get("targets", {}).items():
        was_s, will_be_s = _bound_s(now, name), _bound_s(then, name)
        if not project.has_table(name) or was_s is None or was_s > target_s:
            continue
        if will_be_s is None or will_be_s > target_s:
            culprit, place = _culprit(judge, project, before, after, chosen, name, target_s)
            errors.append(_refused(name, target_s, was_s, will_be_s, culprit, place))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise UserErrors(errors)
    return notes


def _recorded(values: Mapping[str, Any], rows: Mapping[str, Any]) -> TableSpec:
    spec = TableSpec(**{**values, "sources": tuple(values["sources"])})
    row = rows.get(spec.name)
    if row is None:
        return spec
    if not spec.sources and row["period_s"]:
        # Of a feed without a declared period, the run began with a guess.
        spec = replace(spec, period_s=row["period_s"])
    if not row["updates"] or row["alpha_s"] is None:
        return spec
    return replace(spec, alpha_s=row["alpha_s"], beta=row["beta"] or 0.0)


def _with_guesses(
    specs: Sequence[TableSpec], mean: Mapping[str, tuple[float, float]]
) -> tuple[list[TableSpec], list[str]]:
    """The tables, those never updated at the mean cost of the others of their kind."""
    result, notes = [], []
    for spec in specs:
        alike = [mean[each.name] for each in specs
                 if each.name in mean and bool(each.sources) == bool(spec.sources)]  # fmt: skip
        alike = alike or list(mean.values())
        if spec.name not in mean and alike:
            alpha_s = sum(cost[0] for cost in alike) / len(alike)
            beta = sum(cost[1] for cost in alike) / len(alike)
            spec = replace(spec, alpha_s=alpha_s, beta=beta)  # noqa: PLW2901
            notes.append(
                f"table {spec.name} was never updated: it is taken to cost what the"
                f" {len(alike)} known of its kind do on average"
            )
        result.append(spec)
    return result, notes


def _culprit(
    judge: Judge,
    project: Project,
    before: Sequence[TableSpec],
    after: Sequence[TableSpec],
    chosen: SchedulerSettings,
    victim: str,
    target_s: float,
) -> tuple[str, Place | None]:
    """The change without which the bound would still hold; else the one that adds most load.

    Each new or changed table is put back alone; then the settings.
    """
    old = {spec.name: spec for spec in before}
    changed = [spec for spec in after if _differs(spec, old.get(spec.name))]
    for spec in changed:
        rest = [old.get(each.name) if each is spec else each for each in after]
        kept = [each for each in rest if each is not None]
        names = {each.name for each in kept}
        if all(source in names for each in kept for source in each.sources):
            bound_s = _bound_s(judge(kept, project.scheduler), victim)
            if bound_s is not None and bound_s <= target_s:
                return f"table {spec.name}", project.table(spec.name).place
    if project.scheduler != chosen:
        bound_s = _bound_s(judge(after, chosen), victim)
        if bound_s is not None and bound_s <= target_s:
            return "the scheduler's settings", None
    if changed:
        shares = dict(judge(after, project.scheduler).costliest(len(after)))
        worst = max(changed, key=lambda spec: shares[spec.name])
        return f"table {worst.name} (with other changes)", project.table(worst.name).place
    return "the project", None


def _differs(spec: TableSpec, old: TableSpec | None) -> bool:
    return old is None or (spec.sources, spec.period_s) != (old.sources, old.period_s)


def _refused(
    name: str,
    target_s: float,
    was_s: float,
    will_be_s: float | None,
    culprit: str,
    place: Place | None,
) -> UserError:
    then = "nothing could be promised" if will_be_s is None else brief_s(will_be_s)
    return UserError(
        "breaks-target",
        f"{culprit}, as the project has it now, would break the target_lag of table {name}:"
        f" {brief_s(target_s)} asked for, {brief_s(was_s)} promised today, then {then}",
        where=place,
        rule="a change must keep the bounds of tables that have a target and meet it today",
        next_step="Undo the change, add tracks, or ask for less; see `freshline guarantees`.",
    )


def _bound_s(assessment: Assessment, name: str) -> float | None:
    if not assessment.is_schedulable:
        return None
    guarantee = assessment.of(name)
    return None if guarantee is None else guarantee.staleness_s


def _order(project: Project, name: str) -> int:
    return [table.name for table in project.tables].index(name)
