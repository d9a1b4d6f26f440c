"""Settings of a flow with those of the temporary views that are computed within it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from freshline.core.errors import UserError
from freshline.importing.inlining import without_end
from freshline.importing.pipelines.definitions import Flow, Key
from freshline.importing.pipelines.session_views import Needs
from freshline.project.references import has_reference
from freshline.sql.text.reads import reads_of
from freshline.sql.text.tokens import SqlTextError

Flows = Mapping[Key, Sequence[Flow]]
KeyOf = Callable[[Flow, tuple[str, ...]], Key | None]


def settings_of(
    flow: Flow, flows: Flows, key_of: KeyOf, common: Mapping[str, str], errors: list[UserError]
) -> dict[str, str]:
    """What is set for a flow and for the views that it reads, directly or through others.

    Args:
        flow: Of a table.
        flows: Those of every dataset.
        key_of: The dataset that a name in a flow's query means.
        common: The pipeline's settings.
        errors: Added to where two of them differ, which Spark refuses, too.
    """
    found = dict(flow.settings)
    said = dict.fromkeys(found, flow)
    seen, left = {flow.name}, [flow]
    while left:
        for view in _views(left.pop(), flows, key_of):
            if view.name in seen:
                continue
            seen.add(view.name)
            left.append(view)
            agreed = dict(view.settings)
            for name in {**view.settings, **found}:
                one = said.get(name, flow)
                own = {**common, **found}.get(name)
                other = {**common, **view.settings}.get(name)
                if None not in (own, other) and own != other:
                    agreed.pop(name, None)
                    fault = _differing(one, view, name, str(own), str(other))
                    if all(each.what != fault.what for each in errors):
                        errors.append(fault)
            said = {**dict.fromkeys(agreed, view), **said}
            found = {**agreed, **found}
    return found


def with_parameters(
    settings: Mapping[str, str], needs: Needs, configuration: Mapping[str, str], *, keeps: bool
) -> Mapping[str, str]:
    """A table's settings, with the pipeline's own where a function may ask for them.

    With other values of these the function makes other rows: the table has another definition.

    Args:
        settings: Those of its flow.
        needs: What stands in its session.
        configuration: Of the pipeline; Spark's own settings are recorded by commits. What refers to
            a secret is left out: it is in the session, and stays out of names and records.
        keeps: What the table has loaded stays, whatever its definition is.
    """
    if keeps or not any(each.key for each in needs.programs):
        return settings
    own = {
        name: each
        for name, each in configuration.items()
        if not (name.startswith("spark.") or has_reference(each))
    }
    return {**own, **settings}


def _views(flow: Flow, flows: Flows, key_of: KeyOf) -> Iterator[Flow]:
    """The flows of the temporary views that a flow reads itself."""
    keys: list[Key] = []
    if flow.function is not None:
        keys += [(name.lower(),) for name in flow.function.reads]
    else:
        try:
            reads = reads_of(without_end(flow.query))
        except (SqlTextError, ValueError):
            return  # told where it stands
        keys += [key for read in reads if (key := key_of(flow, read.parts)) is not None]
    for key in keys:
        if len(key) == 1:
            yield from flows.get(key, ())[:1]


def _differing(flow: Flow, view: Flow, name: str, own: str, other: str) -> UserError:
    return UserError(
        "two-settings",
        f"{name} is {own} for {flow.name} and {other} for {view.name}, which it reads",
        where=flow.query_place,
        rule="a temporary view is computed within the queries that read it, under one setting",
        next_step=f"Set the same value for both, or make {view.name} a materialized view.",
    )
