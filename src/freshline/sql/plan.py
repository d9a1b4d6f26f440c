"""Every way in which a view can be maintained, found in one go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from freshline.sql.appends import appends
from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.nondeterministic import cautions
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Decomposition, Reason, Source, ViewPlan
from freshline.sql.query.refusal import Refused

Decompose = Callable[[str, Sequence[Source]], Decomposition | Reason]
"""Cuts a query into states: ``sql.states.decompose.decompose`` with its typer bound."""


def view_plan(
    query: str,
    sources: Sequence[Source],
    *,
    decompose: Decompose,
    session_zone: str = "UTC",
    functions: AbstractSet[str] = frozenset(),
) -> ViewPlan:
    """What can be said of maintaining the view ``query`` over ``sources``.

    Args:
        query: The user's text; it is what runs, except where states are merged.
        sources: Every table that it reads.
        decompose: Finds what merges. Only asked where the query can be analysed at all.
        session_zone: Time zone of the Spark session that runs the query.
        functions: User-defined functions that were declared deterministic, lower case.
    """
    try:
        notes = cautions(normalise(query, sources))
    except Refused as refusal:
        return ViewPlan(refusal.reason, refusal.reason, refusal.reason)
    return ViewPlan(
        appends=appends(query, sources, functions=functions),
        buckets=buckets(query, sources, session_zone=session_zone, functions=functions),
        merge=decompose(query, sources),
        notes=notes,
    )
