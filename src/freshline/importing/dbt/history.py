"""Whether an incremental model keeps rows or values that its query does not give again.

A column that says when dbt loaded a row (``current_timestamp() AS loaded_at``) is told, and no
more: the rows are the query's all the same. Where the clock decides which rows there are, or a
row's identity is the clock's or chance, only dbt's table has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from freshline.importing.columns import (
    handed_on,
    hands_all,
    is_named,
    items,
    keeps_rows,
    named,
    names_read,
    own_name,
    select_lists,
)
from freshline.importing.dbt.branches import Branches
from freshline.importing.dbt.macros import Macros
from freshline.importing.dbt.manifest import Manifest, depends, mapping
from freshline.sql.text.functions import AGGREGATES, is_call, volatile_call
from freshline.sql.text.tokens import SqlTextError, Token, closing, tokens

_CASTS = frozenset(
    """
    as cast date date_format from_utc_timestamp string timestamp timestamp_ntz to_date to_timestamp
    to_utc_timestamp
    """.split()  # noqa: SIM905
)
_MORE_THAN_ROWS = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "DISTINCT", "GROUP", "HAVING", "LIMIT")
_ANEW = frozenset({"view", "ephemeral", "table", "materialized_view"})
"""Models whose rows are those of their queries after each run; an incremental one keeps its own."""
_BY_KEYS = frozenset({"append", "merge", "delete+insert"})
"""Strategies that add and replace rows, and no partitions."""
_ROWS = frozenset(
    """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack
    variant_explode variant_explode_outer
    """.split()  # noqa: SIM905
)
"""Functions that make several rows of one."""


def lost_history(
    node: Mapping[str, Any], manifest: Manifest, macros: Macros, *, limited: bool
) -> str | None:
    """Why an incremental model has rows that its query does not give again, or None.

    Args:
        node: The model.
        manifest: Its project.
        macros: Of the project.
        limited: It asks whether the run is incremental.
    """
    above = _above(node, manifest)
    for key, each, stored in above:
        found = _tokens(each)
        if not key:
            told = _told(each, found, manifest.adapter, macros, limited=limited)
            found = _without(found, told)
        else:
            found = _without(found, _ends_of_calendars(found))
        if stored and volatile_call(found) is not None:
            found = _without(found, [item for item, _ in _stamps(found)])  # its reader is told
            readers = [of for _, of, _ in above if key in depends(of)]
            found = _without(found, _unread(found, name_of(each), map(_tokens, readers)))
        call = volatile_call(found)
        if call is not None:
            place = f" in {key}" if key else ""
            return (
                f"it asks {'the clock' if call[1] == 'clock' else 'chance'}"
                f" ({call[0].text}{place}): its rows are those of the times when dbt added them,"
                " and its query gives other ones in their place"
            )
    return None


def calendars(node: Mapping[str, Any], manifest: Manifest) -> list[str]:
    """The models above an incremental one that have a row for each day up to now."""
    return list(
        dict.fromkeys(
            key
            for key, each, _ in _above(node, manifest)
            if key and _ends_of_calendars(_tokens(each))
        )
    )


def _above(
    node: Mapping[str, Any], manifest: Manifest
) -> list[tuple[str, Mapping[str, Any], bool]]:
    """The model, of no key, and those above it up to incremental ones; if a table keeps it."""
    found, seen = [("", node, False)], set[tuple[str, bool]]()
    for _, each, stored in found:
        for parent in depends(each):
            of = manifest.nodes.get(parent, {})
            by_table = stored or _materialized(of) in {"table", "materialized_view"}
            if (parent, by_table) not in seen and _materialized(of) in _ANEW:
                seen.add((parent, by_table))
                found.append((parent, of, by_table))
    return found


def load_times(
    node: Mapping[str, Any], adapter: str, macros: Macros, *, limited: bool
) -> list[str]:
    """The columns of an incremental model that only say when dbt loaded a row."""
    found = _tokens(node)
    return [item[-1].name for item in _told(node, found, adapter, macros, limited=limited)]


def times_read(
    node: Mapping[str, Any], manifest: Manifest, refused: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """The load times of other models that a model reads, itself or in a view that it reads."""
    left, seen = [[node]], set(refused)
    while left:
        readers = left.pop()
        for key in depends(readers[-1]):
            of = manifest.nodes.get(key, {})
            kind = _materialized(of)
            if key in seen or key not in manifest.nodes:
                continue
            seen.add(key)
            if kind in {"view", "ephemeral"}:
                left.append([*readers, of])
            elif kind == "incremental" or _materialized(node) == "incremental":
                found = _tokens(of)
                if kind == "incremental":
                    times = [item[-1].name for item in _times(found)]
                else:
                    times = [name for _, names in _stamps(found) for name in names]
                yield from (
                    (name, key) for name in dict.fromkeys(times) if _is_read(name, of, readers)
                )


def _is_read(name: str, of: Mapping[str, Any], readers: list[Mapping[str, Any]]) -> bool:
    """Whether the last of its readers names a model's column, or hands it on to one that does."""
    for reader in reversed(readers):
        found = _tokens(reader)
        if name.lower() in names_read(found, name_of(of)):
            return True
        if not hands_all(found, name_of(of)):
            return False
        of = reader
    return True


def name_of(node: Mapping[str, Any]) -> str:
    """The last part of the name by which a query reads a model."""
    name = str(node.get("alias") or node.get("name")).lower()
    return f"__dbt__cte__{name}" if _materialized(node) == "ephemeral" else name


def adds_all(config: Mapping[str, Any], adapter: str) -> bool:
    """Whether dbt adds all rows of the query at each run, where no branch of it limits them."""
    strategy = strategy_of(config, adapter)
    return strategy == "append" or (strategy == "merge" and not config.get("unique_key"))


def strategy_of(config: Mapping[str, Any], adapter: str) -> str:
    """How dbt puts rows into the table of an incremental model."""
    default = "append" if adapter == "spark" else "merge"
    return str(config.get("incremental_strategy") or default)


def _materialized(node: Mapping[str, Any]) -> str:
    return str(mapping(node.get("config")).get("materialized"))


def _tokens(node: Mapping[str, Any]) -> list[Token]:
    try:
        return tokens(str(node.get("compiled_code") or ""))
    except SqlTextError:
        return []  # it is refused for that


def _told(
    node: Mapping[str, Any], found: list[Token], adapter: str, macros: Macros, *, limited: bool
) -> list[list[Token]]:
    """Those of the columns that are the clock's which no row is told apart by."""
    config = mapping(node.get("config"))
    adds = adds_all(config, adapter)
    if not limited and adds:
        return []  # each run adds all rows once more, with its own time
    identity = _identity(config, adapter)
    items = [
        item
        for item in _times(found)
        if item[-1].name.lower() not in identity and not _read_by_alias(found, item)
    ]
    strategy = strategy_of(config, adapter)
    if not limited or (config.get("unique_key") and strategy in _BY_KEYS - {"append"}):
        return items  # which of its rows a run takes decides nothing: those of a key are merged
    branches = Branches(str(node.get("raw_code") or ""), macros)
    if branches.are_hidden:
        return []
    return [
        item
        for item in items
        if not branches.decide(item[-1].name.lower())
        and (branches.read_table or not (adds and _is_day(item)))
    ]


def _identity(config: Mapping[str, Any], adapter: str) -> set[str]:
    """The names in what decides which rows of its table a run replaces."""
    given = [config.get("unique_key")]
    if strategy_of(config, adapter) not in _BY_KEYS:
        given += [config.get(key) for key in ("partition_by", "incremental_predicates")]
    texts = [str(text) for each in given for text in (each if isinstance(each, list) else [each])]
    return {word.lower() for text in texts for word in re.findall(r"\w+", text)}


def _read_by_alias(found: list[Token], item: list[Token]) -> bool:
    """Whether a later part of the SELECT has the column's name: Spark may take it for this one."""
    name, depth = item[-1].name.lower(), 0
    from_at, over = len(found), None
    for at in range(found.index(item[-1]) + 1, len(found)):
        token = found[at]
        depth += token.is_symbol("(") - token.is_symbol(")")
        if depth == 0 and token.is_word("FROM"):
            from_at = min(from_at, at)
        if depth == 0 and token.is_word("QUALIFY"):
            from_at = len(found)
        if token.is_word("OVER"):
            over = depth
        elif token.is_symbol(")") and depth == over:
            over = None  # what it orders by the clock has any order: it is the table's column
        if over is not None:
            continue
        if at < from_at and is_named(token, name) and not found[at - 1].is_symbol("."):
            return True
    return False


def _is_day(item: list[Token]) -> bool:
    """Whether a time is that of a day: such a column may be there to have a row for each."""
    return any(
        token.is_word("CURRENT_DATE", "CURDATE", "DATE", "DATE_FORMAT", "TO_DATE")
        for token in item[:-1]
    )


def _times(found: list[Token]) -> list[list[Token]]:
    """The columns, with their names, of a query that keeps rows as they are; else none."""
    depth, outer = 0, list[Token]()
    for token in found:
        depth -= token.is_symbol(")")
        if depth == 0:
            outer.append(token)
        depth += token.is_symbol("(")
    selects = [token for token in outer if token.is_word("SELECT")]
    froms = [token for token in outer if token.is_word("FROM")]
    if len(selects) != 1 or not froms or any(token.is_word(*_MORE_THAN_ROWS) for token in outer):
        return []
    columns = found[found.index(selects[0]) + 1 : found.index(froms[0])]
    if any(is_call(columns, at) and columns[at].text.lower() in AGGREGATES
           for at in range(len(columns))):  # fmt: skip
        return []
    return [item for item in items(columns) if _is_time(item)]


def _stamps(found: list[Token]) -> list[tuple[list[Token], list[str]]]:
    """The columns of any SELECT within a query that are the clock's and are only handed on.

    With the names under which they are.
    """
    return [
        (item, names)
        for listed in select_lists(found)
        for item, (value, name) in listed
        if name is not None and _is_clock(value)
        and (names := handed_on(found, name)) is not None
    ]  # fmt: skip


def _unread(found: list[Token], table: str, readers: Iterable[list[Token]]) -> list[list[Token]]:
    """The columns of a table with the clock or chance that neither it nor a reader of it uses."""
    if not keeps_rows(found):
        return []
    seen, lists = list(readers), list(select_lists(found))
    given = [(own_name(item), name) for listed in lists for item, (_, name) in listed]
    unread = []
    for item, (value, name) in (each for listed in lists for each in listed):
        if name is None or volatile_call(item) is None or _makes_rows(item):
            continue
        names = handed_on(_without(found, [value]), name)
        if names is None or any(own in names and as_ not in (None, *names) for own, as_ in given):
            continue
        if not any(
            hands_all(reader, table) or names_read(reader, table) & set(names) for reader in seen
        ):
            unread.append(item)
    return unread


def _makes_rows(item: list[Token]) -> bool:
    return any(is_call(item, at) and item[at].text.lower() in _ROWS for at in range(len(item)))


def _ends_of_calendars(found: list[Token]) -> list[list[Token]]:
    """The ends of ``sequence(DATE '2020-01-01', current_date())``: it has more days, never less."""
    ends = []
    for at, token in enumerate(found):
        if not (token.is_word("SEQUENCE") and is_call(found, at)):
            continue
        end = closing(found, at + 1)
        if end is None:
            continue
        start, *rest = items(found[at + 2 : end])
        if rest and volatile_call(start) is None and (call := volatile_call(rest[0])) is not None:
            ends += [rest[0]] if call[1] == "clock" else []
    return ends


def _is_time(item: list[Token]) -> bool:
    """Whether a column is a call of the clock, maybe cast, and has a name."""
    value, name = named(item)
    return name is not None and _is_clock(value)


def _is_clock(value: list[Token]) -> bool:
    """Whether a value is the time of now, maybe cast or in a zone or format."""
    call = volatile_call(value)
    if call is None or call[1] != "clock":
        return False
    return all(
        token is call[0]
        or (token.text in {"(", ")", ",", ":"} if token.kind == "symbol" else
            token.kind == "string" or token.text.lower() in _CASTS)
        for token in value
    )  # fmt: skip


def _without(found: list[Token], items: list[list[Token]]) -> list[Token]:
    left_out = {token.start for item in items for token in item}
    return [token for token in found if token.start not in left_out]
