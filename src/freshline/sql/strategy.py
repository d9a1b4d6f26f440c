"""How a table is brought up to date: the strategy, its code and the reason in words.

The one place that decides it. What is right follows from the query's analysis
(:class:`~freshline.sql.query.records.ViewPlan`) and from what the parents' changes are; where
several strategies are right, the seconds decide that they should take (:mod:`freshline.sql.costs`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from freshline.core.errors import InternalError
from freshline.sql.costs import BUILD, Costs, Sizes
from freshline.sql.query.records import Buckets, Decomposition, Keys, Reason, ViewPlan

TRIED = "tried"
BY_COST = ("cheaper", TRIED)
"""Codes of full updates of which another would have been right: quicker, or to see whether."""

ASKED = (
    *("first-build", "requested", "configured", "definition-changed", "untried", "other-version"),
    *BY_COST,
)
"""Codes of full updates that a person asked for or expects; all others are worth a look.

``freshline.refresh`` = ``auto`` asks for whatever is quicker.
"""

_ENOUGH = 3
"""Updates measured before their cost speaks against a strategy."""

_CLEARLY = 1.25
"""Times as dear as another way, and a state that is there is given up for it."""

_SLOW_S = 1.0
"""Bucket-recompute below this is not worth the keeping of a state."""

_LARGE_BYTES = 64_000_000
"""Of such parents Delta is asked which files have rows of a bucket, which takes it a job."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to carry out an update.

    Attributes:
        name: append, bucket-recompute, bucket-merge, group-merge, group-recompute, key-recompute or
            full.
        code: Why this one, as a short name that stays the same over versions.
        reason: The same in words.
    """

    name: str
    code: str
    reason: str


class HasRefreshSettings(Protocol):
    """What is asked of a table, base or derived, to say how it is kept up to date."""

    @property
    def kind(self) -> str:
        """Base or derived."""
        ...

    @property
    def refresh(self) -> str:
        """freshline.refresh."""
        ...

    @property
    def emit(self) -> str:
        """freshline.emit."""
        ...


APPEND_FILES = Strategy("append", "row-wise", "new rows of its feed are added as they come")

_APPEND = Strategy("append", "row-wise", "the output of the parents' new rows is added")
_APPEND_JOINED = Strategy(
    "append", "joined", "what each parent's new rows make with the others' rows is added"
)
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
_KEY_RECOMPUTE = Strategy(
    "key-recompute", "keys", "only the keys of the rows that changed in the parents are computed"
)
MERGING = ("bucket-merge", "group-merge")
PARENT_REWROTE = "parent-rewrote"
STATE_BUILT = "state-built"
WHOLE = "whole"
"""Codes of merging in which the whole view is written: the first, and any of some views."""

_BETTER_BOUNDED = (["KEEPS_ROWS", "UNBOUNDED"], ["JOIN_ACROSS_BATCHES", "UNBOUNDED"])
"""Why an unbounded join neither merges nor has buckets."""

READINGS_DIFFER = "readings-differ"

_FULL: Mapping[str, str] = {
    "first-build": "it has no rows yet",
    "requested": "that was asked for",
    "found-wrong": "a version made from changes was wrong; `freshline retry` trusts it again",
    "configured": "freshline.refresh is full",
    "no-parents": "it reads no table of the project",
    "python": "a Python function defines it, or a view that it reads",
    "untried": "its strategies are still to be tried on generated inputs",
    "trial-failed": "on generated inputs a strategy gave another result than the query",
    "definition-changed": "its query changed since it was made",
    "other-version": "another version of freshline made it from changes",
    "settings-changed": "a setting of the session that results depend on changed",
    "schema-changed": "its columns changed",
    "static-changed": "a static table that it reads has a new version",
    "table-replaced": "a table that it reads was made again, or a static one was put back",
    "static-unversioned": "it reads a static table that has no versions to compare",
    "parent-went-back": "a parent is read at an older version than before, or was put back",
    "parent-redefined": "a parent's columns or properties changed",
    "keys-unknown": "cannot identify the keys of the rows that changed in a parent",
    "groups-unknown": "cannot identify the groups of the rows deleted from a parent",
    "log-untrue": "new rows have other times than the parents' logs say",
    "changes-failed": "computing from changes failed, perhaps at a row that is gone or left out",
    "changes-gone": "the parents' change history since its last update was vacuumed",
    "changed-by-others": "somebody else wrote into it",
}


def full(code: str, what: str = "") -> Strategy:
    """A full update for one of the reasons that do not lie in the query; ``what`` is told, too."""
    told = f"{_FULL[code]}: {what}" if what else _FULL[code]
    return Strategy("full", code, f"computed in full: {told}")


def strategy(
    table: HasRefreshSettings, plan: ViewPlan | None = None, *, rewrote: bool = False
) -> Strategy:
    """The strategy for ``table`` as long as nobody changes rows by hand.

    Args:
        table: A :class:`freshline.project.model.TableDef`.
        plan: What analysis found; None: it was not analysed.
        rewrote: A parent replaces rows at every update, as most views do.
    """
    if table.kind == "base":
        return APPEND_FILES
    if table.refresh == "full":
        return full("configured")
    if plan is None:
        return Strategy("auto", "not-analysed", "decided when Spark has analysed the query")
    if plan.always_full:
        return full(plan.always_full)
    ways = incremental(plan, rewrote=rewrote, final=table.emit == "final")
    if not ways:
        return _rewritten(plan) if _undone(plan, rewrote=rewrote) else _never(plan)
    if table.refresh != "auto" or table.emit == "final" or ways[0] == _APPEND:
        return ways[0]
    return dataclasses.replace(ways[0], reason=f"{ways[0].reason}; in full where that is quicker")


def incremental(plan: ViewPlan, *, rewrote: bool, final: bool) -> list[Strategy]:
    """The incremental strategies that are right, the one to begin with first.

    Args:
        plan: What analysis found.
        rewrote: A parent's rows were deleted or updated, not only inserted.
        final: A bucket may be shown only when it is complete.
    """
    if not isinstance(plan.appends, Reason) and not rewrote and not final:
        return [_APPEND if plan.appends == "joint" else _APPEND_JOINED]
    ways = []
    if isinstance(plan.buckets, Buckets):
        ways.append(_RECOMPUTE)
    if final:
        return ways
    if isinstance(plan.merge, Decomposition):
        if not rewrote:
            ways.append(_BUCKET_MERGE if ways else _GROUP_MERGE)
        elif not ways and plan.merge.group_columns:
            ways.append(_GROUP_RECOMPUTE)
    if not ways and isinstance(plan.keys, Keys):
        ways.append(_KEY_RECOMPUTE)
    return ways


def chosen(
    table: HasRefreshSettings,
    plan: ViewPlan,
    costs: Costs,
    *,
    rewrote: bool,
    sizes: Sizes,
    holds_state: bool,
) -> Strategy:
    """The strategy for one update of a view whose changes are known.

    Args:
        table: A :class:`freshline.project.model.TableDef`.
        plan: What analysis found.
        costs: What former updates took.
        rewrote: A parent's rows were deleted or updated.
        sizes: What the update would read.
        holds_state: The last update left a state that can be merged with.
    """
    final = table.emit == "final"
    ways = incremental(plan, rewrote=rewrote, final=final)
    if not ways:
        return _rewritten(plan) if _undone(plan, rewrote=rewrote) else _never(plan)
    own, auto = keeps_own_state(plan), table.refresh == "auto"
    if len(ways) == 1:
        best = ways[0]
    elif own:  # there is nothing to build or to lose
        best = _quicker(ways, costs, sizes)
    elif holds_state:
        best = _kept(ways, costs, sizes)
    elif _is_worth_a_state(ways, costs, sizes, auto=auto):
        return ways[1]
    else:
        best = ways[0]
    # New rows alone, once more appended, are never dearer than all rows; and only a bucket that
    # is replaced by itself tells which rows were corrected after they had been shown as final.
    if not auto or final or best == _APPEND:
        return best
    return _or_full(best, costs, sizes, holds_state=holds_state, own=own)


def keeps_own_state(plan: ViewPlan) -> bool:
    """Whether merging needs no state beside the view."""
    return isinstance(plan.merge, Decomposition) and plan.merge.own_state is not None


def _or_full(
    way: Strategy, costs: Costs, sizes: Sizes, *, holds_state: bool, own: bool
) -> Strategy:
    """An incremental strategy, or a full update where that is quicker.

    Where merging wants a state that is not there it has to be built, which is not done for the
    sake of trying. Where one is held a full update loses it: what building it again takes beyond
    a merge is part of what trying costs. A view that is its own state is whole after any update.
    """
    way_s, full_s = costs.expected_s(way.name, sizes), costs.expected_s("full", sizes)
    if way_s is None or full_s is None:
        return way
    told = f"{way.name} should take {way_s:.2f} s, full {full_s:.2f} s"
    incrementally = Strategy(way.name, way.code, f"{way.reason}; {told}")
    in_full = Strategy("full", "cheaper", f"computed in full, which is quicker: {told}")
    if way.name in MERGING and not (holds_state or own):
        builds_state = costs.state_is_worth_building(way.name, sizes, full_s)
        return incrementally if builds_state else in_full
    if holds_state and not own:
        if full_s * _CLEARLY < way_s:
            return in_full
        build_s = costs.expected_s(BUILD, sizes) or full_s
        full_s += max(0.0, build_s - way_s)
    elif full_s < way_s:
        costs.is_best("full")
        if not costs.should_try(way.name, way_s, full_s):
            return in_full
        return Strategy(way.name, TRIED, f"{way.reason}; tried, since it may be quicker: {told}")
    costs.is_best(way.name)
    if not costs.should_try("full", full_s, way_s):
        return incrementally
    return Strategy("full", TRIED, f"computed in full, which may be quicker: {told}")


class Choice(Protocol):
    """What takes one of the strategies that are right: :func:`chosen`, or a trial's own."""

    def __call__(
        self,
        table: HasRefreshSettings,
        plan: ViewPlan,
        costs: Costs,
        *,
        rewrote: bool,
        sizes: Sizes,
        holds_state: bool,
    ) -> Strategy:
        """The strategy for one update; see :func:`chosen`."""
        ...


def _kept(ways: list[Strategy], costs: Costs, sizes: Sizes) -> Strategy:
    """Merging with the state that is there, unless recomputing buckets is clearly quicker.

    A state is not given up for a small difference, or before it was used.
    """
    recompute, merging = ways
    recompute_s = costs.measured_s(recompute.name, sizes)
    merging_s = costs.measured_s(merging.name, sizes)
    if recompute_s is None or merging_s is None or merging_s < recompute_s * _CLEARLY:
        return merging
    return recompute


def _is_worth_a_state(ways: list[Strategy], costs: Costs, sizes: Sizes, *, auto: bool) -> bool:
    """Whether to build a state beside a view whose buckets can be recomputed without one.

    That takes a pass over all rows. So it is not done for the sake of measuring, and neither
    where an update without is short.
    """
    recompute, merging = ways
    recompute_s = costs.measured_s(recompute.name, sizes)
    if recompute_s is None or costs.samples(recompute.name) < _ENOUGH or recompute_s < _SLOW_S:
        return False
    full_s = costs.expected_s("full", sizes) if auto else None
    without_s = recompute_s if full_s is None else min(recompute_s, full_s)
    return costs.state_is_worth_building(merging.name, sizes, without_s)


def _quicker(ways: list[Strategy], costs: Costs, sizes: Sizes) -> Strategy:
    """Of two ways that leave the view alike the quicker one; at times the other.

    What was never measured is begun with the first, but where the parents are large: to recompute
    buckets their files are searched, merging reads the new ones alone.
    """
    is_large = sizes.whole_bytes is None or sizes.whole_bytes > _LARGE_BYTES
    one, other = reversed(ways) if is_large else ways
    one_s, other_s = costs.expected_s(one.name, sizes), costs.expected_s(other.name, sizes)
    if one_s is None or other_s is None:
        return one
    # A guess has to promise more than what was measured.
    is_known = costs.samples(other.name) or costs.samples(one.name) >= _ENOUGH
    promised_s = other_s if costs.samples(other.name) else other_s * _CLEARLY
    if is_known and promised_s < one_s:
        one, one_s, other, other_s = other, other_s, one, one_s
    costs.is_best(one.name)
    if not costs.should_try(other.name, other_s, one_s):
        return one
    told = f"{one.name} should take {one_s:.2f} s, {other.name} {other_s:.2f} s"
    why = f"{other.reason}; tried, since it may be quicker: {told}"
    return Strategy(other.name, TRIED, why)


def _undone(plan: ViewPlan, *, rewrote: bool) -> bool:
    """Whether there would be a better way if no parent had lost rows."""
    better = not isinstance(plan.appends, Reason) or isinstance(plan.merge, Decomposition)
    return rewrote and better and isinstance(plan.buckets, Reason)


def _rewritten(plan: ViewPlan) -> Strategy:
    assert isinstance(plan.buckets, Reason)
    if not isinstance(plan.merge, Decomposition):
        why = "which appending cannot undo"
    elif len(plan.merge.partials) > 1:
        why = (
            "which states cannot undo, and groups that are kept in several states (as for"
            " several DISTINCT) are not computed alone"
        )
    else:
        why = "which states cannot undo, and its output does not show which group a row is of"
    told = "; ".join(reason.message for reason in (plan.buckets, *_told_of_keys(plan)))
    return Strategy(
        "full",
        PARENT_REWROTE,
        f"computed in full: a parent's rows were deleted or rewritten, {why}, and there are no"
        f" buckets: {told}",
    )


def _never(plan: ViewPlan) -> Strategy:
    """A full update because of what the query is."""
    reasons = [each for each in (plan.merge, plan.buckets) if isinstance(each, Reason)]
    if not reasons:  # final emission needs buckets, and only they are left
        raise InternalError("no-strategy", "no strategy is left for a query that has buckets")
    # That rows are kept cannot be helped, a missing bound can: with one there are buckets.
    if [reason.code for reason in reasons] in _BETTER_BOUNDED:
        reasons.reverse()
    of_keys = _told_of_keys(plan)
    differ = any(reason.code == READINGS_DIFFER for reason in of_keys)
    code = READINGS_DIFFER if differ else reasons[0].code
    told = "; ".join(dict.fromkeys(reason.message for reason in (*of_keys, *reasons)))
    return Strategy("full", code, f"computed in full: {told}")


def _told_of_keys(plan: ViewPlan) -> list[Reason]:
    """Why there are no keys, where that can be mended."""
    if isinstance(plan.keys, Reason) and plan.keys.code in ("KEY_NOT_SHOWN", READINGS_DIFFER):
        return [plan.keys]
    return []
