"""A view's plan in words: what an input change can touch, and why not better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freshline.sql.query.records import (
    NOT_ASKED,
    Buckets,
    Decomposition,
    Keys,
    Reads,
    Reason,
    Source,
    ViewPlan,
)

_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"))


def explanation(view: str, plan: ViewPlan, sources: Sequence[Source] = ()) -> dict[str, object]:
    """The plan of ``view`` as plain data, ready for JSON.

    Args:
        view: Its name.
        plan: What :func:`freshline.sql.plan.view_plan` found.
        sources: What its query reads, to be listed.
    """
    found = plan.buckets
    return {
        "view": view,
        "reads": [
            {
                "name": source.name,
                "static": source.static,
                "time_column": source.time_column,
                "batch_key": list(source.batch_key),
            }
            for source in sources
        ],
        "ways": list(ways(plan)),
        "append": _reason(plan.appends) if isinstance(plan.appends, Reason) else True,
        "buckets": _buckets(found) if isinstance(found, Buckets) else _reason(found),
        "merge": _merge(plan.merge)
        if isinstance(plan.merge, Decomposition)
        else _reason(plan.merge),
        "keys": _keys(plan.keys) if isinstance(plan.keys, Keys) else _reason(plan.keys),
        "notes": list(plan.notes),
    }


def ways(plan: ViewPlan) -> tuple[str, ...]:
    """Strategies that are right for the plan, cheapest first; ``full`` always is."""
    bucketed = isinstance(plan.buckets, Buckets)
    merges = isinstance(plan.merge, Decomposition)
    tells_groups = isinstance(plan.merge, Decomposition) and bool(plan.merge.group_columns)
    names = {
        "append": not isinstance(plan.appends, Reason),
        "bucket-merge": bucketed and merges,
        "bucket-recompute": bucketed,
        "group-merge": merges and not bucketed,
        "group-recompute": tells_groups and not bucketed,
        "key-recompute": isinstance(plan.keys, Keys) and not tells_groups,
        "full": True,
    }
    return tuple(name for name, right in names.items() if right)


def explanation_text(view: str, plan: ViewPlan, sources: Sequence[Source] = ()) -> str:
    """The same for people: a line for each fact, SQL indented below."""
    lines = [f"{view}: {', '.join(ways(plan))}"]
    for source in sources:
        what = "static" if source.static else f"time {source.time_column or 'undeclared'}"
        lines.append(f"reads {source.name} ({what})")
    if isinstance(plan.appends, Reason):
        lines.append(f"append: no, {_words(plan.appends)}")
    elif plan.appends == "joint":
        lines.append("append: new rows' output can be added")
    else:
        lines.append("append: what each table's new rows make with the others can be added")
    if isinstance(plan.buckets, Buckets):
        lines.append(f"buckets: by {plan.buckets.column}")
        lines.extend(f"  {touched(plan.buckets, name)}" for name in plan.buckets.reads)
    else:
        lines.append(f"buckets: no, {_words(plan.buckets)}")
    if isinstance(plan.merge, Decomposition):
        lines.append(f"merge: {len(plan.merge.partials)} state(s), {plan.merge.linearity}")
        for partial in plan.merge.partials:
            keys = ", ".join(partial.keys) or "none: one group"
            lines.append(f"  {partial.name}, keys {keys}")
            lines.append(f"    partial: {partial.query}")
            lines.append(f"    combine: {partial.combine}")
        if plan.merge.own_state is not None:
            lines.append("  the view's own rows are the state: no table is kept beside it")
        if not isinstance(plan.buckets, Buckets):
            lines.append(f"  {touched_groups(plan.merge)}")
        lines.append(f"  final: {plan.merge.final}")
    else:
        lines.append(f"merge: no, {_words(plan.merge)}")
    lines.extend(_lines_of_keys(plan.keys))
    lines.extend(f"note: {note}" for note in plan.notes)
    return "\n".join(lines) + "\n"


def touched(buckets: Buckets, source: str) -> str:
    """Which output rows a row of ``source`` can change, in a sentence."""
    reads = buckets.reads[source]
    if reads.lo_us == reads.hi_us:
        where = f"{buckets.column} = {_moved('t', -reads.hi_us)}"
    else:
        where = f"{buckets.column} in [{_moved('t', -reads.hi_us)}, {_moved('t', -reads.lo_us)}]"
    return f"a row of {source} with {reads.column} = t touches rows with {where}"


def touched_groups(merge: Decomposition) -> str:
    """Which output rows a row of any source can change, where states are merged, in a sentence."""
    if merge.group_columns:
        shown = ", ".join(merge.group_columns)
        return f"a row touches the rows of the groups that it falls into, by {shown}"
    if any(partial.keys for partial in merge.partials):
        return "a row can touch any row: rows do not show which groups they are of"
    return "a row touches the one row that there is"


def duration(length_us: int) -> str:
    """A length of time as one would write it: ``1 h``, ``59 min 59.999999 s``."""
    parts: list[str] = []
    for unit_us, name in _UNITS:
        count, length_us = divmod(length_us, unit_us)
        if count:
            parts.append(f"{count} {name}")
    if length_us or not parts:
        seconds, micros = divmod(length_us, 1_000_000)
        fraction = f".{micros:06d}".rstrip("0") if micros else ""
        parts.append(f"{seconds}{fraction} s")
    return " ".join(parts)


def _moved(name: str, by_us: int) -> str:
    if not by_us:
        return name
    return f"{name} {'+' if by_us > 0 else '-'} {duration(abs(by_us))}"


def _words(reason: Reason) -> str:
    where = f" [{reason.sql}]" if reason.sql else ""
    return f"{reason.code}: {reason.message}{where}"


def _reason(reason: Reason) -> dict[str, str | None]:
    return {"code": reason.code, "message": reason.message, "sql": reason.sql}


def touched_keys(keys: Keys, source: str) -> str:
    """Which output rows a row of ``source`` can change, in a sentence."""
    same = " and ".join(
        f"whose {column} is its {name}"
        for column, name in zip(keys.columns, keys.reads[source], strict=True)
    )
    return f"a row of {source} touches the rows {same}"


def _lines_of_keys(keys: Keys | Reason) -> list[str]:
    if isinstance(keys, Keys):
        touches = (f"  {touched_keys(keys, name)}" for name in keys.reads)
        return [f"keys: by {', '.join(keys.columns)}", *touches]
    return [] if keys == NOT_ASKED else [f"keys: no, {_words(keys)}"]


def _keys(keys: Keys) -> dict[str, object]:
    return {
        "columns": list(keys.columns),
        "reads": {name: list(columns) for name, columns in keys.reads.items()},
        "touches": {name: touched_keys(keys, name) for name in keys.reads},
    }


def _buckets(buckets: Buckets) -> dict[str, object]:
    reads: Mapping[str, Reads] = buckets.reads
    return {
        "column": buckets.column,
        "reads": {
            name: {
                "column": read.column,
                "lo_us": read.lo_us,
                "hi_us": read.hi_us,
                "touches": touched(buckets, name),
            }
            for name, read in reads.items()
        },
    }


def _merge(merge: Decomposition) -> dict[str, object]:
    groups, own = merge.group_columns, merge.own_state
    return {
        "linearity": merge.linearity,
        "partials": [
            {
                "name": partial.name,
                "keys": list(partial.keys),
                "query": partial.query,
                "combine": partial.combine,
            }
            for partial in merge.partials
        ],
        "final": merge.final,
        "group_columns": dict(groups) if groups is not None else None,
        "own_state": dict(own) if own is not None else None,
        "touches": touched_groups(merge),
    }
