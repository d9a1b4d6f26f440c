"""Merging: the state of the new rows is added to the state of the old ones.

A decomposition cuts the query into states and a final query over them
(:class:`freshline.sql.query.records.Decomposition`). For rows that were only inserted the state of
the whole is the state of the old rows and that of the new rows put together. The view gets the
final query's rows of the groups touched, where a group's rows can be told from others', and
all of them elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from freshline.delta.histories import KEY, marks_at
from freshline.spark.commits.replacement import replace
from freshline.spark.engine import jvm
from freshline.spark.engine.in_driver import held
from freshline.spark.engine.pins import asked_of
from freshline.spark.engine.sizing import compile_for, sized
from freshline.spark.views.groups import Scope, scope
from freshline.spark.views.incremental import Increment, Parent, StagedUpdate
from freshline.spark.views.own_state import merge_into_view
from freshline.spark.views.partials import combining, final_rows, rows_of_changes, sql_of
from freshline.spark.views.state import State
from freshline.spark.views.whole import EVERYTHING, is_small
from freshline.sql.query.records import Decomposition, Partial
from freshline.sql.strategy import STATE_BUILT, WHOLE, Strategy

_WHY_WHOLE = (
    "the new rows' aggregates are merged; all rows are written, since a row does not show which"
    " group it is of"
)


def merge(increment: Increment) -> StagedUpdate:
    """Add the inserted rows' state, or build the state where there is none that fits."""
    plan = increment.plan.merge
    assert isinstance(plan, Decomposition)
    if plan.own_state is not None:
        return merge_into_view(increment, plan)
    named = named_versions(increment, plan)
    if not any(parent.changes.some for parent in increment.parents):
        return StagedUpdate(None, state_facts(increment, plan, named))
    if named is None:
        return _build(increment, plan)
    with ExitStack() as until_written:
        changes = {
            partial.name: rows_of_changes(increment, plan, partial, Parent.inserted)
            for partial in plan.partials
        }
        written = None
        if len(plan.partials) == 1 and plan.group_columns:
            ((name, frame),) = changes.items()
            if is_small(increment, (state_of(increment, plan.partials[0]).path, named[name])):
                written = EVERYTHING
            else:
                rows = until_written.enter_context(held(frame))
                changes[name] = rows.frame
                may_join = increment.transaction.feeds_changes
                written = scope(increment.plan, rows, increment.schema, may_join=may_join)
        versions = {}
        for partial in plan.partials:
            state = state_of(increment, partial)
            versions[partial.name] = state.add(
                changes[partial.name], named[partial.name], combining(increment, partial)
            )
        return write(increment, plan, versions, written)


def _build(increment: Increment, plan: Decomposition) -> StagedUpdate:
    for parent in increment.parents:
        increment.register(parent.name, parent.frame)
    compile_for(increment.session, increment.project.configuration, increment.sizes.whole_bytes)
    rows = {partial.name: sql_of(increment, partial.query) for partial in plan.partials}
    versions = {
        partial.name: state_of(increment, partial).build(rows[partial.name])
        for partial in plan.partials
    }
    prepared = write(increment, plan, versions, None)
    name = increment.strategy.name
    why = "the state that merging needs was built from all rows"
    return StagedUpdate(prepared.staged, prepared.more, Strategy(name, STATE_BUILT, why))


def write(
    increment: Increment,
    plan: Decomposition,
    versions: Mapping[str, int],
    written: Scope | None,
) -> StagedUpdate:
    """The final query over the states at these versions, into the groups of ``written``.

    Args:
        increment: The update.
        plan: The view's.
        versions: Of each partial's state.
        written: None: all groups.
    """
    combined = {}
    # The final query may ask for texts itself, as HAVING does.
    asked = asked_of(increment.table, "" if written is None else written.state.sql)
    for partial in plan.partials:
        rows = state_of(increment, partial).rows(versions[partial.name], asked)
        if written is not None:
            rows = written.state.of(rows)
        combined[partial.name] = combining(increment, partial)(rows)
    output = final_rows(increment, plan, combined)
    configuration, more = increment.project.configuration, state_facts(increment, plan, versions)
    if written is not None:
        replaced = replace(
            increment.transaction,
            written.view.of(output),
            written.view,
            configuration=configuration,
            input_bytes=jvm.input_bytes(output),
            apart=written.earlier,
        )
        return StagedUpdate(replaced.staged, {**more, **replaced.facts})
    # Without keys there is one group, and all that is written is of it.
    several = any(partial.keys for partial in plan.partials)
    whole = Strategy(increment.strategy.name, WHOLE, _WHY_WHOLE) if several else None
    if increment.is_read:
        # Views over this one are told of the rows that differ, as if only these had been made.
        input_bytes = jvm.input_bytes(output)
        replaced = replace(
            increment.transaction,
            output,
            "true",
            configuration=configuration,
            input_bytes=input_bytes,
        )
        return StagedUpdate(replaced.staged, {**more, **replaced.facts}, whole)
    staged = increment.transaction.stage(
        sized(increment.session, output, configuration),
        "overwrite",
        partitioned_by=increment.table.partitioned_by,
    )
    return StagedUpdate(staged, more, whole)


def state_of(increment: Increment, partial: Partial) -> State:
    """Where the partial's state is."""
    return State(increment.session, increment.project, partial.name, increment.request)


def named_versions(increment: Increment, plan: Decomposition) -> dict[str, int] | None:
    """Version of each partial's state that belongs to the view's last commit; None: no state.

    None as well where a state was put back from a copy, and has other rows under that number.
    """
    state = increment.last.metadata.get("state")
    if plan.own_state is not None:  # a state beside the view is of an older version of ours
        return None
    if not isinstance(state, Mapping) or state.get("definition") != _definition(plan):
        return None
    versions = {name: int(version) for name, version in state["versions"].items()}
    known: Mapping[str, str] = state.get(KEY, {})
    now = _marks(increment, plan, versions)
    return None if any(known.get(name, mark) != mark for name, mark in now.items()) else versions


def state_facts(
    increment: Increment, plan: Decomposition, versions: Mapping[str, int] | None
) -> dict[str, Any]:
    """What a commit's metadata say of the states at these versions; None: there are none."""
    if versions is None:
        return {}
    marks = _marks(increment, plan, versions)
    facts = {"definition": _definition(plan), "versions": dict(versions), KEY: marks}
    return {"state": facts}


def _marks(
    increment: Increment, plan: Decomposition, versions: Mapping[str, int]
) -> dict[str, str]:
    """The marks of the commits that made these versions of the states, as far as logs tell."""
    return marks_at(
        {
            partial.name: (state_of(increment, partial).path, versions[partial.name])
            for partial in plan.partials
        }
    )


def _definition(plan: Decomposition) -> str:
    """A short name for what the states hold; another version of freshline may cut otherwise."""
    text = json.dumps([[each.name, each.keys, each.query, each.combine] for each in plan.partials])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
