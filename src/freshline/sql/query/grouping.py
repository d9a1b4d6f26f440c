"""GROUP BY read from a block: its keys, and which of them every row of the output has."""

from __future__ import annotations

from sqlglot import exp

_SUBTOTALS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def group_keys(select: exp.Select) -> list[exp.Expr]:
    """All keys, those within ROLLUP, CUBE and GROUPING SETS as well."""
    group = select.args.get("group")
    keys: list[exp.Expr] = []
    for item in group.expressions if group is not None else ():
        if isinstance(item, _SUBTOTALS):
            keys.extend(member for part in item.expressions for member in _members(part))
        else:
            keys.append(item)
    return keys


def _members(item: exp.Expr) -> list[exp.Expr]:
    if isinstance(item, exp.Tuple):
        return list(item.expressions)
    return [item.this] if isinstance(item, exp.Paren) else [item]


def has_subtotals(select: exp.Select) -> bool:
    """Whether the block makes rows over several groups of a finer key."""
    group = select.args.get("group")
    return group is not None and group.find(*_SUBTOTALS) is not None


def common_keys(select: exp.Select) -> list[exp.Expr]:
    """Keys that every row of the output has: those of all grouping sets."""
    group = select.args.get("group")
    if group is None or group.args.get("rollup") or group.args.get("cube"):
        return []  # GROUP BY ... WITH ROLLUP: of all keys
    keys = [key for key in group.expressions if not isinstance(key, _SUBTOTALS)]
    for sets in group.args.get("grouping_sets") or []:
        # Spark's older form, GROUP BY a, b GROUPING SETS (...): the sets alone count.
        common = {key.sql(dialect="spark") for key in _in_all_sets(sets)}
        keys = [key for key in keys if key.sql(dialect="spark") in common]
    for sets in group.expressions:
        if isinstance(sets, exp.GroupingSets):
            keys.extend(_in_all_sets(sets))
    return keys


def _in_all_sets(sets: exp.Expr) -> list[exp.Expr]:
    if not sets.expressions:
        return []
    first, *others = [_members(item) for item in sets.expressions]
    texts = [{member.sql(dialect="spark") for member in members} for members in others]
    return [key for key in first if all(key.sql(dialect="spark") in text for text in texts)]
