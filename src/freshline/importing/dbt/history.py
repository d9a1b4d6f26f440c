"""Whether an incremental model keeps rows or values that its query does not give again.

A column that says when dbt loaded a row (``current_timestamp() AS loaded_at``) is told, and no
more: the rows are the query's all the same. Where the clock decides which rows there are, or a
row's identity is the clock's or chance, only dbt's table has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2 import TemplateSyntaxError, nodes

from freshline.importing.dbt.dialect import parsed
from freshline.importing.dbt.jinja import VALUE
from freshline.importing.dbt.manifest import Manifest, depends, mapping
from freshline.sql.text.functions import AGGREGATES, is_call, volatile_call
from freshline.sql.text.tokens import SqlTextError, Token, tokens

_CASTS = frozenset({"cast", "as", "date", "timestamp", "timestamp_ntz", "to_date", "to_timestamp"})
_MORE_THAN_ROWS = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "DISTINCT", "GROUP", "HAVING", "LIMIT")
_ANEW = frozenset({"view", "ephemeral", "table", "materialized_view"})
"""Models whose rows are those of their queries after each run; an incremental one keeps its own."""
_BY_KEYS = frozenset({"append", "merge", "delete+insert"})
"""Strategies that add and replace rows, and no partitions."""
_CLOCK_MACRO = re.compile(r"current_(?:date|time)|\bnow|today", re.IGNORECASE)


def lost_history(node: Mapping[str, Any], manifest: Manifest, *, limited: bool) -> str | None:
    """Why an incremental model has rows that its query does not give again, or None.

    Args:
        node: The model.
        manifest: Its project.
        limited: It asks whether the run is incremental.
    """
    left, seen = [("", node, False)], set[tuple[str, bool]]()
    while left:
        key, each, stored = left.pop(0)
        found = _tokens(each)
        if not key:
            found = _without(found, _told(each, found, manifest.adapter, limited=limited))
        elif stored:
            found = _without(found, _stamps(found))  # who reads such a column is told of it
        call = volatile_call(found)
        if call is not None:
            place = f" in {key}" if key else ""
            return (
                f"it asks {'the clock' if call[1] == 'clock' else 'chance'}"
                f" ({call[0].text}{place}): its rows are those of the times when dbt added them,"
                " and its query gives other ones in their place"
            )
        for parent in depends(each):
            of = manifest.nodes.get(parent, {})
            by_table = stored or _materialized(of) in {"table", "materialized_view"}
            if (parent, by_table) not in seen and _materialized(of) in _ANEW:
                seen.add((parent, by_table))
                left.append((parent, of, by_table))
    return None


def load_times(node: Mapping[str, Any], adapter: str, *, limited: bool) -> list[str]:
    """The columns of an incremental model that only say when dbt loaded a row."""
    found = _tokens(node)
    return [item[-1].name for item in _told(node, found, adapter, limited=limited)]


def times_read(
    node: Mapping[str, Any], manifest: Manifest, refused: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """The load times of other models that a model names, itself or in a view that it reads."""
    left, seen = [node], set(refused)
    while left:
        each = left.pop()
        found = _tokens(each)
        names = {
            token.name.lower()
            for at, token in enumerate(found)
            if token.is_name and not (at and found[at - 1].is_word("AS"))  # it may stamp its own
        }
        for key in depends(each):
            of = manifest.nodes.get(key, {})
            kind = _materialized(of)
            if key in seen or key not in manifest.nodes:
                continue
            seen.add(key)
            if kind in {"view", "ephemeral"}:
                left.append(of)
            elif kind == "incremental" or _materialized(node) == "incremental":
                items = _times if kind == "incremental" else _stamps
                times = dict.fromkeys(item[-1].name for item in items(_tokens(of)))
                yield from ((name, key) for name in times if name.lower() in names)


def adds_all(config: Mapping[str, Any], adapter: str) -> bool:
    """Whether dbt adds all rows of the query at each run, where no branch of it limits them."""
    strategy = config.get("incremental_strategy") or _default_strategy(adapter)
    return strategy == "append" or (strategy == "merge" and not config.get("unique_key"))


def _default_strategy(adapter: str) -> str:
    return "append" if adapter == "spark" else "merge"


def _materialized(node: Mapping[str, Any]) -> str:
    return str(mapping(node.get("config")).get("materialized"))


def _tokens(node: Mapping[str, Any]) -> list[Token]:
    try:
        return tokens(str(node.get("compiled_code") or ""))
    except SqlTextError:
        return []  # it is refused for that


def _told(
    node: Mapping[str, Any], found: list[Token], adapter: str, *, limited: bool
) -> list[list[Token]]:
    """Those of the columns that are the clock's which no row is told apart by."""
    config = mapping(node.get("config"))
    if not limited and adds_all(config, adapter):
        return []  # each run adds all rows once more, with its own time
    identity, code = _identity(config, adapter), str(node.get("raw_code") or "")
    return [
        item
        for item in _times(found)
        if item[-1].name.lower() not in identity
        and not _read_by_alias(found, item)
        and not _decides(code, item[-1].name.lower())
    ]


def _identity(config: Mapping[str, Any], adapter: str) -> set[str]:
    """The names in what decides which rows of its table a run replaces."""
    given = [config.get("unique_key")]
    if (config.get("incremental_strategy") or _default_strategy(adapter)) not in _BY_KEYS:
        given += [config.get(key) for key in ("partition_by", "incremental_predicates")]
    texts = [str(text) for each in given for text in (each if isinstance(each, list) else [each])]
    return {word.lower() for text in texts for word in re.findall(r"\w+", text)}


def _read_by_alias(found: list[Token], item: list[Token]) -> bool:
    """Whether a later part of the SELECT has the column's name: Spark may take it for this one."""
    name, depth = item[-1].name.lower(), 0
    from_at = len(found)
    for at in range(found.index(item[-1]) + 1, len(found)):
        token = found[at]
        depth += token.is_symbol("(") - token.is_symbol(")")
        if depth == 0 and token.is_word("FROM"):
            from_at = min(from_at, at)
        if depth == 0 and token.is_word("QUALIFY"):
            from_at = len(found)
        if at < from_at and _is_named(token, name) and not found[at - 1].is_symbol("."):
            return True
    return False


def _is_named(token: Token, name: str) -> bool:
    return token.is_name and token.name.lower() == name


def _decides(code: str, name: str) -> bool:
    """Whether a branch of the template asks for the column of the table that there is.

    To load what is newer than ``max(loaded_at)`` adds each row once all the same, if no clock is
    asked too: a row of each day may be wanted.
    """
    try:
        branches = list(parsed(code).find_all(nodes.If))
    except TemplateSyntaxError:
        return False  # it is refused for that
    for branch in branches:
        text = VALUE.join(each.data for each in branch.find_all(nodes.TemplateData))
        try:
            found = tokens(text)
        except SqlTextError:
            if name in text.lower():
                return True
            continue
        named = [at for at, each in enumerate(found) if _is_named(each, name)]
        named = [at for at in named if not (at and found[at - 1].is_word("AS"))]
        if named and (_asks_clock(branch, found) or not all(_newer(found, at) for at in named)):
            return True
    return False


def _asks_clock(branch: nodes.If, found: list[Token]) -> bool:
    names = [each.name for each in branch.find_all(nodes.Name)]
    names += [each.attr for each in branch.find_all(nodes.Getattr)]
    call = volatile_call(found)
    return call is not None or any(_CLOCK_MACRO.search(each) for each in names)


def _newer(found: list[Token], at: int) -> bool:
    """Whether the name stands in ``max(loaded_at)`` or ``loaded_at > (SELECT ..)``."""
    behind = [each.text.upper() for each in found[at + 1 : at + 5]]
    while at > 1 and found[at - 1].is_symbol("."):
        at -= 2
    before = [each.text.upper() for each in found[max(at - 2, 0) : at]]
    if before == ["MAX", "("] and behind[:1] == [")"]:
        return True
    return behind[:1] == [">"] and "SELECT" in behind


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
    return [item for item in _items(columns) if _is_time(item)]


def _stamps(found: list[Token]) -> list[list[Token]]:
    """The columns of any SELECT within a query that are the clock's and are only handed on."""
    depth, opened, ends = 0, dict[int, int](), dict[int, int]()
    for at, token in enumerate(found):
        depth -= token.is_symbol(")")
        if token.is_word("SELECT"):
            opened[depth] = at
        elif token.is_word("FROM") and depth in opened:
            ends[opened.pop(depth)] = at
        depth += token.is_symbol("(")
    return [
        item
        for start, end in ends.items()
        for item in _items(found[start + 1 : end])
        if _is_time(item) and not _is_used(found, item[-1].name.lower())
    ]


def _is_used(found: list[Token], name: str) -> bool:
    """Whether a column of that name is more than one of the columns somewhere in a query."""
    queries = [True]
    for at, token in enumerate(found):
        behind = found[at + 1] if at + 1 < len(found) else None
        if token.is_symbol("("):
            queries.append(behind is not None and behind.is_word("SELECT", "WITH", "FROM"))
        elif token.is_symbol(")") and len(queries) > 1:
            queries.pop()
        if not _is_named(token, name):
            continue
        first = at
        while first > 1 and found[first - 1].is_symbol("."):
            first -= 2
        before = found[max(first - 1, 0)]
        if before.is_word("AS") or before.is_symbol(")") or volatile_call([before]) is not None:
            continue  # it is made there
        starts = before.is_word("SELECT", "DISTINCT") or before.is_symbol(",")
        ends = behind is None or behind.is_word("FROM") or behind.text in {",", ")"}
        if not (queries[-1] and starts and ends):
            return True
    return False


def _items(columns: list[Token]) -> list[list[Token]]:
    items, depth = [list[Token]()], 0
    for token in columns:
        depth += token.is_symbol("(") - token.is_symbol(")")
        if token.is_symbol(",") and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    return items


def _is_time(item: list[Token]) -> bool:
    """Whether a column is a call of the clock, maybe cast, and has a name."""
    call = volatile_call(item)
    if call is None or call[1] != "clock" or len(item) < 2 or not item[-1].is_name:  # noqa: PLR2004 - a call and a name
        return False
    others = [
        token
        for token in item[:-1]
        if token.kind != "symbol" and token is not call[0] and token.text.lower() not in _CASTS
    ]
    return not others


def _without(found: list[Token], items: list[list[Token]]) -> list[Token]:
    left_out = {token.start for item in items for token in item}
    return [token for token in found if token.start not in left_out]
