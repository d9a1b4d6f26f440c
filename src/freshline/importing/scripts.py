"""A file of statements as items: one spelling of each name, sources, and what is left over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from sqlglot.errors import SqlglotError

from freshline.core.errors import Place, UserError
from freshline.importing.items import FEED_NAME, Found, Item
from freshline.importing.scopes import SNOWFLAKE, Parts, Scope, ends_alike, is_use, scopes
from freshline.sql.text.reads import Read, quoted, reads_of, rewritten
from freshline.sql.text.tokens import SqlTextError
from freshline.texts import whole_text

Part = TypeVar("Part")
_UNREAD = (
    "what it names cannot be read, so a short name below it is the one table of that name in the"
    " file"
)
_TAKEN = (
    "in it is taken for {} of the file, whose whole name no USE tells: if they are two tables, put"
    " USE in front of both"
)
_REPLACES = re.compile(r"CREATE\s+OR\s+REPLACE\s", re.IGNORECASE)
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a script, read.

    Attributes:
        text: As it stands there.
        line: On which it starts.
        item: What it makes; None: nothing that is taken.
        reason: Why it, or a part of it, is not taken; None: all is.
        settings: Settings of Spark that have its effect; of two statements the first one's.
    """

    text: str
    line: int
    item: Item | None
    reason: str | None
    settings: Mapping[str, str] = field(default_factory=dict)


def read_script(
    path: Path,
    product: str,
    cut: Callable[[str], Sequence[Part]],
    read: Callable[[Part], Statement],
    configuration: Mapping[str, str] | None = None,
) -> Found:
    """What the statements in ``path`` make.

    Args:
        path: The file.
        product: Whose statements they are.
        cut: Cuts the file's text into statements.
        read: Reads one of them.
        configuration: Settings of Spark under which its queries mean what they mean there.

    Raises:
        UserError: The file cannot be read, or a string or comment in it is not closed.
    """
    try:
        parts = cut(whole_text(path))
    except (OSError, ValueError, SqlglotError, SqlTextError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        if isinstance(error, OSError):
            why = error.strerror or why
        raise UserError(
            "unreadable-file",
            f"the file cannot be read: {why}",
            where=Place(str(path)),
            rule=f"it holds {product} statements in UTF-8, with ; between them",
            next_step="Check the path." if isinstance(error, OSError) else "Correct the file.",
        ) from error
    items: dict[str, Item] = {}
    made: dict[str, Statement] = {}
    rest: list[tuple[int, str, str]] = []
    settings = dict(configuration or {})
    statements = [read(part) for part in parts]
    temporary = {
        each.item.key for each in statements if each.item is not None and each.item.temporary
    }
    for each, scope in zip(
        statements, scopes((each.text for each in statements), product), strict=True
    ):
        item, reason = each.item, each.reason
        settings = {**each.settings, **settings}
        used = scope.behind(each.text, product) if item is None and is_use(each.text) else None
        if used is not None and (used is scope or used.is_known):
            continue
        if used is not None:
            reason = _UNREAD
        if item is not None:
            item = _in_full(item, scope, product, temporary)
            reason = reason or item.refusal
            if item.key in items and not _same(items[item.key], item):
                item = replace(item, key=".".join(item.relation).lower())
        known = items.get(item.key) if item is not None else None
        is_other = known is not None and item is not None and known.relation != item.relation
        stays = not _REPLACES.match(each.text) or (product == SNOWFLAKE and is_other)
        if item is not None and known is not None and stays:
            reason = f"{item.key} is made by an earlier statement"
        elif item is not None:
            if known is not None:
                del items[item.key]
                before = made[item.key]
                rest.append((before.line, "a later statement replaces what it makes", before.text))
            items[item.key], made[item.key] = item, each
        if reason is not None:
            rest.append((each.line, reason, each.text))
    return Found(
        _UNFIT.sub("_", path.stem).lstrip(".-") or "imported",
        f"{product} script {path.name}",
        tuple(with_sources(items)),
        notes=tuple(f"The statement on line {line}: {reason}." for line, reason, _ in sorted(rest)),
        configuration=settings,
        appendix=_appendix(sorted(rest)),
    )


def _in_full(item: Item, scope: Scope, product: str, temporary: AbstractSet[str]) -> Item:
    """The item with full names, its own and those that its query reads.

    Args:
        item: As its statement says it.
        scope: Of the statement.
        product: Whose statement it is.
        temporary: Keys of temporary views, which are in no schema.
    """
    if not item.temporary:
        item = replace(item, relation=scope.full(item.relation))
    if item.query is None or item.role == "base":
        return item
    dynamic = item.kind == "dynamic table"
    own = scope.of(item.relation, dynamic=dynamic) if product == SNOWFLAKE else scope
    try:
        reads = {each.name: each.parts for each in reads_of(item.query)}
    except SqlTextError:
        return item  # it is refused for that below
    full = {
        name: own.full(parts)
        for name, parts in reads.items()
        if len(parts) > 1 or parts[0].lower() not in temporary
    }
    other = scope if dynamic else own
    either = [
        name for name, parts in full.items() if not ends_alike(other.full(reads[name]), parts)
    ]
    if either:
        what = ", ".join(either)
        refusal = f"{what} in it can be in its own schema or in that of USE: write the schema there"
        return replace(item, query=None, refusal=refusal)
    names = {name: ".".join(quoted(part) for part in parts) for name, parts in full.items()}
    return replace(item, query=rewritten(item.query, names))


def _same(one: Item, other: Item) -> bool:
    """Whether two items have one name, without case."""
    return [part.lower() for part in one.relation] == [part.lower() for part in other.relation]


def source_item(key: str, relation: Parts, columns: Sequence[tuple[str, str]] = ()) -> Item:
    """A table that the script does not fill: its rows come from a feed.

    Args:
        key: Its name.
        relation: The parts of its name.
        columns: Names and types of its columns, as SQL has them, where the script declares them.
    """
    folder = f"feed/{relation[-1].lower()}"
    names = ", ".join(name for name, _ in columns)
    return Item(
        key,
        "source table",
        "base",
        relation,
        feed={"kind": "files", "path": folder, "format": "parquet"},
        # By name: readers may name a table's columns by their place, which files do not keep.
        query=f"SELECT {names} FROM STREAM {FEED_NAME}" if columns else None,
        schema=", ".join(f"{name} {kind}" for name, kind in columns) or None,
        changed=(f"its rows come from Parquet files in {folder}: give the feed its real place",),
    )


def with_sources(items: Mapping[str, Item]) -> list[Item]:
    """The items with one spelling of each table's name, and a source for each unknown one.

    What an item that is refused reads needs no source.

    Args:
        items: What the script makes, by key.
    """
    known = dict(items)
    names = {
        item.key: {tuple(part.lower() for part in read.parts) for read in _reads(item.query)}
        for item in items.values()
        if item.query is not None and item.role != "base" and item.refusal is None
    }
    others = _of_others(names, items)
    every = {name for some in names.values() for name in some}
    for name in sorted(every, key=lambda name: (-len(name), name)):  # the most parts first
        if name in others or not _matches(name, known):
            known[".".join(name)] = source_item(".".join(name), name)
    return [_spelt(item, known) for item in known.values()]


def _of_others(
    names: Mapping[str, set[tuple[str, ...]]], items: Mapping[str, Item]
) -> set[tuple[str, ...]]:
    """Names of tables that the script does not make, though it makes one of the same last parts.

    ``orders`` over ``raw.orders`` reads another table: it cannot read itself.

    Args:
        names: What is read, by the key of what reads it.
        items: What the script makes, by key.
    """
    meant = {name: _matches(name, items) for some in names.values() for name in some}
    found = set()
    for key, some in names.items():
        for name in some:
            if len(meant[name]) == 1 and len(name) > len(meant[name][0].relation):
                seen: set[str] = set()
                left = [meant[name][0].key]
                while left and key not in seen:
                    seen.add(at := left.pop())
                    below = {each.key for one in names.get(at, ()) for each in meant[one]}
                    left += below - seen
                if key in seen:
                    found.add(name)
    return found


def _reads(query: str) -> Sequence[Read]:
    """What a query reads; nothing where it cannot be read, for which it is refused."""
    try:
        return reads_of(query)
    except SqlTextError:
        return ()


def _matches(name: Parts, known: Mapping[str, Item]) -> list[Item]:
    """The items that ``name`` can mean: the shorter name is the end of the longer one.

    A temporary view is in no schema: a name with one means another table.
    """
    found = [
        item
        for item in known.values()
        if ends_alike(item.relation, name) and not (item.temporary and len(name) > 1)
    ]
    exact = [each for each in found if tuple(p.lower() for p in each.relation) == name]
    return exact or found


def _spelt(item: Item, known: Mapping[str, Item]) -> Item:
    if item.query is None or item.role == "base" or item.refusal is not None:
        return item
    spelling: dict[str, str] = {}
    told: dict[str, None] = {}
    try:
        for read in reads_of(item.query):
            found = _matches(tuple(part.lower() for part in read.parts), known)
            if len(found) > 1:
                keys = ", ".join(each.key for each in found)
                return replace(item, refusal=f"{read.name} in it can be any of {keys}")
            spelling[read.name] = ".".join(quoted(part) for part in found[0].relation)
            if len(found[0].relation) < len(read.parts):
                told[f"{read.name} {_TAKEN.format(found[0].key)}"] = None
    except SqlTextError as error:
        return replace(item, refusal=f"its SQL cannot be read: {error.what}")
    query = rewritten(item.query, spelling)
    return replace(item, query=query, changed=(*item.changed, *told))


def _appendix(rest: Sequence[tuple[int, str, str]]) -> str | None:
    """The statements that were not taken as comments, each under its reason; None: there are none.

    Args:
        rest: Line, reason and text of each.
    """
    if not rest:
        return None
    parts = ["-- Statements that were not translated; freshline does not read this file."]
    for line, reason, text in rest:
        lines = [f"-- Line {line}: {reason}", *text.splitlines()]
        parts.append("\n".join(each if each.startswith("--") else f"--   {each}" for each in lines))
    return "\n\n".join(parts) + "\n"
