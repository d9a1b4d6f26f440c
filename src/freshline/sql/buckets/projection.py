"""What leaves a block of a query: its projection's times, and those of set operations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from sqlglot import exp

from freshline.sql.buckets.relation import Choice, Relation, hull
from freshline.sql.buckets.ties import unique_columns
from freshline.sql.buckets.times import Times
from freshline.sql.query.zone import Zone


def united(left: Relation, right: Relation, node: exp.SetOperation, alias: str) -> Relation:
    """UNION, INTERSECT and EXCEPT: rows at a time come from rows of either side at it."""
    result = Relation(aliases=frozenset((alias,)), sources=left.sources | right.sources)
    pairs: list[tuple[str, str, str]] = []
    for one, other in zip(node.left.named_selects, node.right.named_selects, strict=False):
        fields = left.columns.get((alias, one.lower()), {})
        others = right.columns.get((alias, other.lower()), {})
        names: dict[str, str] = {}
        for field in fields.keys() & others.keys():
            mine, theirs = fields[field], others[field]
            kinds = {left.kinds[mine], right.kinds[theirs]}
            if len(kinds) > 1 and "ntz" in kinds:
                continue
            result.differences.add(mine)
            # A date beside timestamps becomes the timestamp at which it begins.
            result.kinds[mine] = left.kinds[mine] if len(kinds) == 1 else "timestamp"
            if mine in left.grains and left.grains[mine] == right.grains.get(theirs):
                result.grains[mine] = left.grains[mine]
            names[field] = mine
            pairs.append((mine, mine, theirs))
            result.reads[mine] = _reads_of_both(left, mine, right, theirs)
            if left.is_null_ok(mine) and right.is_null_ok(theirs):
                result.null_ok.add(mine)
            if left.differences.is_nonnull(mine) and right.differences.is_nonnull(theirs):
                result.differences.nonnull.add(mine)
        if names:
            result.columns[alias, one.lower()] = names
    shown = {mine: mine for mine, _, _ in pairs}
    result.choices += _choices(left, shown)
    result.choices += _choices(right, {name: theirs for name, _, theirs in pairs})
    for at, (name, mine, theirs) in enumerate(pairs):
        for other_name, other_mine, other_theirs in pairs[at + 1 :]:
            known = left.differences.between(mine, other_mine)
            also = right.differences.between(theirs, other_theirs)
            if known is not None and also is not None:
                result.differences.bound(name, other_name, *hull(known, also))
    return result


def _reads_of_both(
    left: Relation, mine: str, right: Relation, theirs: str
) -> dict[str, tuple[int, int]]:
    reads = {source: left.reads_at(mine, source) for source in left.sources}
    for source in right.sources:
        seen = right.reads_at(theirs, source)
        reads[source] = hull(reads[source], seen) if source in reads else seen
    return reads


def projected(relation: Relation, select: exp.Select, alias: str, zone: Zone) -> Relation:
    """The output of a block: its times under the names of its columns."""
    times = Times(relation, zone)
    result = Relation(aliases=frozenset((alias,)), sources=relation.sources)
    inner: dict[str, str] = {}
    for item in select.expressions:
        name = item.alias_or_name.lower()
        found = times.fields(item.unalias())
        fields = {field: f"{alias}.{name}.{field}".rstrip(".") for field in found}
        if not fields or (alias, name) in result.columns:
            continue
        result.columns[alias, name] = fields
        inner.update({fields[field]: found[field] for field in fields})
    for name, time in inner.items():
        result.differences.add(name)
        result.kinds[name] = relation.kinds[time]
        if time in relation.grains:
            result.grains[name] = relation.grains[time]
        result.reads[name] = {
            source: relation.reads_at(time, source) for source in relation.sources
        }
        if relation.differences.is_nonnull(time):
            result.differences.nonnull.add(name)
        if relation.is_null_ok(time):
            result.null_ok.add(name)
    result.choices = _choices(relation, inner)
    result.unique = unique_columns(select, relation, alias)
    names = list(inner)
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            if (known := relation.differences.between(inner[one], inner[other])) is not None:
                result.differences.bound(one, other, *known)
    return result


def _choices(relation: Relation, shown: Mapping[str, str]) -> list[Choice]:
    """The choices of a relation among rows that tie, by the names under which times are shown.

    Args:
        relation: A block's rows, or a side of a set operation.
        shown: Its times, by the names that they get.
    """
    found: list[Choice] = []
    for shared, what in relation.choices:
        kept = {name for name, time in shown.items() if relation.follows(time, shared)}
        found.append((kept | _still_made(relation, shared, shown), what))
    return found


def _still_made(relation: Relation, shared: AbstractSet[str], shown: Mapping[str, str]) -> set[str]:
    """What blocks above call the shared times that are not shown, made of columns that are."""
    found = set()
    for time in shared:
        base = relation.bases.get(time)
        if base:
            column = re.compile(rf"(?<![\w.`]){re.escape(base)}(?![\w.`])")
            names = (name for name, is_shown in shown.items() if is_shown == base)
            found |= {name.join(column.split(time)) for name in names}
    return found
