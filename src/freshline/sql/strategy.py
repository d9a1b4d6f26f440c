"""How a table is brought up to date: the strategy, its code and the reason in words.

The one place that decides it. What is right follows from the query's analysis
(:class:`~freshline.sql.maintenance.ViewPlan`) and from what the parents' changes are; where
several strategies are right, the seconds decide that they took before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from freshline.core.cost import LearnedCost
from freshline.core.errors import InternalError
from freshline.sql.maintenance import Buckets, Decomposition, Reason, ViewPlan

ASKED = ("first-build", "requested", "configured", "definition-changed")
"""Codes of full updates that a person asked for or expects; all others are worth a look."""

_ENOUGH = 3
"""Updates measured before their cost speaks against a strategy."""

_CLEARLY = 1.25
"""Times as dear as a full update, and an incremental one is given up."""

_SLOW_S = 1.0
"""Bucket-recompute below this is not worth the keeping of a state."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to carry out an update.

    Attributes:
        name: append, bucket-recompute, bucket-merge, group-merge, group-recompute or full.
        code: Why this one, as a short name that stays the same over versions.
        reason: The same in words.
    """

    name: str
    code: str
    reason: str


class _Table(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def refresh(self) -> str: ...
    @property
    def emit(self) -> str: ...


APPEND_FILES = Strategy("append", "row-wise", "each file's rows are added as they come")

_APPEND = Strategy("append", "row-wise", "the output of the parents' new rows is added")
_RECOMPUTE = Strategy(
    "bucket-recompute", "buckets", "only the buckets that the parents' changes touch are computed"
)
_BUCKET_MERGE = Strategy(
    "bucket-merge", "merges", "the new rows' aggregates are merged into their buckets"
)
_GROUP_MERGE = Strategy(
    "group-merge", "merges", "the new rows' aggregates are merged into their groups"
)
_GROUP_RECOMPUTE = Strategy(
    "group-recompute", "groups", "only the groups that the parents' changes touch are computed"
)
STATE_BUILT = "state-built"

_BETTER_BOUNDED = (["KEEPS_ROWS", "UNBOUNDED"], ["JOIN_ACROSS_BATCHES", "UNBOUNDED"])
"""Why an unbounded join neither merges nor has buckets."""

_FULL: Mapping[str, str] = {
    "first-build": "it has no rows yet",
    "requested": "that was asked for",
    "configured": "freshline.refresh is full",
    "definition-changed": "its query changed since it was made",
    "settings-changed": "a setting of the session that results depend on changed",
    "schema-changed": "its columns changed",
    "static-changed": "a static table that it reads has a new version",
    "static-unversioned": "it reads a static table that has no versions to compare",
    "parent-went-back": "a parent is read at an older version than before",
    "parent-redefined": "a parent's columns or properties changed",
    "many-groups": "a parent's rows were deleted or rewritten in more groups than can be named",
    "changes-gone": "the parents' changes since its last update are no longer there",
    "changed-by-others": "somebody else wrote into it",
}


def full(code: str) -> Strategy:
    """A full update for one of the reasons that do not lie in the query."""
    return Strategy("full", code, f"computed in full: {_FULL[code]}")


def strategy(table: _Table, plan: ViewPlan | None = None) -> Strategy:
    """The strategy for ``table`` as long as its parents only gain rows.

    Args:
        table: A :class:`freshline.project.model.TableDef`.
        plan: What analysis found; None: it was not analysed.
    """
    if table.kind == "base":
        return APPEND_FILES
    if table.refresh == "full":
        return full("configured")
    if plan is None:
        return Strategy("auto", "not-analysed", "decided when Spark has analysed the query")
    ways = incremental(plan, rewrote=False, final=table.emit == "final")
    return ways[0] if ways else _never(plan)


def incremental(plan: ViewPlan, *, rewrote: bool, final: bool) -> list[Strategy]:
    """The incremental strategies that are right, the one to begin with first.

    Args:
        plan: What analysis found.
        rewrote: A parent's rows were deleted or updated, not only inserted.
        final: A bucket may be shown only when it is complete.
    """
    if plan.appends is True and not rewrote and not final:
        return [_APPEND]
    ways = []
    if isinstance(plan.buckets, Buckets):
        ways.append(_RECOMPUTE)
    if not isinstance(plan.merge, Decomposition) or final:
        return ways
    if not rewrote:
        ways.append(_BUCKET_MERGE if ways else _GROUP_MERGE)
    elif not ways and plan.merge.group_columns:
        ways.append(_GROUP_RECOMPUTE)
    return ways


class Costs:
    """What one table's updates took, by strategy: alpha + beta * change rows, learned."""

    def __init__(self) -> None:
        self._learned: dict[str, LearnedCost] = {}
        self._reread_bytes = 0

    def note(self, strategy: str, rows: int, seconds: float) -> None:
        """Take one finished update into account."""
        # A full update reads everything, whatever changed.
        amount = 0.0 if strategy == "full" else float(rows)
        if strategy not in self._learned:
            self._learned[strategy] = LearnedCost(seconds, 0.0)
        self._learned[strategy].learn(amount, seconds)

    def reread(self, read_bytes: int, changed_bytes: int, whole_bytes: int) -> bool:
        """Whether a state should be built instead of reading again what did not change.

        To build one takes a pass over everything, to do without one means to read at every
        update more than what changed. Whoever does without until that excess would add up to
        such a pass, and then builds it, pays at most about twice what was best in hindsight
        (the break-even rule of renting or buying).

        Args:
            read_bytes: What the next update would read.
            changed_bytes: What of that changed.
            whole_bytes: Size of everything.
        """
        self._reread_bytes += max(0, read_bytes - changed_bytes)
        if self._reread_bytes == 0 or self._reread_bytes < whole_bytes - changed_bytes:
            return False
        self._reread_bytes = 0
        return True

    def dearer(self, strategy: str, than: str, rows: int) -> bool:
        """Whether an update by one strategy was measured to take longer than by another."""
        seconds, other_s = self.expected_s(strategy, rows), self.expected_s(than, rows)
        return seconds is not None and other_s is not None and seconds > other_s

    def samples(self, strategy: str) -> int:
        """How many updates were noted."""
        learned = self._learned.get(strategy)
        return learned.samples if learned else 0

    def expected_s(self, strategy: str, rows: int) -> float | None:
        """Seconds that an update should take; None where none was noted yet."""
        learned = self._learned.get(strategy)
        if learned is None:
            return None
        return learned.expected_s(0.0 if strategy == "full" else float(rows))


def chosen(
    table: _Table,
    plan: ViewPlan,
    costs: Costs,
    *,
    rewrote: bool,
    change_rows: int,
    holds_state: bool,
) -> Strategy:
    """The strategy for one update of a view whose changes are known.

    Args:
        table: A :class:`freshline.project.model.TableDef`.
        plan: What analysis found.
        costs: What former updates took.
        rewrote: A parent's rows were deleted or updated.
        change_rows: Rows that changed in the parents.
        holds_state: The last update left a state that can be merged with.
    """
    ways = incremental(plan, rewrote=rewrote, final=table.emit == "final")
    if not ways:
        mergeable = rewrote and isinstance(plan.merge, Decomposition)
        return _rewritten(plan) if mergeable else _never(plan)
    best = _cheaper(ways, costs, change_rows, holds_state=holds_state)
    seconds = costs.expected_s(best.name, change_rows)
    full_s = costs.expected_s("full", change_rows)
    if table.refresh != "auto" or seconds is None or full_s is None:
        return best
    measured = f"{best.name} should take {seconds:.2f} s, full {full_s:.2f} s"
    if costs.samples(best.name) >= _ENOUGH and seconds > _CLEARLY * full_s:
        return Strategy("full", "cheaper", f"computed in full: {measured}")
    return Strategy(best.name, best.code, f"{best.reason}; {measured}")


def with_state(table: _Table, plan: ViewPlan, *, rewrote: bool) -> Strategy | None:
    """The way that keeps a state, where it is right beside bucket-recompute."""
    ways = incremental(plan, rewrote=rewrote, final=table.emit == "final")
    return ways[1] if len(ways) > 1 else None


def _cheaper(
    ways: list[Strategy], costs: Costs, change_rows: int, *, holds_state: bool
) -> Strategy:
    """The first way, or the one with a state where that is measured or promises to be quicker.

    Building a state takes a pass over all rows, so it is not tried for the sake of measuring,
    and one that is there is not given up for a small difference or before it was used.
    """
    first, *others = ways
    if not others:
        return first
    first_s = costs.expected_s(first.name, change_rows)
    other_s = costs.expected_s(others[0].name, change_rows)
    if holds_state and (first_s is None or other_s is None):
        return others[0]
    if first_s is None:
        return first
    if other_s is None:
        full_s = costs.expected_s("full", change_rows) or 0.0
        slow = costs.samples(first.name) >= _ENOUGH and first_s > max(_SLOW_S, full_s / 2)
        return others[0] if slow else first
    kept = 1 / _CLEARLY if holds_state else _CLEARLY
    return others[0] if other_s * kept < first_s else first


def _rewritten(plan: ViewPlan) -> Strategy:
    assert isinstance(plan.buckets, Reason)
    return Strategy(
        "full",
        "parent-rewrote",
        "computed in full: a parent's rows were deleted or rewritten, which states cannot take"
        " back, its groups cannot be told from each other, and there are no buckets:"
        f" {plan.buckets.message}",
    )


def _never(plan: ViewPlan) -> Strategy:
    """A full update because of what the query is."""
    reasons = [each for each in (plan.merge, plan.buckets) if isinstance(each, Reason)]
    if not reasons:  # final emission needs buckets, and only they are left
        raise InternalError("no-strategy", "no strategy is left for a query that has buckets")
    # That rows are kept cannot be helped, a missing bound can: with one there are buckets.
    if [reason.code for reason in reasons] in _BETTER_BOUNDED:
        reasons.reverse()
    told = "; ".join(dict.fromkeys(reason.message for reason in reasons))
    return Strategy("full", reasons[0].code, f"computed in full: {told}")
