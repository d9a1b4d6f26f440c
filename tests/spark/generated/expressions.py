"""Expressions of columns by their types: keys, buckets, aggregates, conditions, windows."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping

NUMBERS = ("int", "bigint", "double", "decimal")
TIMES = ("timestamp", "date", "timestamp_ntz")
SORTABLE = (
    "int", "bigint", "double", "string", "boolean", "timestamp", "timestamp_ntz", "date",
    "decimal(10,2)", "decimal(18,6)", "decimal(5,4)",
)  # fmt: skip
_UNITS = ("MINUTE", "hour", "HOUR", "Day", "DAY", "WEEK", "month", "QUARTER", "YEAR")
_LENGTHS = ("INTERVAL 10 MINUTES", "INTERVAL '1' HOUR", "interval 90 minutes", "INTERVAL 1 DAY",
            "INTERVAL '0 01:30:00' DAY TO SECOND", "INTERVAL 0 MINUTES",
            "INTERVAL 1 MICROSECOND", "interval 1 hour 30 minutes",
            "INTERVAL 1 HOUR - INTERVAL 20 MINUTES", "INTERVAL '2' DAYS")  # fmt: skip

Columns = Mapping[str, str]


def is_kind(kind: str, kinds: Collection[str]) -> bool:
    return kind in kinds or kind.split("(", maxsplit=1)[0] in kinds


def of_kind(columns: Columns, kinds: Collection[str]) -> list[str]:
    return [name for name, kind in columns.items() if is_kind(kind, kinds)]


def same_kind(one: Columns, other: Columns, chance: random.Random) -> tuple[str, str] | None:
    """A column of each, of one type."""
    pairs = [(a, b) for a, kind in one.items() for b, same in other.items() if kind == same]
    return chance.choice(pairs) if pairs else None


def join_conditions(one: Columns, other: Columns, chance: random.Random) -> list[str]:
    """Equal keys, a band of times, or both; nothing where the tables have nothing to compare."""
    keys = [
        f"{a} = {b}"
        for a, kind in one.items()
        for b, same in other.items()
        if a.split(".")[-1] == b.split(".")[-1] and kind == same and kind in {"int", "string"}
    ]
    bands = [
        band(a, b, chance)
        for a in of_kind(one, ("timestamp",))
        for b in of_kind(other, ("timestamp",))
    ]
    days = [f"{a} = {b}" for a in of_kind(one, ("date",)) for b in of_kind(other, ("date",))]
    found: list[str] = []
    if keys and chance.random() < 0.6:
        found.append(chance.choice(keys))
    if (bands or days) and (not found or chance.random() < 0.7):
        found.append(chance.choice([*bands, *days]))
    return found


def band(one: str, other: str, chance: random.Random) -> str:
    """What bounds one time by another, on one side or on both."""
    low, high = (f"({chance.choice(_LENGTHS)})" for _ in range(2))
    if chance.random() < 0.7:
        low, high = low.strip("()"), high.strip("()")
    two_sided = f"{other} BETWEEN {one} - {low} AND {one} + {high}"
    return chance.choice((
        two_sided, two_sided, two_sided,
        f"{other} BETWEEN {one} - {low} AND {one}",
        f"{other} >= {one} AND {other} < {one} + {high}",
        f"{one} > {other} - {low} AND {one} <= {other}",
        f"{one} - {low} <= {other} AND NOT {other} > {one}",
        f"date_trunc('HOUR', {one}) = date_trunc('HOUR', {other})",
        f"{one} = {other}",
        f"{one} <= {other}",
        f"CAST({one} AS DATE) = to_date({other})",
    ))  # fmt: skip


def bucket(time: str, columns: Columns, chance: random.Random) -> str:
    """What a time falls into."""
    kind = columns[time]
    if kind == "date":
        return chance.choice((time, f"trunc({time}, 'MM')", f"date_trunc('WEEK', {time})",
                              f"date_add({time}, 1)", f"last_day({time})"))  # fmt: skip
    if kind == "timestamp_ntz":
        return chance.choice((f"CAST({time} AS DATE)", f"date_trunc('hour', {time})", time))
    unit = chance.choice(_UNITS)
    return chance.choice((
        f"date_trunc('{unit}', {time})",
        f"date_trunc('{unit}', {time})",
        f"CAST({time} AS DATE)",
        f"to_date({time})",
        f"trunc({time}, 'month')",
        f"date_trunc('HOUR', {time} + INTERVAL 30 MINUTES)",
        f"date_trunc('HOUR', {time}) + INTERVAL 1 HOUR",
        f"time_bucket(INTERVAL 15 MINUTES, {time})",
        f"window({time}, '1 hour').start",
        f"window({time}, '1 hour', '20 minutes').end",
        f"window({time}, '2 hours', '1 hour', '5 minutes').start",
        f"session_window({time}, '10 minutes').start",
        f"timestamp_seconds(floor(unix_seconds({time}) / 600) * 600)",
        f"make_date(year({time}), month({time}), 1)",
        f"hour({time})",
        time,
    ))  # fmt: skip


def scalar(column: str, kind: str, chance: random.Random) -> str:
    """A column, or something of it."""
    if chance.random() < 0.55:
        return column
    if kind == "timestamp?":
        return f"{column} + {chance.choice(_LENGTHS)}"
    if is_kind(kind, ("timestamp",)):
        return chance.choice((
            f"{column} - {chance.choice(_LENGTHS)}",
            f"date_trunc('{chance.choice(_UNITS)}', {column})",
            f"coalesce({column}, TIMESTAMP'2024-02-29 00:00:00')",
            f"CAST({column} AS DATE)",
            f"CAST({column} AS STRING)",
        ))  # fmt: skip
    choices: dict[str, tuple[str, ...]] = {
        "int": (f"{column} % 2", f"coalesce({column}, 0)", f"{column} * 2 + 1", f"-{column}",
                f"CASE WHEN {column} > 1 THEN 'many' WHEN {column} IS NULL THEN '?' END"),
        "bigint": (f"{column} % 3", f"{column} DIV 10", f"CAST({column} AS STRING)"),
        "string": (f"upper({column})", f"length({column})", f"coalesce({column}, '-')",
                   f"{column} || '!'", f"nullif({column}, 'ann')", f"trim({column})"),
        "double": (f"{column} * 2", f"CAST({column} AS INT) IS NULL", f"isnan({column})"),
        "boolean": (f"NOT {column}", f"{column} IS NULL"),
        "date": (f"date_add({column}, 1)", f"year({column})", f"CAST({column} AS TIMESTAMP)"),
        "timestamp_ntz": (f"CAST({column} AS DATE)", f"CAST({column} AS TIMESTAMP)"),
    }  # fmt: skip
    if kind.startswith("decimal"):
        return chance.choice((f"-{column}", f"round({column}, 1)", f"{column} * 3"))
    return chance.choice(choices.get(kind, (column,)))


def cast_to(kind: str, columns: Columns, chance: random.Random) -> str:
    """A column of the type, or what stands for one."""
    same = [name for name, other in columns.items() if other == kind]
    if same and chance.random() < 0.9:
        return chance.choice(same)
    return f"CAST(NULL AS {kind})"


def predicate(columns: Columns, chance: random.Random, start: str) -> str:
    """A condition on a column, or two of them."""
    if chance.random() < 0.15:
        one, other = predicate(columns, chance, start), predicate(columns, chance, start)
        return f"({one} OR {other})"
    column = chance.choice(list(columns))
    kind = columns[column].split("(")[0]
    known: dict[str, tuple[str, ...]] = {
        "int": (f"{column} > 0", f"{column} IN (1, 2)", f"{column} <> 2",
                f"{column} BETWEEN 1 AND 2", f"{column} NOT IN (1, 3)", f"NOT ({column} = 1)",
                f"{column} <=> NULL"),
        "bigint": (f"{column} % 2 = 0", f"{column} < 40", f"{column} IS NOT NULL"),
        "string": (f"{column} = 'ann'", f"{column} LIKE 'a%'", f"{column} IS NOT NULL",
                   f"lower({column}) IN ('ann', 'bob')", f"coalesce({column}, '') <> ''"),
        "double": (f"{column} > 1", f"NOT isnan({column})", f"{column} = 0.0D"),
        "decimal": (f"{column} >= 0", f"{column} < 10.5"),
        "boolean": (column, f"NOT {column}", f"{column} IS NOT TRUE"),
        "timestamp": (f"{column} >= {start}", f"{column} < {start} + INTERVAL 1 HOUR",
                      f"{column} IS NOT NULL", f"hour({column}) < 12"),
        "date": (f"{column} >= CAST({start} AS DATE)", f"{column} IS NULL", f"day({column}) > 3"),
        "timestamp_ntz": (f"{column} IS NOT NULL",),
    }  # fmt: skip
    return chance.choice(known.get(kind, ("TRUE",)))


def aggregate(columns: Columns, chance: random.Random, start: str) -> str:
    """An aggregate that does not depend on an order."""
    column = chance.choice(list(columns))
    kind = columns[column].split("(")[0]
    choices = ["count(*)", "count(1)", f"count({column})", f"count(DISTINCT {column})"]
    if kind in {"int", "bigint", "decimal"}:
        choices += [f"sum({column})", f"avg({column})", f"sum(DISTINCT {column})", f"max({column})",
                    f"min({column}) + 1", f"stddev({column})", f"percentile({column}, 0.5)",
                    f"sum({column}) / count(*)", f"median({column})"]  # fmt: skip
    if kind == "double":
        choices += [f"sum({column})", f"avg({column})", f"max({column})", f"min({column})"]
    if kind in {"int", "bigint"}:
        choices += [f"bit_xor({column})", f"count_if({column} > 1)", f"any({column} > 1)"]
    if kind == "boolean":
        choices += [f"bool_or({column})", f"every({column})", f"max({column})"]
    if kind in {"timestamp", "date", "string", "timestamp_ntz"}:
        choices += [f"max({column})", f"min({column})", f"approx_count_distinct({column})"]
    if kind == "string":
        choices += [f"sort_array(collect_set({column}))", f"max_by({column}, {column})"]
    found = chance.choice(choices)
    plain = found.endswith(")") and " / " not in found and not found.startswith("sort_array")
    if plain and chance.random() < 0.15:
        found += f" FILTER (WHERE {predicate(columns, chance, start)})"
    return found


def having(columns: Columns, chance: random.Random) -> str:
    """A condition on a group."""
    column = chance.choice(list(columns))
    return chance.choice(("count(*) > 1", "count(*) <= 3", f"max({column}) IS NOT NULL",
                          f"count(DISTINCT {column}) > 1"))  # fmt: skip


def window(time: str, kind: str, keys: list[str], columns: Columns, chance: random.Random) -> str:
    """A window function with a frame, or a place in an order without ties that differ."""
    part = chance.choice(("", f"PARTITION BY {chance.choice(keys)} ",
                          f"partition by date_trunc('day', {time}) "))  # fmt: skip
    direction = chance.choice(("", "", "DESC", "desc", "asc nulls last"))
    every = ", ".join([f"{time} {direction}", *[key for key in keys if key != time]])
    numbers = of_kind(columns, ("int", "bigint", "decimal"))
    value = f"sum({chance.choice(numbers)})" if numbers else "count(*)"
    if chance.random() < 0.2:
        rank = chance.choice(("row_number()", "rank()", f"lag({keys[0]})", f"lead({keys[-1]})"))
        return f"{rank} OVER ({part}ORDER BY {every})"
    low = chance.choice(_LENGTHS[:4]) if kind == "timestamp" else "INTERVAL 1 DAY"
    high = chance.choice(_LENGTHS[:4]) if kind == "timestamp" else "INTERVAL 2 DAYS"
    frame = chance.choice((
        f"RANGE BETWEEN {low} PRECEDING AND CURRENT ROW",
        f"range between {low} preceding and current row",
        f"RANGE BETWEEN {low} PRECEDING AND {high} FOLLOWING",
        f"Range Between Current Row And {high} Following",
        f"RANGE {low} PRECEDING",
        chance.choice(("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "rows", "")),
    ))  # fmt: skip
    if frame == "rows":
        frame = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
        return f"{value} OVER ({part}ORDER BY {every} {frame})"
    if chance.random() < 0.3 and not numbers:
        value = f"max({time})"
    return f"{value} OVER ({part}ORDER BY {time} {direction} {frame})"
