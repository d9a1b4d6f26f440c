"""Every way in which a view can be maintained."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeVar

from freshline.sql.appends import appends, appends_of_each
from freshline.sql.buckets.keys import keys
from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.equalities import equalities
from freshline.sql.query.nondeterministic import cautions, of_elsewhere
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Buckets, Decomposition, Reason, Source, ViewPlan
from freshline.sql.query.unsupported import Unsupported
from freshline.sql.states.decompose import ROWS_HELP

T = TypeVar("T")
FAULT = "ANALYSIS_FAULT"
_MISTAKES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
"""What a mistake in our code raises; a Spark that is being stopped raises others."""
_log = logging.getLogger(__name__)
# What sqlglot cannot write is found by reading it back; its warnings of that name no query.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

Decompose = Callable[[str, Sequence[Source]], Decomposition | Reason]
"""Cuts a query into states: ``sql.states.decompose.decompose`` with its typer bound."""


def view_plan(
    query: str,
    sources: Sequence[Source],
    *,
    decompose: Decompose,
    keeping: Decompose | None = None,
    session_zone: str = "UTC",
    timestamp_ntz: bool = False,
    functions: AbstractSet[str] = frozenset(),
) -> ViewPlan:
    """What can be said of maintaining the view ``query`` over ``sources``.

    Args:
        query: The user's text; it is what runs, except where states are merged.
        sources: Every table that it reads.
        decompose: Finds what merges. Only asked where the query can be analysed at all.
        keeping: The same with states that may hold rows of a stream. Asked where there is no other
            way: such a state is as large as those rows.
        session_zone: Time zone of the Spark session that runs the query.
        timestamp_ntz: TIMESTAMP means TIMESTAMP_NTZ in that session.
        functions: User-defined functions that were declared deterministic, lower case.
    """
    notes = _safely(lambda: _notes(query, sources))
    if isinstance(notes, Reason):
        return ViewPlan(notes, notes, notes)
    if (unknown := of_elsewhere(query, functions=functions)) is not None:
        return ViewPlan(unknown, unknown, unknown)
    plan = ViewPlan(
        appends=_safely(lambda: appends(query, sources, functions=functions)),
        buckets=_safely(
            lambda: buckets(
                query,
                sources,
                session_zone=session_zone,
                timestamp_ntz=timestamp_ntz,
                functions=functions,
            )
        ),
        merge=_safely(lambda: decompose(query, sources)),
        notes=notes,
    )
    if isinstance(plan.buckets, Buckets):
        return plan
    plan = replace(plan, keys=_safely(lambda: keys(query, sources, functions=functions)))
    if not isinstance(plan.appends, Reason):
        return plan
    joined = _safely(lambda: _joined(plan, query, sources))
    if isinstance(joined, ViewPlan):
        return joined
    merge = plan.merge
    if keeping is None or not isinstance(merge, Reason) or merge.code not in ROWS_HELP:
        return plan
    return replace(plan, merge=_safely(lambda: keeping(query, sources)))


def _notes(query: str, sources: Sequence[Source]) -> tuple[str, ...] | Reason:
    """What a user should know; or why a query cannot be analysed at all."""
    try:
        return cautions(normalise(query, sources))
    except Unsupported as refusal:
        return refusal.reason


def _joined(plan: ViewPlan, query: str, sources: Sequence[Source]) -> ViewPlan | Reason:
    """The plan where what each source's new rows make can be appended; else why nothing can."""
    assert isinstance(plan.appends, Reason)
    tree = normalise(query, sources)
    if plan.appends.code != "STREAM_JOIN" or not appends_of_each(tree, sources):
        return plan.appends
    return replace(plan, appends="each", equal=equalities(tree))


def _safely(analysis: Callable[[], T | Reason]) -> T | Reason:
    """What an analysis finds; a fault of its own costs one way to maintain one view.

    All views of a project are analysed when it starts: one must not keep it from running.
    """
    try:
        return analysis()
    except _MISTAKES as error:
        _log.exception("the analysis of a query failed; the view is maintained in another way")
        return Reason(
            FAULT,
            f"the analysis itself failed ({error!r}), which is a fault of freshline: please report"
            " the query",
        )
